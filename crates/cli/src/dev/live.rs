//! Attempts as they end, one line each.

use std::time::Duration;

use steadfast::{Client, Notice, Notices, job::PageRequest};
use steadfast_api::{AttemptBody, JobBody};
use steadfast_core::{AttemptStatus, ConfirmAnswer, explain};

use crate::{
    limits::HISTORY_DEFAULT,
    output::{mark_of, print_line},
    show::{
        attempt_name, attempt_result, brief, clock_time, job_summary, now, shorten, terminal_width,
    },
};

/// Prints until the node has stopped, or until the reader closes the output.
pub async fn print(client: Client, mut notices: Notices) {
    while let Some(notice) = notices.next().await {
        if notice.ended.is_none() {
            continue;
        }
        for line in attempt_lines(&client, &notice).await.unwrap_or_default() {
            let line = match terminal_width() {
                Some(width) => shorten(&line, width.into()),
                None => line,
            };
            if print_line!("{line}").is_err() {
                return;
            }
        }
    }
}

/// What ran and what follows, and below it what happened. None if the record is gone already:
/// there are more attempts than a person could read.
async fn attempt_lines(client: &Client, notice: &Notice) -> Option<[String; 2]> {
    let job = client.job(notice.job).await.ok()??;
    let page = PageRequest::first(HISTORY_DEFAULT);
    let history = client.attempts(notice.job, page).await.ok()?;
    let mut attempts = history.items.into_iter();
    let attempt = attempts.find(|attempt| attempt.attempt == notice.attempt)?;
    let mark = mark_of(
        attempt.status == AttemptStatus::Success || attempt.answer() == Some(ConfirmAnswer::Done),
    );
    let decision = explain::decision_brief(&attempt);
    let decision = decision.map_or(String::new(), |decision| format!(" → {decision}"));
    let attempt = AttemptBody::new(attempt, &notice.kind);
    let (id, now) = (job.id, now());
    let summary = job_summary(&JobBody::without_payload(job, now));
    let took = brief(Duration::from_millis(attempt.duration_ms));
    let result = attempt_result(&attempt);
    let result = result.lines().next().unwrap_or_default();
    let (time, name) = (clock_time(now), attempt_name(&attempt));
    Some([
        format!("{time} {mark} {summary}, {name}, {took}{decision}"),
        format!("            {id} {result}").trim_end().to_owned(),
    ])
}
