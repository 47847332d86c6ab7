//! The one brain: what follows an attempt, and what a command does to a job.
//!
//! Success, error, panic, timeout, lost lease and shutdown all pass through [`after_attempt`];
//! everything a person asks for passes through [`on_command`]. Nothing else in the product
//! decides a state: stores write what these two return.

use std::{fmt, sync::Arc, time::Duration};

use crate::JobState::{Cancelled, Failed, Running, Succeeded, Waiting};
use crate::{
    Attempt, AttemptStatus, DecidedBy, Decision, Dice, EndReason, EndedAttempt, EventType, Failure,
    FailureClass, Fence, Guarantee, Job, JobId, JobProgress, NewJob, Outcome, Payload, Priority,
    RetryPolicy, RuleAction, Subscriptions, Tally, Timestamp, failure::shortened, limits,
    policy::DelayInput,
};

/// What the store is told to write after an attempt: all of it, or nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Transition {
    pub job: JobId,
    pub guard: Guard,
    pub to: JobProgress,
    pub record: Option<Attempt>,
    /// New jobs that exist if and only if this transition does.
    pub outbox: Vec<NewJob>,
    /// What this adds to the counters.
    pub tally: Tally,
}

/// What must still be true of the stored job for a transition to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The job is running under this claim.
    pub fence: Fence,
    /// A request to cancel was known when this was decided.
    pub cancel_requested: bool,
    /// The lease has run out, and was not renewed meanwhile.
    pub lease_expired: bool,
}

/// Decides what follows an attempt, and whom to tell.
pub fn after_attempt(
    ended: &EndedAttempt,
    subscriptions: &Subscriptions,
    dice: Dice,
) -> Transition {
    let mut transition = decide(ended, dice);
    let event = match transition.to.state {
        Succeeded => Some(EventType::JobSucceeded),
        Failed => Some(EventType::JobFailed),
        Cancelled => Some(EventType::JobCancelled),
        // A snooze or a release is no news.
        Waiting if is_failure(&transition) => Some(EventType::JobRetrying),
        Waiting | Running => None,
    };
    if let Some(event) = event
        && subscriptions.wants(&ended.job, event)
    {
        let mut job = Job::clone(&ended.job);
        job.progress = transition.to.clone();
        transition
            .outbox
            .extend(subscriptions.tell(&job, event, ended.at));
    }
    transition
}

fn is_failure(transition: &Transition) -> bool {
    let record = transition.record.as_ref();
    record.is_some_and(|record| record.failure.is_some())
}

fn decide(ended: &EndedAttempt, dice: Dice) -> Transition {
    let verdict = match &ended.outcome {
        Outcome::Success { .. } => Verdict::Succeed,
        Outcome::Failure { failure, .. } => retry_or_give_up(ended, bounded(failure), dice),
        Outcome::Lost => lost(ended, dice),
        Outcome::Snoozed(delay) => snoozed(ended, *delay, dice),
        Outcome::Cancelled { message } => {
            let failure = Failure::new(FailureClass::named("cancelled"), message);
            Verdict::End(EndReason::Cancelled, Some(failure))
        }
        Outcome::Released { started } => released(ended, *started),
    };
    verdict.transition(ended)
}

/// The fields of a failure are anybody's to fill.
fn bounded(failure: &Failure) -> Failure {
    let mut failure = failure.clone();
    failure.message = shortened(failure.message, limits::MESSAGE_BYTES_MAX);
    failure.retry_after = failure
        .retry_after
        .map(|asked| asked.min(limits::RETRY_AFTER_MAX));
    failure
}

enum Verdict {
    Succeed,
    /// Wait for another attempt because this one failed.
    Retry(Failure, Decision, Timestamp),
    /// Wait again, as if this attempt had not been.
    Uncount(DecidedBy, Timestamp),
    End(EndReason, Option<Failure>),
}

/// The order of these checks is part of the contract: the first that applies decides.
fn retry_or_give_up(ended: &EndedAttempt, failure: Failure, dice: Dice) -> Verdict {
    let EndedAttempt { job, at: now, .. } = ended;
    let matched = matching_rule(job, &failure);
    let then = matched.map(|index| job.policy.rules()[index].then);
    let progress = &job.progress;
    let give_up = |reason| Verdict::End(reason, Some(failure.clone()));

    if job.guarantee == Guarantee::AtMostOnce {
        return give_up(EndReason::AtMostOnce);
    }
    if progress.cancel_requested {
        return give_up(EndReason::Cancelled);
    }
    if then == Some(RuleAction::Fail) {
        return give_up(EndReason::Rule);
    }
    if then.is_none() && failure.is_permanent() {
        return give_up(EndReason::NonRetryable);
    }
    if progress.retries_used() >= job.policy.max_retries() {
        return give_up(EndReason::Exhausted);
    }
    let first_started_at = progress.first_started_at.unwrap_or(*now);
    let elapsed = now.since(first_started_at);
    if job.policy.max_elapsed().is_some_and(|most| elapsed >= most) {
        return give_up(EndReason::Expired);
    }

    let input = DelayInput {
        retry: progress.retries_used().saturating_add(1),
        previous: progress.last_delay,
        retry_after: failure.retry_after,
        fixed_by_rule: match then {
            Some(RuleAction::RetryAfter(delay)) => Some(delay),
            _ => None,
        },
    };
    let delay = job.policy.retry_delay(input, dice);
    let run_at = now.plus(delay.jittered);
    let decision = Decision {
        decided_by: match then {
            Some(_) => DecidedBy::Rule,
            None => DecidedBy::Policy,
        },
        matched,
        delay: Some(delay),
        next_run_at: Some(run_at),
    };
    Verdict::Retry(failure, decision, run_at)
}

fn matching_rule(job: &Job, failure: &Failure) -> Option<usize> {
    let rules = job.policy.rules();
    rules.iter().position(|rule| rule.matches(failure))
}

fn lost(ended: &EndedAttempt, dice: Dice) -> Verdict {
    let worker = ended.job.progress.worker.as_ref();
    let message = match worker {
        Some(worker) => format!("the lease of {worker} ran out; it may have died"),
        None => "the lease ran out; its holder may have died".to_owned(),
    };
    let failure = Failure::new(FailureClass::LOST, message);
    match ended.job.guarantee {
        Guarantee::AtMostOnce => Verdict::End(EndReason::OutcomeUnknown, Some(failure)),
        Guarantee::AtLeastOnce => retry_or_give_up(ended, failure, dice),
    }
}

fn snoozed(ended: &EndedAttempt, delay: Duration, dice: Dice) -> Verdict {
    let EndedAttempt { job, at: now, .. } = ended;
    if job.guarantee == Guarantee::AtMostOnce {
        let message = "snoozed, but a job that starts at most once cannot start again";
        let failure = Failure::new(FailureClass::ERROR, message);
        return retry_or_give_up(ended, failure, dice);
    }
    if job.progress.cancel_requested {
        return Verdict::End(EndReason::Cancelled, None);
    }
    if job.progress.snoozes >= limits::SNOOZES_MAX {
        let message = format!("snoozed more than {} times", limits::SNOOZES_MAX);
        let failure = Failure::new(FailureClass::ERROR, message);
        return retry_or_give_up(ended, failure, dice);
    }
    let run_at = now.plus(delay.min(limits::DELAY_MAX));
    Verdict::Uncount(DecidedBy::Snoozed, run_at)
}

fn released(ended: &EndedAttempt, started: bool) -> Verdict {
    let job = &ended.job;
    if started && job.guarantee == Guarantee::AtMostOnce {
        let message = "the node stopped before the attempt ended";
        let failure = Failure::new(FailureClass::LOST, message);
        return Verdict::End(EndReason::OutcomeUnknown, Some(failure));
    }
    if job.progress.cancel_requested {
        return Verdict::End(EndReason::Cancelled, None);
    }
    // The old time keeps its place in line.
    Verdict::Uncount(DecidedBy::Released, job.progress.run_at)
}

impl Verdict {
    fn transition(self, ended: &EndedAttempt) -> Transition {
        let EndedAttempt {
            job,
            outcome,
            at: now,
            ..
        } = ended;
        let mut to = job.progress.clone();
        to.lease_until = None;
        to.worker = None;
        to.cancel_requested = false;

        let (failure, decision) = match self {
            Self::Succeed => {
                to.state = Succeeded;
                to.finished_at = Some(*now);
                to.failure = None;
                (None, None)
            }
            Self::Retry(failure, decision, run_at) => {
                to.state = Waiting;
                to.run_at = run_at;
                to.last_delay = decision.delay.as_ref().map(|delay| delay.jittered);
                (Some(failure), Some(decision))
            }
            Self::Uncount(rule, run_at) => {
                to.state = Waiting;
                to.run_at = run_at;
                uncount(&mut to);
                to.snoozes += u32::from(rule == DecidedBy::Snoozed);
                (None, Some(decided(rule, Some(run_at))))
            }
            Self::End(reason, failure) => {
                to.state = match reason {
                    EndReason::Cancelled => Cancelled,
                    _ => Failed,
                };
                to.finished_at = Some(*now);
                to.reason = Some(reason);
                if *outcome == (Outcome::Released { started: false }) {
                    uncount(&mut to);
                }
                let mut decision = decided(reason.into(), None);
                if reason == EndReason::Rule {
                    decision.matched = failure.as_ref().and_then(|f| matching_rule(job, f));
                }
                (failure, Some(decision))
            }
        };
        to.failure = failure.clone().or(to.failure);
        let record = record(ended, failure, decision);
        Transition {
            job: job.id,
            guard: Guard {
                fence: job.progress.fence,
                cancel_requested: job.progress.cancel_requested,
                lease_expired: *outcome == Outcome::Lost,
            },
            tally: Tally::of(record.as_ref(), to.reason),
            outbox: match to.state {
                Succeeded => ended.outbox.clone(),
                _ => Vec::new(),
            },
            to,
            record,
        }
    }
}

/// Takes the claim's count back; if that was the first attempt, there has been none yet.
fn uncount(to: &mut JobProgress) {
    to.attempt = to.attempt.saturating_sub(1);
    if to.attempt <= to.attempts_before {
        to.first_started_at = None;
    }
}

fn decided(decided_by: DecidedBy, next_run_at: Option<Timestamp>) -> Decision {
    Decision {
        decided_by,
        matched: None,
        delay: None,
        next_run_at,
    }
}

fn record(
    ended: &EndedAttempt,
    failure: Option<Failure>,
    decision: Option<Decision>,
) -> Option<Attempt> {
    let EndedAttempt {
        job,
        outcome,
        at: now,
        ..
    } = ended;
    let status = match outcome {
        // A snooze that is not granted is a failure.
        Outcome::Snoozed(_) if failure.is_some() => AttemptStatus::Failed,
        _ => outcome.status()?,
    };
    let output = match outcome {
        Outcome::Success { output } | Outcome::Failure { output, .. } => output.clone(),
        _ => None,
    };
    let progress = &job.progress;
    Some(Attempt {
        job: job.id,
        fence: progress.fence,
        attempt: progress.attempt,
        attempts_before: progress.attempts_before,
        status,
        started_at: progress.started_at.unwrap_or(*now),
        finished_at: *now,
        worker: progress.worker.clone(),
        failure,
        output,
        note: progress.note.clone(),
        decision,
    })
}

impl From<EndReason> for DecidedBy {
    fn from(reason: EndReason) -> Self {
        match reason {
            EndReason::AtMostOnce => Self::AtMostOnce,
            EndReason::Cancelled => Self::Cancelled,
            EndReason::Rule => Self::Rule,
            EndReason::NonRetryable => Self::NonRetryable,
            EndReason::Exhausted => Self::Exhausted,
            EndReason::Expired => Self::Expired,
            EndReason::OutcomeUnknown => Self::OutcomeUnknown,
        }
    }
}

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
    let job = commanded(job, command, now)?;
    let is_cancelled = state != Cancelled && job.progress.state == Cancelled;
    let outbox = match is_cancelled {
        true => subscriptions.tell(&job, EventType::JobCancelled, now),
        false => Vec::new(),
    };
    Ok(CommandResult { job, outbox })
}

fn commanded(mut job: Job, command: &JobCommand, now: Timestamp) -> Result<Job, CommandRefusal> {
    let refused = |why| CommandRefusal { job: job.id, why };
    let state = job.progress.state;
    match (command, state) {
        (JobCommand::Cancel, Waiting) => {
            job.progress.state = Cancelled;
            job.progress.finished_at = Some(now);
            job.progress.reason = Some(EndReason::Cancelled);
        }
        (JobCommand::Cancel, Running) => job.progress.cancel_requested = true,
        (JobCommand::Cancel, _) => return Err(refused(RefusalReason::AlreadyEnded)),

        (JobCommand::Retry { .. }, Waiting) => return Err(refused(RefusalReason::Waiting)),
        (JobCommand::Retry { .. }, Running) => return Err(refused(RefusalReason::Running)),
        (JobCommand::Retry { .. }, Succeeded) => return Err(refused(RefusalReason::Succeeded)),
        (JobCommand::Retry { payload }, Failed | Cancelled) => {
            if job.guarantee == Guarantee::AtMostOnce && job.progress.attempt > 0 {
                return Err(refused(RefusalReason::StartsAtMostOnce));
            }
            job.progress = with_fresh_budget(job.progress, now);
            job.payload = payload.clone().unwrap_or(job.payload);
        }

        (JobCommand::RunNow, Waiting) => job.progress.run_at = job.progress.run_at.min(now),
        (JobCommand::RunNow, Running) => return Err(refused(RefusalReason::Running)),
        (JobCommand::RunNow, _) => return Err(refused(RefusalReason::AlreadyEnded)),

        (JobCommand::Edit(edit), Waiting) => {
            let edit = edit.clone();
            job.payload = edit.payload.unwrap_or(job.payload);
            job.policy = edit.policy.unwrap_or(job.policy);
            job.priority = edit.priority.unwrap_or(job.priority);
            job.progress.run_at = edit.run_at.unwrap_or(job.progress.run_at);
        }
        (JobCommand::Edit(_), Running) => return Err(refused(RefusalReason::Running)),
        (JobCommand::Edit(_), _) => return Err(refused(RefusalReason::AlreadyEnded)),

        (JobCommand::Discard, Failed) if job.is_dead_letter() => {
            job.progress.resolved_at = Some(now);
        }
        (JobCommand::Discard, _) => return Err(refused(RefusalReason::NotADeadLetter)),
    }
    Ok(job)
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
