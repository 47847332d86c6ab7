//! The fields of a job in a form: how a job fills them, and the request that they make. A job alone
//! has them, and the job that each run of a schedule is.
//!
//! The values of headers are secrets, so a form that is filled from a job holds them masked; those
//! that come back masked are taken from that job.

use std::collections::BTreeMap;

use serde_json::value::{RawValue, to_raw_value};
use steadfast_core::{Job, Kind, Payload, duration};

use crate::{
    dashboard::{
        page::Fields,
        parts::{
            json_text::indented,
            payload_view::{self, RawFields},
        },
    },
    http::Problem,
};

/// The default is the first.
const METHODS: [&str; 7] = ["POST", "GET", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

/// Each method, and whether it is chosen.
pub fn methods(fields: &Fields) -> Vec<(&'static str, bool)> {
    let chosen = fields.value("method");
    METHODS.map(|method| (method, method == chosen)).to_vec()
}

/// Fields of the form that are texts in the request under the same name.
const TEXTS: [&str; 11] = [
    "type",
    "queue",
    "tenant",
    "delay",
    "runAt",
    "timeout",
    "idempotencyKey",
    "concurrencyKey",
    "destination",
    "jobName",
    "startBefore",
];

/// The form of a job like this one. What was there to make that one unique stays behind.
pub fn fields_of_copy(job: &Job) -> Fields {
    let mut fields = vec![
        ("like", job.id.to_string()),
        ("queue", job.queue.to_string()),
        ("tenant", job.tenant.to_string()),
        ("priority", job.priority.get().to_string()),
        ("retry", pretty(&*job.policy)),
        ("type", job.guarantee.to_string()),
    ];
    if let Some(timeout) = job.timeout {
        fields.push(("timeout", duration::format(timeout)));
    }
    if let Some(key) = &job.concurrency_key {
        fields.push(("concurrencyKey", key.to_string()));
    }
    let tags = job.tags.iter().filter(|(name, _)| *name != "jobName");
    let tags: Vec<String> = tags
        .map(|(name, value)| format!("{name}:{value}"))
        .collect();
    fields.push(("tags", tags.join("\n")));
    if let Some(name) = job.tags.get("jobName") {
        fields.push(("jobName", name.clone()));
    }
    let payload = payload_view::editable(&job.kind, &job.payload);
    if job.kind == Kind::http() {
        fields.extend(request_fields(&payload));
    } else {
        fields.push(("kind", job.kind.to_string()));
        fields.push(("payload", payload));
        if let Some(destination) = &job.destination {
            fields.push(("destination", destination.to_string()));
        }
    }
    fields.into_iter().collect()
}

/// The parts of a request, which has its headers masked already.
fn request_fields(payload: &str) -> Vec<(&'static str, String)> {
    let request = serde_json::from_str::<RawFields>(payload).unwrap_or_default();
    let mut fields = Vec::new();
    for name in ["url", "method"] {
        let text = request.get(name).map(|it| serde_json::from_str(it.get()));
        if let Some(Ok(text)) = text {
            fields.push((name, text));
        }
    }
    let headers = request.get("headers").map(|it| it.get());
    let headers = headers.and_then(|it| serde_json::from_str::<BTreeMap<String, String>>(it).ok());
    if let Some(headers) = headers {
        let lines = headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}"));
        fields.push(("headers", lines.collect::<Vec<_>>().join("\n")));
    }
    let body = request.get("body").map(|it| it.get());
    let body = body.filter(|it| *it != "null").and_then(indented);
    fields.extend(body.map(|body| ("body", body)));
    fields
}

pub fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// The request as the API reads it. JSON that was typed stays as it was typed.
pub fn request_body(form: &Fields, copied: Option<&Job>) -> Result<RawFields, Problem> {
    let mut body = RawFields::new();
    for name in TEXTS {
        if let Some(text) = form.get(name) {
            insert(&mut body, name, raw(&text)?);
        }
    }
    for name in ["priority", "maxRetries"] {
        if let Some(text) = form.get(name) {
            let number: u32 = text
                .parse()
                .map_err(|_| Problem::invalid(name, format!("{name} must be a number")))?;
            insert(&mut body, name, raw(&number)?);
        }
    }
    if let Some(text) = form.get("retry") {
        let policy = match text.starts_with('{') {
            true => typed("retry", text)?,
            false => raw(&text)?,
        };
        insert(&mut body, "retry", policy);
    }
    let tags = tags(form.value("tags"))?;
    if !tags.is_empty() {
        insert(&mut body, "tags", raw(&tags)?);
    }
    if form.get("url").is_some() {
        if form.get("kind").is_some() {
            let detail = "set either a URL or a kind, not both";
            return Err(Problem::invalid("kind", detail));
        }
        insert(&mut body, "kind", raw(&Kind::http())?);
        let payload = http_payload(form, copied)?;
        insert(&mut body, "payload", typed("payload", payload.as_str())?);
        return Ok(body);
    }
    let Some(kind) = form.get("kind") else {
        let detail = "a job needs a URL, or a kind for workers";
        return Err(Problem::invalid("url", detail));
    };
    insert(&mut body, "kind", raw(&kind)?);
    if let Some(payload) = form.get("payload") {
        let stored = copied.filter(|job| job.kind != Kind::http());
        let stored = stored.map(|job| job.payload.as_str());
        insert(
            &mut body,
            "payload",
            typed_over("payload", payload, stored)?,
        );
    }
    Ok(body)
}

/// The request that an HTTP job sends, with the values that were masked.
fn http_payload(form: &Fields, copied: Option<&Job>) -> Result<Payload, Problem> {
    let mut request = RawFields::new();
    for name in ["url", "method"] {
        if let Some(text) = form.get(name) {
            insert(&mut request, name, raw(&text)?);
        }
    }
    let headers = headers(form.value("headers"))?;
    if !headers.is_empty() {
        insert(&mut request, "headers", raw(&headers)?);
    }
    let none = Payload::default();
    let stored = copied.filter(|job| job.kind == Kind::http());
    let stored = stored.map_or(&none, |job| &job.payload);
    if let Some(text) = form.get("body") {
        let stored = stored.decode::<RawFields>().unwrap_or_default();
        let stored = stored.get("body").map(|it| it.get());
        insert(&mut request, "body", typed_over("body", text, stored)?);
    }
    let text = serde_json::to_string(&request).unwrap_or_default();
    Ok(payload_view::unmask(&Kind::http(), stored, &text)?)
}

pub fn insert(fields: &mut RawFields, name: &str, value: Box<RawValue>) {
    fields.insert(name.to_owned(), value);
}

pub fn raw(value: &impl serde::Serialize) -> Result<Box<RawValue>, Problem> {
    to_raw_value(value).map_err(|error| Problem::invalid("form", error.to_string()))
}

pub fn typed(name: &str, text: &str) -> Result<Box<RawValue>, Problem> {
    RawValue::from_string(text.to_owned())
        .map_err(|error| Problem::invalid(name, format!("{name} must be JSON: {error}")))
}

/// What was typed, or what is stored if it is shown as this text: that may be signed to the byte.
fn typed_over(name: &str, text: &str, stored: Option<&str>) -> Result<Box<RawValue>, Problem> {
    let text = text.replace("\r\n", "\n");
    let stored = stored.filter(|it| indented(it).is_some_and(|shown| shown == text));
    typed(name, stored.unwrap_or(&text))
}

/// One `name: value` in each line.
fn headers(text: &str) -> Result<BTreeMap<String, String>, Problem> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let headers = lines.map(|line| {
        let (name, value) = line.split_once(':').ok_or_else(|| {
            // The line may be a secret that lost its name.
            Problem::invalid("headers", "each header line must be name: value")
        })?;
        Ok((name.trim().to_owned(), value.trim().to_owned()))
    });
    headers.collect()
}

/// One `name:value` in each line.
fn tags(text: &str) -> Result<BTreeMap<String, String>, Problem> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let tags = lines.map(|line| {
        let (name, value) = line.split_once(':').ok_or_else(|| {
            let detail = format!("tag {line:?} must be name:value, such as order:4711");
            Problem::invalid("tags", detail)
        })?;
        Ok((name.trim().to_owned(), value.trim().to_owned()))
    });
    tags.collect()
}
