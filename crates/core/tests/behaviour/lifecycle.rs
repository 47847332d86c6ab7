//! The one brain as tables: every state, outcome, guarantee and command, as snapshots.
use std::{fmt::Write as _, sync::Arc, time::Duration};

use steadfast_core::{
    AttemptStatus, Claim, Dice, EndReason, Failure, FailureClass, Fence, Guarantee, Jitter, Job,
    JobCommand, JobEdit, JobId, JobState, Kind, NewJob, Outcome, Payload, PolicyPatch, Preset,
    Priority, RetryPolicy, RetryRule, Subscriptions, Timestamp, WorkerName, after_attempt,
    on_command,
};

const T0: Timestamp = Timestamp::from_millis(1_767_225_600_000);

fn at(secs: u64) -> Timestamp {
    T0.plus(Duration::from_secs(secs))
}

fn policy(patch: PolicyPatch) -> Arc<RetryPolicy> {
    Arc::new(patch.build().unwrap())
}

fn steady() -> PolicyPatch {
    PolicyPatch::preset(Preset::Http).jitter(Jitter::None)
}

fn waiting(policy: Arc<RetryPolicy>, guarantee: Guarantee) -> Job {
    let kind = Kind::new("mail").unwrap();
    let id = JobId::from_bits(1);
    let mut job = NewJob::new(id, kind, Payload::default(), policy);
    job.guarantee = guarantee;
    job.into_job(T0)
}

fn claim(job: Job, now: Timestamp) -> Claim {
    job.claim(WorkerName::new("node-1").unwrap(), None, now)
}

fn failure(class: &str) -> Outcome {
    Outcome::Failure {
        failure: Failure::new(FailureClass::named(class), "it broke"),
        output: None,
    }
}

fn http(status: u16) -> Outcome {
    Outcome::Failure {
        failure: Failure::http(status, "it answered"),
        output: None,
    }
}

/// One attempt, from claim to the state that follows it, in a line.
fn line(job: Job, outcome: Outcome) -> String {
    let ended = claim(job, T0).end(outcome, at(1));
    let transition = after_attempt(&ended, &Subscriptions::default(), Dice::new(1 << 63));
    let to = &transition.to;
    let record = transition.record.as_ref();
    format!(
        "{} in {}s, attempt {}, reason {}, record {} by {}",
        to.state,
        to.run_at.since(at(1)).as_secs_f64(),
        to.attempt,
        to.reason.map_or("-", |reason| reason.as_str()),
        record.map_or("-", |record| record.status.as_str()),
        record
            .and_then(|record| record.decision.as_ref())
            .map_or("-", |decision| decision.decided_by.as_str()),
    )
}

#[test]
fn every_outcome_leads_where_the_specification_says() {
    let mut table = String::new();
    for (situation, patch, guarantee, change) in situations() {
        writeln!(table, "{situation}").unwrap();
        for (name, outcome) in &outcomes() {
            let mut job = waiting(policy(patch.clone()), guarantee);
            change(&mut job);
            writeln!(table, "  {name:<12} {}", line(job, outcome.clone())).unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

fn outcomes() -> Vec<(&'static str, Outcome)> {
    vec![
        ("success", Outcome::Success { output: None }),
        ("error", failure("error")),
        ("panic", failure("panic")),
        ("timeout", failure("timeout")),
        ("own class", failure("SmtpHiccup")),
        ("validation", failure("ValidationError")),
        ("payload", failure("payload")),
        ("http 404", http(404)),
        ("http 429", http(429)),
        ("http 503", http(503)),
        ("lost", Outcome::Lost),
        ("snoozed", Outcome::Snoozed(Duration::from_secs(9))),
        (
            "cancelled",
            Outcome::Cancelled {
                message: "moot".to_owned(),
            },
        ),
        ("released", Outcome::Released { started: true }),
        ("not started", Outcome::Released { started: false }),
    ]
}

type Change = fn(&mut Job);

fn situations() -> Vec<(&'static str, PolicyPatch, Guarantee, Change)> {
    vec![
        ("first attempt", steady(), Guarantee::AtLeastOnce, |_| {}),
        ("last attempt", steady(), Guarantee::AtLeastOnce, |job| {
            job.progress.attempt = 3;
        }),
        (
            "no retries",
            steady().max_retries(0),
            Guarantee::AtLeastOnce,
            |_| {},
        ),
        ("at most once", steady(), Guarantee::AtMostOnce, |_| {}),
        (
            "cancel requested",
            steady(),
            Guarantee::AtLeastOnce,
            |job| {
                job.progress.cancel_requested = true;
            },
        ),
        (
            "at most once, cancel requested",
            steady(),
            Guarantee::AtMostOnce,
            |job| {
                job.progress.cancel_requested = true;
            },
        ),
        (
            "past maxElapsed",
            steady().max_elapsed(Duration::from_secs(60)),
            Guarantee::AtLeastOnce,
            |job| job.progress.first_started_at = Some(T0.minus(Duration::from_secs(60))),
        ),
        ("fresh budget", steady(), Guarantee::AtLeastOnce, |job| {
            job.progress.attempt = 4;
            job.progress.attempts_before = 4;
        }),
        (
            "snoozed too often",
            steady(),
            Guarantee::AtLeastOnce,
            |job| {
                job.progress.snoozes = 1_000;
            },
        ),
        (
            "rule: any retries",
            steady().rules(rules(r#"[{"match":"any","then":"retry"}]"#)),
            Guarantee::AtLeastOnce,
            |_| {},
        ),
        (
            "rule: 5xx fails, validation waits 30s",
            steady().rules(rules(
                r#"[{"match":{"status":"5xx"},"then":"fail"},
                    {"match":{"class":"validation"},"then":{"retry":"30s"}}]"#,
            )),
            Guarantee::AtLeastOnce,
            |_| {},
        ),
    ]
}

fn rules(json: &str) -> Vec<RetryRule> {
    serde_json::from_str(json).unwrap()
}

#[test]
fn every_command_does_to_every_state_what_it_should() {
    let commands: Vec<(&str, JobCommand)> = vec![
        ("cancel", JobCommand::Cancel),
        ("retry", JobCommand::Retry { payload: None }),
        (
            "retry edited",
            JobCommand::Retry {
                payload: Some(Payload::from_json("1").unwrap()),
            },
        ),
        ("run now", JobCommand::RunNow),
        (
            "edit",
            JobCommand::Edit(JobEdit {
                priority: Some(Priority::new(9).unwrap()),
                run_at: Some(at(7)),
                ..JobEdit::default()
            }),
        ),
        ("discard", JobCommand::Discard),
    ];
    let mut table = String::new();
    for guarantee in [Guarantee::AtLeastOnce, Guarantee::AtMostOnce] {
        for state in JobState::ALL {
            writeln!(table, "{state} {guarantee}").unwrap();
            for (name, command) in &commands {
                let mut job = waiting(policy(steady()), guarantee);
                job.progress.state = *state;
                job.progress.run_at = at(60);
                job.progress.attempt = 4;
                job.progress.fence = Fence(4);
                let result = match on_command(job, command, &Subscriptions::default(), at(10))
                    .map(|changed| changed.job)
                {
                    Ok(job) => format!(
                        "{}, runAt +{}s, attempt {} of which {} before, payload {}, priority {}{}{}",
                        job.progress.state,
                        job.progress.run_at.since(T0).as_secs(),
                        job.progress.attempt,
                        job.progress.attempts_before,
                        job.payload.as_str(),
                        job.priority.get(),
                        if job.progress.cancel_requested {
                            ", cancel requested"
                        } else {
                            ""
                        },
                        if job.progress.resolved_at.is_some() {
                            ", resolved"
                        } else {
                            ""
                        },
                    ),
                    Err(refused) => format!("refused: {refused}"),
                };
                writeln!(table, "  {name:<12} {result}").unwrap();
            }
        }
    }
    insta::assert_snapshot!(table);
}

/// Runs a job whose attempts take no time against scripted outcomes; says when each started
/// and how the job ended.
fn timeline(mut job: Job, outcomes: impl IntoIterator<Item = Outcome>) -> (Vec<String>, Job) {
    let mut lines = Vec::new();
    for outcome in outcomes {
        let now = job.progress.run_at;
        let ended = claim(job.clone(), now).end(outcome, now);
        let transition = after_attempt(&ended, &Subscriptions::default(), Dice::new(0));
        let record = transition.record.unwrap();
        lines.push(format!(
            "T+{} {} retryCount {}",
            now.since(T0).as_secs(),
            record.status,
            record.retry_count()
        ));
        job.progress = transition.to;
        if job.progress.state.is_final() {
            break;
        }
    }
    (lines, job)
}

#[test]
fn a_target_that_always_fails_is_tried_at_0_1_3_and_7_seconds() {
    let job = waiting(policy(steady().max_retries(3)), Guarantee::AtLeastOnce);
    let (lines, job) = timeline(job, std::iter::repeat(http(503)));
    assert_eq!(
        lines,
        [
            "T+0 FAILED retryCount 0",
            "T+1 FAILED retryCount 1",
            "T+3 FAILED retryCount 2",
            "T+7 FAILED retryCount 3"
        ]
    );
    assert!(job.is_dead_letter());
}

#[test]
fn at_most_once_is_tried_once_whatever_its_policy_says() {
    let job = waiting(policy(steady().max_retries(5)), Guarantee::AtMostOnce);
    let (lines, job) = timeline(job, std::iter::repeat(http(503)));
    assert_eq!(lines, ["T+0 FAILED retryCount 0"]);
    assert!(job.is_dead_letter());
}

#[test]
fn a_target_that_fails_twice_succeeds_at_three_seconds() {
    let job = waiting(policy(steady().max_retries(2)), Guarantee::AtLeastOnce);
    let success = Outcome::Success { output: None };
    let (lines, job) = timeline(job, [http(503), http(503), success]);
    assert_eq!(
        lines,
        [
            "T+0 FAILED retryCount 0",
            "T+1 FAILED retryCount 1",
            "T+3 SUCCESS retryCount 2"
        ]
    );
    assert_eq!(job.progress.state, JobState::Succeeded);
}

#[test]
fn retry_after_is_a_floor_capped_by_the_settings_and_at_30_days() {
    let most = Duration::from_secs(3_600);
    let wait = |secs: u64, most: Duration| {
        let failure = Failure::http(429, "slow down").with_retry_after(Duration::from_secs(secs));
        let outcome = Outcome::Failure {
            failure,
            output: None,
        };
        let job = waiting(policy(steady()), Guarantee::AtLeastOnce);
        let mut ended = claim(job, T0).end(outcome, T0);
        ended.limit_retry_after(most);
        let transition = after_attempt(&ended, &Subscriptions::default(), Dice::new(0));
        transition.to.run_at.since(T0).as_secs_f64()
    };
    assert_eq!(wait(0, most), 1.0);
    assert_eq!(wait(10, most), 10.0);
    assert_eq!(wait(100_000, most), 3_600.0);
    assert_eq!(wait(100_000, Duration::MAX), 100_000.0);
    assert_eq!(wait(u64::MAX, Duration::MAX), 30.0 * 86_400.0);
}

#[test]
fn fewer_retries_count_from_the_next_end_on_and_take_no_planned_retry_back() {
    let job = waiting(policy(steady().max_retries(5)), Guarantee::AtLeastOnce);
    let (_, retrying) = timeline(job, [http(503), http(503)]);
    let due = retrying.progress.run_at;
    let edit = JobEdit {
        policy: Some(policy(steady().max_retries(0))),
        ..JobEdit::default()
    };
    let edited = on_command(
        retrying,
        &JobCommand::Edit(edit),
        &Subscriptions::default(),
        at(2),
    );
    let edited = edited.unwrap().job;
    assert_eq!(edited.progress.run_at, due);
    let (lines, job) = timeline(edited, std::iter::repeat(http(503)));
    assert_eq!(lines, ["T+3 FAILED retryCount 2"]);
    assert_eq!(job.progress.reason, Some(EndReason::Exhausted));
}

#[test]
fn a_manual_retry_gets_a_fresh_budget_and_keeps_the_history() {
    let job = waiting(policy(steady().max_retries(1)), Guarantee::AtLeastOnce);
    let (_, dead) = timeline(job, std::iter::repeat(http(503)));
    let retried = on_command(
        dead,
        &JobCommand::Retry { payload: None },
        &Subscriptions::default(),
        at(100),
    )
    .unwrap()
    .job;
    let (lines, job) = timeline(retried, std::iter::repeat(http(503)));
    assert_eq!(
        lines,
        ["T+100 FAILED retryCount 0", "T+101 FAILED retryCount 1"]
    );
    assert!(job.is_dead_letter());
}

#[test]
fn an_attempt_that_was_snoozed_or_given_back_does_not_count() {
    let job = waiting(policy(steady().max_retries(0)), Guarantee::AtLeastOnce);
    let snoozed = Outcome::Snoozed(Duration::from_secs(5));
    let released = Outcome::Released { started: true };
    let success = Outcome::Success { output: None };
    let (lines, job) = timeline(job, [snoozed, released, success]);
    assert_eq!(
        lines,
        [
            "T+0 SNOOZED retryCount 0",
            "T+5 RELEASED retryCount 0",
            "T+5 SUCCESS retryCount 0"
        ]
    );
    assert_eq!(job.progress.fence, Fence(3));
}

#[test]
fn an_attempt_cannot_end_before_it_started_though_the_clock_be_set_back() {
    let job = waiting(policy(steady()), Guarantee::AtLeastOnce);
    let ended = claim(job, at(100)).end(failure("error"), at(5));
    let transition = after_attempt(&ended, &Subscriptions::default(), Dice::new(0));
    let record = transition.record.unwrap();
    assert_eq!(record.status, AttemptStatus::Failed);
    assert_eq!(record.finished_at, at(100));
    assert_eq!(transition.to.run_at, at(101));
}

#[test]
fn a_decision_names_the_rule_that_matched() {
    let rules = rules(
        r#"[{"match":{"class":"dns"},"then":"fail"},{"match":{"class":"tls"},"then":"retry"},
            {"match":{"class":"fraud"},"then":"fail"}]"#,
    );
    let job = || {
        waiting(
            policy(steady().rules(rules.clone())),
            Guarantee::AtLeastOnce,
        )
    };
    for (class, matched) in [
        ("dns", Some(0)),
        ("tls", Some(1)),
        ("fraud", Some(2)),
        ("error", None),
    ] {
        let ended = claim(job(), T0).end(failure(class), at(1));
        let record = after_attempt(&ended, &Subscriptions::default(), Dice::new(0))
            .record
            .unwrap();
        assert_eq!(record.decision.unwrap().matched, matched, "{class}");
    }
}

#[test]
fn the_time_in_which_its_destination_was_held_does_not_count_as_elapsed() {
    let policy = PolicyPatch::preset(Preset::Http).max_elapsed(Duration::from_secs(60));
    for (held, state) in [
        (0, JobState::Failed),
        (39, JobState::Failed),
        (41, JobState::Waiting),
    ] {
        let policy = Arc::new(policy.build().unwrap());
        let job = NewJob::new(
            JobId::from_bits(1),
            Kind::http(),
            Payload::default(),
            policy,
        );
        let claim = job
            .into_job(T0)
            .claim(WorkerName::new("node-1").unwrap(), None, T0);
        let failure = Failure::new(FailureClass::CONNECTION, "refused");
        let outcome = Outcome::Failure {
            failure,
            output: None,
        };
        let mut ended = claim.end(outcome, T0.plus(Duration::from_secs(100)));
        ended.set_held_time(Duration::from_secs(held));
        let transition = after_attempt(&ended, &Subscriptions::default(), Dice::TYPICAL);
        assert_eq!(transition.to.state, state, "held for {held} s");
    }
}
