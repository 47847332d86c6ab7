//! Jobs, in a list and alone.

use std::collections::BTreeMap;

use comfy_table::Table;
use serde::Deserialize;
use serde_json::Value;
use steadfast::{RetryPolicy, Timestamp};

use super::{FailureView, moment, now, plain_table, policy_sentence, relative, status_cell};

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobView {
    pub id: String,
    pub tenant: String,
    pub queue: String,
    pub kind: String,
    pub label: String,
    #[serde(rename = "type")]
    pub guarantee: String,
    pub priority: u8,
    pub attempt: u32,
    pub retry_count: u32,
    pub max_retries: u32,
    pub run_at: Timestamp,
    pub created_at: Timestamp,
    pub finished_at: Option<Timestamp>,
    pub schedule_id: Option<String>,
    pub retry: RetryPolicy,
    pub failure: Option<FailureView>,
    pub reason: Option<String>,
    pub http: Option<HttpView>,
    pub payload: Option<Value>,
    pub tags: BTreeMap<String, String>,
    pub note: Option<String>,
    pub worker: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct HttpView {
    pub url: String,
    pub method: String,
}

impl JobView {
    pub fn has_ended(&self) -> bool {
        matches!(self.label.as_str(), "succeeded" | "failed" | "cancelled")
    }

    /// What it is called where people look at it.
    pub fn title(&self) -> String {
        match (self.tags.get("jobName"), &self.http) {
            (Some(name), _) => name.clone(),
            (None, Some(http)) => format!("{} {}", http.method, http.url),
            (None, None) => self.kind.clone(),
        }
    }

    /// What there is to know of it in a few words.
    fn news(&self) -> String {
        let failure = self.failure.as_ref().map(|failure| {
            let line = failure.message.lines().next().unwrap_or_default();
            line.chars().take(NEWS_CHARS_MAX).collect::<String>()
        });
        match (self.label.as_str(), &self.reason, failure) {
            ("succeeded", ..) => String::new(),
            (_, Some(reason), Some(failure)) => format!("{reason}: {failure}"),
            (_, Some(reason), None) => reason.clone(),
            (_, None, failure) => failure.unwrap_or_default(),
        }
    }

    /// When something happened or will happen to it.
    fn when(&self, now: Timestamp) -> String {
        match (self.label.as_str(), self.finished_at) {
            ("scheduled" | "retrying" | "ready", _) => relative(self.run_at, now),
            (_, Some(finished)) => relative(finished, now),
            _ => String::new(),
        }
    }
}

const NEWS_CHARS_MAX: usize = 60;

pub fn job_table(jobs: &[JobView]) -> Table {
    let now = now();
    let mut table = plain_table([
        "id",
        "label",
        "kind",
        "queue",
        "retries",
        "when",
        "last failure",
    ]);
    for job in jobs {
        table.add_row(vec![
            job.id.as_str().into(),
            status_cell(&job.label),
            job.kind.as_str().into(),
            job.queue.as_str().into(),
            format!("{}/{}", job.retry_count, job.max_retries).into(),
            job.when(now).into(),
            job.news().into(),
        ]);
    }
    table
}

/// Everything about one job, a fact per line.
pub fn job_details(job: &JobView) -> Vec<(&'static str, String)> {
    let now = now();
    let mut facts = vec![
        ("label", job.label.clone()),
        ("kind", job.kind.clone()),
        ("queue", format!("{}, priority {}", job.queue, job.priority)),
        ("tenant", job.tenant.clone()),
        ("type", job.guarantee.clone()),
    ];
    if let Some(http) = &job.http {
        facts.insert(1, ("target", format!("{} {}", http.method, http.url)));
    }
    let attempts = match job.attempt {
        0 => "none yet".to_owned(),
        attempt => format!("{attempt} of {}", job.max_retries + 1),
    };
    facts.push(("attempts", attempts));
    facts.push(("created", moment(job.created_at, now)));
    match (job.label.as_str(), job.finished_at) {
        ("scheduled" | "retrying" | "ready", _) => facts.push(("runs", moment(job.run_at, now))),
        (_, Some(finished)) => facts.push(("ended", moment(finished, now))),
        _ => {}
    }
    let optional = [
        ("reason", job.reason.clone()),
        ("schedule", job.schedule_id.clone()),
        ("worker", job.worker.clone().filter(|_| !job.has_ended())),
        ("note", job.note.clone()),
    ];
    facts.extend(
        optional
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    let is_null = |payload: &&Value| !payload.is_null();
    if let Some(payload) = job.payload.as_ref().filter(is_null) {
        facts.push(("payload", payload.to_string()));
    }
    for (key, value) in &job.tags {
        facts.push(("tag", format!("{key}={value}")));
    }
    facts.push(("retry", policy_sentence(&job.retry)));
    facts
}
