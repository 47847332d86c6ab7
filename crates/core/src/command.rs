//! What a person asks of a job, and what that does to it.

use std::{fmt, sync::Arc};

use crate::JobState::{Cancelled, Failed, Running, Succeeded, Waiting};
use crate::{
    EndReason, EventType, Guarantee, Job, JobId, JobProgress, NewJob, Payload, Priority,
    RetryPolicy, Subscriptions, Timestamp,
};

/// What a person asks of a job.
#[derive(Clone, Debug, PartialEq)]
pub enum JobCommand {
    /// Stop it: at once if it waits, as soon as it can if it runs.
    Cancel,
    /// Try a job that has ended once more, with a fresh retry budget.
    Retry { payload: Option<Payload> },
    /// Do not wait for `runAt`.
    RunNow,
    /// Change a job that waits.
    Edit(JobEdit),
    /// A dead letter that needs no further thought.
    Discard,
}

/// Changes to a job that waits; what is `None` stays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobEdit {
    pub payload: Option<Payload>,
    pub policy: Option<Arc<RetryPolicy>>,
    pub run_at: Option<Timestamp>,
    pub priority: Option<Priority>,
}

/// A command that makes no sense for the job as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub struct CommandRefusal {
    pub job: JobId,
    pub why: RefusalReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalReason {
    AlreadyEnded,
    Running,
    Waiting,
    Succeeded,
    NotADeadLetter,
    StartsAtMostOnce,
}

impl fmt::Display for CommandRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.why {
            RefusalReason::AlreadyEnded => "has already ended",
            RefusalReason::Running => "is running; cancel it first or wait for it to end",
            RefusalReason::Waiting => "has not ended; use run-now to start it early",
            RefusalReason::Succeeded => "has succeeded; create a new job to do it again",
            RefusalReason::NotADeadLetter => "is not a dead letter",
            RefusalReason::StartsAtMostOnce => {
                "is AT_MOST_ONCE and may have started; create a new job if it must run again"
            }
        };
        write!(f, "{} {why}", self.job)
    }
}

/// What a command made of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandResult {
    pub job: Job,
    /// New jobs that exist if and only if the change is written.
    pub outbox: Vec<NewJob>,
}

/// Decides what a command does to a job: the job as it then is, or why not.
pub fn on_command(
    job: Job,
    command: &JobCommand,
    subscriptions: &Subscriptions,
    now: Timestamp,
) -> Result<CommandResult, CommandRefusal> {
    let state = job.progress.state;
    job.allows(command)?;
    let job = changed(job, command, now);
    let is_cancelled = state != Cancelled && job.progress.state == Cancelled;
    let outbox = if is_cancelled {
        subscriptions.tell(&job, EventType::JobCancelled, now)
    } else {
        Vec::new()
    };
    Ok(CommandResult { job, outbox })
}

impl Job {
    /// Whether a command makes sense for the job as it stands.
    pub fn allows(&self, command: &JobCommand) -> Result<(), CommandRefusal> {
        let progress = &self.progress;
        let refusal = match (command, progress.state) {
            (JobCommand::Cancel, Waiting | Running) => None,
            (JobCommand::Cancel, _) => Some(RefusalReason::AlreadyEnded),

            (JobCommand::Retry { .. }, Waiting) => Some(RefusalReason::Waiting),
            (JobCommand::Retry { .. }, Running) => Some(RefusalReason::Running),
            (JobCommand::Retry { .. }, Succeeded) => Some(RefusalReason::Succeeded),
            (JobCommand::Retry { .. }, Failed | Cancelled) => {
                let may_have_started =
                    self.guarantee == Guarantee::AtMostOnce && progress.attempt > 0;
                may_have_started.then_some(RefusalReason::StartsAtMostOnce)
            }

            (JobCommand::RunNow | JobCommand::Edit(_), Waiting) => None,
            (JobCommand::RunNow | JobCommand::Edit(_), Running) => Some(RefusalReason::Running),
            (JobCommand::RunNow | JobCommand::Edit(_), _) => Some(RefusalReason::AlreadyEnded),

            (JobCommand::Discard, _) if progress.is_dead_letter() => None,
            (JobCommand::Discard, _) => Some(RefusalReason::NotADeadLetter),
        };
        refusal.map_or(Ok(()), |why| Err(CommandRefusal { job: self.id, why }))
    }
}

/// The job after a command that it allows.
fn changed(mut job: Job, command: &JobCommand, now: Timestamp) -> Job {
    let progress = &mut job.progress;
    match command {
        JobCommand::Cancel if progress.state == Running => progress.cancel_requested = true,
        JobCommand::Cancel => {
            progress.state = Cancelled;
            progress.finished_at = Some(now);
            progress.reason = Some(EndReason::Cancelled);
        }
        JobCommand::Retry { payload } => {
            job.progress = with_fresh_budget(job.progress, now);
            job.payload = payload.clone().unwrap_or(job.payload);
        }
        JobCommand::RunNow => progress.run_at = progress.run_at.min(now),
        JobCommand::Edit(edit) => {
            let edit = edit.clone();
            progress.run_at = edit.run_at.unwrap_or(progress.run_at);
            job.payload = edit.payload.unwrap_or(job.payload);
            job.policy = edit.policy.unwrap_or(job.policy);
            job.priority = edit.priority.unwrap_or(job.priority);
        }
        JobCommand::Discard => progress.resolved_at = Some(now),
    }
    job
}

/// A new retry budget over the same history: attempts and claims go on counting.
fn with_fresh_budget(progress: JobProgress, now: Timestamp) -> JobProgress {
    JobProgress {
        attempt: progress.attempt,
        attempts_before: progress.attempt,
        fence: progress.fence,
        failure: progress.failure,
        ..JobProgress::waiting(now)
    }
}
