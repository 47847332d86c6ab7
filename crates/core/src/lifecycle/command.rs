//! Commands of people, and how they change a job.

use std::{fmt, sync::Arc};

use crate::state::JobState::{Cancelled, Failed, Running, Succeeded, Waiting};
use crate::{
    job::{
        Job, JobExtras, JobProgress, NewJob, Priority,
        dependencies::{DependantDecision, blocked_run_at, requested_run_at},
        start_deadline::{ExpiryAction, StartDeadline},
        webhook::EventType,
    },
    policy::RetryPolicy,
    state::{EndReason, Guarantee},
    values::{Destination, JobId, Kind, Payload, Timestamp},
    webhook::delivery::Subscriptions,
};

/// A command for a job, by a person or by a role.
// Exhaustive on purpose: the simulation must know what each may change.
#[derive(Clone, Debug, PartialEq)]
pub enum JobCommand {
    /// Stop it: at once if it waits, as soon as its handler reacts if it runs.
    Cancel,
    /// Try a job that has ended once more, with a fresh retry budget.
    Retry {
        /// Replaces the payload; `None` keeps it.
        payload: Option<Payload>,
    },
    /// Do not wait for `runAt`.
    RunNow,
    /// Change a job that waits.
    Edit(JobEdit),
    /// Resolve a dead letter without trying it again.
    Discard,
    /// Delete a job that has ended, with everything that is stored of it. What remains of it here is
    /// a job that no longer counts as a dead letter; the store deletes it in the same transaction.
    Erase,
    /// End it because it did not start in time. The sweeper's own.
    Expire,
    /// Do what follows from the jobs that it waits for. The node's own.
    Follow(DependantDecision),
}

/// Changes to a job that waits. A field that is `None` stays as it is; write
/// `..JobEdit::default()` for the others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobEdit {
    /// The new input of the handler.
    pub payload: Option<Payload>,
    /// The new policy; a retry that is planned already keeps its time.
    pub policy: Option<Arc<RetryPolicy>>,
    /// The new time from which the job may be claimed.
    pub run_at: Option<Timestamp>,
    /// The new priority.
    pub priority: Option<Priority>,
}

/// A command that the job, as it stands, does not allow. Its `Display` names the cure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub struct CommandRefusal {
    /// The job that the command was for.
    pub job: JobId,
    /// Why the job does not allow it.
    pub reason: RefusalReason,
}

/// Why a job does not allow a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusalReason {
    /// The job has ended, and the command is for jobs that have not.
    AlreadyEnded,
    /// The job is running, and the command is for jobs that are not.
    Running,
    /// The job is waiting, and the command is for jobs that have ended.
    Waiting,
    /// The job has succeeded and cannot be retried.
    Succeeded,
    /// The job is not a dead letter, and only those can be discarded.
    NotADeadLetter,
    /// The job starts at most once and may have started, so it cannot be retried.
    StartsAtMostOnce,
    /// Another job has its unique key, so it cannot be retried.
    UniqueKeyTaken,
    /// The job may still start in time, has started, or has no such time.
    NotExpired,
    /// The job waits for other jobs.
    Blocked,
    /// The job waits for no other job, or has to go on waiting.
    NotBlocked,
    /// A job that it waits for has failed, so it would fail again at once.
    PrerequisiteFailed,
    /// The endpoint of the delivery was deleted, so there is nowhere to send it.
    EndpointDeleted,
    /// The changes do not fit the other fields of its policy.
    InvalidPolicy,
}

impl fmt::Display for CommandRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.reason {
            RefusalReason::AlreadyEnded => "has already ended",
            RefusalReason::Running => "is running; cancel it first or wait for it to end",
            RefusalReason::Waiting => "has not ended; use run-now to start it early",
            RefusalReason::Succeeded => "has succeeded; create a new job to do it again",
            RefusalReason::NotADeadLetter => "is not a dead letter",
            RefusalReason::StartsAtMostOnce => {
                "is AT_MOST_ONCE and may have started; create a new job if it must run again"
            }
            RefusalReason::UniqueKeyTaken => {
                "has a unique key that another job now uses; cancel that job or wait for it to end"
            }
            RefusalReason::NotExpired => "has not passed its start deadline",
            RefusalReason::NotBlocked => "does not wait for other jobs",
            RefusalReason::Blocked => {
                "waits for other jobs and cannot start before they have ended; cancel it, or retry or cancel those jobs"
            }
            RefusalReason::EndpointDeleted => {
                "is a delivery to an endpoint that was deleted; there is nowhere to send it"
            }
            RefusalReason::InvalidPolicy => {
                "has a retry policy that these changes do not fit; edit it with a whole policy"
            }
            RefusalReason::PrerequisiteFailed => {
                "would fail again immediately, because a job it waits for has failed; requeue that job first"
            }
        };
        write!(f, "{} {text}", self.job)
    }
}

/// A job after a command, for a store to write.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandResult {
    /// The job as it is to be stored.
    pub job: Job,
    /// New jobs that exist if and only if the change is written.
    pub outbox: Vec<NewJob>,
}

/// Decides what a command does to a job, or why the job does not allow it.
pub fn on_command(
    job: Job,
    command: &JobCommand,
    subscriptions: &Subscriptions,
    now: Timestamp,
) -> Result<CommandResult, CommandRefusal> {
    let state = job.progress.state;
    job.allows(command)?;
    if *command == JobCommand::Expire && !job.has_missed_start(now) {
        let reason = RefusalReason::NotExpired;
        return Err(CommandRefusal {
            job: job.id,
            reason,
        });
    }
    let mut job = apply(job, command, now);
    // Gates and health of its current address count.
    if let Some(destination) = subscriptions.destination_of(&job)
        && job.progress.state == Waiting
    {
        job.destination = Some(destination.clone());
    }
    let event = match job.progress.state {
        Cancelled if state != Cancelled => Some(EventType::JobCancelled),
        Failed if state != Failed => Some(EventType::JobFailed),
        _ => None,
    };
    let outbox = event.map_or(Vec::new(), |event| {
        subscriptions.deliveries_of(&job, event, now)
    });
    Ok(CommandResult { job, outbox })
}

/// The same for a job that was created to wait for others. `decision` follows from
/// their current states: a job that is retried while it has to wait waits again, and a job that would
/// fail immediately is not retried.
pub fn on_dependant_command(
    job: Job,
    command: &JobCommand,
    decision: DependantDecision,
    subscriptions: &Subscriptions,
    now: Timestamp,
) -> Result<CommandResult, CommandRefusal> {
    let id = job.id;
    let mut result = on_command(job, command, subscriptions, now)?;
    if !matches!(command, JobCommand::Retry { .. }) {
        return Ok(result);
    }
    let progress = &mut result.job.progress;
    match decision {
        DependantDecision::Wait => progress.run_at = blocked_run_at(progress.run_at),
        DependantDecision::Release => {}
        DependantDecision::Fail => {
            let reason = RefusalReason::PrerequisiteFailed;
            return Err(CommandRefusal { job: id, reason });
        }
    }
    Ok(result)
}

impl Job {
    /// Whether the job, as it stands, allows a command.
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

            (JobCommand::Erase, Waiting) => Some(RefusalReason::Waiting),
            (JobCommand::Erase, Running) => Some(RefusalReason::Running),
            (JobCommand::Erase, _) => None,

            (JobCommand::RunNow, Waiting) if self.is_blocked() => Some(RefusalReason::Blocked),
            (JobCommand::RunNow | JobCommand::Edit(_), Waiting) => None,
            (JobCommand::RunNow | JobCommand::Edit(_), Running) => Some(RefusalReason::Running),
            (JobCommand::RunNow | JobCommand::Edit(_), _) => Some(RefusalReason::AlreadyEnded),

            (JobCommand::Expire, Waiting) => None,
            (JobCommand::Expire, _) => Some(RefusalReason::NotExpired),

            (JobCommand::Follow(DependantDecision::Release | DependantDecision::Fail), Waiting)
                if self.is_blocked() =>
            {
                None
            }
            (JobCommand::Follow(_), _) => Some(RefusalReason::NotBlocked),

            (JobCommand::Discard, _) if progress.is_dead_letter() => None,
            (JobCommand::Discard, _) => Some(RefusalReason::NotADeadLetter),
        };
        let job = self.id;
        refusal.map_or(Ok(()), |reason| Err(CommandRefusal { job, reason }))
    }
}

/// The job after a command that it allows.
fn apply(mut job: Job, command: &JobCommand, now: Timestamp) -> Job {
    let is_blocked = job.is_blocked();
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
            job = with_payload(job, payload.as_ref());
            // A person has decided that it shall run.
            if let Some(extras) = &mut job.extras {
                extras.start_deadline = None;
            }
            job.extras = job.extras.filter(|extras| **extras != JobExtras::default());
        }
        JobCommand::RunNow => progress.run_at = progress.run_at.min(now),
        JobCommand::Edit(edit) => {
            let edit = edit.clone();
            let run_at = edit
                .run_at
                .map(|at| if is_blocked { blocked_run_at(at) } else { at });
            progress.run_at = run_at.unwrap_or(progress.run_at);
            job = with_payload(job, edit.payload.as_ref());
            job.policy = edit.policy.unwrap_or(job.policy);
            job.priority = edit.priority.unwrap_or(job.priority);
        }
        JobCommand::Discard => progress.resolved_at = Some(now),
        JobCommand::Erase if progress.is_dead_letter() => progress.resolved_at = Some(now),
        JobCommand::Erase => {}
        JobCommand::Expire => {
            let deadline = job.extras.as_ref().and_then(|extras| extras.start_deadline);
            let on_expiry = deadline.map_or(ExpiryAction::Fail, StartDeadline::on_expiry);
            progress.state = match on_expiry {
                ExpiryAction::Fail => Failed,
                ExpiryAction::Cancel => Cancelled,
            };
            progress.finished_at = Some(now);
            progress.reason = Some(EndReason::ExpiredUnstarted);
        }
        JobCommand::Follow(DependantDecision::Wait) => {}
        JobCommand::Follow(DependantDecision::Release) => {
            progress.run_at = requested_run_at(progress.run_at).max(now);
        }
        JobCommand::Follow(DependantDecision::Fail) => {
            progress.state = Failed;
            progress.finished_at = Some(now);
            progress.reason = Some(EndReason::PrerequisiteFailed);
        }
    }
    job
}

/// The job with another payload, if one is given: an HTTP job then calls the address that it names.
fn with_payload(mut job: Job, payload: Option<&Payload>) -> Job {
    let Some(payload) = payload else { return job };
    if job.kind == Kind::http()
        && let Some(destination) = Destination::of_call(payload)
    {
        job.destination = Some(destination);
    }
    job.payload = payload.clone();
    job
}

/// A new retry budget over the same history: attempts and claims go on counting.
fn with_fresh_budget(progress: JobProgress, now: Timestamp) -> JobProgress {
    JobProgress {
        attempt: progress.attempt,
        attempts_before: progress.attempt,
        fence: progress.fence,
        // A person has decided that it shall run again.
        failure: progress.failure.map(|it| it.with_questions(None)),
        ..JobProgress::waiting(now)
    }
}
