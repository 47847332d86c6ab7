//! `steadfast jobs watch`: one job until it ends, or all jobs as they run.
//!
//! One job is polled, because the stream of events may miss some: those of other nodes begin about
//! a second after it was opened.

use std::time::Duration;

use serde_json::json;
use steadfast_api::{AttemptBody, JobBody, TenantQuery};
use steadfast_client::Event;
use steadfast_core::{BlockerKind, JobLabel};

use super::newest_attempts;
use crate::{
    exit::ExitError,
    limits::{WATCH_ATTEMPTS_MAX, WATCH_EVERY, WATCH_EXPLAIN_AFTER},
    output::print_line,
    server_args::Server,
    show::{
        attempt_name, attempt_result, brief, clock_time, describe_failure, now, relative,
        requeue_note, shorten, terminal_width,
    },
};

pub async fn one(server: &Server, id: &str) -> anyhow::Result<()> {
    let mut last_attempt = 0;
    let mut last_label = None;
    let mut ready_rounds = 0;
    loop {
        // The job first: an attempt that ends in between is printed in the next round.
        let job = server.fetch(server.client.get_job(id)).await?;
        for attempt in newest_attempts(server, id, WATCH_ATTEMPTS_MAX).await? {
            if attempt.attempt > last_attempt {
                last_attempt = attempt.attempt;
                print_attempt(server, &attempt)?;
            }
        }
        let has_ended = job.finished_at.is_some();
        let is_news = has_ended || last_attempt == 0 && last_label != Some(job.label);
        if is_news && !server.json {
            last_label = Some(job.label);
            print_label(&job)?;
        }
        ready_rounds += u32::from(job.label == JobLabel::Ready && last_attempt == 0);
        if ready_rounds == WATCH_EXPLAIN_AFTER && !server.json {
            print_missing_worker(server, id).await?;
        }
        match job.label {
            JobLabel::Succeeded => return Ok(()),
            _ if has_ended => return Err(ExitError::Reported.into()),
            _ => tokio::time::sleep(WATCH_EVERY).await,
        }
    }
}

/// Says once that no worker asks for the kind of a job that is ready.
async fn print_missing_worker(server: &Server, id: &str) -> anyhow::Result<()> {
    let explanation = server.fetch(server.client.explain_job(id)).await?;
    let blockers = explanation.blockers.iter();
    for blocker in blockers.filter(|it| it.kind == BlockerKind::NoWorker) {
        print_line!("  {}", blocker.sentence)?;
    }
    Ok(())
}

fn print_label(job: &JobBody) -> anyhow::Result<()> {
    let id = job.id;
    match (job.label, &job.explanation) {
        (JobLabel::Scheduled, _) => {
            print_line!("{id} is scheduled, {}", relative(job.run_at, now()))?;
        }
        (JobLabel::Failed, Some(reason)) => print_line!("{id} failed: {reason}")?,
        (label, _) if job.finished_at.is_some() => print_line!("{id} {label}")?,
        (label, _) => print_line!("{id} is {label}")?,
    }
    Ok(())
}

fn print_attempt(server: &Server, attempt: &AttemptBody) -> anyhow::Result<()> {
    if server.json {
        return Ok(print_line!("{}", serde_json::to_string(attempt)?)?);
    }
    let took = brief(Duration::from_millis(attempt.duration_ms));
    if attempt.requeued {
        print_line!("  requeued {}", requeue_note(attempt))?;
    }
    print_line!(
        "  {:<8} {:<8} {took:>6}  {}",
        attempt_name(attempt),
        attempt.status,
        attempt_result(attempt)
    )?;
    if let Some(explanation) = &attempt.explanation {
        print_line!("  {:26}→ {explanation}", "")?;
    }
    Ok(())
}

/// Prints events as they come, until the server stops or the reader closes the output.
pub async fn all(server: &Server, tenant: Option<String>) -> anyhow::Result<()> {
    let events = server.client.stream_events(&TenantQuery { tenant }).await;
    let mut events = events.map_err(|error| server.explain(error))?;
    while let Some(event) = events.next().await {
        print_event(server, &event.map_err(|error| server.explain(error))?)?;
    }
    let url = server.client.url();
    Err(ExitError::Unreachable(format!("{url} closed the event stream")).into())
}

fn print_event(server: &Server, event: &Event) -> anyhow::Result<()> {
    let data = &event.data;
    if server.json {
        let mut line = json!(data);
        line["event"] = event.name.as_str().into();
        return Ok(print_line!("{line}")?);
    }
    let name = event.name.strip_prefix("job.").unwrap_or(&event.name);
    let took = data
        .duration_ms
        .map_or(String::new(), |millis| brief(Duration::from_millis(millis)));
    let failure = data.failure.as_ref().map(describe_failure);
    let failure = failure
        .as_deref()
        .and_then(|failure| failure.lines().next());
    let next = data.next_run_at.map_or(String::new(), |next| {
        format!(" → {}", relative(next, now()))
    });
    let line = format!(
        "{}  {name:<9}  {}  {:<16}  attempt {:<3}  {took:>6}  {}{next}",
        clock_time(now()),
        data.job_id,
        data.kind.as_str(),
        data.attempt,
        failure.unwrap_or_default(),
    );
    let line = line.trim_end();
    match terminal_width() {
        Some(width) => print_line!("{}", shorten(line, width.into()))?,
        None => print_line!("{line}")?,
    }
    Ok(())
}
