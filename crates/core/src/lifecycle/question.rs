//! Which ends leave open whether the attempt took effect, and when the question about it is asked.
//!
//! A connection that was refused is no question: nothing was sent. A request that was sent and not
//! answered is one, and so is a lease that ran out: the work may be done. A job with `confirm` then
//! asks in place of repeating.

use std::{sync::Arc, time::Duration};

use crate::{
    failure::{Failure, FailureClass},
    job::{
        Job,
        attempt::{DecidedBy, Decision, EndedAttempt, Outcome, RetryBudget},
        confirm::{ConfirmAnswer, QuestionRecord},
    },
    limits,
    policy::{DelayInput, Dice},
    values::truncate,
};

/// What a question brought.
pub struct QuestionResult {
    pub answer: ConfirmAnswer,
    /// Why there is no answer.
    pub failure: Option<Failure>,
}

/// Whether the attempt may have taken effect all the same, so that its job asks.
pub fn is_opened_by(job: &Job, failure: &Failure) -> bool {
    let Some(confirm) = job.confirm() else {
        return false;
    };
    let is_further = || confirm.also.as_ref().is_some_and(|it| it.matches(failure));
    let is_cancelled = job.progress.cancel_requested;
    !failure.unsent && !is_cancelled && (is_unanswered(failure) || is_further())
}

/// The work was begun, and nothing says how it ended.
fn is_unanswered(failure: &Failure) -> bool {
    const CLASSES: [FailureClass; 3] = [
        FailureClass::TIMEOUT,
        FailureClass::CONNECTION,
        FailureClass::LOST,
    ];
    failure.http_status.is_none() && CLASSES.contains(&failure.class)
}

/// The result of the question that a job has asked; `None` if it has asked none, or gave the
/// question back.
pub fn result_of(ended: &EndedAttempt) -> Option<QuestionResult> {
    let unknown = |failure| QuestionResult {
        answer: ConfirmAnswer::Unknown,
        failure: Some(failure),
    };
    let progress = &ended.job.progress;
    progress.questions_asked()?;
    Some(match &ended.outcome {
        Outcome::Success { .. } => QuestionResult {
            answer: ConfirmAnswer::Done,
            failure: None,
        },
        Outcome::Answered {
            answer, failure, ..
        } => QuestionResult {
            answer: *answer,
            failure: failure.clone(),
        },
        Outcome::Failure { failure, .. } => unknown(failure.clone()),
        Outcome::Lost => unknown(Failure::new(
            FailureClass::LOST,
            "the lease expired before the question was answered",
        )),
        Outcome::Snoozed(_) if progress.snoozes >= limits::SNOOZES_MAX => unknown(Failure::new(
            FailureClass::ERROR,
            format!("snoozed more than {} times", limits::SNOOZES_MAX),
        )),
        Outcome::Snoozed(_) | Outcome::Cancelled { .. } | Outcome::Released { .. } => return None,
    })
}

impl QuestionResult {
    /// What the record of the question keeps.
    pub fn record(&self) -> QuestionRecord {
        let failure = self.failure.as_ref();
        let detail = failure.map(|it| truncate(it.to_string(), limits::MESSAGE_BYTES_MAX));
        QuestionRecord {
            answer: self.answer,
            detail,
        }
    }
}

/// The attempt that a question is about: the claim counted the question, which is no attempt.
pub fn attempt_in_question(ended: &EndedAttempt) -> EndedAttempt {
    let mut about = ended.clone();
    let attempt = about.job.attempt_number();
    Arc::make_mut(&mut about.job).progress.attempt = attempt;
    about
}

/// When a question is asked after `asked` others about the same attempt; `None` if the policy allows
/// no more, or `failure` says that it would not help. The first one is always asked.
pub fn next(
    ended: &EndedAttempt,
    asked: u32,
    failure: Option<&Failure>,
    elapsed: Duration,
    dice: Dice,
) -> Option<Decision> {
    let job = &ended.job;
    let is_over = || job.policy.end_reason(asked - 1, elapsed).is_some();
    let is_useless = failure.is_some_and(Failure::is_permanent);
    if asked > 0 && (is_useless || is_over()) {
        return None;
    }
    let input = DelayInput {
        retry: asked.saturating_add(1),
        previous: job.progress.last_delay,
        retry_after: failure.and_then(|it| it.retry_after),
        retry_after_header: failure.map_or_else(Default::default, |it| it.retry_after_header),
        fixed_by_rule: None,
    };
    let delay = job.policy.retry_delay(input, dice);
    Some(Decision {
        next_run_at: Some(ended.at.plus(delay.jittered)),
        delay: Some(delay),
        budget: Some(RetryBudget {
            retries_used: asked,
            ..RetryBudget::of(job)
        }),
        ..Decision::by(DecidedBy::Question)
    })
}
