//! The facts from which it is explained why a job does not start.

use std::sync::Arc;

use steadfast_core::{
    AppliedGate, ConcurrencyKey, Destination, DestinationHealth, Failure, FlowKey, Gate,
    GateDefaults, GateId, GatePatch, GateScope, GateSnapshot, GateState, Gates, HealthInput,
    HealthRules, HealthTally, HoldCommand, HoldMode, Job, JobId, JobLabel, JobSnapshot, Kind,
    Outcome, PaceMode, PlaceSnapshot, SharedQuota, SharedRetryAfter, StartFacts, TargetQuota,
    Tenant, Timestamp, WorkerName, WorkerSnapshot,
};

use super::{T0, at, job, steady};

/// A job with a key and a destination that is due, with nothing in its way.
pub fn due_job() -> Job {
    let mut job = job(steady(), 0);
    job.destination = Destination::of_url("https://api.example.com/a");
    job.concurrency_key = ConcurrencyKey::new("customer 7").ok();
    job
}

pub fn facts(job: &Job) -> StartFacts<'_> {
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
pub fn applied(job: &Job, scope: GateScope, key: &str, patch: GatePatch) -> AppliedGate {
    let tenant = (scope == GateScope::Key).then(Tenant::default);
    let id = GateId::new(tenant, scope, key).unwrap();
    let limits = patch
        .over(&id, &Default::default(), Some("ann"), T0)
        .unwrap();
    let gates = Gates::new([Gate { id, limits }], GateDefaults::default());
    gates.applying_to(&FlowKey::from(job)).remove(0)
}

pub fn at_gate(gate: AppliedGate, state: GateState) -> Vec<GateSnapshot> {
    vec![GateSnapshot {
        gate,
        state,
        ahead: 0,
        holders: Vec::new(),
    }]
}

/// The same with jobs like it before it.
pub fn behind(count: u64, facts: StartFacts<'_>) -> StartFacts<'_> {
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
pub fn health_gate(job: &Job, health: DestinationHealth) -> AppliedGate {
    let destination = job.destination.clone().unwrap();
    let mut defaults = GateDefaults::default();
    defaults.destination.hold = Some(HoldMode::Auto);
    let gates = Gates::new([], defaults).with_health([(destination, Arc::new(health))]);
    let mut call = FlowKey::from(job);
    call.kind = Kind::http();
    gates.applying_to(&call).remove(0)
}

pub fn unhealthy(outcome: &Outcome, jobs: u128) -> DestinationHealth {
    let mut tally = HealthTally::default();
    for number in 0..jobs {
        let mut job = due_job();
        job.id = JobId::from_bits(number);
        let claim = job.claim(WorkerName::new("node-1").unwrap(), None, T0);
        let ended = claim.end(outcome.clone(), at(1));
        tally.add(&ended, None);
        let told = SharedRetryAfter::of(&ended, true).into_iter();
        told.for_each(|told| tally.add_retry_after(told));
    }
    reported(tally)
}

/// The answer to an attempt said how much remains for a minute.
pub fn scarce(remaining: &str) -> DestinationHealth {
    let header = |name: &str| match name {
        "x-ratelimit-remaining-requests" => Some(remaining.to_owned()),
        "x-ratelimit-reset-requests" => Some("1m0s".to_owned()),
        _ => None,
    };
    let claim = due_job().claim(WorkerName::new("node-1").unwrap(), None, T0);
    let mut ended = claim.end(Outcome::Success { output: None }, at(1));
    ended.set_quota(TargetQuota::read(&header, at(1)));
    let mut tally = HealthTally::default();
    tally.add_quota(SharedQuota::of(&ended).unwrap(), None);
    reported(tally)
}

/// The gate of a destination whose pace is learned for all tenants.
pub fn pace_gate(job: &Job, health: Option<DestinationHealth>) -> AppliedGate {
    let mut defaults = GateDefaults::default();
    defaults.destination.pace = Some(PaceMode::Learn);
    defaults.destination.share_retry_after = Some(true);
    let destination = job.destination.clone().unwrap();
    let known = health.map(|health| (destination, Arc::new(health)));
    let mut call = FlowKey::from(job);
    call.kind = Kind::http();
    let gates = Gates::new([], defaults).with_health(known);
    gates.applying_to(&call).pop().unwrap()
}

/// A destination that has refused one call too many.
pub fn refused_call() -> DestinationHealth {
    let claim = due_job().claim(WorkerName::new("node-1").unwrap(), None, T0);
    let failure = Failure::http(429, "slow down");
    let outcome = Outcome::Failure {
        failure,
        output: None,
    };
    let mut tally = HealthTally::default();
    tally.add_pace(&claim.end(outcome, at(1)), None);
    reported(tally)
}

fn reported(mut tally: HealthTally) -> DestinationHealth {
    let report = tally.take_report("node-1", at(1));
    let input = HealthInput {
        report: Some(&report),
        ..HealthInput::default()
    };
    let health = DestinationHealth::default();
    let change = health.step(input, &HealthRules::default(), at(1));
    change.unwrap().health
}

pub fn after_command(health: &DestinationHealth, command: HoldCommand) -> DestinationHealth {
    let input = HealthInput {
        command: Some(&command),
        ..HealthInput::default()
    };
    let change = health.step(input, &HealthRules::default(), at(2));
    change.unwrap().health
}

pub fn other(label: JobLabel, run_at: Timestamp) -> JobSnapshot {
    JobSnapshot {
        job: JobId::from_bits(2),
        label,
        run_at,
    }
}
