//! Decisions, reasons and policies in plain sentences.
//!
//! API, CLI, dashboard and logs print these texts, so that one reason has one wording. A decision
//! is explained from its own record: the job's policy may have changed since.

use std::time::Duration;

use crate::{
    job::attempt::{Attempt, DecidedBy, Decision},
    policy::{Backoff, DelaySource, Jitter, RetryDelay, RetryPolicy},
    state::EndReason,
    values::Timestamp,
};

/// Before the failure with which a sentence about many failures ends.
const MOST_RECENT: &str = "; most recent: ";

/// A sentence about many failures, with the newest of them.
pub fn with_most_recent(text: &str, newest: Option<&str>) -> String {
    let newest = newest.map_or(String::new(), |newest| format!("{MOST_RECENT}{newest}"));
    format!("{text}{newest}")
}

/// The same sentence without the failure.
pub fn without_most_recent(text: &str) -> &str {
    text.find(MOST_RECENT).map_or(text, |at| &text[..at])
}

/// The decision after an attempt as a sentence; `None` for a success.
pub fn decision(attempt: &Attempt) -> Option<String> {
    let decision = attempt.decision.as_ref()?;
    if let Some(delay) = &decision.delay {
        return Some(format!(
            "{} in {}: {}.",
            capitalised(&retry_name(decision)),
            brief(delay.jittered),
            delay_origin(decision, delay)
        ));
    }
    Some(match decision.decided_by {
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
    })
}

/// The decision after an attempt in a few words: `retry 1 of 3 in 2s (Retry-After)`; `None` for
/// a success.
pub fn decision_brief(attempt: &Attempt) -> Option<String> {
    let decision = attempt.decision.as_ref()?;
    let Some(delay) = &decision.delay else {
        return Some(match end_reason(decision.decided_by) {
            Some(reason) => self::reason(reason).to_owned(),
            None => format!(
                "{}{}",
                decision.decided_by,
                wait_until_next(attempt, decision)
            ),
        });
    };
    let source = match delay.source {
        DelaySource::Policy => String::new(),
        DelaySource::Rule => format!(", by {}", rule_name(decision)),
        DelaySource::RetryAfter => format!(" ({})", delay.retry_after_header),
    };
    let wait = brief(delay.jittered);
    Some(format!("{} in {wait}{source}", retry_name(decision)))
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

/// A duration for people, in two units at most: `850ms`, `3.2s`, `1m 5s`, `2d 4h`.
pub fn brief(duration: Duration) -> String {
    let micros = duration.as_micros();
    let tenths = (duration.as_millis() + 50) / 100;
    let seconds = duration.as_secs();
    let two_units = |unit: u64, name: &str, smaller: u64, smaller_name: &str| {
        let (big, small) = (seconds / unit, seconds % unit / smaller);
        if small == 0 {
            format!("{big}{name}")
        } else {
            format!("{big}{name} {small}{smaller_name}")
        }
    };
    match micros {
        0 => "0s".to_owned(),
        1..1_000 => format!("{micros}µs"),
        1_000..1_000_000 => format!("{}ms", micros / 1_000),
        // Rounded to tenths, this is a minute already.
        59_950_000..60_000_000 => "1m".to_owned(),
        1_000_000..60_000_000 if tenths.is_multiple_of(10) => format!("{}s", tenths / 10),
        1_000_000..60_000_000 => format!("{}.{}s", tenths / 10, tenths % 10),
        60_000_000..3_600_000_000 => two_units(60, "m", 1, "s"),
        3_600_000_000..86_400_000_000 => two_units(3_600, "h", 60, "m"),
        _ => two_units(86_400, "d", 3_600, "h"),
    }
}

/// A time for people, to the second.
///
/// ```
/// let time = "2026-01-01T12:00:00.123456Z".parse().unwrap();
/// assert_eq!(steadfast_core::explain::whole_second(time), "2026-01-01T12:00:00Z");
/// ```
pub fn whole_second(time: Timestamp) -> String {
    let part = Duration::from_millis(time.as_millis().unsigned_abs() % 1_000);
    Timestamp::from_millis(time.as_millis())
        .minus(part)
        .to_string()
}

/// A number for people: `1,234,567`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number and its noun: `1 job`, `1,234 jobs`.
pub(crate) fn count_of(count: u64, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{} {many}", thousands(count)),
    }
}

/// The first characters of a text, with an ellipsis if there are more.
pub fn shorten(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
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
