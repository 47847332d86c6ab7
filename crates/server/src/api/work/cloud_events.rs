//! `POST /cloudevents`: events of other systems, as CloudEvents 1.0, become jobs.
//!
//! Senders repeat an event until it is accepted, so its source and id are the idempotency key.

use std::{borrow::Cow, collections::BTreeMap};

use axum::{
    extract::Request,
    http::{HeaderMap, StatusCode, header},
    response::Response,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use percent_encoding::percent_decode_str;
use serde_json::{Value, value::RawValue};
use sha2::{Digest as _, Sha256};
use steadfast_api::{
    CloudEventBody, CloudEventQuery, CreateJobRequest, CreateJobsRequest, JobBody,
};
use steadfast_core::{Payload, Traceparent, limits as core_limits};

use crate::{
    api::work::{
        create::RequestReader,
        create_jobs::{create_many, read_many, start_one},
    },
    app::App,
    extract::{Caller, Params, Writes, body},
    http::{Problem, Problems},
    metrics::ClientOperation,
};

const STRUCTURED: &str = "application/cloudevents+json";
const BATCH: &str = "application/cloudevents-batch+json";
/// Attributes that are not tags: fields of the job have them, or they say nothing about it.
const NO_TAGS: &[&str] = &[
    "specversion",
    "type",
    "queue",
    "priority",
    "delay",
    "traceparent",
    "tracestate",
];

/// Create a job from a CloudEvent, or up to 1,000 jobs from a batch.
///
/// In binary mode the attributes are headers (`ce-id`, `ce-source`, `ce-type`, …) and the body is the
/// data. In structured mode the body is the whole event; without `ce-specversion` so is plain JSON.
/// The job has the event's `type` as its kind, its data as payload, and its other attributes as tags.
/// `source` and `id` are the idempotency key: a repeated event creates no second job. The extension
/// attributes `queue`, `priority` and `delay` set these fields of the job.
#[utoipa::path(
    post, path = "/cloudevents", tag = "Jobs", operation_id = "receiveCloudEvents",
    params(CloudEventQuery),
    request_body(content(
        (CloudEventBody = "application/json", example = json!({
            "specversion": "1.0", "id": "4711", "source": "https://shop.example.com/orders",
            "type": "order-created", "subject": "order/17", "queue": "orders", "data": {"total": 99}
        })),
        (CloudEventBody = "application/cloudevents+json"),
        (Vec<CloudEventBody> = "application/cloudevents-batch+json"),
    )),
    responses(
        (status = 201, description = "The job, or the list of jobs of a batch", body = JobBody),
        (status = 200, description = "The existing job of this event", body = JobBody),
        Problems,
    )
)]
pub async fn receive(
    Writes { app, caller }: Writes,
    Params(query): Params<CloudEventQuery>,
    request: Request,
) -> Result<Response, Problem> {
    let _timer = app.metrics.time(ClientOperation::Send);
    let (parts, content) = request.into_parts();
    let headers = parts.headers.clone();
    let request = Request::from_parts(parts, content);
    let bytes = body::collect(request, app.settings.body_bytes_max).await?;
    let jobs = Jobs {
        app: &app,
        caller: &caller,
        query,
    };
    match essence(&headers).as_str() {
        BATCH => {
            body::check_depth(&bytes)?;
            jobs.of_batch(&bytes).await
        }
        media if media == STRUCTURED || is_plain(media, &headers) => {
            body::check_depth(&bytes)?;
            jobs.of_one(Event::of_json(&bytes)?).await
        }
        other if other.starts_with("application/cloudevents") => {
            let detail = format!(
                "the Content-Type of the body is {other:?}: must be {STRUCTURED}, {BATCH}, or that \
                 of the data with the attributes in ce- headers"
            );
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            Err(Problem::new(status, "not_json", detail))
        }
        _ => jobs.of_one(Event::of_headers(&headers, &bytes)?).await,
    }
}

/// Whether an event in structured mode has the type of any JSON, as clients without CloudEvents send
/// it: in binary mode there would be headers.
fn is_plain(media: &str, headers: &HeaderMap) -> bool {
    media == "application/json" && !headers.contains_key("ce-specversion")
}

/// Makes jobs of events, for one caller.
struct Jobs<'a> {
    app: &'a App,
    caller: &'a Caller,
    query: CloudEventQuery,
}

impl Jobs<'_> {
    fn reader(&self) -> RequestReader<'_> {
        RequestReader {
            app: self.app,
            caller: self.caller,
        }
    }

    async fn of_one(&self, event: Event) -> Result<Response, Problem> {
        let job = event.job(&self.query)?;
        let job = self.reader().job_or_schedule(job)?;
        start_one(self.app, self.caller, job).await
    }

    async fn of_batch(&self, bytes: &[u8]) -> Result<Response, Problem> {
        let events: Vec<&RawValue> = serde_json::from_slice(bytes).map_err(bad_json)?;
        let most = core_limits::BULK_JOBS_MAX;
        if events.is_empty() || events.len() > most {
            let detail = format!(
                "the batch contains {} events: must be 1 to {most}",
                events.len()
            );
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            return Err(Problem::new(status, "invalid", detail));
        }
        let jobs = events.iter().enumerate().map(|(index, event)| {
            let event = Event::of_json(event.get().as_bytes());
            let job = event.and_then(|event| event.job(&self.query));
            job.map_err(|problem| problem.within(&format!("[{index}]")))
        });
        let jobs = jobs.collect::<Result<Vec<_>, _>>()?;
        let requests = read_many(&self.reader(), CreateJobsRequest { jobs }, None)?;
        create_many(self.app, self.caller, requests).await
    }
}

/// An event in any mode.
#[derive(Debug)]
struct Event {
    /// Its attributes with the data's content type, as text.
    attributes: BTreeMap<String, String>,
    data: Payload,
}

impl Event {
    /// Structured mode: everything is in the body.
    fn of_json(bytes: &[u8]) -> Result<Self, Problem> {
        let fields = serde_json::from_slice::<BTreeMap<String, Box<RawValue>>>(bytes);
        let mut fields = fields.map_err(bad_json)?;
        let data = match (fields.remove("data"), fields.remove("data_base64")) {
            (Some(_), Some(_)) => {
                let detail = "data_base64 must be omitted if data is given";
                return Err(Problem::invalid("data_base64", detail));
            }
            (Some(data), None) => payload(data.get())?,
            (None, Some(base64)) => payload(base64.get())?,
            (None, None) => Payload::default(),
        };
        let mut attributes = BTreeMap::new();
        for (name, value) in fields {
            let text = match serde_json::from_str(value.get()).unwrap_or_default() {
                Value::String(text) => text,
                Value::Null => continue,
                Value::Array(_) | Value::Object(_) => {
                    let detail = format!("{name} must be text, a number or a boolean");
                    return Err(Problem::invalid(&name, detail));
                }
                other => other.to_string(),
            };
            attributes.insert(name, text);
        }
        Ok(Self { attributes, data })
    }

    /// Binary mode: attributes are headers, and the body is the data.
    fn of_headers(headers: &HeaderMap, bytes: &[u8]) -> Result<Self, Problem> {
        let mut attributes = BTreeMap::new();
        for (name, value) in headers {
            let Some(attribute) = name.as_str().strip_prefix("ce-") else {
                continue;
            };
            // Some clients send letters of Latin-1 as they are.
            let bytes = value.as_bytes();
            let text = std::str::from_utf8(bytes).map(str::to_owned);
            let text = text.unwrap_or_else(|_| bytes.iter().map(|it| char::from(*it)).collect());
            let text = percent_decode_str(&text)
                .decode_utf8()
                .ok()
                .map(Cow::into_owned);
            let text = text.ok_or_else(|| {
                Problem::invalid(
                    name.as_str(),
                    format!("{name} must be percent-encoded UTF-8"),
                )
            })?;
            attributes.insert(attribute.to_owned(), text);
        }
        let media = essence(headers);
        let data = data_of(&media, bytes)?;
        if !media.is_empty() {
            attributes.insert("datacontenttype".to_owned(), media);
        }
        Ok(Self { attributes, data })
    }

    fn job(mut self, query: &CloudEventQuery) -> Result<CreateJobRequest, Problem> {
        self.check()?;
        if query.kind.is_none() && self.get("type") == "http" {
            let detail = "an event cannot call a URL: its type must not be http; name a kind in the query string";
            return Err(Problem::invalid("type", detail));
        }
        let kind = self.take("type");
        let key = idempotency_key(self.get("source"), self.get("id"));
        // One that is wrong is none, as the standard says.
        let trace = self.get("traceparent");
        let trace = Some(trace.to_owned()).filter(|text| Traceparent::new(text).is_ok());
        let mut job = CreateJobRequest {
            kind: query.kind.clone().or(kind),
            idempotency_key: Some(key),
            tenant: query.tenant.clone(),
            traceparent: trace,
            queue: self.take("queue").or_else(|| query.queue.clone()),
            ..CreateJobRequest::default()
        };
        if let Some(priority) = self.take("priority") {
            let priority = priority.parse().map_err(|_| {
                Problem::invalid("priority", "priority must be a number from 0 to 9")
            })?;
            job.priority = Some(priority);
        }
        if let Some(delay) = self.take("delay") {
            // A duration as text, or a number of milliseconds.
            let delay = serde_json::from_str(&delay)
                .or_else(|_| serde_json::from_value(Value::String(delay)));
            let delay = delay.map_err(|error| {
                Problem::invalid("delay", format!("delay is no duration: {error}"))
            })?;
            job.delay = Some(delay);
        }
        job.payload = Some(self.data);
        let tags = self.attributes.into_iter();
        let tags = tags.filter(|(name, value)| is_tag(name, value));
        let tags = tags.map(|(name, value)| (name, cut(value)));
        job.tags = Some(tags.collect());
        Ok(job)
    }

    /// What the specification demands of each event.
    fn check(&self) -> Result<(), Problem> {
        let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let names = self.attributes.keys();
        for name in names {
            if name.is_empty() || !name.chars().all(is_letter) {
                let detail = "names of attributes must consist of lower-case letters and digits";
                return Err(Problem::invalid(name, detail));
            }
        }
        for name in ["specversion", "id", "source", "type"] {
            if self.get(name).is_empty() {
                let detail = format!(
                    "a CloudEvent requires {name}: as a field of the event, or as header ce-{name} \
                     if the body is the data"
                );
                let status = StatusCode::UNPROCESSABLE_ENTITY;
                return Err(Problem::new(status, "missing_field", detail).at(name));
            }
        }
        match self.get("specversion") {
            "1.0" => Ok(()),
            _ => Err(Problem::invalid("specversion", "specversion must be 1.0")),
        }
    }

    fn get(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }

    fn take(&mut self, name: &str) -> Option<String> {
        self.attributes.remove(name)
    }
}

/// Whether an attribute says something about the job.
fn is_tag(name: &str, value: &str) -> bool {
    let is_usual = name == "datacontenttype" && is_json(value);
    !value.is_empty() && !is_usual && !NO_TAGS.contains(&name)
}

fn cut(mut value: String) -> String {
    value.truncate(value.floor_char_boundary(core_limits::TAG_BYTES_MAX));
    value
}

/// Source and id. A source is a URI and has no space, so no two events share a key.
fn idempotency_key(source: &str, id: &str) -> String {
    let key = format!("{source} {id}");
    if key.len() <= core_limits::IDEMPOTENCY_KEY_BYTES_MAX {
        return key;
    }
    let digest = Sha256::digest(key.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// JSON as it is, text as a string, anything else as base64.
fn data_of(media: &str, bytes: &[u8]) -> Result<Payload, Problem> {
    if bytes.is_empty() {
        return Ok(Payload::default());
    }
    let text = std::str::from_utf8(bytes).ok();
    match text {
        Some(text) if media.is_empty() || is_json(media) => {
            body::check_depth(bytes)?;
            payload(text)
        }
        Some(text) if media.starts_with("text/") || media.ends_with("xml") => encode(text),
        _ => encode(&STANDARD.encode(bytes)),
    }
}

fn is_json(media: &str) -> bool {
    let media = media.split(';').next().unwrap_or_default().trim();
    media.eq_ignore_ascii_case("application/json") || media.ends_with("+json")
}

fn payload(json: &str) -> Result<Payload, Problem> {
    serde_json::from_str(json).map_err(bad_json)
}

fn encode(text: &str) -> Result<Payload, Problem> {
    Payload::encode(&text).map_err(|error| Problem::internal(&error))
}

fn bad_json(error: serde_json::Error) -> Problem {
    let detail = format!("the body is not a valid CloudEvent in JSON: {error}");
    Problem::new(StatusCode::BAD_REQUEST, "bad_json", detail)
}

/// The content type without its parameters.
fn essence(headers: &HeaderMap) -> String {
    let media = headers.get(header::CONTENT_TYPE);
    let media = media.and_then(|value| value.to_str().ok()).unwrap_or("");
    let essence = media.split(';').next().unwrap_or("").trim();
    essence.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_modes_read_the_same_event() {
        let json = br#"{"specversion":"1.0","id":"7","source":"/shop","type":"order","subject":"a b","n":1,"data":{"x":1.50}}"#;
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("ce-specversion", "1.0"),
            ("ce-id", "7"),
            ("ce-source", "/shop"),
            ("ce-type", "order"),
            ("ce-subject", "a%20b"),
            ("ce-n", "1"),
        ] {
            headers.insert(name, value.parse().unwrap());
        }
        let query = CloudEventQuery::default();
        let structured = Event::of_json(json).unwrap().job(&query).unwrap();
        let binary = Event::of_headers(&headers, br#"{"x":1.50}"#).unwrap();
        let binary = binary.job(&query).unwrap();
        assert_eq!(structured, binary);
        assert_eq!(structured.kind.as_deref(), Some("order"));
        assert_eq!(structured.idempotency_key.as_deref(), Some("/shop 7"));
        let tags = structured.tags.unwrap();
        let tags: Vec<_> = tags
            .iter()
            .map(|(name, value)| (&**name, &**value))
            .collect();
        let expected = [
            ("id", "7"),
            ("n", "1"),
            ("source", "/shop"),
            ("subject", "a b"),
        ];
        assert_eq!(tags, expected);
    }

    #[test]
    fn an_event_without_a_needed_attribute_is_refused_by_name() {
        for (json, field) in [
            (
                r#"{"id":"7","source":"/shop","type":"order"}"#,
                "specversion",
            ),
            (r#"{"specversion":"1.0","source":"/s","type":"o"}"#, "id"),
            (
                r#"{"specversion":"0.3","id":"7","source":"/s","type":"o"}"#,
                "specversion",
            ),
            (
                r#"{"specversion":"1.0","id":"7","source":"/s","type":"o","Up":"x"}"#,
                "Up",
            ),
            (
                r#"{"specversion":"1.0","id":"7","source":"/s","type":"o","x":[]}"#,
                "x",
            ),
            (
                r#"{"specversion":"1.0","id":"7","source":"/s","type":"o","delay":"soon"}"#,
                "delay",
            ),
            (
                r#"{"specversion":"1.0","id":"7","source":"/s","type":"o","priority":"high"}"#,
                "priority",
            ),
        ] {
            let event = Event::of_json(json.as_bytes());
            let refused = event.and_then(|event| event.job(&CloudEventQuery::default()));
            assert_eq!(refused.unwrap_err().field.as_deref(), Some(field), "{json}");
        }
    }

    #[test]
    fn data_that_is_no_json_becomes_text_or_base64() {
        for (media, bytes, stored) in [
            ("text/plain", b"a\"b".as_slice(), r#""a\"b""#),
            (
                "text/plain",
                &b"{".repeat(200),
                &format!("\"{}\"", "{".repeat(200)),
            ),
            ("application/xml", b"<a/>", r#""<a/>""#),
            ("application/octet-stream", b"\xff\x00", r#""/wA=""#),
            ("", b"[1]", "[1]"),
            ("application/json", b"", "null"),
        ] {
            assert_eq!(data_of(media, bytes).unwrap().as_str(), stored, "{media}");
        }
    }

    #[test]
    fn a_long_source_still_gives_each_event_a_key_of_its_own() {
        let long = "x".repeat(900);
        let keys = [idempotency_key(&long, "1"), idempotency_key(&long, "2")];
        assert_ne!(keys[0], keys[1]);
        assert!(keys[0].len() <= core_limits::IDEMPOTENCY_KEY_BYTES_MAX);
    }
}
