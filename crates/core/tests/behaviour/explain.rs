//! What people read about a decision: every way an attempt can be followed, as one table.
use std::{fmt::Write as _, sync::Arc, time::Duration};

use steadfast_core::{
    AppliedGate, Attempt, BlockerKind, ConcurrencyKey, Destination, DestinationHealth, Dice,
    EndReason, Endpoint, EndpointId, ExpiryAction, Failure, FailureClass, Gate, GateDefaults,
    GateHolder, GateId, GatePatch, GateScope, GateSnapshot, GateState, Gates, Guarantee,
    HealthInput, HealthRules, HealthTally, HoldCommand, HoldMode, Jitter, Job, JobId, JobLabel,
    JobSnapshot, Kind, NewJob, Outcome, PausePatch, Payload, PlaceSnapshot, PolicyPatch, Preset,
    RetryRule, RuleAction, StartDeadline, StartFacts, Sublane, Subscriptions, Tenant, Timestamp,
    WorkerName, WorkerSnapshot, after_attempt, explain,
};

const T0: Timestamp = Timestamp::from_millis(1_767_225_600_000);

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
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

fn at(secs_later: u64) -> Timestamp {
    T0.plus(secs(secs_later))
}

/// A job with a key and a destination that is due, with nothing in its way.
fn due_job() -> Job {
    let mut job = job(steady(), 0);
    job.destination = Destination::of_url("https://api.example.com/a");
    job.concurrency_key = ConcurrencyKey::new("customer 7").ok();
    job
}

fn facts(job: &Job) -> StartFacts<'_> {
    StartFacts {
        job,
        last_attempt: None,
        gates: Vec::new(),
        before_in_key: None,
        runs_after: Vec::new(),
        endpoint: None,
        workers: WorkerSnapshot {
            live: 2,
            ..WorkerSnapshot::default()
        },
        place: Some(PlaceSnapshot::default()),
        starts_per_second: None,
        is_of_tenant: false,
    }
}

/// The gates of a job if one of them is set.
fn applied(job: &Job, scope: GateScope, key: &str, patch: GatePatch) -> AppliedGate {
    let tenant = (scope == GateScope::Key).then(Tenant::default);
    let id = GateId::new(tenant, scope, key).unwrap();
    let limits = patch
        .over(&id, &Default::default(), Some("ann"), T0)
        .unwrap();
    let gates = Gates::new(1, [Gate { id, limits }], GateDefaults::default());
    gates.applying_to(&Sublane::from(job)).remove(0)
}

fn at_gate(gate: AppliedGate, state: GateState) -> Vec<GateSnapshot> {
    vec![GateSnapshot {
        gate,
        state,
        ahead: 0,
        holders: Vec::new(),
    }]
}

/// The same with jobs like it before it.
fn behind(count: u64, facts: StartFacts<'_>) -> StartFacts<'_> {
    let gates = facts.gates.into_iter();
    let place = PlaceSnapshot {
        ahead: count,
        alike: count,
        at_least: false,
    };
    StartFacts {
        gates: gates
            .map(|gate| GateSnapshot {
                ahead: count,
                ..gate
            })
            .collect(),
        place: Some(place),
        ..facts
    }
}

/// The gate that follows from the health of the job's destination.
fn health_gate(job: &Job, health: DestinationHealth) -> AppliedGate {
    let destination = job.destination.clone().unwrap();
    let mut defaults = GateDefaults::default();
    defaults.destination.hold = Some(HoldMode::Auto);
    let gates = Gates::new(1, [], defaults).with_health([(destination, Arc::new(health))]);
    let mut call = Sublane::from(job);
    call.kind = Kind::http();
    gates.applying_to(&call).remove(0)
}

fn unhealthy(outcome: &Outcome, jobs: u128) -> DestinationHealth {
    let mut tally = HealthTally::default();
    for number in 0..jobs {
        let mut job = due_job();
        job.id = JobId::from_bits(number);
        let claim = job.claim(WorkerName::new("node-1").unwrap(), None, T0);
        let ended = claim.end(outcome.clone(), at(1));
        tally.add(&ended, None);
        tally.add_retry_after(&ended);
    }
    let report = tally.take_report("node-1", at(1));
    let input = HealthInput {
        report: Some(&report),
        ..HealthInput::default()
    };
    let health = DestinationHealth::default();
    let change = health.step(input, &HealthRules::default(), at(1));
    change.unwrap().health
}

fn after_command(health: &DestinationHealth, command: HoldCommand) -> DestinationHealth {
    let input = HealthInput {
        command: Some(&command),
        ..HealthInput::default()
    };
    let change = health.step(input, &HealthRules::default(), at(2));
    change.unwrap().health
}

fn other(label: JobLabel, run_at: Timestamp) -> JobSnapshot {
    JobSnapshot {
        job: JobId::from_bits(2),
        label,
        run_at,
    }
}

// long: it is one table
#[test]
fn everything_that_keeps_a_job_from_starting_has_its_sentence() {
    let job = due_job();
    let url = "https://api.example.com";
    let pause = |reason: Option<&str>, until| {
        GatePatch::default().paused(PausePatch::Pause {
            reason: reason.map(str::to_owned),
            until,
        })
    };
    let at_rate = |text: &str| GatePatch::default().rate(text.parse().unwrap());
    let full = GateState {
        running: 5,
        next_start: at(3).plus(Duration::from_millis(700)),
        minute: T0.as_micros() / 60_000_000,
        starts: 20,
        retries: 9,
    };
    let refused = failed(Failure::new(FailureClass::CONNECTION, "refused"));
    let down = unhealthy(&refused, 20);
    let told = Failure::http(429, "slow down").with_retry_after(secs(30));
    let told = unhealthy(&failed(told), 1);
    let hand = |until| HoldCommand::Hold {
        by: Some("ann".to_owned()),
        reason: Some("maintenance.".to_owned()),
        until,
    };
    let release = HoldCommand::Release { by: None };
    let retried = record(due_job(), failed(failure("error")));
    let mut later = due_job();
    later.progress.run_at = at(60);
    later.progress.attempt = 1;
    let hook = "https://example.org/hook";
    let mut disabled = Endpoint::new(EndpointId::from_bits(1), Tenant::default(), hook, T0);
    disabled.disable(Some("the target answered 410: it is gone"), at(3));
    let mut ready_retry = due_job();
    ready_retry.progress.attempt = 1;
    let mut once = due_job();
    once.guarantee = Guarantee::AtMostOnce;
    let mut late = due_job();
    let deadline = StartDeadline::stored(at(2), ExpiryAction::Fail);
    late.extras.get_or_insert_default().start_deadline = Some(deadline);
    let running = due_job().claim(WorkerName::new("node-1").unwrap(), None, T0);
    let mut dead = due_job();
    dead.progress.state = steadfast_core::JobState::Failed;
    let mut dead_with_another = dead.clone();
    dead_with_another.progress.reason = Some(EndReason::PrerequisiteFailed);
    let holder = |bits, worker: Option<&str>| GateHolder {
        job: JobId::from_bits(bits),
        tenant: match bits {
            10 => Tenant::new("other").unwrap(),
            _ => Tenant::default(),
        },
        worker: worker.map(|worker| WorkerName::new(worker).unwrap()),
        since: T0,
    };
    let max_running = GateSnapshot {
        gate: applied(
            &job,
            GateScope::Queue,
            "default",
            GatePatch::default().max_running(5),
        ),
        state: full,
        ahead: 0,
        holders: vec![
            holder(7, Some("node-1")),
            holder(8, Some("node-2")),
            holder(9, None),
            holder(10, None),
        ],
    };
    let gates = |gates| StartFacts {
        gates,
        ..facts(&job)
    };
    let for_tenant = |facts| StartFacts {
        is_of_tenant: true,
        ..facts
    };
    let set = |scope, key: &str, patch| at_gate(applied(&job, scope, key, patch), full);
    let of_health = |health| at_gate(health_gate(&job, health), GateState::default());
    let last_seen = Some((WorkerName::new("worker-3").unwrap(), T0));
    let table = [
        ("nothing", facts(&job)),
        ("running", facts(running.job())),
        ("failed", facts(&dead)),
        ("failed with another", facts(&dead_with_another)),
        ("late", facts(&late)),
        (
            "not due",
            StartFacts {
                last_attempt: Some(&retried),
                ..facts(&later)
            },
        ),
        (
            "a delivery to a disabled endpoint",
            StartFacts {
                last_attempt: Some(&retried),
                endpoint: Some(disabled),
                ..facts(&later)
            },
        ),
        (
            "runs after",
            StartFacts {
                runs_after: vec![other(JobLabel::Running, T0)],
                ..facts(&job)
            },
        ),
        (
            "ordered",
            StartFacts {
                before_in_key: Some(other(JobLabel::Retrying, at(93))),
                ..gates(at_gate(
                    applied(
                        &job,
                        GateScope::Key,
                        "customer 7",
                        GatePatch::default().ordered(true),
                    ),
                    full,
                ))
            },
        ),
        (
            "paused",
            gates(set(GateScope::Kind, "mail", pause(None, None))),
        ),
        (
            "paused until",
            gates(set(
                GateScope::Tenant,
                "default",
                pause(Some("too loud"), Some(at(600))),
            )),
        ),
        (
            "max running, for the tenant",
            for_tenant(gates(vec![max_running.clone()])),
        ),
        ("max running", gates(vec![max_running])),
        (
            "rate",
            gates(set(GateScope::Destination, url, at_rate("10/s"))),
        ),
        (
            "rate, behind others",
            StartFacts {
                starts_per_second: Some(0.3),
                ..behind(20, gates(set(GateScope::Destination, url, at_rate("10/s"))))
            },
        ),
        (
            "a rate with room for those before it",
            behind(
                20,
                gates(at_gate(
                    applied(&job, GateScope::Destination, url, at_rate("10/s+5")),
                    GateState::default(),
                )),
            ),
        ),
        (
            "max running with room for one before it",
            behind(
                1,
                gates(at_gate(
                    applied(
                        &job,
                        GateScope::Queue,
                        "default",
                        GatePatch::default().max_running(1),
                    ),
                    GateState::default(),
                )),
            ),
        ),
        (
            "retry share",
            StartFacts {
                gates: set(
                    GateScope::Queue,
                    "default",
                    GatePatch::default().retry_share(0.2),
                ),
                ..facts(&ready_retry)
            },
        ),
        ("held", gates(of_health(down.clone()))),
        (
            "held, for the tenant",
            for_tenant(gates(of_health(down.clone()))),
        ),
        (
            "held, no probe",
            StartFacts {
                gates: of_health(down.clone()),
                ..facts(&once)
            },
        ),
        (
            "held manually",
            gates(of_health(after_command(&down, hand(None)))),
        ),
        (
            "held manually until",
            gates(of_health(after_command(
                &DestinationHealth::default(),
                hand(Some(at(90))),
            ))),
        ),
        (
            "ramping",
            behind(
                1_500,
                gates(at_gate(
                    health_gate(&job, after_command(&down, release)),
                    GateState {
                        next_start: at(3).plus(Duration::from_millis(400)),
                        ..GateState::default()
                    },
                )),
            ),
        ),
        (
            "Retry-After, for the tenant",
            for_tenant(gates(of_health(told.clone()))),
        ),
        ("Retry-After", gates(of_health(told))),
        (
            "no worker",
            StartFacts {
                workers: WorkerSnapshot {
                    last_seen,
                    ..WorkerSnapshot::default()
                },
                ..facts(&job)
            },
        ),
        (
            "no free slot",
            StartFacts {
                workers: WorkerSnapshot {
                    live: 2,
                    full_slots: Some(200),
                    ..WorkerSnapshot::default()
                },
                ..facts(&job)
            },
        ),
        (
            "never a worker, and paused",
            StartFacts {
                workers: WorkerSnapshot::default(),
                ..gates(set(GateScope::Queue, "default", pause(None, None)))
            },
        ),
        (
            "behind",
            StartFacts {
                starts_per_second: Some(50.0),
                ..behind(1_200, facts(&job))
            },
        ),
        (
            "behind more than are counted",
            StartFacts {
                place: Some(PlaceSnapshot {
                    ahead: 1_000,
                    alike: 1_000,
                    at_least: true,
                }),
                ..facts(&job)
            },
        ),
    ];
    let (mut text, mut kinds) = (String::new(), Vec::new());
    for (name, facts) in table {
        let explanation = facts.explain(at(3));
        let claimable = match explanation.claimable {
            true => "claimable",
            false => "not claimable",
        };
        writeln!(text, "{name}: {claimable}").unwrap();
        for blocker in &explanation.blockers {
            kinds.push(blocker.kind);
            writeln!(text, "  {}: {}", blocker.kind, blocker.sentence).unwrap();
        }
        if let Some(estimate) = &explanation.estimate {
            writeln!(text, "  estimate: {}, by {}", estimate.at, estimate.basis).unwrap();
        }
        if let Some(action) = &explanation.action {
            writeln!(text, "  action: {action}").unwrap();
        }
    }
    insta::assert_snapshot!(text);
    let missing = BlockerKind::ALL.iter().find(|kind| !kinds.contains(kind));
    assert_eq!(missing, None);
}

#[test]
fn an_explanation_is_data_too() {
    let job = due_job();
    let refused = failed(Failure::new(FailureClass::CONNECTION, "refused"));
    let facts = StartFacts {
        gates: at_gate(
            health_gate(&job, unhealthy(&refused, 20)),
            GateState::default(),
        ),
        ..facts(&job)
    };
    let facts = behind(3, facts);
    let json = serde_json::to_string_pretty(&facts.explain(at(3))).unwrap();
    insta::assert_snapshot!(json);
}
