//! Decisions, reasons and policies in plain sentences.
//!
//! API, CLI, dashboard and logs print these texts, so that one reason has one wording. A decision
//! is explained from its own record: the job's policy may have changed since.

mod words;

use crate::{
    job::{
        attempt::{Attempt, DecidedBy, Decision},
        confirm::{ConfirmAnswer, QuestionRecord},
    },
    policy::{Backoff, DelaySource, Jitter, RetryDelay, RetryPolicy},
    state::EndReason,
};

pub use words::{
    brief, count_of, shorten, thousands, whole_second, with_most_recent, without_most_recent,
};

/// The decision after an attempt as a sentence; `None` for a success.
pub fn decision(attempt: &Attempt) -> Option<String> {
    let decision = attempt.decision.as_ref()?;
    let Some(question) = &decision.question else {
        return Some(next_step(attempt, decision));
    };
    let answer = answer(question);
    Some(match question.answer {
        ConfirmAnswer::Done => answer,
        _ => format!("{answer} {}", next_step(attempt, decision)),
    })
}

/// What a question brought, as a sentence.
fn answer(question: &QuestionRecord) -> String {
    let detail = question.detail.as_ref();
    match question.answer {
        ConfirmAnswer::Done => "The attempt took effect, so the job has succeeded.".to_owned(),
        ConfirmAnswer::NotDone => "The attempt did not take effect.".to_owned(),
        ConfirmAnswer::Unknown => {
            let detail = detail.map_or(String::new(), |detail| format!(" ({detail})"));
            format!("It is still unknown whether the attempt took effect{detail}.")
        }
    }
}

fn next_step(attempt: &Attempt, decision: &Decision) -> String {
    if let Some(delay) = &decision.delay {
        let (wait, origin) = (brief(delay.jittered), delay_origin(decision, delay));
        return match decision.decided_by {
            DecidedBy::Question => {
                format!("Asks in {wait} whether the attempt took effect: {origin}.")
            }
            _ => format!(
                "{} in {wait}: {origin}.",
                capitalised(&retry_name(decision))
            ),
        };
    }
    match decision.decided_by {
        DecidedBy::Policy => "Retried according to the policy.".to_owned(),
        DecidedBy::Rule => format!("Not retried: {} says fail.", rule_name(decision)),
        DecidedBy::NonRetryable => {
            let class = attempt.failure.as_ref().map(|failure| &failure.class);
            let class = class.map_or(String::new(), |class| format!(" of class {class}"));
            format!(
                "Not retried: a failure{class} is permanent, and no rule of the policy retries it."
            )
        }
        DecidedBy::Exhausted => match decision.budget.map(|budget| budget.max_retries) {
            Some(0) => "Not retried: the policy allows no retries.".to_owned(),
            Some(1) => "Not retried: the only retry of the policy is used up.".to_owned(),
            Some(most) => format!("Not retried: all {most} retries of the policy are used up."),
            None => "Not retried: all retries of the policy are used up.".to_owned(),
        },
        DecidedBy::Expired => {
            let most = decision.budget.and_then(|budget| budget.max_elapsed);
            let most = most.map_or(String::new(), |most| format!(" of {}", brief(most)));
            format!(
                "Not retried: the maxElapsed{most} of the policy has passed since the first attempt."
            )
        }
        DecidedBy::AtMostOnce => {
            "Not retried: an AT_MOST_ONCE job starts only once, regardless of its policy."
                .to_owned()
        }
        DecidedBy::OutcomeUnknown if decision.question.is_some() => {
            "Not repeated: no further question is asked.".to_owned()
        }
        DecidedBy::Question => "The job asks whether the attempt took effect.".to_owned(),
        DecidedBy::OutcomeUnknown => "Not retried: it is unknown whether the attempt took effect, \
             and an AT_MOST_ONCE job starts only once."
            .to_owned(),
        DecidedBy::Cancelled => "Not retried: the job was cancelled.".to_owned(),
        DecidedBy::Snoozed => format!(
            "Snoozed by the handler{}. The attempt does not count as a retry.",
            wait_until_next(attempt, decision)
        ),
        DecidedBy::Released => {
            "Released because the node or worker stopped. The attempt does not count \
             as a retry."
                .to_owned()
        }
    }
}

/// The decision after an attempt in a few words: `retry 1 of 3 in 2s (Retry-After)`; `None` for
/// a success.
pub fn decision_brief(attempt: &Attempt) -> Option<String> {
    let decision = attempt.decision.as_ref()?;
    let question = decision.question.as_ref().map(|it| it.answer);
    if question == Some(ConfirmAnswer::Done) {
        return Some("answered done".to_owned());
    }
    let next = next_step_brief(attempt, decision);
    Some(match question {
        Some(answer) => format!("answered {answer}, {next}"),
        None => next,
    })
}

fn next_step_brief(attempt: &Attempt, decision: &Decision) -> String {
    let Some(delay) = &decision.delay else {
        return match end_reason(decision.decided_by) {
            Some(reason) => self::reason(reason).to_owned(),
            None => format!(
                "{}{}",
                decision.decided_by,
                wait_until_next(attempt, decision)
            ),
        };
    };
    let source = match delay.source {
        DelaySource::Policy => String::new(),
        DelaySource::Rule => format!(", by {}", rule_name(decision)),
        DelaySource::RetryAfter => format!(" ({})", delay.retry_after_header),
    };
    let wait = brief(delay.jittered);
    format!("{} in {wait}{source}", retry_name(decision))
}

/// Why a job ended without success, in a few words.
pub fn reason(reason: EndReason) -> &'static str {
    match reason {
        EndReason::AtMostOnce => "not retried: starts at most once",
        EndReason::Cancelled => "cancelled",
        EndReason::Rule => "failed by a rule of the policy",
        EndReason::NonRetryable => "permanent failure",
        EndReason::Exhausted => "no retries left",
        EndReason::Expired => "maxElapsed has passed",
        EndReason::ExpiredUnstarted => "start deadline missed",
        EndReason::PrerequisiteFailed => "a prerequisite did not succeed",
        EndReason::OutcomeUnknown => "outcome unknown",
    }
}

/// A policy in one line: `3 retries, exponential from 1s up to 5m, proportional jitter`.
pub fn policy(policy: &RetryPolicy) -> String {
    let retries = match policy.max_retries() {
        0 => return "no retries".to_owned(),
        1 => "1 retry".to_owned(),
        retries => format!("{retries} retries"),
    };
    let (base, cap) = (brief(policy.base_delay()), brief(policy.max_delay()));
    let mut parts = vec![retries];
    parts.push(match policy.backoff() {
        Backoff::Fixed => format!("{base} apart"),
        Backoff::Delays => "after listed delays".to_owned(),
        growing => format!("{} from {base} up to {cap}", backoff_name(growing)),
    });
    parts.push(match policy.jitter() {
        Jitter::None => "no jitter".to_owned(),
        jitter => format!("{} jitter", jitter_name(jitter)),
    });
    if let Some(most) = policy.max_elapsed() {
        parts.push(format!("for at most {}", brief(most)));
    }
    match policy.rules().len() {
        0 => {}
        1 => parts.push("1 rule".to_owned()),
        rules => parts.push(format!("{rules} rules")),
    }
    parts.join(", ")
}

/// The word for a backoff in a sentence.
pub fn backoff_name(backoff: Backoff) -> &'static str {
    match backoff {
        Backoff::Exponential => "exponential",
        Backoff::Linear => "linear",
        Backoff::Fixed => "fixed",
        Backoff::Fibonacci => "fibonacci",
        Backoff::Delays => "listed",
    }
}

/// The word for a jitter in a sentence.
pub fn jitter_name(jitter: Jitter) -> &'static str {
    match jitter {
        Jitter::None => "no",
        Jitter::Proportional => "proportional",
        Jitter::Full => "full",
        Jitter::Equal => "equal",
        Jitter::Decorrelated => "decorrelated",
    }
}

/// `retry 2 of 3`; records from before the budget was kept say `retry`.
fn retry_name(decision: &Decision) -> String {
    if decision.decided_by == DecidedBy::Question {
        return "question".to_owned();
    }
    match decision.budget {
        Some(budget) => format!(
            "retry {} of {}",
            budget.retries_used + 1,
            budget.max_retries
        ),
        None => "retry".to_owned(),
    }
}

fn rule_name(decision: &Decision) -> String {
    match decision.matched {
        Some(index) => format!("rule {} of the policy", index + 1),
        None => "a rule of the policy".to_owned(),
    }
}

/// Where a delay came from: the rule, the backoff, the cap, the jitter and Retry-After.
fn delay_origin(decision: &Decision, delay: &RetryDelay) -> String {
    let mut parts = Vec::new();
    let (retry_after, given) = (
        brief(delay.retry_after.unwrap_or_default()),
        brief(delay.delay),
    );
    if delay.source == DelaySource::RetryAfter {
        let header = delay.retry_after_header;
        parts.push(format!("the target requested {retry_after} ({header})"));
    }
    match (delay.backoff, decision.budget) {
        (Some(backoff), _) => {
            if decision.decided_by == DecidedBy::Rule {
                parts.push(format!("{} retries this failure", rule_name(decision)));
            }
            parts.push(match backoff {
                Backoff::Delays => format!("the policy's list gives {given}"),
                _ if delay.delay == delay.cap => {
                    format!("{} backoff gives {given}, the cap", backoff_name(backoff))
                }
                _ => format!("{} backoff gives {given}", backoff_name(backoff)),
            });
        }
        (None, Some(_)) => parts.push(format!("{} retries after {given}", rule_name(decision))),
        // A record from before origins were kept.
        (None, None) => parts.push(format!("{given} before jitter")),
    }
    if delay.jitter != Jitter::None {
        let (low, high) = (brief(delay.low), brief(delay.high));
        let jitter = jitter_name(delay.jitter);
        parts.push(format!(
            "{jitter} jitter chose from {low} to {high} (sample {:.2})",
            delay.sample
        ));
    }
    if delay.retry_after.is_some() && delay.source != DelaySource::RetryAfter {
        let header = delay.retry_after_header;
        parts.push(format!("at least {retry_after} because of {header}"));
    }
    parts.join("; ")
}

/// ` for 9s`, if the next attempt is later than the end of this one.
fn wait_until_next(attempt: &Attempt, decision: &Decision) -> String {
    match decision.next_run_at {
        Some(next) if next > attempt.finished_at => {
            format!(" for {}", brief(next.since(attempt.finished_at)))
        }
        _ => String::new(),
    }
}

fn end_reason(decided_by: DecidedBy) -> Option<EndReason> {
    EndReason::ALL
        .iter()
        .copied()
        .find(|reason| DecidedBy::from(*reason) == decided_by)
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
