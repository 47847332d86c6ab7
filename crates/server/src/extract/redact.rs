//! What keys of scope `read` do not see: payloads, results, what was sent or received, failures that
//! quote a response, and addresses beyond their origin.
//!
//! This file is the only place that decides it. Records pass here on their way from the store to a
//! response or a page, so that no view of them has to remember it. A search in what is hidden would
//! reveal it word by word, so it is refused as well.

use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::{Map, Value};
use steadfast_api::{DestinationBody, Scope};
use steadfast_core::{
    AlertState, Attempt, Failure, FailureGroup, Job, Kind, Payload, Schedule, Tenant, Webhook,
    WebhookTarget, explain::without_most_recent,
};
use steadfast_engine::ClientError;
use steadfast_store::{FailureCursor, FailureFilter, Page, PageRequest};

use super::Caller;
use crate::{app::App, http::Problem};

/// Of the record of a call: how it ended, and where its time went.
const SEEN_OF_RESPONSE: [&str; 3] = ["status", "quota", "timings"];

/// In place of the words of a handler.
const HIDDEN_MESSAGE: &str = "message hidden from keys with scope read";

impl Caller {
    pub fn sees_payloads(&self) -> bool {
        self.scope != Scope::Read
    }

    /// Whether explanations leave out other jobs and the text of failures, which may belong to others
    /// or quote a response.
    pub fn sees_own_jobs_only(&self) -> bool {
        self.tenant.is_some() || !self.sees_payloads()
    }

    /// Takes out of a job what this caller may not see.
    pub fn redact_job(&self, mut job: Job) -> Job {
        if !self.sees_payloads() {
            job.payload = redacted_payload(&job.kind, &job.payload);
            redact_webhook(job.webhook.as_mut());
        }
        let failure = job.progress.failure.take();
        job.progress.failure = failure.map(|it| self.redact_failure(it, job.kind.is_call()));
        job
    }

    /// The same for a schedule.
    pub fn redact_schedule(&self, mut schedule: Schedule) -> Schedule {
        if !self.sees_payloads() {
            let template = &mut schedule.template;
            template.payload = redacted_payload(&template.kind, &template.payload);
            redact_webhook(template.webhook.as_mut());
        }
        schedule
    }

    /// The same for an attempt of a job of this kind.
    pub fn redact_attempt(&self, mut attempt: Attempt, kind: &Kind) -> Attempt {
        let failure = attempt.failure;
        attempt.failure = failure.map(|it| self.redact_failure(it, kind.is_call()));
        if !self.sees_payloads() {
            let decision = attempt.decision.as_mut().filter(|_| !kind.is_call());
            if let Some(question) = decision.and_then(|it| it.question.as_mut()) {
                // The words of a handler.
                question.detail = None;
            }
            let output = attempt.output.filter(|_| kind.is_call());
            attempt.output = output.map(|output| {
                keep_fields(&output, |name, value| {
                    SEEN_OF_RESPONSE.contains(&name).then_some(value)
                })
            });
        }
        attempt
    }

    /// The same for a failure. Its message and trace quote the response, if there was one, or are
    /// the words of a handler, which may quote the payload. Of a call without a response they are
    /// the node's own.
    pub fn redact_failure(&self, mut failure: Failure, is_of_call: bool) -> Failure {
        if self.sees_payloads() {
            return failure;
        }
        match failure.http_status {
            Some(status) => failure.message = format!("answered {status}"),
            None if is_of_call => return failure,
            None => failure.message = HIDDEN_MESSAGE.to_owned(),
        }
        failure.trace = None;
        failure
    }

    /// The same for a group of failures.
    pub fn redact_group(&self, mut group: FailureGroup) -> FailureGroup {
        if let Some(mut example) = group.tally.example.take() {
            let kinds = &group.tally.kinds;
            let is_call = |name: &String| Kind::new(name).is_ok_and(|kind| kind.is_call());
            let is_of_call = !kinds.has_more && kinds.names.iter().all(is_call);
            example.failure = self.redact_failure(example.failure, is_of_call);
            group.tally.example = Some(example);
        }
        group
    }

    /// The same for a destination, whose incidents name their newest failure.
    pub fn redact_destination(&self, mut body: DestinationBody) -> DestinationBody {
        if !self.sees_payloads() {
            let incidents = body.incident.iter_mut().chain(&mut body.past_incidents);
            for incident in incidents {
                incident.cause = without_most_recent(&incident.cause).to_owned();
            }
        }
        body
    }

    /// The alerts of a tenant, or of all. The message of some ends with a failure.
    pub async fn alerts(
        &self,
        app: &App,
        tenant: Option<&Tenant>,
    ) -> Result<Vec<AlertState>, ClientError> {
        let mut alerts = app.client.alerts(tenant).await?;
        if !self.sees_payloads() {
            for alert in &mut alerts {
                alert.message = without_most_recent(&alert.message).to_owned();
            }
        }
        Ok(alerts)
    }

    /// A page of groups of failures.
    pub async fn failures(
        &self,
        app: &App,
        filter: FailureFilter,
        page: PageRequest<FailureCursor>,
    ) -> Result<Page<FailureGroup, FailureCursor>, ClientError> {
        let mut page = app.client.failures(filter, page).await?;
        let groups = page.items.into_iter();
        page.items = groups.map(|group| self.redact_group(group)).collect();
        Ok(page)
    }

    /// The text that a query searches for, if this caller may search what it is searched in.
    pub fn search_text(&self, text: Option<&String>) -> Result<Option<String>, Problem> {
        if text.is_some() && !self.sees_payloads() {
            let detail = "a key with scope read cannot search by text, because failures may quote \
                          responses; search by class, status, fingerprint, kind or tag";
            let problem = Problem::new(StatusCode::FORBIDDEN, "wrong_scope", detail);
            return Err(problem.at("text"));
        }
        Ok(text.cloned())
    }

    /// Fails if this caller may not read the logs of attempts, which name what they work on.
    pub fn require_logs(&self) -> Result<(), Problem> {
        if self.sees_payloads() {
            return Ok(());
        }
        let detail = "a key with scope read cannot read logs, because they may contain payloads; \
                      use a key with scope tenant or admin";
        Err(Problem::new(StatusCode::FORBIDDEN, "wrong_scope", detail))
    }

    /// The address of an endpoint as this caller may see it. Its path may be a secret, as Slack's
    /// is; readers and workers see the host.
    pub fn endpoint_url(&self, url: &str) -> String {
        if self.may_write() {
            url.to_owned()
        } else {
            host_of(url)
        }
    }
}

/// An address without its path, and without what else may be a secret in it.
fn host_of(url: &str) -> String {
    let start = url.find("://").map_or(0, |at| at + 3);
    let (scheme, rest) = url.split_at(start);
    let host = rest.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("{scheme}{host}/…")
}

fn redact_webhook(webhook: Option<&mut Arc<Webhook>>) {
    if let Some(webhook) = webhook
        && let WebhookTarget::Url { url, .. } = &mut Arc::make_mut(webhook).target
    {
        *url = host_of(url);
    }
}

/// Of the request of an HTTP job: where it goes, the names of its headers, and that it has a body.
fn redacted_payload(kind: &Kind, payload: &Payload) -> Payload {
    if *kind != Kind::http() {
        return Payload::default();
    }
    keep_fields(payload, |name, value| match (name, value) {
        ("method", value) => Some(value),
        ("url", Value::String(url)) => Some(Value::String(host_of(&url))),
        ("headers", Value::Object(headers)) => {
            let names = headers
                .into_iter()
                .map(|(name, _)| (name, Value::Bool(true)));
            Some(Value::Object(names.collect()))
        }
        ("body", Value::Null) => Some(Value::Null),
        ("body", _) => Some(Value::Bool(true)),
        _ => None,
    })
}

/// An object without the fields that `keep` does not return.
fn keep_fields(payload: &Payload, keep: impl Fn(&str, Value) -> Option<Value>) -> Payload {
    let object: Map<String, Value> = payload.decode().unwrap_or_default();
    let kept = object
        .into_iter()
        .filter_map(|(name, value)| keep(&name, value).map(|value| (name, value)));
    Payload::encode(&kept.collect::<Map<_, _>>()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_see_the_host_of_an_address_only() {
        for (url, shown) in [
            (
                "https://hooks.slack.com/services/T0/B0/secret",
                "https://hooks.slack.com/…",
            ),
            ("https://example.com?token=secret", "https://example.com/…"),
            ("https://example.com#secret", "https://example.com/…"),
            ("https://me:secret@example.com/", "https://example.com/…"),
            ("http://10.0.0.1:8080", "http://10.0.0.1:8080/…"),
        ] {
            assert_eq!(host_of(url), shown);
        }
    }
}
