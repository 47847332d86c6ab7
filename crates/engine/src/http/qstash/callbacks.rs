//! Makes the callbacks of a message, which are messages themselves.
//!
//! The transition that ends an attempt writes one delivery to the outbox. That delivery comes here,
//! so callbacks are made wherever the attempt ended: also after a lost node. Their keys follow from
//! the delivery, so a delivery that runs twice makes them once.

use std::collections::BTreeMap;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use serde_json::{Value, json};
use steadfast_core::{
    Attempt, EventType, Failure, FailureClass, Invalid, Job, JobId, Outcome, Payload,
};
use steadfast_store::{EnqueueError, PageRequest};

use super::message::{QstashCallback, QstashMessage, QstashResponse};
use crate::{
    attempt::context::AttemptContext,
    client::{ClientError, request::JobRequest},
    http::{
        job::failure,
        request::{HTTP_KIND, HttpRequest},
    },
    limits::http::{LOOKUP_SNOOZE, QSTASH_ATTEMPTS_READ_MAX},
};

/// Runs a delivery of a message's webhook.
pub(in crate::http) async fn create_callbacks(attempt: &AttemptContext) -> Outcome {
    match Callbacks::read(attempt).await {
        Ok(Some(callbacks)) => match callbacks.create(attempt).await {
            Ok(ids) => Outcome::Success {
                output: Payload::encode(&json!({"messages": ids})).ok(),
            },
            Err(error) => outcome_of(error),
        },
        Ok(None) => Outcome::Cancelled {
            message: "the message was deleted".to_owned(),
        },
        Err(error) => outcome_of(error),
    }
}

fn outcome_of(error: ClientError) -> Outcome {
    match error.is_transient() {
        true => Outcome::Snoozed(LOOKUP_SNOOZE),
        false => failure(Failure::new(FailureClass::PAYLOAD, error.to_string())),
    }
}

struct Callbacks {
    job: Job,
    request: HttpRequest,
    message: QstashMessage,
    /// The attempt that they tell of.
    attempt: Option<Attempt>,
    /// Whether the message is given up.
    is_failed: bool,
}

impl Callbacks {
    /// What a delivery is about; `None` if the message does not exist any longer.
    async fn read(delivery: &AttemptContext) -> Result<Option<Self>, ClientError> {
        let (job, client) = (delivery.job(), delivery.client());
        let of: Option<JobId> = job.tags.get("job").and_then(|id| id.parse().ok());
        let source = match of {
            Some(id) => client.job(id).await?,
            None => None,
        };
        let Some(source) = source else {
            return Ok(None);
        };
        let request = source.payload.decode::<HttpRequest>();
        let request =
            request.map_err(|error| Invalid::new("payload", "stored", error.to_string()))?;
        let Some(message) = request.message().cloned() else {
            return Ok(None);
        };
        let number = job
            .payload
            .decode::<Event>()
            .map(|event| event.data.attempt);
        let page = PageRequest::first(QSTASH_ATTEMPTS_READ_MAX);
        let attempts = client.attempts(source.id, page).await?.items;
        let is_meant = |it: &Attempt| number.as_ref().is_ok_and(|number| it.attempt == *number);
        let attempt = attempts.into_iter().find(is_meant);
        let events = job.webhook.as_ref().map(|webhook| &webhook.events);
        Ok(Some(Self {
            job: source,
            request,
            message,
            attempt,
            is_failed: events.is_some_and(|it| it.contains(&EventType::JobFailed)),
        }))
    }

    async fn create(&self, delivery: &AttemptContext) -> Result<Vec<JobId>, ClientError> {
        let client = delivery.client().clone().for_follow_ups();
        let mut ids = Vec::new();
        let failed = self.message.failure_callback.as_ref();
        for (name, callback) in [
            ("callback", self.message.callback.as_ref()),
            ("failure callback", failed.filter(|_| self.is_failed)),
        ] {
            let Some(callback) = callback else { continue };
            let key = format!("qstash {name} {}", delivery.job().id);
            let enqueue = async |has_source| {
                let request = self.message_of(callback, has_source)?;
                client.enqueue(request.idempotency_key(&key)).await
            };
            let enqueued = match enqueue(true).await {
                // With the body of its message it may be too large.
                Err(ClientError::Invalid(_)) => enqueue(false).await,
                enqueued => enqueued,
            };
            match enqueued {
                Ok(id) => ids.push(id),
                // This delivery has run before, and the message was changed since.
                Err(ClientError::Enqueue(EnqueueError::Conflict { job, .. })) => ids.push(job),
                Err(error) => return Err(error),
            }
        }
        Ok(ids)
    }

    fn message_of(
        &self,
        callback: &QstashCallback,
        has_source: bool,
    ) -> Result<JobRequest, Invalid> {
        let mut request = HttpRequest::new(&callback.url)?;
        if let Some(method) = &callback.method {
            request = request.with_method(method)?;
        }
        let mut headers = callback.headers.clone();
        let json = || "application/json".to_owned();
        headers
            .entry("content-type".to_owned())
            .or_insert_with(json);
        for (name, value) in &headers {
            request = request.with_header(name, value)?;
        }
        let request = request
            .with_bytes(Bytes::from(self.body(has_source).to_string()))
            .with_message(QstashMessage {
                source: Some(self.job.id.to_string()),
                labels: self.message.labels.clone(),
                ..QstashMessage::default()
            });
        let mut job = JobRequest::new(HTTP_KIND, Payload::encode(&request)?)
            .tenant(self.job.tenant.as_str())
            .queue(QstashMessage::QUEUE)
            .retry(callback.retry.clone())
            .tag(QstashMessage::TAG.0, QstashMessage::TAG.1);
        job = match callback.timeout.or(self.job.timeout) {
            Some(timeout) => job.timeout(timeout),
            None => job,
        };
        for label in &self.message.labels {
            job = job.tag(QstashMessage::label_tag(label), "");
        }
        Ok(match callback.delay {
            Some(delay) => job.delay(delay),
            None => job,
        })
    }

    fn body(&self, has_source: bool) -> Value {
        let (job, request) = (&self.job, &self.request);
        let output = self.attempt.as_ref().and_then(|it| it.output.as_ref());
        let response = QstashResponse::of(output);
        let failure = self.attempt.as_ref().and_then(|it| it.failure.as_ref());
        // Without a response the body says why there is none.
        let body = match (response.status, failure) {
            (None, Some(failure)) => failure.message.clone(),
            _ => response.body,
        };
        let dead_letter = self.is_failed.then(|| job.id.to_string());
        let retried = self.attempt.as_ref().map_or(0, Attempt::retry_count);
        let headers = response.headers.into_iter();
        let headers = headers.map(|(name, value)| (name, vec![value]));
        let body = json!({
            "status": response.status.unwrap_or(0),
            "header": headers.collect::<BTreeMap<_, _>>(),
            "body": BASE64_STANDARD.encode(body),
            "retried": retried,
            "maxRetries": job.policy.max_retries(),
            "sourceMessageId": job.id,
            "url": request.url(),
            "method": request.method(),
            "sourceHeader": source_headers(request),
            "sourceBody": has_source.then(|| BASE64_STANDARD.encode(request.body_bytes())),
            "notBefore": self.message.not_before_ms(job.created_at),
            "createdAt": job.created_at.as_micros() / 1_000,
            "topicName": self.message.url_group,
            "endpointName": self.message.endpoint,
            "queueName": self.message.queue,
            "scheduleId": self.schedule(),
            "dlqId": dead_letter,
        });
        without_nulls(body)
    }

    fn schedule(&self) -> Option<String> {
        let run = self.job.scheduled_run;
        let own = self.message.schedule.clone();
        own.or_else(|| run.map(|run| run.schedule.to_string()))
    }
}

/// The part of an event that tells which attempt it is about.
#[derive(serde::Deserialize)]
struct Event {
    data: EventData,
}

#[derive(serde::Deserialize)]
struct EventData {
    attempt: u32,
}

/// Headers as QStash writes them: lists by name.
pub(super) fn source_headers(request: &HttpRequest) -> BTreeMap<String, Vec<String>> {
    let headers = request.headers().iter();
    let headers = headers.map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        (name.to_string(), vec![value])
    });
    headers.collect()
}

fn without_nulls(mut value: Value) -> Value {
    if let Value::Object(fields) = &mut value {
        fields.retain(|_, value| !value.is_null());
    }
    value
}
