//! Events: what became of messages, told from the jobs and their attempts.

use axum::http::Uri;
use serde_json::{Value, json};
use steadfast_core::{Attempt, AttemptStatus, Job, JobState, Timestamp};
use steadfast_store::PageRequest;

use super::{Door, Reply, dead_letters::add_cursor, filter::Filter, view};
use crate::{http::Json, limits};

/// A page is that of some messages, newest first, with the events of each.
pub async fn list(door: Door, uri: Uri) -> Reply {
    let filter = Filter::read(&door, &uri)?;
    let page = filter.page(&door, limits::QSTASH_PAGE_MAX).await?;
    let mut events = Vec::new();
    for job in &page.items {
        let first = PageRequest::first(limits::QSTASH_ATTEMPTS_SHOWN_MAX);
        let attempts = door.app.client.attempts(job.id, first).await?.items;
        events.extend(events_of(job, &attempts));
    }
    events.retain(|event| {
        let state = filter.state.as_ref();
        state.is_none_or(|state| event["state"] == state.as_str())
    });
    events.sort_by_key(|event| std::cmp::Reverse(event["time"].as_i64()));
    let mut body = json!({"events": events});
    add_cursor(&mut body, page.next);
    Ok(Json(body))
}

/// The events of a message; `attempts` are its newest.
fn events_of(job: &Job, attempts: &[Attempt]) -> Vec<Value> {
    let Some(message) = view::message(job) else {
        return Vec::new();
    };
    let event = |time: Timestamp, state: &str, more: Value| {
        let mut event = message.clone();
        event.extend(view::fields(json!({
            "time": view::millis(time),
            "state": state,
            "retryDelayExpr": message.get("retryDelayExpression"),
        })));
        event.extend(view::fields(more));
        Value::Object(event)
    };
    let progress = &job.progress;
    let mut events = vec![event(job.created_at, "CREATED", json!({}))];
    for (index, attempt) in attempts.iter().enumerate() {
        let is_newest = index == 0;
        let is_over = is_newest && progress.state == JobState::Failed;
        let response = Value::Object(view::response(attempt));
        let state = match attempt.status {
            AttemptStatus::Success => "DELIVERED",
            AttemptStatus::Failed | AttemptStatus::Lost if is_over => "FAILED",
            AttemptStatus::Failed | AttemptStatus::Lost => "ERROR",
            AttemptStatus::Cancelled => "CANCELED",
            // Not counted as attempts.
            AttemptStatus::Snoozed | AttemptStatus::Released | AttemptStatus::Asked => continue,
        };
        events.push(event(attempt.started_at, "ACTIVE", json!({})));
        let mut more = response;
        if let Some(failure) = &attempt.failure {
            more["error"] = json!(failure.message);
        }
        events.push(event(attempt.finished_at, state, more));
        if state == "ERROR" {
            let next = is_newest && progress.state == JobState::Waiting;
            let next = next.then(|| view::millis(progress.run_at));
            let more = json!({"nextDeliveryTime": next});
            events.push(event(attempt.finished_at, "RETRY", more));
        }
    }
    match (progress.state, progress.started_at, progress.finished_at) {
        (JobState::Running, Some(at), _) => events.push(event(at, "ACTIVE", json!({}))),
        (JobState::Cancelled, _, Some(at))
            if attempts.first().map(|it| it.status) != Some(AttemptStatus::Cancelled) =>
        {
            events.push(event(at, "CANCELED", json!({})));
        }
        _ => {}
    }
    events
}
