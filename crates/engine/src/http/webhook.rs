//! Delivers webhooks: runs jobs of kind `webhook`.
//!
//! The payload is the body, byte for byte, so every retry sends the same event under the same
//! id; only the timestamp and what is signed with it are new.

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, header::CONTENT_TYPE};
use http_body_util::Full;
use serde::{Deserialize, de::IgnoredAny};
use steadfast_core::{
    Endpoint, Failure, FailureClass, HeaderSource, Invalid, Job, Outcome, Timestamp, WebhookSecret,
    WebhookTarget, duration,
};

use super::{
    call::{Outbound, StillWanted},
    job::failure,
    qstash::create_callbacks,
    request::{HttpRequest, SecretHeader},
    secrets::RevealedSecrets,
    signature::{SigningKey, sign},
    usage::UsageSources,
};
use crate::{
    attempt::{context::AttemptContext, handler::Handler},
    limits::http::{DISABLED_SNOOZE, DISABLED_SNOOZE_MAX, DISABLED_WAIT_MAX, LOOKUP_SNOOZE},
};

/// The status of a target that is gone for good.
const GONE: u16 = 410; // not a limit: a status of HTTP

/// Sends the deliveries that transitions put in the outbox.
pub struct WebhookHandler {
    outbound: Outbound,
}

impl WebhookHandler {
    /// A handler that sends through this client.
    pub fn new(outbound: Outbound) -> Self {
        Self { outbound }
    }
}

/// Where a delivery goes, and what it is signed with.
struct Destination {
    url: String,
    headers: BTreeMap<String, HeaderSource>,
    secrets: Vec<WebhookSecret>,
}

#[async_trait]
impl Handler for WebhookHandler {
    async fn handle(&self, attempt: AttemptContext) -> Outcome {
        let target = attempt.job().webhook.as_ref().map(|it| &it.target);
        if let Some(WebhookTarget::Callbacks { .. }) = target {
            return create_callbacks(&attempt).await;
        }
        let now = attempt.client().now();
        let destination = match destination(&attempt, now).await {
            Ok(destination) => destination,
            Err(outcome) => return outcome,
        };
        let (mut request, references) = match request(attempt.job(), &destination, now) {
            Ok(request) => request,
            Err(error) => return failure(error),
        };
        let added = RevealedSecrets::add_to(request.headers_mut(), &references, &attempt);
        let secrets = match added.await {
            Ok(secrets) => secrets,
            Err(outcome) => return outcome,
        };
        let wanted = SameDestination {
            attempt: &attempt,
            url: &destination.url,
        };
        let usage = UsageSources::default();
        let outcome = self
            .outbound
            .attempt(request, &attempt, &secrets, &wanted, &usage);
        let outcome = outcome.await;
        if is_gone(&outcome) {
            disable_endpoint(&attempt, &destination.url).await;
        }
        outcome
    }

    fn has_own_timeout(&self) -> bool {
        true
    }
}

/// Whether the target says that it is gone for good.
fn is_gone(outcome: &Outcome) -> bool {
    let Outcome::Failure { failure, .. } = outcome else {
        return false;
    };
    failure.http_status == Some(GONE)
}

/// If that fails, the next delivery tries it again.
async fn disable_endpoint(attempt: &AttemptContext, url: &str) {
    let target = attempt.job().webhook.as_ref().map(|it| &it.target);
    let Some(WebhookTarget::Endpoint { endpoint }) = target else {
        return;
    };
    let disabled = attempt.client().disable_gone_endpoint(*endpoint, url).await;
    if let Err(error) = disabled {
        tracing::warn!(%endpoint, %error, "cannot disable an endpoint whose target is gone");
    }
}

/// Opening a connection can take as long as the attempt may, and the endpoint may be gone by then.
struct SameDestination<'a> {
    attempt: &'a AttemptContext,
    url: &'a str,
}

#[async_trait]
impl StillWanted for SameDestination<'_> {
    async fn ask(&self) -> bool {
        let now = self.attempt.client().now();
        let destination = destination(self.attempt, now).await;
        destination.is_ok_and(|destination| destination.url == self.url)
    }
}

/// An endpoint is looked up in the store at the last moment: it may have another URL by now, or
/// new secrets, or be gone; and one that another node has just created is there.
async fn destination(attempt: &AttemptContext, now: Timestamp) -> Result<Destination, Outcome> {
    let target = attempt.job().webhook.as_ref().map(|it| &it.target);
    match target {
        Some(WebhookTarget::Url { url, secret }) => Ok(Destination {
            url: url.clone(),
            headers: BTreeMap::new(),
            secrets: secret.iter().cloned().collect(),
        }),
        Some(WebhookTarget::Endpoint { endpoint }) => {
            let found = attempt.client().endpoint(*endpoint).await;
            let found = found.map_err(|error| match error.is_transient() {
                true => Outcome::Snoozed(LOOKUP_SNOOZE),
                false => failure(error.into()),
            })?;
            let endpoint = found.ok_or_else(|| Outcome::Cancelled {
                message: "the endpoint was deleted".to_owned(),
            })?;
            if endpoint.disabled {
                return Err(while_disabled(attempt.job(), &endpoint, now));
            }
            Ok(Destination {
                url: endpoint.url.clone(),
                headers: endpoint.headers.clone(),
                secrets: endpoint.live_secrets(now).cloned().collect(),
            })
        }
        Some(WebhookTarget::Callbacks { .. }) | None => {
            let message = "the delivery has no destination";
            Err(failure(Failure::new(FailureClass::PAYLOAD, message)))
        }
    }
}

/// A disabled endpoint may be enabled again, and then nothing is lost.
fn while_disabled(job: &Job, endpoint: &Endpoint, now: Timestamp) -> Outcome {
    // An endpoint that an older version disabled does not say since when.
    let since = endpoint
        .disabled_at
        .map_or(job.created_at, |at| at.max(job.created_at));
    if now.since(since) < DISABLED_WAIT_MAX {
        return Outcome::Snoozed(disabled_snooze(job));
    }
    let waited = duration::format(DISABLED_WAIT_MAX);
    let message =
        format!("the endpoint was disabled for {waited}; enable it and resend this delivery");
    let error = Failure::new(FailureClass::named("endpoint_disabled"), message);
    failure(error.into_permanent())
}

fn disabled_snooze(job: &Job) -> Duration {
    let doublings = 1_u32.checked_shl(job.progress.snoozes);
    let delay = doublings.and_then(|times| DISABLED_SNOOZE.checked_mul(times));
    delay.map_or(DISABLED_SNOOZE_MAX, |delay| delay.min(DISABLED_SNOOZE_MAX))
}

/// The request, and the headers whose values are secrets.
fn request(
    job: &Job,
    destination: &Destination,
    now: Timestamp,
) -> Result<(Request<Full<Bytes>>, Vec<SecretHeader>), Failure> {
    let unusable = |error: &dyn std::fmt::Display| {
        Failure::new(FailureClass::PAYLOAD, format!("cannot be sent: {error}"))
    };
    let described = delivery_request(&destination.url, &destination.headers);
    let described = described.map_err(|error| unusable(&error))?;
    let mut request = described.to_request();
    let body = Bytes::copy_from_slice(job.payload.as_str().as_bytes());
    let id = job.tags.get("eventId").cloned();
    let id = id.unwrap_or_else(|| job.id.to_string());
    let seconds = now.as_millis() / 1_000;
    let mut keys = Vec::with_capacity(destination.secrets.len());
    for secret in &destination.secrets {
        let key: SigningKey = secret.reveal().parse().map_err(|error| unusable(&error))?;
        keys.push(key);
    }
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_of(&body)));
    let mut set = |name, value: String| -> Result<(), Failure> {
        let value = HeaderValue::try_from(value).map_err(|error| unusable(&error))?;
        headers.insert(HeaderName::from_static(name), value);
        Ok(())
    };
    if !keys.is_empty() {
        set("webhook-signature", sign(&id, seconds, &body, &keys))?;
    }
    set("webhook-id", id)?;
    set("webhook-timestamp", seconds.to_string())?;
    *request.body_mut() = Full::new(body);
    Ok((request, described.secrets().to_vec()))
}

/// The body decides: it was written when the event happened, and the endpoint's format may have
/// changed since.
fn media_of(body: &[u8]) -> &'static str {
    #[derive(Deserialize)]
    struct Shape {
        specversion: Option<IgnoredAny>,
    }
    match serde_json::from_slice(body) {
        Ok(Shape {
            specversion: Some(_),
        }) => "application/cloudevents+json",
        _ => "application/json",
    }
}

/// The address and the headers of an endpoint. Refuses headers that deliveries have of their own.
pub fn delivery_request(
    url: &str,
    headers: &BTreeMap<String, HeaderSource>,
) -> Result<HttpRequest, Invalid> {
    let mut request = HttpRequest::new(url)?;
    for (name, source) in headers {
        let lower = name.to_ascii_lowercase();
        if lower.starts_with("webhook-") || lower == CONTENT_TYPE.as_str() {
            let expected = "must be omitted: each delivery has its own";
            return Err(Invalid::new(format!("headers.{name}"), "given", expected));
        }
        request = request.with_source(name, source)?;
    }
    Ok(request)
}
