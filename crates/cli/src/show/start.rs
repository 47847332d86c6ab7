//! Why a job has not started.

use steadfast_api::{QueueExplanation, StartExplanation};
use steadfast_core::Timestamp;

use super::relative;

/// The blockers of a job, line by line.
pub fn start_lines(explanation: &StartExplanation, now: Timestamp) -> Vec<String> {
    let mut lines = Vec::new();
    let job = explanation.job;
    lines.push(
        match (explanation.claimable, explanation.blockers.is_empty()) {
            (true, true) => format!("{job}: nothing blocks it; the next claim takes it"),
            (true, false) => format!("{job} is ready, but has not started:"),
            (false, _) => format!("{job} is blocked:"),
        },
    );
    let kinds = explanation.blockers.iter().map(|it| it.kind.as_str().len());
    let width = kinds.fold(12, usize::max);
    for blocker in &explanation.blockers {
        let kind = blocker.kind.as_str();
        lines.push(format!("  {kind:<width$} {}", blocker.sentence));
    }
    if let Some(estimate) = explanation.estimate.as_ref().filter(|it| it.at > now) {
        let when = relative(estimate.at, now);
        lines.push(format!(
            "Expected start: {when} (based on {}).",
            estimate.basis
        ));
    }
    if let Some(action) = &explanation.action {
        lines.push(format!("To start it sooner: {action}"));
    }
    lines
}

/// Why the jobs of a queue do or do not start, line by line.
pub fn queue_lines(explanation: &QueueExplanation, now: Timestamp) -> Vec<String> {
    let QueueExplanation {
        ready,
        running,
        scheduled,
        ..
    } = explanation;
    let queue = &explanation.queue;
    let mut lines = vec![format!(
        "Queue {queue}: {ready} due, {running} running, {scheduled} due later"
    )];
    match explanation
        .next
        .as_ref()
        .filter(|next| !next.blockers.is_empty())
    {
        Some(next) => lines.extend(start_lines(next, now)),
        None => lines.push(explanation.sentence.clone()),
    }
    lines
}
