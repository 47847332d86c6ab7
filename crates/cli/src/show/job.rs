//! Jobs, in a list and alone.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use steadfast_api::{AttemptBody, JobBody};
use steadfast_core::{Cost, JobLabel, Kind, OnFailure, Timestamp, explain};

use super::{
    Table, brief, describe_failure, moment, now, plain_table, relative, shorten, stacked_lines,
    status_cell, terminal_width,
};
use crate::limits::{AFTER_SHOWN_MAX, SUMMARY_CHARS_MAX};

/// The name of a job for people: its `jobName`, its request, or its kind.
pub fn job_title(job: &JobBody) -> String {
    match (job.tags.get("jobName"), &job.http) {
        (Some(name), _) => name.clone(),
        (None, Some(http)) => format!("{} {}", http.method, http.url),
        (None, None) => job.kind.to_string(),
    }
}

/// What a job does, in a few words: `POST api.example.com/orders`, or its kind. A terminal has room
/// for its beginning; a file or another program gets all of it.
pub fn job_summary(job: &JobBody) -> String {
    summary_within(job, terminal_width())
}

fn summary_within(job: &JobBody, width: Option<u16>) -> String {
    let Some(http) = &job.http else {
        return delivery_summary(job).unwrap_or_else(|| job.kind.to_string());
    };
    let url = http.url.split(['?', '#']).next().unwrap_or_default();
    let place = url.split_once("://").map_or(url, |(_, rest)| rest);
    let place = place.trim_end_matches('/');
    let summary = format!("{} {place}", http.method);
    match width {
        Some(_) => shorten(&summary, SUMMARY_CHARS_MAX),
        None => summary,
    }
}

/// The event and the job of a delivery.
fn delivery_summary(job: &JobBody) -> Option<String> {
    let event = job
        .tags
        .get("event")
        .filter(|_| job.kind == Kind::webhook())?;
    let of = job.tags.get("job").map(|of| format!(" of {of}"));
    Some(format!("webhook {event}{}", of.unwrap_or_default()))
}

/// The column of what a job does.
const JOB: usize = 2; // not a limit: a place in the table
/// The column of its newest failure.
const FAILURE: usize = 6; // not a limit: a place in the table

/// A list of jobs, line by line.
pub fn job_lines(jobs: &[JobBody]) -> String {
    stacked_lines(job_table(jobs), [JOB, FAILURE])
}

fn job_table(jobs: &[JobBody]) -> Table {
    let now = now();
    let mut table = plain_table([
        "id",
        "label",
        "job",
        "queue",
        "retries",
        "when",
        "last failure",
    ]);
    for job in jobs {
        table.add_row(vec![
            job.id.to_string().into(),
            status_cell(job.label.as_str()),
            job_summary(job).into(),
            job.queue.as_str().into(),
            format!("{}/{}", job.retry_count, job.max_retries).into(),
            when(job, now).into(),
            last_failure(job).into(),
        ]);
    }
    table
}

/// When it runs next or ran last, or which kind of gate it waits at although it is due.
fn when(job: &JobBody, now: Timestamp) -> String {
    match job.waiting_for.first() {
        Some(blocker) => format!("waits: {}", blocker.kind),
        None if is_set_aside(job) => "never: corrupt".to_owned(),
        None => next_or_last_time(job).map_or(String::new(), |time| relative(time, now)),
    }
}

/// Whether the store has moved it to the end of time, because it cannot be read. `steadfast doctor`
/// and a command for this job say why.
fn is_set_aside(job: &JobBody) -> bool {
    matches!(job.label, JobLabel::Scheduled | JobLabel::Retrying) && job.run_at == Timestamp::MAX
}

/// Why it ended, and the first line of its newest failure.
fn last_failure(job: &JobBody) -> String {
    if job.label == JobLabel::Succeeded {
        return String::new();
    }
    if is_cancel_pending(job) {
        return "cancel requested".to_owned();
    }
    let failure = job.failure.as_ref().map(|failure| {
        let failure = describe_failure(failure);
        failure.lines().next().unwrap_or_default().to_owned()
    });
    match (&job.explanation, failure) {
        (Some(reason), Some(failure)) => format!("{reason}: {failure}"),
        (Some(reason), None) => reason.clone(),
        (None, failure) => failure.unwrap_or_default(),
    }
}

/// Whether a cancel waits for the running attempt to end.
pub fn is_cancel_pending(job: &JobBody) -> bool {
    job.cancel_requested && job.finished_at.is_none()
}

/// When it runs, or when it ended.
fn next_or_last_time(job: &JobBody) -> Option<Timestamp> {
    match job.label {
        JobLabel::Scheduled | JobLabel::Retrying | JobLabel::Ready => Some(job.run_at),
        _ => job.finished_at,
    }
}

/// Everything about one job, a fact per line.
pub fn job_facts(job: &JobBody, attempts: &[AttemptBody]) -> Vec<(&'static str, String)> {
    let now = now();
    let label = if is_cancel_pending(job) {
        format!("{}, cancel requested", job.label)
    } else {
        job.label.to_string()
    };
    let mut facts = vec![("label", label)];
    if let Some(http) = &job.http {
        facts.push(("target", format!("{} {}", http.method, http.url)));
    }
    facts.extend([
        ("kind", job.kind.to_string()),
        ("queue", format!("{}, priority {}", job.queue, job.priority)),
        ("tenant", job.tenant.to_string()),
    ]);
    let destination = job.destination.as_ref().filter(|_| job.http.is_none());
    facts.extend(destination.map(|origin| ("destination", origin.to_string())));
    let key = job.concurrency_key.as_ref();
    facts.extend(key.map(|key| ("concurrency key", key.to_string())));
    facts.extend([
        ("type", job.guarantee.to_string()),
        ("attempts", attempt_count(job, attempts)),
        ("created", moment(job.created_at, now)),
    ]);
    if let Some(time) = next_or_last_time(job) {
        let name = if job.finished_at.is_some() {
            "ended"
        } else {
            "runs"
        };
        facts.push((name, moment(time, now)));
    }
    let reason = job.reason.map(|reason| {
        let words = job
            .explanation
            .as_deref()
            .unwrap_or(explain::reason(reason));
        format!("{words} ({reason})")
    });
    let worker = job.worker.as_ref().filter(|_| job.finished_at.is_none());
    let payload = job.payload.as_ref().map(|it| it.as_str().to_owned());
    let start_before = job.start_before.map(|at| moment(at, now));
    let optional = [
        ("reason", reason),
        ("schedule", job.schedule_id.map(|id| id.to_string())),
        ("worker", worker.map(ToString::to_string)),
        ("note", job.note.clone()),
        ("unique", unique_text(job)),
        ("start before", start_before),
        ("confirm", confirm_text(job)),
        ("cost", amounts_text(&job.cost)),
        ("after", after_text(job)),
        ("dependants", job.dependants.map(|count| count.to_string())),
        ("batch", job.batch.map(|batch| batch.to_string())),
        ("payload", payload),
    ];
    for (name, value) in optional {
        facts.extend(
            value
                .filter(|value| value != "null")
                .map(|value| (name, value)),
        );
    }
    for (key, value) in &job.tags {
        facts.push(("tag", format!("{key}={value}")));
    }
    facts.push(("retry", explain::policy(job.retry.get())));
    facts
}

/// The first jobs that a job waits for, and the number of the others.
fn after_text(job: &JobBody) -> Option<String> {
    let after = job.after.as_ref()?;
    let some = after.iter().take(AFTER_SHOWN_MAX);
    let some = some.map(|other| format!("{} ({})", other.id, other.state));
    let mut texts: Vec<String> = some.collect();
    if after.len() > AFTER_SHOWN_MAX {
        texts.push(format!("{} more", after.len() - AFTER_SHOWN_MAX));
    }
    let on_failure = job.on_failure.map_or("wait", OnFailure::as_str);
    Some(format!("{}; if one fails: {on_failure}", texts.join(", ")))
}

/// The unique key of a job and its scope.
fn unique_text(job: &JobBody) -> Option<String> {
    let unique = job.unique.as_ref()?;
    Some(format!("{} while {}", unique.key, unique.scope))
}

/// `1,800 tokens, 0.02 usd`.
pub fn amounts_text(amounts: &BTreeMap<String, f64>) -> Option<String> {
    let amounts = amounts
        .iter()
        .map(|(unit, amount)| (unit.as_str(), *amount));
    let cost = Cost::new(amounts).ok().filter(|cost| !cost.is_empty());
    cost.map(|cost| cost.to_string())
}

/// How it asks whether an attempt took effect, and the open question.
fn confirm_text(job: &JobBody) -> Option<String> {
    let confirm = job.confirm.as_ref()?;
    let asks = match &confirm.url {
        Some(url) => format!("GET {url}"),
        None => "the worker's confirm function".to_owned(),
    };
    Some(match job.questions {
        None => asks,
        Some(0) => format!("{asks}; a question is open"),
        Some(asked) => format!("{asks}; a question is open, asked {asked} times so far"),
    })
}

/// The job of each run of a schedule, one fact per line.
pub fn template_facts(job: &JobBody) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if let Some(http) = &job.http {
        facts.push(("target", format!("{} {}", http.method, http.url)));
    }
    facts.push(("kind", job.kind.to_string()));
    facts.push(("queue", format!("{}, priority {}", job.queue, job.priority)));
    let payload = job.payload.as_ref().map(|payload| payload.as_str());
    if let Some(payload) = payload.filter(|payload| *payload != "null") {
        facts.push(("payload", payload.to_owned()));
    }
    if let Some(timeout) = job.timeout_ms {
        facts.push(("timeout", brief(Duration::from_millis(timeout))));
    }
    facts.push(("retry", explain::policy(job.retry.get())));
    facts
}

/// Attempts of the current retry budget: `3 of 4`, and `3 of 4 (7 in total, requeued once)`.
fn attempt_count(job: &JobBody, attempts: &[AttemptBody]) -> String {
    if job.attempt == 0 {
        return "none yet".to_owned();
    }
    let in_budget = job.attempt.saturating_sub(job.attempts_before);
    let count = format!("{in_budget} of {}", job.max_retries + 1);
    // Each retry budget begins after another number of attempts.
    let mut budgets: BTreeSet<u32> = attempts.iter().map(|it| it.attempts_before).collect();
    budgets.insert(job.attempts_before);
    budgets.remove(&0);
    let requeued = match budgets.len() {
        0 => return count,
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        times => format!("{times} times"),
    };
    format!("{count} ({} in total, requeued {requeued})", job.attempt)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use steadfast_core::Preset;

    use super::*;

    fn job(more: Value) -> JobBody {
        let mut job = json!({
            "id": "job_01900000000000000000000001", "tenant": "default", "queue": "default",
            "kind": "http", "label": "running", "type": "AT_LEAST_ONCE", "priority": 5,
            "attempt": 1, "attemptsBefore": 0, "retryCount": 0, "maxRetries": 3,
            "runAt": "2026-01-01T12:00:00Z", "createdAt": "2026-01-01T12:00:00Z",
            "retry": Preset::Http.policy(), "tags": {}, "leaseMs": 30000, "cancelRequested": false,
        });
        for (key, value) in more.as_object().unwrap() {
            job[key] = value.clone();
        }
        serde_json::from_value(job).unwrap()
    }

    #[test]
    fn a_job_is_summed_up_by_what_it_does() {
        let request = |url: &str| job(json!({"http": {"url": url, "method": "POST"}}));
        let summary = |url: &str| summary_within(&request(url), Some(80));
        let orders = "https://api.example.com/orders?key=secret#part";
        assert_eq!(summary(orders), "POST api.example.com/orders");
        assert_eq!(summary("http://127.0.0.1:9/"), "POST 127.0.0.1:9");
        let long = format!("https://example.com/{}", "x".repeat(100));
        assert_eq!(summary(&long).chars().count(), SUMMARY_CHARS_MAX);
        let whole = summary_within(&request(&long), None);
        assert_eq!(whole.chars().count(), "POST example.com/".len() + 100);
        assert_eq!(job_summary(&job(json!({"kind": "resize"}))), "resize");
    }

    #[test]
    fn a_cancel_that_waits_for_the_attempt_is_shown() {
        let waiting = job(json!({"cancelRequested": true}));
        let label = &job_facts(&waiting, &[])[0];
        assert_eq!(label.1, "running, cancel requested");
        assert_eq!(last_failure(&waiting), "cancel requested");
        let ended = json!({"cancelRequested": true, "label": "cancelled",
            "finishedAt": "2026-01-01T12:00:01Z"});
        assert_eq!(job_facts(&job(ended), &[])[0].1, "cancelled");
    }

    #[test]
    fn a_job_that_cannot_be_read_is_not_shown_with_the_end_of_time() {
        let corrupt = job(json!({"label": "scheduled", "runAt": Timestamp::MAX.to_string()}));
        assert_eq!(when(&corrupt, Timestamp::EPOCH), "never: corrupt");
        let later = job(json!({"label": "scheduled"}));
        assert!(when(&later, Timestamp::EPOCH).starts_with("in "));
    }
}
