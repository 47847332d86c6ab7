//! The work of a job in a few words.
//!
//! Lists of jobs come without payloads, which may be large. A page reads those of its rows that have
//! nothing else to tell them apart, all with one query.

use serde_json::{Map, Value};
use steadfast_core::{Job, Kind, Payload, WebhookTarget};
use steadfast_store::JobDetail;

use crate::{app::App, dashboard::parts::format::shorten, extract::Caller, limits};

/// The first cell of a row.
#[derive(Debug, PartialEq, Eq)]
pub struct Summary {
    /// The name of the job, its request, its event, or its kind.
    pub title: String,
    /// Distinguishes it from others with the same title.
    pub detail: String,
}

/// Parts of names whose values are not repeated in lists.
const SECRET_NAMES: [&str; 6] = ["auth", "key", "pass", "secret", "signature", "token"];

impl Summary {
    pub fn of(job: &Job) -> Self {
        let work = work(job);
        match job.tags.get("jobName") {
            Some(name) => Self {
                title: shorten(name, limits::SUMMARY_CHARS_MAX),
                detail: work.title,
            },
            None => work,
        }
    }
}

fn work(job: &Job) -> Summary {
    let titled = |title: &str| Summary {
        title: shorten(title, limits::SUMMARY_CHARS_MAX),
        detail: String::new(),
    };
    if job.kind == Kind::http()
        && let Some(request) = request_line(&job.payload)
    {
        return titled(&request);
    }
    if job.kind == Kind::webhook()
        && let Some(event) = job.tags.get("event")
    {
        let about = job.tags.get("job").map(|id| format!("about {id}"));
        return Summary {
            detail: about.unwrap_or_default(),
            ..titled(&format!("{event} → {}", receiver(job)))
        };
    }
    let tags = tags(job);
    Summary {
        title: shorten(job.kind.as_str(), limits::SUMMARY_CHARS_MAX),
        detail: match tags.is_empty() {
            true => payload_fields(&job.payload),
            false => tags,
        },
    }
}

/// The tags that people chose: they are there to find a job by.
fn tags(job: &Job) -> String {
    let chosen = job.tags.iter().filter(|(name, _)| *name != "jobName");
    let tags = chosen.map(|(name, value)| {
        let value = shorten(value, limits::SUMMARY_VALUE_CHARS_MAX);
        format!("{name} {value}")
    });
    let tags: Vec<String> = tags.take(limits::SUMMARY_FIELDS_MAX).collect();
    shorten(&tags.join(", "), limits::SUMMARY_CHARS_MAX)
}

/// Reads the payloads of listed jobs that need them for their summary. A summary is not worth an
/// error: without its payload a job is its kind.
pub async fn read_payloads(app: &App, caller: &Caller, jobs: &mut [Job]) {
    if !caller.sees_payloads() {
        return;
    }
    let needs_payload = |job: &Job| !job.kind.is_call() && job.tags.is_empty();
    let needing: Vec<&mut Job> = jobs.iter_mut().filter(|job| needs_payload(job)).collect();
    let ids: Vec<_> = needing.iter().map(|job| job.id).collect();
    if ids.is_empty() {
        return;
    }
    let detail = JobDetail::ShortPayload {
        bytes_max: limits::SUMMARY_PAYLOAD_BYTES_MAX,
    };
    let Ok(found) = app.node.store().get_jobs(ids, detail).await else {
        return;
    };
    for (job, found) in needing.into_iter().zip(found) {
        if let Some(found) = found {
            job.payload = found.payload;
        }
    }
}

/// Where a delivery goes.
fn receiver(job: &Job) -> String {
    let target = job.webhook.as_ref().map(|webhook| &webhook.target);
    match (target, &job.destination) {
        (Some(WebhookTarget::Url { url, .. }), _) => place(url).to_owned(),
        (_, Some(destination)) => place(destination.as_str()).to_owned(),
        (Some(WebhookTarget::Endpoint { endpoint }), None) => endpoint.to_string(),
        (Some(WebhookTarget::Callbacks { .. }), None) => "callbacks".to_owned(),
        (None, None) => String::new(),
    }
}

/// As `POST api.example.com/orders`, if the payload is a request.
fn request_line(payload: &Payload) -> Option<String> {
    let request = object(payload)?;
    let url = request.get("url")?.as_str()?;
    let method = request.get("method").and_then(Value::as_str);
    Some(format!("{} {}", method.unwrap_or("POST"), place(url)))
}

/// Host and path of a URL. What follows them may hold secrets.
fn place(url: &str) -> &str {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let place = url.split_once("://").map_or(url, |(_, rest)| rest);
    place.trim_end_matches('/')
}

fn object(payload: &Payload) -> Option<Map<String, Value>> {
    let text = payload.as_str();
    // A row is not worth reading more.
    if text.len() > limits::SUMMARY_PAYLOAD_BYTES_MAX {
        return None;
    }
    serde_json::from_str(text).ok()
}

/// The first short values of a payload with their names: `order 4711, format pdf`.
fn payload_fields(payload: &Payload) -> String {
    let fields = object(payload).unwrap_or_default();
    let shown = fields.iter().filter_map(|(name, value)| {
        let lower = name.to_lowercase();
        if SECRET_NAMES.iter().any(|secret| lower.contains(secret)) {
            return None;
        }
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        let line = value.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = shorten(&line, limits::SUMMARY_VALUE_CHARS_MAX);
        (!line.is_empty()).then(|| format!("{name} {line}"))
    });
    let shown: Vec<String> = shown.take(limits::SUMMARY_FIELDS_MAX).collect();
    shorten(&shown.join(", "), limits::SUMMARY_CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(json: &str) -> Payload {
        Payload::from_json(json).unwrap()
    }

    #[test]
    fn a_request_summary_leaves_out_possible_secrets() {
        let line = |json: &str| request_line(&payload(json));
        let post = r#"{"url": "https://api.example.com/orders?token=x#y"}"#;
        assert_eq!(line(post).unwrap(), "POST api.example.com/orders");
        let get = r#"{"url": "http://127.0.0.1:9/", "method": "GET"}"#;
        assert_eq!(line(get).unwrap(), "GET 127.0.0.1:9");
        assert_eq!(line(r#"{"order": 1}"#), None);
        assert_eq!(line("[]"), None);
    }

    #[test]
    fn a_payload_summary_has_short_values_and_no_secrets() {
        let fields = |json: &str| payload_fields(&payload(json));
        let order = r#"{"apiKey": "x", "cart": [1], "order": 4711, "to": "a  b", "z": true}"#;
        assert_eq!(fields(order), "order 4711, to a b");
        assert_eq!(fields("null"), "");
        let long = format!(r#"{{"text": "{}"}}"#, "x".repeat(500));
        assert!(fields(&long).ends_with('…'));
        let large = format!(r#"{{"a": 1, "b": "{}"}}"#, "x".repeat(20_000));
        assert_eq!(fields(&large), "", "too large to read for a row");
    }
}
