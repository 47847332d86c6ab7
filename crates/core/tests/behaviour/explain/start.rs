//! What people read about a job that does not start: everything that can keep it from starting, as
//! one table.

use std::{fmt::Write as _, time::Duration};

use steadfast_core::{
    BlockerKind, Cost, DestinationHealth, EndReason, Endpoint, EndpointId, ExpiryAction, Failure,
    FailureClass, GateHolder, GatePatch, GateScope, GateSnapshot, GateState, Guarantee,
    HoldCommand, JobId, JobLabel, PausePatch, PlaceSnapshot, StartDeadline, StartFacts, Tenant,
    UnitRate, WorkerName, WorkerSnapshot,
};

use super::{
    T0, at,
    facts::{
        after_command, applied, at_gate, behind, due_job, facts, health_gate, other, pace_gate,
        refused_call, scarce, unhealthy,
    },
    failed, failure, record, secs,
};

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
        ..GateState::default()
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
        state: full.clone(),
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
    let set = |scope, key: &str, patch| at_gate(applied(&job, scope, key, patch), full.clone());
    let of_health = |health| at_gate(health_gate(&job, health), GateState::default());
    let served_by = |live, full, last_seen| StartFacts {
        workers: WorkerSnapshot {
            live,
            full,
            last_seen,
        },
        ..facts(&job)
    };
    let mut costly = due_job();
    costly.extras.get_or_insert_default().cost = Cost::new([("tokens", 1_800.0)]).ok();
    let rates = UnitRate::read_all("100000 tokens/1m").unwrap();
    let rates = rates.into_iter().map(Into::into).collect::<Vec<_>>();
    let rates = GatePatch::default().rates(rates);
    let tokens = applied(&costly, GateScope::Destination, url, rates);
    let mut used = GateState::default();
    let before = Cost::new([("tokens", 98_760.0)]).unwrap();
    tokens.limits.charge(&mut used, &before, at(2));
    let last_seen = Some((WorkerName::new("worker-3").unwrap(), T0));
    let table = [
        ("nothing", facts(&job)),
        (
            "usage",
            StartFacts {
                gates: at_gate(tokens, used),
                ..facts(&costly)
            },
        ),
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
                    full.clone(),
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
            "quota, for the tenant",
            for_tenant(gates(of_health(scarce("0")))),
        ),
        ("quota", gates(of_health(scarce("0")))),
        (
            "a pace that is learned",
            gates(at_gate(pace_gate(&job, None), full.clone())),
        ),
        (
            "a pace that was found",
            gates(at_gate(pace_gate(&job, Some(refused_call())), full.clone())),
        ),
        (
            "room at a learned pace for jobs before it",
            behind(
                9,
                gates(at_gate(pace_gate(&job, None), GateState::default())),
            ),
        ),
        (
            "quota of which some remains",
            behind(
                2,
                gates(at_gate(
                    health_gate(&job, scarce("3")),
                    GateState {
                        next_start: at(14),
                        ..GateState::default()
                    },
                )),
            ),
        ),
        ("no worker", served_by(0, 0, last_seen)),
        ("no slot", served_by(2, 2, None)),
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
