//! What keys of scope `read` do not see: payloads, results and what was sent or received.
//!
//! Jobs, schedules and attempts pass here on their way from the store to an answer or a page, so that
//! no view of them has to remember it. Of a call its target and status remain.

use serde_json::{Map, Value};
use steadfast_api::Scope;
use steadfast_core::{Attempt, Failure, Job, Kind, Payload, Schedule};

use super::Caller;

/// Of the record of a call: how it ended, and where its time went.
const SEEN_OF_RESPONSE: [&str; 2] = ["status", "timings"];

impl Caller {
    pub fn sees_payloads(&self) -> bool {
        self.scope != Scope::Read
    }

    /// Takes out of a job what this caller may not see.
    pub fn redact_job(&self, mut job: Job) -> Job {
        if !self.sees_payloads() {
            job.payload = redacted_payload(&job.kind, &job.payload);
            redact_failure(&job.kind, job.progress.failure.as_mut());
        }
        job
    }

    /// The same for a schedule.
    pub fn redact_schedule(&self, mut schedule: Schedule) -> Schedule {
        if !self.sees_payloads() {
            let template = &mut schedule.template;
            template.payload = redacted_payload(&template.kind, &template.payload);
        }
        schedule
    }

    /// The same for an attempt of a job of this kind.
    pub fn redact_attempt(&self, mut attempt: Attempt, kind: &Kind) -> Attempt {
        if !self.sees_payloads() {
            redact_failure(kind, attempt.failure.as_mut());
            let output = attempt.output.filter(|_| kind.is_call());
            attempt.output = output.map(|output| {
                keep_fields(&output, |name, value| {
                    SEEN_OF_RESPONSE.contains(&name).then_some(value)
                })
            });
        }
        attempt
    }
}

/// The message of a call that was answered has the beginning of the response.
fn redact_failure(kind: &Kind, failure: Option<&mut Failure>) {
    if let Some(failure) = failure.filter(|_| kind.is_call())
        && let Some(status) = failure.http_status
    {
        failure.message = format!("answered {status}");
    }
}

/// Of the request of an HTTP job: where it goes, the names of its headers, and that it has a body.
fn redacted_payload(kind: &Kind, payload: &Payload) -> Payload {
    if *kind != Kind::http() {
        return Payload::default();
    }
    keep_fields(payload, |name, value| match (name, value) {
        ("url" | "method", value) => Some(value),
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
