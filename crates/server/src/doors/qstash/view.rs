//! Messages as QStash shows them.

use std::collections::BTreeMap;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Map, Value, json};
use steadfast_core::{Attempt, Job, Payload, RetryPolicy, Timestamp};
use steadfast_engine::http::{
    HttpRequest,
    qstash::{QstashCallback, QstashMessage, QstashResponse},
};

pub type Fields = Map<String, Value>;

pub fn millis(time: Timestamp) -> i64 {
    time.as_micros() / 1_000
}

/// What a payload holds of a message; `None` for other jobs.
pub fn parts(payload: &Payload) -> Option<(HttpRequest, QstashMessage)> {
    let request: HttpRequest = payload.decode().ok()?;
    let message = request.message()?.clone();
    Some((request, message))
}

/// The fields that messages and schedules share.
pub fn request_fields(request: &HttpRequest, message: &QstashMessage) -> Fields {
    let headers = request.headers().iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        (name.to_string(), vec![value])
    });
    let headers: BTreeMap<String, Vec<String>> = headers.collect();
    let bytes = request.body_bytes();
    let text = std::str::from_utf8(&bytes).ok();
    let flow = message.flow_control.as_ref();
    let labels = (!message.labels.is_empty()).then_some(&message.labels);
    fields(json!({
        "method": request.method(),
        "header": headers,
        "body": text.filter(|text| !text.is_empty()),
        "bodyBase64": text.is_none().then(|| BASE64_STANDARD.encode(&bytes)),
        "callback": message.callback.as_ref().map(|it| &it.url),
        "failureCallback": message.failure_callback.as_ref().map(|it| &it.url),
        "callbackHeader": callback_headers(message.callback.as_ref()),
        "failureCallbackHeader": callback_headers(message.failure_callback.as_ref()),
        "queueName": message.queue,
        "retryDelayExpression": message.retry_delay,
        "flowControlKey": flow.map(|flow| &flow.key),
        "parallelism": flow.and_then(|flow| flow.parallelism),
        "rate": flow.and_then(|flow| flow.rate),
        "period": flow.map(|flow| flow.period),
        // Older clients know one label.
        "label": message.labels.first(),
        "labels": labels,
    }))
}

fn callback_headers(callback: Option<&QstashCallback>) -> Option<BTreeMap<&str, Vec<&str>>> {
    let headers = callback?.headers.iter();
    let headers: BTreeMap<_, _> = headers
        .map(|(name, value)| (name.as_str(), vec![value.as_str()]))
        .collect();
    (!headers.is_empty()).then_some(headers)
}

/// A message; `None` if the job is none.
pub fn message(job: &Job) -> Option<Fields> {
    let (request, message) = parts(&job.payload)?;
    let mut body = request_fields(&request, &message);
    let schedule = job.scheduled_run.map(|run| run.schedule.to_string());
    body.extend(fields(json!({
        "messageId": job.id,
        "url": request.url(),
        "maxRetries": max_retries(&job.policy),
        "notBefore": message.not_before_ms(job.created_at),
        "createdAt": millis(job.created_at),
        "timeout": job.timeout.map(|timeout| timeout.as_secs()),
        "topicName": message.url_group,
        "endpointName": message.endpoint,
        "scheduleId": message.schedule.or(schedule),
        "sourceMessageId": message.source,
    })));
    Some(body)
}

pub fn max_retries(policy: &RetryPolicy) -> u32 {
    policy.max_retries()
}

/// What an attempt got as a response. Without one, the body says why.
pub fn response(attempt: &Attempt) -> Fields {
    let response = QstashResponse::of(attempt.output.as_ref());
    let failure = attempt.failure.as_ref();
    let body = match (response.status, failure) {
        (None, Some(failure)) => failure.message.clone(),
        _ => response.body,
    };
    let headers = response.headers.into_iter();
    let headers: BTreeMap<_, _> = headers.map(|(name, value)| (name, vec![value])).collect();
    fields(json!({
        "responseStatus": response.status.unwrap_or(0),
        "responseHeader": headers,
        "responseBody": body,
    }))
}

/// The fields of an object that have a value.
pub fn fields(value: Value) -> Fields {
    match value {
        Value::Object(mut fields) => {
            fields.retain(|_, value| !value.is_null());
            fields
        }
        _ => Fields::new(),
    }
}
