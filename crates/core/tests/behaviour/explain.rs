//! What people read about a decision: every way an attempt can be followed, as one table.

mod facts;
mod start;

use std::{fmt::Write as _, sync::Arc, time::Duration};

use steadfast_core::{
    Attempt, Dice, EndReason, Failure, FailureClass, Guarantee, Jitter, Job, JobId, Kind, NewJob,
    Outcome, Payload, PolicyPatch, Preset, RetryRule, RuleAction, Subscriptions, Timestamp,
    WorkerName, after_attempt, explain,
};

const T0: Timestamp = Timestamp::from_millis(1_767_225_600_000);

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn at(secs_later: u64) -> Timestamp {
    T0.plus(secs(secs_later))
}

fn job(policy: PolicyPatch, attempts: u32) -> Job {
    let kind = Kind::new("mail").unwrap();
    let policy = Arc::new(policy.build().unwrap());
    let mut job = NewJob::new(JobId::from_bits(1), kind, Payload::default(), policy).into_job(T0);
    job.progress.attempt = attempts;
    job
}

fn record(job: Job, outcome: Outcome) -> Attempt {
    let claim = job.claim(WorkerName::new("node-1").unwrap(), None, T0);
    let ended = claim.end(outcome, T0.plus(secs(1)));
    let transition = after_attempt(&ended, &Subscriptions::default(), Dice::TYPICAL);
    transition.record.unwrap()
}

fn failure(class: &str) -> Failure {
    Failure::new(FailureClass::named(class), "it broke")
}

fn failed(failure: Failure) -> Outcome {
    Outcome::Failure {
        failure,
        output: None,
    }
}

fn steady() -> PolicyPatch {
    PolicyPatch::preset(Preset::Http).jitter(Jitter::None)
}

fn with_rule(then: RuleAction) -> PolicyPatch {
    steady().rules(vec![RetryRule::on_class("odd", then)])
}

#[test]
fn every_decision_has_its_sentence() {
    let error = || failed(failure("error"));
    let at_most_once = |outcome| {
        let mut job = job(steady(), 0);
        job.guarantee = Guarantee::AtMostOnce;
        record(job, outcome)
    };
    let mut cancelled = job(steady(), 0);
    cancelled.progress.cancel_requested = true;
    let mut requeued = job(steady(), 4);
    requeued.progress.attempts_before = 4;
    let own_delay = RuleAction::RetryAfter(secs(30));
    let wait_2s = failed(failure("error").with_retry_after(secs(2)));
    let attempts = [
        ("policy", record(job(steady(), 0), error())),
        ("jitter", record(job(Preset::Http.into(), 1), error())),
        ("cap", record(job(steady().max_delay(secs(2)), 2), error())),
        ("listed", record(job(Preset::Webhook.into(), 0), error())),
        ("requeued", record(requeued, error())),
        ("Retry-After", record(job(steady(), 0), wait_2s.clone())),
        ("shorter Retry-After", record(job(steady(), 2), wait_2s)),
        (
            "rule's own delay",
            record(job(with_rule(own_delay), 0), failed(failure("odd"))),
        ),
        (
            "rule that retries",
            record(job(with_rule(RuleAction::Retry), 0), failed(failure("odd"))),
        ),
        (
            "rule that fails",
            record(job(with_rule(RuleAction::Fail), 0), failed(failure("odd"))),
        ),
        (
            "permanent",
            record(job(steady(), 0), failed(failure("not_found"))),
        ),
        ("exhausted", record(job(steady(), 3), error())),
        (
            "no retries",
            record(job(steady().max_retries(0), 0), error()),
        ),
        (
            "expired",
            record(job(steady().max_elapsed(secs(1)), 0), error()),
        ),
        ("at most once", at_most_once(error())),
        ("lost at most once", at_most_once(Outcome::Lost)),
        ("cancel requested", record(cancelled, error())),
        (
            "snoozed",
            record(job(steady(), 0), Outcome::Snoozed(secs(9))),
        ),
        (
            "released",
            record(job(steady(), 0), Outcome::Released { started: true }),
        ),
    ];
    let mut table = String::new();
    for (name, attempt) in attempts {
        writeln!(table, "{name}").unwrap();
        writeln!(table, "  {}", explain::decision(&attempt).unwrap()).unwrap();
        writeln!(table, "  {}", explain::decision_brief(&attempt).unwrap()).unwrap();
    }
    insta::assert_snapshot!(table);
}

#[test]
fn a_success_needs_no_explanation() {
    let attempt = record(job(steady(), 0), Outcome::Success { output: None });
    assert_eq!(explain::decision(&attempt), None);
    assert_eq!(explain::decision_brief(&attempt), None);
}

#[test]
fn a_decision_is_explained_by_the_policy_it_was_made_with() {
    let attempt = record(job(steady(), 0), failed(failure("error")));
    let stored = serde_json::to_string(&attempt.decision).unwrap();
    let read = Attempt {
        decision: serde_json::from_str(&stored).unwrap(),
        ..attempt.clone()
    };
    assert_eq!(explain::decision(&read), explain::decision(&attempt));
}

#[test]
fn a_record_of_an_older_version_is_explained_without_the_missing_parts() {
    let mut attempt = record(job(steady(), 0), failed(failure("error")));
    let old = r#"{"rule":"policy","delay":{"delay":"1s","jitter":"none","low":"1s","high":"1s",
        "sample":0.5,"jittered":"1s","cap":"5m"},"nextRunAt":"2026-01-01T00:00:02Z"}"#;
    attempt.decision = serde_json::from_str(old).unwrap();
    let sentence = explain::decision(&attempt).unwrap();
    assert_eq!(sentence, "Retry in 1s: 1s before jitter.");
    attempt.decision = serde_json::from_str(r#"{"rule":"exhausted"}"#).unwrap();
    let sentence = explain::decision(&attempt).unwrap();
    assert_eq!(
        sentence,
        "Not retried: all retries of the policy are used up."
    );
}

#[test]
fn every_reason_and_policy_has_its_words() {
    let mut table = String::new();
    for reason in EndReason::ALL {
        writeln!(table, "{reason}: {}", explain::reason(*reason)).unwrap();
    }
    for preset in Preset::ALL {
        writeln!(table, "{preset}: {}", explain::policy(&preset.policy())).unwrap();
    }
    insta::assert_snapshot!(table);
}
