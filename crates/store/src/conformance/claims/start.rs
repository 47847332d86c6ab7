//! What stands between a job and its start: what is said agrees with what claims do.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use steadfast_core::{
    BlockerKind, Claim, ConcurrencyKey, Destination, Gate, GateDefaults, GateId, GateLimits,
    GateScope, Gates, JobCommand, JobId, JobLabel, NewJob, Pause, PlaceSnapshot, Priority, Rate,
    RetryShare, RunAt, Timestamp,
};

use crate::conformance::fixture::{
    Fixture, failure, ids_of, queue, request, secs, success, tenant,
};
use crate::{
    ClaimRequest, StartQuery, StartSnapshot,
    limits::{GATE_HOLDERS_MAX, JOBS_AHEAD_MAX},
};

/// Jobs of one queue, and what limits them.
struct Situation {
    name: &'static str,
    gates: Vec<(GateScope, &'static str, GateLimits)>,
    jobs: Vec<NewJob>,
    /// Every other attempt fails, and is retried.
    fails: bool,
    /// Jobs that differ share the room at a gate: who takes it is left to the claim.
    is_contended: bool,
}

pub async fn what_is_said_to_be_claimable_is_what_a_claim_takes(f: Fixture) {
    let situations = situations(&f);
    let set = situations.iter().flat_map(|situation| &situation.gates);
    let set = set.map(|(scope, key, limits)| gate(*scope, key, limits.clone()));
    let gates = gates(set);
    for situation in situations {
        let Situation { name, jobs, .. } = &situation;
        let mut ids = Vec::new();
        for job in jobs {
            let mut job = job.clone();
            job.queue = queue(name);
            ids.push(f.enqueue_one(job).await);
            // So that no two of them are due at the same moment.
            f.clock.advance(Duration::from_millis(1));
        }
        let (mut running, mut taken) = (Vec::new(), 0);
        for round in 0..6 {
            let claims = compare(&f, &gates, &situation, &ids, round).await;
            taken += claims.len();
            running.extend(claims);
            f.clock.advance(Duration::from_millis(150));
            if round % 2 == 1 {
                end(&f, &mut running, situation.fails).await;
                f.clock.advance(secs(61));
            }
        }
        assert_eq!(taken == 0, *name == "paused", "{name}");
    }
}

/// Asks about each job, then claims.
async fn compare(
    f: &Fixture,
    gates: &Arc<Gates>,
    situation: &Situation,
    ids: &[JobId],
    round: usize,
) -> Vec<Claim> {
    let mut claimable = BTreeSet::new();
    for id in ids {
        if read(f, *id, gates).await.is_claimable(f.now()) {
            claimable.insert(*id);
        }
    }
    let request = ClaimRequest {
        queues: vec![queue(situation.name)],
        ..request(100)
    };
    let claims = f.store.claim(request).await.unwrap().claims;
    let taken: BTreeSet<JobId> = ids_of(&claims).into_iter().collect();
    let at = format!("{}, round {round}", situation.name);
    match situation.is_contended {
        true => {
            assert!(taken.is_subset(&claimable), "{at}");
            assert_eq!(taken.is_empty(), claimable.is_empty(), "{at}");
        }
        false => assert_eq!(taken, claimable, "{at}"),
    }
    claims
}

async fn end(f: &Fixture, running: &mut Vec<Claim>, fails: bool) {
    for (number, claim) in running.drain(..).enumerate() {
        let outcome = match number % 2 {
            0 if fails => failure("no"),
            _ => success(),
        };
        f.end(claim, outcome).await;
        // So that no two retries are due at the same moment.
        f.clock.advance(Duration::from_millis(1));
    }
}

fn alike(f: &Fixture, name: &'static str, limits: GateLimits) -> Situation {
    Situation {
        name,
        gates: vec![(GateScope::Queue, name, limits)],
        jobs: f.jobs(5),
        fails: false,
        is_contended: false,
    }
}

fn situations(f: &Fixture) -> Vec<Situation> {
    let alike = |name, limits| alike(f, name, limits);
    let retries = steadfast_core::limits::RETRY_SHARE_FLOOR;
    let retries = usize::try_from(retries).unwrap() * 2 + 6;
    let late = f.job_with(|job| job.run_at = RunAt::After(secs(90)));
    let rate = Rate {
        limit: 10,
        per: secs(1),
        burst: 1,
    };
    let rate = GateLimits {
        rate: Some(rate),
        ..GateLimits::default()
    };
    let no_retries = GateLimits {
        retry_share: RetryShare::new(0.0),
        ..GateLimits::default()
    };
    let mut situations = vec![
        Situation {
            fails: true,
            ..alike("open", GateLimits::default())
        },
        alike("running", at_most(2)),
        alike("rate", rate),
        alike("paused", paused(None)),
        alike("opens", paused(Some(f.now().plus(secs(200))))),
        Situation {
            jobs: vec![late, f.job()],
            ..alike("late", GateLimits::default())
        },
        Situation {
            jobs: f.jobs(retries),
            fails: true,
            ..alike("retries", no_retries)
        },
    ];
    situations.extend(mixed_situations(f));
    situations
}

/// Those whose jobs are not all alike.
fn mixed_situations(f: &Fixture) -> [Situation; 3] {
    let job = |destination: Option<&str>, key: Option<&str>| {
        f.job_with(|job| {
            job.destination = destination.map(|origin| Destination::new(origin).unwrap());
            job.concurrency_key = key.map(|key| ConcurrencyKey::new(key).unwrap());
        })
    };
    let urgent = f.job_with(|job| job.priority = Priority::new(9).unwrap());
    let (to_a, to_b) = (Some("https://a.example"), Some("https://b.example"));
    [
        Situation {
            jobs: vec![f.job(), urgent, f.job()],
            fails: true,
            is_contended: true,
            ..alike(f, "priorities", at_most(2))
        },
        Situation {
            gates: vec![
                (GateScope::Key, "ordered", ordered()),
                (GateScope::Queue, "keys", at_most(3)),
            ],
            jobs: (0..3).map(|_| job(None, Some("ordered"))).collect(),
            fails: true,
            ..alike(f, "keys", GateLimits::default())
        },
        Situation {
            gates: vec![
                (GateScope::Key, "full", at_most(1)),
                (GateScope::Destination, "https://a.example", at_most(2)),
                (GateScope::Queue, "many", at_most(3)),
            ],
            jobs: vec![
                job(to_a, Some("full")),
                job(to_a, Some("full")),
                job(to_a, None),
                job(to_b, Some("full")),
                job(to_b, None),
            ],
            fails: true,
            is_contended: true,
            ..alike(f, "many", GateLimits::default())
        },
    ]
}

pub async fn a_job_at_a_limit_names_those_that_run(f: Fixture) {
    let gates = gates([gate(GateScope::Queue, "default", at_most(12))]);
    f.enqueue(f.jobs(12)).await;
    // They count although they ran before the gate was set.
    let running = f.claim(20).await;
    f.clock.advance(secs(1));
    let id = f.enqueue_one(f.job()).await;
    let reading = read(&f, id, &gates).await;
    let at_gate = &reading.gates[0];
    assert_eq!(at_gate.state.running, 12);
    assert_eq!(at_gate.holders.len(), GATE_HOLDERS_MAX);
    for holder in &at_gate.holders {
        let claim = running.iter().find(|claim| claim.job().id == holder.job);
        let progress = &claim.unwrap().job().progress;
        assert_eq!(holder.tenant, tenant("default"));
        assert_eq!(holder.worker, progress.worker);
        assert_eq!(Some(holder.since), progress.started_at);
    }
    let explanation = reading.facts().explain(f.now());
    assert_eq!(explanation.blockers[0].kind, BlockerKind::MaxRunning);
    assert!(!explanation.claimable);
}

pub async fn an_ordered_job_names_the_one_before_it(f: Fixture) {
    let gates = gates([gate(GateScope::Key, "k", ordered())]);
    let keyed = |after| {
        f.job_with(|job| {
            job.concurrency_key = ConcurrencyKey::new("k").ok();
            job.run_at = RunAt::After(secs(after));
        })
    };
    let first = f.enqueue_one(keyed(60)).await;
    let second = f.enqueue_one(keyed(0)).await;
    let before = read(&f, second, &gates).await.before_in_key.unwrap();
    assert_eq!((before.job, before.label), (first, JobLabel::Scheduled));
    assert_eq!(before.run_at, f.now().plus(secs(60)));
    assert_eq!(read(&f, first, &gates).await.before_in_key, None);
    // Without the limit there is no order.
    let none = Arc::new(Gates::new([], GateDefaults::default()));
    assert_eq!(read(&f, second, &none).await.before_in_key, None);
}

pub async fn a_job_knows_how_many_of_its_tenant_are_before_it(f: Fixture) {
    let to = |origin: &str| f.job_with(|job| job.destination = Destination::new(origin).ok());
    let mut ids = Vec::new();
    for job in [
        f.job_with(|job| job.tenant = tenant("other")),
        to("https://closed.example"),
        to("https://shared.example"),
        f.job_with(|job| job.priority = Priority::new(0).unwrap()),
        f.job_with(|job| job.queue = queue("paused")),
        f.job_with(|job| job.queue = queue("mail")),
        to("https://shared.example"),
        f.job_with(|job| job.priority = Priority::new(9).unwrap()),
    ] {
        ids.push(f.enqueue_one(job).await);
        f.clock.advance(Duration::from_millis(1));
    }
    let gates = gates([
        gate(
            GateScope::Destination,
            "https://closed.example",
            paused(None),
        ),
        gate(GateScope::Destination, "https://shared.example", at_most(1)),
        gate(GateScope::Queue, "paused", paused(None)),
    ]);
    // Before it: one to the same destination, one of another queue, one that is urgent; not what
    // may not start, nor what is less urgent, nor what is of another tenant.
    let reading = read(&f, ids[6], &gates).await;
    let place = PlaceSnapshot {
        ahead: 3,
        alike: 1,
        at_least: false,
    };
    assert_eq!(reading.place, Some(place));
    assert_eq!(reading.gates[0].ahead, 1);
    let reading = read(&f, ids[7], &gates).await;
    assert_eq!(reading.place, Some(PlaceSnapshot::default()));
    // The urgent one of its tenant and the one of the other tenant are claimed: they are before no job.
    assert_eq!(f.claim(2).await.len(), 2);
    let reading = read(&f, ids[6], &gates).await;
    assert_eq!(reading.place.map(|place| place.ahead), Some(2));
}

pub async fn no_more_jobs_are_counted_than_people_care_about(f: Fixture) {
    let most = usize::try_from(JOBS_AHEAD_MAX).unwrap();
    let now = f.now();
    let jobs = (0..most + 5).map(|_| f.job_with(|job| job.run_at = RunAt::At(now)));
    f.enqueue(jobs.collect()).await;
    f.clock.advance(secs(1));
    let id = f.enqueue_one(f.job()).await;
    let place = PlaceSnapshot {
        ahead: JOBS_AHEAD_MAX,
        alike: JOBS_AHEAD_MAX,
        at_least: true,
    };
    assert_eq!(read(&f, id, &gates([])).await.place, Some(place));
}

pub async fn the_first_job_of_a_queue_is_the_one_that_a_claim_looks_at(f: Fixture) {
    let gates = gates([gate(
        GateScope::Destination,
        "https://closed.example",
        paused(None),
    )]);
    f.use_gates(&gates).await;
    let first = async || {
        let of = StartQuery::FirstOf(tenant("default"), queue("default"));
        let reading = f.store.explain_start(of).await.unwrap();
        reading.map(|reading| reading.job.id)
    };
    assert_eq!(first().await, None);
    f.enqueue_one(f.job_with(|job| job.queue = queue("other")))
        .await;
    f.enqueue_one(f.job_with(|job| job.tenant = tenant("other")))
        .await;
    assert_eq!(first().await, None);
    // The next that will be due, then what is due, then what may start, then what is urgent.
    let mut job = f.job_with(|job| job.run_at = RunAt::After(secs(9)));
    job.priority = Priority::new(9).unwrap();
    let mut expected = f.enqueue_one(job).await;
    assert_eq!(first().await, Some(expected));
    let closed = Destination::new("https://closed.example").ok();
    for job in [
        f.job_with(|job| job.run_at = RunAt::After(secs(5))),
        f.job_with(|job| job.destination = closed.clone()),
        f.job(),
        f.job_with(|job| job.priority = Priority::new(8).unwrap()),
    ] {
        expected = f.enqueue_one(job).await;
        assert_eq!(first().await, Some(expected));
    }
}

pub async fn a_job_that_does_not_wait_has_nothing_before_its_start(f: Fixture) {
    let unknown = StartQuery::Job(JobId::from_bits(7));
    let found = f.store.explain_start(unknown).await.unwrap();
    assert!(found.is_none());
    let gates = gates([gate(GateScope::Queue, "default", at_most(1))]);
    let id = f.enqueue_one(f.job()).await;
    f.claim_of(id).await;
    let reading = read(&f, id, &gates).await;
    assert!(reading.gates.is_empty() && reading.place.is_none());
    assert!(!reading.is_claimable(f.now()));
}

pub async fn due_jobs_of_a_destination_are_counted(f: Fixture) {
    let to = |name: &str| Destination::new(&format!("https://{name}.example")).unwrap();
    let later = f.now().plus(secs(60));
    let mut jobs = Vec::new();
    for number in 0..12_u32 {
        jobs.push(f.job_with(|job| {
            job.destination = Some(to("a"));
            job.tenant = tenant(if number < 9 { "big" } else { "small" });
            job.queue = queue(if number % 2 == 0 { "even" } else { "odd" });
            job.priority = Priority::new(u8::try_from(number % 3).unwrap()).unwrap();
            if number == 0 {
                job.run_at = RunAt::At(later);
            }
        }));
    }
    jobs.push(f.job_with(|job| job.destination = Some(to("b"))));
    jobs.push(f.job());
    f.store.enqueue(jobs, None).await.unwrap();
    let count = async |of: Option<&str>, most: u64| {
        let counted = f.store.due_minutes(to("a"), of.map(tenant), f.now(), most);
        let counted = counted.await.unwrap();
        (counted.jobs(), counted.at_least)
    };
    assert_eq!(count(None, 100).await, (11, false));
    assert_eq!(count(None, 11).await, (11, false));
    assert_eq!(count(None, 10).await, (10, true));
    assert_eq!(count(Some("small"), 100).await, (3, false));
    assert_eq!(count(Some("big"), 2).await, (2, true));
    assert_eq!(count(Some("other"), 2).await, (0, false));
    f.clock.advance(secs(60));
    assert_eq!(count(Some("big"), 100).await, (9, false));
    let request = ClaimRequest {
        tenant: Some(tenant("big")),
        ..request(4)
    };
    let claims = f.store.claim(request).await.unwrap().claims;
    assert_eq!(claims.len(), 4);
    assert_eq!(count(None, 100).await, (8, false));
}

pub async fn gates_say_how_many_run_and_when_the_next_may_start(f: Fixture) {
    let rate = Rate {
        limit: 10,
        per: secs(1),
        burst: 1,
    };
    let limits = GateLimits {
        rate: Some(rate),
        ..at_most(5)
    };
    let gates = gates([
        gate(GateScope::Queue, "default", limits),
        gate(GateScope::Kind, "unused", at_most(1)),
    ]);
    let of: Vec<GateId> = [
        ("unused", GateScope::Kind),
        ("default", GateScope::Queue),
        ("not-set", GateScope::Queue),
    ]
    .map(|(key, scope)| gate(scope, key, GateLimits::default()).id)
    .to_vec();
    f.use_gates(&gates).await;
    let read = async || {
        let states = f.store.gate_states(of.clone());
        let states = states.await.unwrap();
        assert_eq!((states[0].running, states[2].running), (0, 0));
        (states[1].running, states[1].next_start)
    };
    assert_eq!(read().await.0, 0);
    f.enqueue(f.jobs(3)).await;
    let began = f.now();
    let claims = f.claim(3).await;
    let next = began.plus(Duration::from_millis(200));
    assert_eq!((claims.len(), read().await), (2, (2, next)));
    for claim in claims {
        f.end(claim, success()).await;
    }
    // No job passes it any more, and its starts count.
    let waiting = StartQuery::FirstOf(tenant("default"), queue("default"));
    let waiting = f.store.explain_start(waiting).await.unwrap();
    f.command(waiting.unwrap().job.id, JobCommand::Cancel).await;
    assert_eq!(read().await, (0, next));
}

pub async fn destinations_are_found_for_which_jobs_of_a_tenant_wait(f: Fixture) {
    let origin = |name: &str| Destination::new(&format!("https://{name}.example")).unwrap();
    let among = ["b", "a", "c"].map(origin).to_vec();
    let read = async |of: &str| {
        let found = f.store.waiting_destinations(tenant(of), among.clone());
        found.await.unwrap()
    };
    assert_eq!(read("default").await, []);
    let to = |name: &str| f.job_with(|job| job.destination = Some(origin(name)));
    let (mut keyed, mut later, mut of_other) = (to("b"), to("a"), to("c"));
    keyed.concurrency_key = ConcurrencyKey::new("k").ok();
    later.run_at = RunAt::After(secs(60));
    of_other.tenant = tenant("other");
    f.enqueue(vec![keyed, later, of_other, to("d"), f.job()])
        .await;
    assert_eq!(read("default").await, among[..2]);
    assert_eq!(read("other").await, among[2..]);
}

async fn read(f: &Fixture, id: JobId, gates: &Arc<Gates>) -> StartSnapshot {
    f.use_gates(gates).await;
    let reading = f.store.explain_start(StartQuery::Job(id));
    reading.await.unwrap().unwrap()
}

fn gates(set: impl IntoIterator<Item = Gate>) -> Arc<Gates> {
    Arc::new(Gates::new(set, GateDefaults::default()))
}

fn gate(scope: GateScope, key: &str, limits: GateLimits) -> Gate {
    let id = GateId {
        tenant: (scope == GateScope::Key).then(|| tenant("default")),
        scope,
        key: key.to_owned(),
    };
    Gate { id, limits }
}

fn at_most(running: u32) -> GateLimits {
    GateLimits {
        max_running: Some(running),
        ..GateLimits::default()
    }
}

fn ordered() -> GateLimits {
    GateLimits {
        ordered: true,
        ..GateLimits::default()
    }
}

fn paused(until: Option<Timestamp>) -> GateLimits {
    let pause = Pause {
        by: None,
        since: Timestamp::EPOCH,
        reason: None,
        until,
    };
    GateLimits {
        paused: Some(pause),
        ..GateLimits::default()
    }
}
