//! Delivers news: runs jobs of kind `webhook`.
//!
//! The payload is the body, byte for byte, so every retry sends the same event under the same
//! id; only the timestamp and what is signed with it are new.

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, header::CONTENT_TYPE};
use http_body_util::Full;
use steadfast_core::{
    Failure, FailureClass, Job, Outcome, Timestamp, WebhookSecret, WebhookTarget,
};

use super::{HttpRequest, Outbound, SigningKey, job::failure, sign};
use crate::{AttemptContext, Handler};

/// Sends the deliveries that transitions put in the outbox.
pub struct WebhookHandler {
    outbound: Outbound,
}

impl WebhookHandler {
    pub fn new(outbound: Outbound) -> Self {
        Self { outbound }
    }
}

/// Where a delivery goes, and what it is signed with.
struct Address {
    url: String,
    secrets: Vec<WebhookSecret>,
}

#[async_trait]
impl Handler for WebhookHandler {
    async fn handle(&self, attempt: AttemptContext) -> Outcome {
        let now = attempt.client().now();
        let address = match address(&attempt, now).await {
            Ok(address) => address,
            Err(outcome) => return outcome,
        };
        match request(attempt.job(), &address, now) {
            Ok(request) => self.outbound.attempt(request, &attempt).await,
            Err(failed) => failure(failed),
        }
    }

    fn has_own_timeout(&self) -> bool {
        true
    }
}

/// An endpoint is looked up at the last moment: it may have moved, or have new keys.
async fn address(attempt: &AttemptContext, now: Timestamp) -> Result<Address, Outcome> {
    let target = attempt.job().webhook.as_ref().map(|it| &it.target);
    match target {
        Some(WebhookTarget::Url { url, secret }) => Ok(Address {
            url: url.clone(),
            secrets: secret.iter().cloned().collect(),
        }),
        Some(WebhookTarget::Endpoint { endpoint }) => {
            let known = attempt.client().endpoint_cache().get().await;
            let known = known.map_err(|error| failure(error.into()))?;
            let endpoint = known.get(*endpoint).filter(|endpoint| !endpoint.disabled);
            let endpoint = endpoint.ok_or_else(|| Outcome::Cancelled {
                message: "the endpoint was deleted or disabled".to_owned(),
            })?;
            Ok(Address {
                url: endpoint.url.clone(),
                secrets: endpoint.live_secrets(now).cloned().collect(),
            })
        }
        None => {
            let message = "the delivery does not say where it goes";
            Err(failure(Failure::new(FailureClass::PAYLOAD, message)))
        }
    }
}

fn request(job: &Job, address: &Address, now: Timestamp) -> Result<Request<Full<Bytes>>, Failure> {
    let unusable = |error: &dyn std::fmt::Display| {
        Failure::new(FailureClass::PAYLOAD, format!("cannot be sent: {error}"))
    };
    let mut request = HttpRequest::new(&address.url)
        .map_err(|error| unusable(&error))?
        .to_request();
    let body = Bytes::copy_from_slice(job.payload.as_str().as_bytes());
    let id = job.tags.get("eventId").cloned();
    let id = id.unwrap_or_else(|| job.id.to_string());
    let seconds = now.as_millis() / 1_000;
    let mut keys = Vec::with_capacity(address.secrets.len());
    for secret in &address.secrets {
        let key: SigningKey = secret.reveal().parse().map_err(|error| unusable(&error))?;
        keys.push(key);
    }
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
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
    Ok(request)
}
