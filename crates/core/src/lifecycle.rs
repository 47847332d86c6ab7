//! The decision after an attempt: the only place that makes it.
//!
//! Success, error, panic, timeout, lost lease and shutdown all pass through [`after_attempt`];
//! every command of a person passes through [`on_command`](crate::on_command). Nothing else in
//! the product decides a state: stores write what these two return.

pub(crate) mod command;
mod question;
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
        confirm::{ConfirmAnswer, QuestionRecord},
        cost::CostChange,
        tally::Tally,
        webhook::EventType,
    },
    lifecycle::{
        question::QuestionResult,
        transition::{Guard, Transition},
    },
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
    transition.cost_change = cost_change(ended);
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

/// What is charged or given back at gates. An attempt without a report is charged what was reserved.
fn cost_change(ended: &EndedAttempt) -> Option<CostChange> {
    let job = &ended.job;
    let (at, reserved) = (job.progress.started_at?, job.cost());
    let was_run = ended.outcome != Outcome::Released { started: false } && !job.is_question();
    match &ended.usage {
        Some(used) => CostChange::of_report(at, reserved, used),
        None if was_run => None,
        None => CostChange::of_all(at, reserved),
    }
}

fn is_failure(transition: &Transition) -> bool {
    let record = transition.record.as_ref();
    record.is_some_and(|record| record.failure.is_some())
}

fn decide(ended: &EndedAttempt, dice: Dice) -> Transition {
    if let Some(result) = question::result_of(ended) {
        let about = question::attempt_in_question(ended);
        let verdict = after_question(&about, &result, dice);
        return verdict.transition(&about, Some(result.record()));
    }
    let verdict = match &ended.outcome {
        Outcome::Success { .. } => Verdict::Succeed,
        Outcome::Failure { failure, .. } => {
            ask_or(ended, within_limits(failure), dice, retry_or_give_up)
        }
        Outcome::Answered { .. } => {
            let message = "the attempt was no question, but was reported as answered";
            let failure = Failure::new(FailureClass::VALIDATION, message);
            retry_or_give_up(ended, failure, dice)
        }
        Outcome::Lost => lost(ended, dice),
        Outcome::Snoozed(delay) => snoozed(ended, *delay, dice),
        Outcome::Cancelled { message } => {
            let failure = Failure::new(FailureClass::named("cancelled"), message);
            Verdict::end(EndReason::Cancelled, Some(failure))
        }
        Outcome::Released { started } => released(ended, *started, dice),
    };
    verdict.transition(ended, None)
}

/// Asks if the attempt may have taken effect all the same; decides `otherwise` if not.
fn ask_or(
    ended: &EndedAttempt,
    failure: Failure,
    dice: Dice,
    otherwise: fn(&EndedAttempt, Failure, Dice) -> Verdict,
) -> Verdict {
    if question::is_opened_by(&ended.job, &failure)
        && let Some(decision) = question::next(ended, 0, None, elapsed(ended), dice)
    {
        return Verdict::Ask(failure.with_questions(Some(0)), decision);
    }
    otherwise(ended, failure, dice)
}

/// What follows a question about an attempt. `about` is that attempt.
fn after_question(about: &EndedAttempt, result: &QuestionResult, dice: Dice) -> Verdict {
    let progress = &about.job.progress;
    let failure = progress.failure.clone();
    let failure = failure.unwrap_or_else(|| Failure::new(FailureClass::LOST, ""));
    let asked = failure.questions.unwrap_or(0).saturating_add(1);
    let failure = failure.with_questions(None);
    match result.answer {
        ConfirmAnswer::Done => Verdict::Succeed,
        ConfirmAnswer::NotDone => retry_or_give_up(about, failure, dice),
        ConfirmAnswer::Unknown if progress.cancel_requested => {
            Verdict::end(EndReason::Cancelled, Some(failure))
        }
        ConfirmAnswer::Unknown => {
            let why = result.failure.as_ref();
            match question::next(about, asked, why, elapsed(about), dice) {
                Some(decision) => Verdict::Ask(failure.with_questions(Some(asked)), decision),
                None => Verdict::end(EndReason::OutcomeUnknown, Some(failure)),
            }
        }
    }
}

/// How long ago the first attempt of the budget started, without the time for which the destination
/// was held.
fn elapsed(ended: &EndedAttempt) -> Duration {
    let EndedAttempt { job, at: now, .. } = ended;
    let elapsed = now.since(job.progress.first_started_at.unwrap_or(*now));
    elapsed.saturating_sub(ended.held)
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
    /// Wait for a question whether this attempt took effect.
    Ask(Failure, Decision),
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
    if let Some(reason) = job
        .policy
        .end_reason(progress.retries_used(), elapsed(ended))
    {
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
        question: None,
    };
    Verdict::Retry(failure, decision, run_at)
}

fn lost(ended: &EndedAttempt, dice: Dice) -> Verdict {
    if let Some(timeout) = timeout_of_lease(&ended.job) {
        let timeout = explain::brief(timeout);
        let message = format!("the attempt did not end within {timeout}");
        let failure = Failure::new(FailureClass::TIMEOUT, message);
        return ask_or(ended, failure, dice, retry_or_give_up);
    }
    let worker = ended.job.progress.worker.as_ref();
    let message = match worker {
        Some(worker) => format!("the lease of {worker} expired; the worker may have died"),
        None => "the lease expired; its holder may have died".to_owned(),
    };
    let failure = Failure::new(FailureClass::LOST, message);
    let otherwise = match ended.job.guarantee {
        Guarantee::AtMostOnce => |_: &_, failure, _| outcome_unknown(failure),
        Guarantee::AtLeastOnce => retry_or_give_up,
    };
    ask_or(ended, failure, dice, otherwise)
}

fn outcome_unknown(failure: Failure) -> Verdict {
    Verdict::end(EndReason::OutcomeUnknown, Some(failure))
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
    if job.guarantee == Guarantee::AtMostOnce && !job.is_question() {
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

fn released(ended: &EndedAttempt, started: bool, dice: Dice) -> Verdict {
    let job = &ended.job;
    let given_back = |ended: &EndedAttempt, _, _| {
        if ended.job.progress.cancel_requested {
            return Verdict::end(EndReason::Cancelled, None);
        }
        // With its old time, the job keeps its position among those that are due.
        Verdict::Uncount(DecidedBy::Released, ended.job.progress.run_at)
    };
    let message = "released before the attempt ended";
    let failure = Failure::new(FailureClass::LOST, message);
    match job.guarantee {
        // No part of the work was done.
        _ if !started || job.is_question() => given_back(ended, failure, dice),
        Guarantee::AtMostOnce => ask_or(ended, failure, dice, |_, failure, _| {
            outcome_unknown(failure)
        }),
        Guarantee::AtLeastOnce => ask_or(ended, failure, dice, given_back),
    }
}

impl Verdict {
    fn end(reason: EndReason, failure: Option<Failure>) -> Self {
        Self::End {
            reason,
            failure,
            matched: None,
        }
    }

    /// `question` is what it brought, if it was one.
    fn transition(self, ended: &EndedAttempt, question: Option<QuestionRecord>) -> Transition {
        let EndedAttempt { job, outcome, .. } = ended;
        let mut to = job.progress.clone();
        to.lease_until = None;
        to.worker = None;
        to.cancel_requested = false;
        let (mut failure, mut decision) = self.apply(ended, &mut to);
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
        if question.is_some() {
            // The failure of the attempt is on record, and counted.
            failure = failure.filter(|_| to.state != Waiting);
            let by_question = || Decision::by(DecidedBy::Question);
            decision.get_or_insert_with(by_question).question = question;
        }
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
            cost_change: None,
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
            Self::Ask(failure, decision) => {
                to.state = Waiting;
                to.run_at = decision.next_run_at.unwrap_or(ended.at);
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
                if is_uncounted(ended) {
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

/// Whether nothing was run though the claim counted it: it was given back, or was a question that
/// was given back.
fn is_uncounted(ended: &EndedAttempt) -> bool {
    match ended.outcome {
        Outcome::Released { started } => !started || ended.job.is_question(),
        Outcome::Snoozed(_) | Outcome::Cancelled { .. } => ended.job.is_question(),
        _ => false,
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
        // Nor is an answer to no question.
        Outcome::Answered { .. } => AttemptStatus::Failed,
        // So is an attempt that took too long; its worker may well be alive.
        Outcome::Lost if timeout_of_lease(job).is_some() => AttemptStatus::Failed,
        _ => outcome.status()?,
    };
    let status = match decision.as_ref().and_then(|it| it.question.as_ref()) {
        Some(_) => AttemptStatus::Asked,
        None => status,
    };
    let output = match outcome {
        Outcome::Success { output }
        | Outcome::Failure { output, .. }
        | Outcome::Answered { output, .. } => output.clone(),
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
        usage: ended.usage.clone(),
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
