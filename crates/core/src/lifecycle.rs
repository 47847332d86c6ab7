//! The decision after an attempt: the only place that makes it.
//!
//! Success, error, panic, timeout, lost lease and shutdown all pass through [`after_attempt`];
//! every command of a person passes through [`on_command`](crate::on_command). Nothing else in
//! the product decides a state: stores write what these two return.

pub(crate) mod command;
pub(crate) mod transition;

use std::time::Duration;

use crate::state::JobState::{Cancelled, Failed, Running, Succeeded, Waiting};
use crate::{
    explain,
    failure::{Failure, FailureClass, FailureFingerprint},
    failure_group::FailureObservation,
    job::{
        Job, JobProgress,
        attempt::{
            Attempt, AttemptStatus, DecidedBy, Decision, EndedAttempt, Outcome, RetryBudget,
        },
        tally::Tally,
        webhook::EventType,
    },
    lifecycle::transition::{Guard, Transition},
    limits,
    policy::{DelayInput, Dice, RuleAction},
    state::{EndReason, Guarantee},
    values::{Timestamp, cut_middle, truncate},
    webhook::delivery::Subscriptions,
};

/// Decides what follows an attempt, and which webhooks are sent because of it.
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
        // Webhooks do not report a snooze or a release.
        Waiting if is_failure(&transition) => Some(EventType::JobRetrying),
        Waiting | Running => None,
    };
    let Some(event) = event else {
        return transition;
    };
    transition.guard.endpoints = subscriptions.version_for(&ended.job);
    if subscriptions.wants(&ended.job, event) {
        let mut job = Job::clone(&ended.job);
        job.progress = transition.to.clone();
        transition
            .outbox
            .extend(subscriptions.deliveries_of(&job, event, ended.at));
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
        Outcome::Failure { failure, .. } => retry_or_give_up(ended, within_limits(failure), dice),
        Outcome::Lost => lost(ended, dice),
        Outcome::Snoozed(delay) => snoozed(ended, *delay, dice),
        Outcome::Cancelled { message } => {
            let failure = Failure::new(FailureClass::named("cancelled"), message);
            Verdict::end(EndReason::Cancelled, Some(failure))
        }
        Outcome::Released { started } => released(ended, *started),
    };
    verdict.transition(ended)
}

/// The fields of a failure are public, so that its constructors alone cannot keep the limits.
fn within_limits(failure: &Failure) -> Failure {
    let mut failure = failure.clone();
    failure.message = truncate(failure.message, limits::MESSAGE_BYTES_MAX);
    failure.retry_after = failure
        .retry_after
        .map(|delay| delay.min(limits::RETRY_AFTER_MAX));
    failure.trace = failure
        .trace
        .map(|trace| cut_middle(trace, limits::TRACE_BYTES_MAX));
    failure
}

enum Verdict {
    Succeed,
    /// Wait for another attempt because this one failed.
    Retry(Failure, Decision, Timestamp),
    /// Wait again, and do not count this attempt.
    Uncount(DecidedBy, Timestamp),
    End {
        reason: EndReason,
        failure: Option<Failure>,
        /// The rule that gave up.
        matched: Option<usize>,
    },
}

/// The order of these checks is part of the contract: the first that applies decides.
fn retry_or_give_up(ended: &EndedAttempt, failure: Failure, dice: Dice) -> Verdict {
    let EndedAttempt { job, at: now, .. } = ended;
    let rules = job.policy.rules();
    let matched = rules.iter().position(|rule| rule.matches(&failure));
    let action = matched.map(|index| rules[index].then);
    let progress = &job.progress;
    let give_up = |reason| Verdict::end(reason, Some(failure.clone()));

    if job.guarantee == Guarantee::AtMostOnce {
        return give_up(EndReason::AtMostOnce);
    }
    if progress.cancel_requested {
        return give_up(EndReason::Cancelled);
    }
    if action == Some(RuleAction::Fail) {
        return Verdict::End {
            reason: EndReason::Rule,
            failure: Some(failure),
            matched,
        };
    }
    if action.is_none() && failure.is_permanent() {
        return give_up(EndReason::NonRetryable);
    }
    let elapsed = now.since(progress.first_started_at.unwrap_or(*now));
    let elapsed = elapsed.saturating_sub(ended.held);
    if let Some(reason) = job.policy.end_reason(progress.retries_used(), elapsed) {
        return give_up(reason);
    }

    let input = DelayInput {
        retry: progress.retries_used().saturating_add(1),
        previous: progress.last_delay,
        retry_after: failure.retry_after,
        retry_after_header: failure.retry_after_header,
        fixed_by_rule: match action {
            Some(RuleAction::RetryAfter(delay)) => Some(delay),
            _ => None,
        },
    };
    let delay = job.policy.retry_delay(input, dice);
    let run_at = now.plus(delay.jittered);
    let decision = Decision {
        decided_by: match action {
            Some(_) => DecidedBy::Rule,
            None => DecidedBy::Policy,
        },
        matched,
        delay: Some(delay),
        next_run_at: Some(run_at),
        budget: Some(RetryBudget::of(job)),
    };
    Verdict::Retry(failure, decision, run_at)
}

fn lost(ended: &EndedAttempt, dice: Dice) -> Verdict {
    if let Some(timeout) = timeout_of_lease(&ended.job) {
        let timeout = explain::brief(timeout);
        let message = format!("the attempt did not end within {timeout}");
        let failure = Failure::new(FailureClass::TIMEOUT, message);
        return retry_or_give_up(ended, failure, dice);
    }
    let worker = ended.job.progress.worker.as_ref();
    let message = match worker {
        Some(worker) => format!("the lease of {worker} expired; the worker may have died"),
        None => "the lease expired; its holder may have died".to_owned(),
    };
    let failure = Failure::new(FailureClass::LOST, message);
    match ended.job.guarantee {
        Guarantee::AtMostOnce => Verdict::end(EndReason::OutcomeUnknown, Some(failure)),
        Guarantee::AtLeastOnce => retry_or_give_up(ended, failure, dice),
    }
}

/// The timeout, if it is what ended the lease. A worker's lease is cut to end with it; the lease
/// of a node's own attempt is not, because the node ends that by itself. Nor is one that is as long
/// as the timeout: see [`Job::claim`].
fn timeout_of_lease(job: &Job) -> Option<Duration> {
    let is_cut = job.deadline().is_some() && job.progress.lease_until == job.deadline();
    job.timeout.filter(|_| is_cut)
}

fn snoozed(ended: &EndedAttempt, delay: Duration, dice: Dice) -> Verdict {
    let EndedAttempt { job, at: now, .. } = ended;
    if job.guarantee == Guarantee::AtMostOnce {
        let message = "snoozed, but an AT_MOST_ONCE job cannot start again";
        let failure = Failure::new(FailureClass::ERROR, message);
        return retry_or_give_up(ended, failure, dice);
    }
    if job.progress.cancel_requested {
        return Verdict::end(EndReason::Cancelled, None);
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
        let message = "released before the attempt ended";
        let failure = Failure::new(FailureClass::LOST, message);
        return Verdict::end(EndReason::OutcomeUnknown, Some(failure));
    }
    if job.progress.cancel_requested {
        return Verdict::end(EndReason::Cancelled, None);
    }
    // With its old time, the job keeps its position among those that are due.
    Verdict::Uncount(DecidedBy::Released, job.progress.run_at)
}

impl Verdict {
    fn end(reason: EndReason, failure: Option<Failure>) -> Self {
        Self::End {
            reason,
            failure,
            matched: None,
        }
    }

    fn transition(self, ended: &EndedAttempt) -> Transition {
        let EndedAttempt { job, outcome, .. } = ended;
        let mut to = job.progress.clone();
        to.lease_until = None;
        to.worker = None;
        to.cancel_requested = false;
        let (mut failure, decision) = self.apply(ended, &mut to);
        // A handler that cancels its job has not failed.
        let is_cancel = matches!(outcome, Outcome::Cancelled { .. });
        if let Some(failure) = failure.as_mut().filter(|_| !is_cancel) {
            let destination = job.destination.as_ref();
            let fingerprint = FailureFingerprint::of(failure, &job.kind, destination);
            failure.fingerprint = Some(fingerprint);
        }
        // A job is read, listed and sent far more often than its attempts.
        let without_trace = failure.as_ref().map(Failure::without_trace);
        to.failure = without_trace.or(to.failure);
        let record = record(ended, failure, decision);
        let observation = FailureObservation::of(ended, record.as_ref(), &to).map(Box::new);
        Transition {
            job: job.id,
            guard: Guard {
                fence: job.progress.fence,
                cancel_requested: job.progress.cancel_requested,
                lease_expired: *outcome == Outcome::Lost,
                endpoints: None,
            },
            tally: Tally::of(record.as_ref(), to.reason),
            outbox: match to.state {
                Succeeded => ended.outbox.clone(),
                _ => Vec::new(),
            },
            batch: job.batch(),
            to,
            record,
            observation,
        }
    }

    /// Brings the job's progress to where this verdict leads; returns what the attempt's record
    /// keeps of it.
    fn apply(
        self,
        ended: &EndedAttempt,
        to: &mut JobProgress,
    ) -> (Option<Failure>, Option<Decision>) {
        match self {
            Self::Succeed => {
                to.state = Succeeded;
                to.finished_at = Some(ended.at);
                to.failure = None;
                (None, None)
            }
            Self::Retry(failure, decision, run_at) => {
                to.state = Waiting;
                to.run_at = run_at;
                to.last_delay = decision.delay.as_ref().map(|delay| delay.jittered);
                (Some(failure), Some(decision))
            }
            Self::Uncount(decided_by, run_at) => {
                to.state = Waiting;
                to.run_at = run_at;
                uncount(to);
                to.snoozes += u32::from(decided_by == DecidedBy::Snoozed);
                let mut decision = Decision::by(decided_by);
                decision.next_run_at = Some(run_at);
                (None, Some(decision))
            }
            Self::End {
                reason,
                failure,
                matched,
            } => {
                to.state = match reason {
                    EndReason::Cancelled => Cancelled,
                    _ => Failed,
                };
                to.finished_at = Some(ended.at);
                to.reason = Some(reason);
                if ended.outcome == (Outcome::Released { started: false }) {
                    uncount(to);
                }
                let mut decision = Decision::by(reason.into());
                decision.matched = matched;
                decision.budget = Some(RetryBudget::of(&ended.job));
                (failure, Some(decision))
            }
        }
    }
}

/// Takes back the attempt that the claim counted; if it was the first, none has started yet.
fn uncount(to: &mut JobProgress) {
    to.attempt = to.attempt.saturating_sub(1);
    if to.attempt <= to.attempts_before {
        to.first_started_at = None;
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
        // So is an attempt that took too long; its worker may well be alive.
        Outcome::Lost if timeout_of_lease(job).is_some() => AttemptStatus::Failed,
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
            // No attempt is decided by the latter two.
            EndReason::Expired | EndReason::ExpiredUnstarted | EndReason::PrerequisiteFailed => {
                Self::Expired
            }
            EndReason::OutcomeUnknown => Self::OutcomeUnknown,
        }
    }
}
