//! The one brain: what follows an attempt, and what a command does to a job.
//!
//! Success, error, panic, timeout, lost lease and shutdown all pass through [`after_attempt`];
//! everything a person asks for passes through [`on_command`]. Nothing else in the product
//! decides a state: stores write what these two return.

use std::{fmt, sync::Arc, time::Duration};

use crate::State::{Cancelled, Failed, Running, Succeeded, Waiting};
use crate::{
    Attempt, AttemptStatus, DecidedBy, Decision, Dice, Ended, EventType, Failure, FailureClass,
    Fence, Guarantee, Hooks, Job, JobId, NewJob, Outcome, Payload, Priority, Progress, Reason,
    RetryPolicy, Tally, Then, Timestamp, failure::shortened, limits, policy::DelayInput,
};

/// What the store is told to write after an attempt: all of it, or nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Transition {
    pub job: JobId,
    pub guard: Guard,
    pub to: Progress,
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
pub fn after_attempt(ended: &Ended, hooks: &Hooks, dice: Dice) -> Transition {
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
        && hooks.wants(&ended.job, event)
    {
        let mut job = Job::clone(&ended.job);
        job.progress = transition.to.clone();
        transition.outbox.extend(hooks.tell(&job, event, ended.at));
    }
    transition
}

fn is_failure(transition: &Transition) -> bool {
    let record = transition.record.as_ref();
    record.is_some_and(|record| record.failure.is_some())
}

fn decide(ended: &Ended, dice: Dice) -> Transition {
    let verdict = match &ended.outcome {
        Outcome::Success { .. } => Verdict::Succeed,
        Outcome::Failure { failure, .. } => retry_or_give_up(ended, bounded(failure), dice),
        Outcome::Lost => lost(ended, dice),
        Outcome::Snoozed(delay) => snoozed(ended, *delay, dice),
        Outcome::Cancelled { message } => {
            let failure = Failure::new(FailureClass::named("cancelled"), message);
            Verdict::End(Reason::Cancelled, Some(failure))
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
    End(Reason, Option<Failure>),
}

/// The order of these checks is part of the contract: the first that applies decides.
fn retry_or_give_up(ended: &Ended, failure: Failure, dice: Dice) -> Verdict {
    let Ended { job, at: now, .. } = ended;
    let matched = matching_rule(job, &failure);
    let then = matched.map(|index| job.policy.rules()[index].then);
    let progress = &job.progress;
    let give_up = |reason| Verdict::End(reason, Some(failure.clone()));

    if job.guarantee == Guarantee::AtMostOnce {
        return give_up(Reason::AtMostOnce);
    }
    if progress.cancel_requested {
        return give_up(Reason::Cancelled);
    }
    if then == Some(Then::Fail) {
        return give_up(Reason::Rule);
    }
    if then.is_none() && failure.is_permanent() {
        return give_up(Reason::NonRetryable);
    }
    if progress.retries_used() >= job.policy.max_retries() {
        return give_up(Reason::Exhausted);
    }
    let first_started_at = progress.first_started_at.unwrap_or(*now);
    let elapsed = now.since(first_started_at);
    if job.policy.max_elapsed().is_some_and(|most| elapsed >= most) {
        return give_up(Reason::Expired);
    }

    let input = DelayInput {
        retry: progress.retries_used().saturating_add(1),
        previous: progress.last_delay,
        retry_after: failure.retry_after,
        fixed_by_rule: match then {
            Some(Then::RetryAfter(delay)) => Some(delay),
            _ => None,
        },
    };
    let delay = job.policy.retry_delay(input, dice);
    let run_at = now.plus(delay.jittered);
    let decision = Decision {
        rule: match then {
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

fn lost(ended: &Ended, dice: Dice) -> Verdict {
    let worker = ended.job.progress.worker.as_ref();
    let message = match worker {
        Some(worker) => format!("the lease of {worker} ran out; it may have died"),
        None => "the lease ran out; its holder may have died".to_owned(),
    };
    let failure = Failure::new(FailureClass::LOST, message);
    match ended.job.guarantee {
        Guarantee::AtMostOnce => Verdict::End(Reason::OutcomeUnknown, Some(failure)),
        Guarantee::AtLeastOnce => retry_or_give_up(ended, failure, dice),
    }
}

fn snoozed(ended: &Ended, delay: Duration, dice: Dice) -> Verdict {
    let Ended { job, at: now, .. } = ended;
    if job.guarantee == Guarantee::AtMostOnce {
        let message = "snoozed, but a job that starts at most once cannot start again";
        let failure = Failure::new(FailureClass::ERROR, message);
        return retry_or_give_up(ended, failure, dice);
    }
    if job.progress.cancel_requested {
        return Verdict::End(Reason::Cancelled, None);
    }
    if job.progress.snoozes >= limits::SNOOZES_MAX {
        let message = format!("snoozed more than {} times", limits::SNOOZES_MAX);
        let failure = Failure::new(FailureClass::ERROR, message);
        return retry_or_give_up(ended, failure, dice);
    }
    let run_at = now.plus(delay.min(limits::DELAY_MAX));
    Verdict::Uncount(DecidedBy::Snoozed, run_at)
}

fn released(ended: &Ended, started: bool) -> Verdict {
    let job = &ended.job;
    if started && job.guarantee == Guarantee::AtMostOnce {
        let message = "the node stopped before the attempt ended";
        let failure = Failure::new(FailureClass::LOST, message);
        return Verdict::End(Reason::OutcomeUnknown, Some(failure));
    }
    if job.progress.cancel_requested {
        return Verdict::End(Reason::Cancelled, None);
    }
    // The old time keeps its place in line.
    Verdict::Uncount(DecidedBy::Released, job.progress.run_at)
}

impl Verdict {
    fn transition(self, ended: &Ended) -> Transition {
        let Ended {
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
                    Reason::Cancelled => Cancelled,
                    _ => Failed,
                };
                to.finished_at = Some(*now);
                to.reason = Some(reason);
                if *outcome == (Outcome::Released { started: false }) {
                    uncount(&mut to);
                }
                let mut decision = decided(reason.into(), None);
                if reason == Reason::Rule {
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
fn uncount(to: &mut Progress) {
    to.attempt = to.attempt.saturating_sub(1);
    if to.attempt <= to.attempts_before {
        to.first_started_at = None;
    }
}

fn decided(rule: DecidedBy, next_run_at: Option<Timestamp>) -> Decision {
    Decision {
        rule,
        matched: None,
        delay: None,
        next_run_at,
    }
}

fn record(ended: &Ended, failure: Option<Failure>, decision: Option<Decision>) -> Option<Attempt> {
    let Ended {
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

impl From<Reason> for DecidedBy {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::AtMostOnce => Self::AtMostOnce,
            Reason::Cancelled => Self::Cancelled,
            Reason::Rule => Self::Rule,
            Reason::NonRetryable => Self::NonRetryable,
            Reason::Exhausted => Self::Exhausted,
            Reason::Expired => Self::Expired,
            Reason::OutcomeUnknown => Self::OutcomeUnknown,
        }
    }
}

/// What a person asks of a job.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Stop it: at once if it waits, as soon as it can if it runs.
    Cancel,
    /// Try a job that has ended once more, with a fresh retry budget.
    Retry { payload: Option<Payload> },
    /// Do not wait for `runAt`.
    RunNow,
    /// Change a job that waits.
    Edit(Edit),
    /// A dead letter that needs no further thought.
    Discard,
}

/// Changes to a job that waits; what is `None` stays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Edit {
    pub payload: Option<Payload>,
    pub policy: Option<Arc<RetryPolicy>>,
    pub run_at: Option<Timestamp>,
    pub priority: Option<Priority>,
}

/// A command that makes no sense for the job as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Refused {
    pub job: JobId,
    pub why: RefusedWhy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedWhy {
    AlreadyEnded,
    Running,
    Waiting,
    Succeeded,
    NotADeadLetter,
    StartsAtMostOnce,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.why {
            RefusedWhy::AlreadyEnded => "has already ended",
            RefusedWhy::Running => "is running; cancel it first or wait for it to end",
            RefusedWhy::Waiting => "has not ended; use run-now to start it early",
            RefusedWhy::Succeeded => "has succeeded; create a new job to do it again",
            RefusedWhy::NotADeadLetter => "is not a dead letter",
            RefusedWhy::StartsAtMostOnce => {
                "is AT_MOST_ONCE and may have started; create a new job if it must run again"
            }
        };
        write!(f, "{} {why}", self.job)
    }
}

/// What a command made of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Changed {
    pub job: Job,
    /// New jobs that exist if and only if the change is written.
    pub outbox: Vec<NewJob>,
}

/// Decides what a command does to a job: the job as it then is, or why not.
pub fn on_command(
    job: Job,
    command: &Command,
    hooks: &Hooks,
    now: Timestamp,
) -> Result<Changed, Refused> {
    let state = job.progress.state;
    let job = commanded(job, command, now)?;
    let is_cancelled = state != Cancelled && job.progress.state == Cancelled;
    let outbox = match is_cancelled {
        true => hooks.tell(&job, EventType::JobCancelled, now),
        false => Vec::new(),
    };
    Ok(Changed { job, outbox })
}

fn commanded(mut job: Job, command: &Command, now: Timestamp) -> Result<Job, Refused> {
    let refused = |why| Refused { job: job.id, why };
    let state = job.progress.state;
    match (command, state) {
        (Command::Cancel, Waiting) => {
            job.progress.state = Cancelled;
            job.progress.finished_at = Some(now);
            job.progress.reason = Some(Reason::Cancelled);
        }
        (Command::Cancel, Running) => job.progress.cancel_requested = true,
        (Command::Cancel, _) => return Err(refused(RefusedWhy::AlreadyEnded)),

        (Command::Retry { .. }, Waiting) => return Err(refused(RefusedWhy::Waiting)),
        (Command::Retry { .. }, Running) => return Err(refused(RefusedWhy::Running)),
        (Command::Retry { .. }, Succeeded) => return Err(refused(RefusedWhy::Succeeded)),
        (Command::Retry { payload }, Failed | Cancelled) => {
            if job.guarantee == Guarantee::AtMostOnce && job.progress.attempt > 0 {
                return Err(refused(RefusedWhy::StartsAtMostOnce));
            }
            job.progress = with_fresh_budget(job.progress, now);
            job.payload = payload.clone().unwrap_or(job.payload);
        }

        (Command::RunNow, Waiting) => job.progress.run_at = job.progress.run_at.min(now),
        (Command::RunNow, Running) => return Err(refused(RefusedWhy::Running)),
        (Command::RunNow, _) => return Err(refused(RefusedWhy::AlreadyEnded)),

        (Command::Edit(edit), Waiting) => {
            let edit = edit.clone();
            job.payload = edit.payload.unwrap_or(job.payload);
            job.policy = edit.policy.unwrap_or(job.policy);
            job.priority = edit.priority.unwrap_or(job.priority);
            job.progress.run_at = edit.run_at.unwrap_or(job.progress.run_at);
        }
        (Command::Edit(_), Running) => return Err(refused(RefusedWhy::Running)),
        (Command::Edit(_), _) => return Err(refused(RefusedWhy::AlreadyEnded)),

        (Command::Discard, Failed) if job.is_dead_letter() => {
            job.progress.resolved_at = Some(now);
        }
        (Command::Discard, _) => return Err(refused(RefusedWhy::NotADeadLetter)),
    }
    Ok(job)
}

/// A new retry budget over the same history: attempts and claims go on counting.
fn with_fresh_budget(progress: Progress, now: Timestamp) -> Progress {
    Progress {
        attempt: progress.attempt,
        attempts_before: progress.attempt,
        fence: progress.fence,
        failure: progress.failure,
        ..Progress::waiting(now)
    }
}
