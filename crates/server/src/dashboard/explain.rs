//! Why a job went where it went after an attempt, in plain sentences.

use steadfast_core::{
    Attempt, Backoff, DecidedBy, Decision, EndReason, Jitter, RetryDelay, RetryPolicy,
};

use super::shown::short;

/// What followed an attempt, and why. A success needs no explanation.
pub fn sentence(attempt: &Attempt, policy: &RetryPolicy) -> Option<String> {
    let decision = attempt.decision.as_ref()?;
    let class = attempt
        .failure
        .as_ref()
        .map(|failure| failure.class.as_str());
    let class = class.unwrap_or("unknown");
    let said = match (decision.decided_by, &decision.delay) {
        (DecidedBy::Policy, Some(delay)) => {
            format!("Next try after {}.", waited(delay, policy))
        }
        (DecidedBy::Rule, Some(delay)) => {
            let which = rule_name(decision);
            format!("{which} says to try again: after {}.", waited(delay, policy))
        }
        (DecidedBy::Rule, None) => format!("{} says to give up.", rule_name(decision)),
        (DecidedBy::NonRetryable, _) => format!(
            "Given up: a failure of class {class} is permanent, so the same try would end the same way. A rule of the policy could say otherwise."
        ),
        (DecidedBy::Exhausted, _) => format!(
            "Given up: all {} retries of the policy are used up.",
            policy.max_retries()
        ),
        (DecidedBy::Expired, _) => {
            let most = policy.max_elapsed().map(short).unwrap_or_default();
            format!("Given up: more than {most} have passed since the first attempt (maxElapsed).")
        }
        (DecidedBy::AtMostOnce, _) => {
            "Given up: the job is AT_MOST_ONCE, which never starts twice.".to_owned()
        }
        (DecidedBy::OutcomeUnknown, _) => {
            "Given up: nobody knows whether it was carried out, and an AT_MOST_ONCE job is not tried on a guess.".to_owned()
        }
        (DecidedBy::Cancelled, _) => "Not tried again: someone cancelled the job.".to_owned(),
        (DecidedBy::Snoozed, _) => {
            "The handler asked to wait. The attempt does not count against the retries.".to_owned()
        }
        (DecidedBy::Released, _) => {
            "The node stopped and gave the job back. The attempt does not count against the retries.".to_owned()
        }
        _ => steadfast_core::explain::decision(attempt)?,
    };
    Some(said)
}

fn rule_name(decision: &Decision) -> String {
    match decision.matched {
        Some(index) => format!("Rule {} of the policy", index + 1),
        None => "A rule of the policy".to_owned(),
    }
}

/// How long, and how that came about.
fn waited(delay: &RetryDelay, policy: &RetryPolicy) -> String {
    let mut parts = Vec::new();
    let is_capped = delay.delay == delay.cap && policy.backoff() != Backoff::Delays;
    parts.push(format!(
        "{} backoff gives {}{}",
        backoff(policy.backoff()),
        short(delay.delay),
        if is_capped { ", which is the cap" } else { "" }
    ));
    if delay.jitter == Jitter::None {
        parts.push("there is no jitter".to_owned());
    } else {
        parts.push(format!(
            "{} jitter could choose from {} to {} and rolled {:.2}",
            jitter(delay.jitter),
            short(delay.low),
            short(delay.high),
            delay.sample
        ));
    }
    if let Some(asked) = delay.retry_after {
        let asked_for = short(asked);
        parts.push(format!(
            "the other side asked for at least {asked_for} (Retry-After)"
        ));
    }
    format!("{}: {}", short(delay.jittered), parts.join("; "))
}

pub fn backoff(backoff: Backoff) -> &'static str {
    match backoff {
        Backoff::Exponential => "exponential",
        Backoff::Linear => "linear",
        Backoff::Fixed => "fixed",
        Backoff::Fibonacci => "fibonacci",
        other => steadfast_core::explain::backoff_name(other),
    }
}

pub fn jitter(jitter: Jitter) -> &'static str {
    match jitter {
        Jitter::None => "none",
        Jitter::Proportional => "proportional",
        Jitter::Full => "full",
        Jitter::Equal => "equal",
        other => steadfast_core::explain::jitter_name(other),
    }
}

/// Why a job ended, for people.
pub fn reason(reason: EndReason) -> &'static str {
    match reason {
        EndReason::AtMostOnce => "it may start only once",
        EndReason::Cancelled => "it was cancelled",
        EndReason::Rule => "a rule of its policy says so",
        EndReason::NonRetryable => "the failure is permanent",
        EndReason::Exhausted => "no retry was left",
        EndReason::Expired => "its time was over",
        other => steadfast_core::explain::reason(other),
    }
}

/// A policy in one line.
pub fn policy(policy: &RetryPolicy) -> String {
    if policy.max_retries() == 0 {
        return "no retries".to_owned();
    }
    format!(
        "up to {} retries, {} backoff from {} to at most {}, jitter {}",
        policy.max_retries(),
        backoff(policy.backoff()),
        short(policy.base_delay()),
        short(policy.max_delay()),
        jitter(policy.jitter())
    )
}

#[cfg(test)]
mod tests {
    use steadfast_core::{AttemptStatus, Failure, FailureClass, Fence, JobId, Preset, Timestamp};

    use super::*;

    fn attempt(rule: DecidedBy, delay: Option<RetryDelay>) -> Attempt {
        Attempt {
            job: JobId::from_bits(1),
            fence: Fence(1),
            attempt: 1,
            attempts_before: 0,
            status: AttemptStatus::Failed,
            started_at: Timestamp::EPOCH,
            finished_at: Timestamp::EPOCH,
            worker: None,
            failure: Some(Failure::new(FailureClass::VALIDATION, "no")),
            output: None,
            note: None,
            decision: serde_json::from_value(serde_json::json!({"rule": rule, "delay": delay}))
                .unwrap(),
        }
    }

    #[test]
    fn a_retry_says_how_its_time_came_about() {
        let delay = serde_json::from_value(serde_json::json!({
            "source": "policy", "backoff": "exponential", "delay": "2s", "jitter": "proportional",
            "low": "1600ms", "high": "2400ms", "sample": 0.25, "jittered": "1800ms",
            "retryAfter": "1s", "cap": "5m",
        }))
        .unwrap();
        let said = sentence(
            &attempt(DecidedBy::Policy, Some(delay)),
            &Preset::Http.policy(),
        );
        assert_eq!(
            said.unwrap(),
            "Next try after 1.8s: exponential backoff gives 2s; proportional jitter could choose \
             from 1.6s to 2.4s and rolled 0.25; the other side asked for at least 1s (Retry-After)."
        );
    }

    #[test]
    fn every_end_has_its_sentence() {
        for rule in DecidedBy::ALL {
            let said = sentence(&attempt(*rule, None), &Preset::Http.policy()).unwrap();
            assert!(said.ends_with('.') && said.len() > 15, "{said}");
        }
    }
}
