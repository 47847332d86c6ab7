//! Flow control: gates hold inside the claim.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use steadfast_core::{
    CallOwner, Claim, ConcurrencyKey, Destination, DestinationHealth, Failure, FailureClass, Gate,
    GateDefaults, GateId, GateLimits, GateScope, Gates, Guarantee, HealthInput, HealthRules,
    HealthTally, HoldMode, JobId, Kind, NewJob, Outcome, Pause, Priority, Rate, RetryShare,
    SharedQuota, TargetQuota, Tenant, limits,
};

use crate::conformance::fixture::{
    Fixture, failure, ids_of, queue, request, secs, success, tenant,
};
use crate::{Allowance, ClaimRequest, store::ClaimResult};

pub async fn no_more_run_than_a_gate_allows(f: Fixture) {
    let gates = gates([gate(None, GateScope::Queue, "default", at_most(2))]);
    let ids = f.enqueue(f.jobs(5)).await;
    let other = f
        .enqueue_one(f.job_with(|job| job.queue = queue("other")))
        .await;
    let first = claim(&f, &gates, 10).await;
    assert_eq!(sorted(&first.claims), sorted_ids([ids[0], ids[1], other]));
    assert!(
        first.next_due.is_none_or(|next| next > f.now()),
        "time alone opens nothing"
    );
    // A success, a failure that is retried and a lease that was found expired make room alike.
    let claims = first.claims.into_iter();
    let mut claims = claims.filter(|claim| claim.job().id != other);
    f.end(claims.next().unwrap(), success()).await;
    assert_eq!(ids_of(&claim(&f, &gates, 10).await.claims), [ids[2]]);
    let two = claims.next().unwrap();
    f.clock.advance(secs(60));
    assert_eq!(claim(&f, &gates, 10).await.claims.len(), 0, "not swept yet");
    f.end(two, Outcome::Lost).await;
    assert_eq!(claim(&f, &gates, 1).await.claims.len(), 1);
}

pub async fn an_attempt_that_ran_before_its_gate_was_set_counts(f: Fixture) {
    f.enqueue(f.jobs(3)).await;
    let running = f.claim(1).await.remove(0);
    let gates = gates([gate(None, GateScope::Kind, "mail", at_most(1))]);
    assert_eq!(claim(&f, &gates, 10).await.claims.len(), 0);
    f.end(running, success()).await;
    assert_eq!(claim(&f, &gates, 10).await.claims.len(), 1);
}

pub async fn an_attempt_counts_at_no_gate_after_its_end(f: Fixture) {
    f.enqueue(f.jobs(3)).await;
    let by_queue = || gate(None, GateScope::Queue, "default", at_most(1));
    let by_kind = || gate(None, GateScope::Kind, "mail", at_most(1));
    // It is counted at one gate, then at both, then that one is deleted and set again.
    let first = claim(&f, &gates([by_queue()]), 10).await.claims;
    assert_eq!(first.len(), 1);
    let both = gates([by_queue(), by_kind()]);
    assert_eq!(claim(&f, &both, 10).await.claims.len(), 0);
    let one = gates([by_kind()]);
    assert_eq!(claim(&f, &one, 10).await.claims.len(), 0);
    f.end(first.into_iter().next().unwrap(), success()).await;
    let both = gates([by_queue(), by_kind()]);
    let second = claim(&f, &both, 10).await.claims;
    assert_eq!(second.len(), 1);
    f.end(second.into_iter().next().unwrap(), success()).await;
    assert_eq!(claim(&f, &both, 10).await.claims.len(), 1);
}

pub async fn a_gate_that_is_raised_lets_more_start(f: Fixture) {
    f.enqueue(f.jobs(5)).await;
    let low = gates([gate(None, GateScope::Queue, "default", at_most(1))]);
    assert_eq!(claim(&f, &low, 10).await.claims.len(), 1);
    let high = gates([gate(None, GateScope::Queue, "default", at_most(3))]);
    assert_eq!(claim(&f, &high, 10).await.claims.len(), 2);
    assert_eq!(claim(&f, &gates([]), 10).await.claims.len(), 2);
}

pub async fn a_gate_of_one_tenant_is_for_its_own_jobs(f: Fixture) {
    let set = gate(Some("a"), GateScope::Queue, "default", at_most(1));
    let gates = gates([set]);
    f.enqueue(tenant_jobs(&f, "a", 3)).await;
    f.enqueue(tenant_jobs(&f, "b", 3)).await;
    let claims = claim(&f, &gates, 10).await.claims;
    assert_eq!(by_tenant(&claims), [("a".into(), 1), ("b".into(), 3)]);
}

pub async fn jobs_that_name_a_destination_take_no_room_from_other_tenants(f: Fixture) {
    const TO: &str = "https://api.example.com";
    let named = |of: &str, kind: &str, count| {
        let mut jobs = tenant_jobs(&f, of, count);
        for job in &mut jobs {
            job.destination = Destination::new(TO).ok();
            job.kind = Kind::new(kind).unwrap();
        }
        f.enqueue(jobs)
    };
    let limits = GateLimits {
        rate: Some("2/1h".parse().unwrap()),
        ..at_most(2)
    };
    let mut set = gate(None, GateScope::Destination, TO, limits);
    let apart = gates([set.clone()]);
    named("hostile", "report", 5).await;
    let hostile = claim(&f, &apart, 10).await.claims;
    assert_eq!(by_tenant(&hostile), [("hostile".into(), 1)]);
    named("good", "http", 5).await;
    named("other", "report", 5).await;
    let claims = claim(&f, &apart, 10).await.claims;
    assert_eq!(
        by_tenant(&claims),
        [("good".into(), 1), ("other".into(), 1)]
    );
    // If the operator says that all callers share its limits, they do.
    set.limits = GateLimits {
        share_retry_after: Some(true),
        ..at_most(4)
    };
    let shared = gates([set]);
    assert_eq!(claim(&f, &shared, 10).await.claims.len(), 1);
    assert_eq!(claim(&f, &shared, 10).await.claims.len(), 0);
    f.end(hostile.into_iter().next().unwrap(), success()).await;
    assert_eq!(claim(&f, &shared, 10).await.claims.len(), 1);
}

pub async fn every_gate_of_a_job_must_be_open(f: Fixture) {
    let gates = gates([
        gate(
            None,
            GateScope::Destination,
            "https://a.example",
            at_most(4),
        ),
        gate(Some("default"), GateScope::Key, "k", at_most(2)),
        gate(None, GateScope::Tenant, "default", at_most(5)),
    ]);
    let job = |destination: &str, key: Option<&str>| {
        f.job_with(|job| {
            job.destination = Destination::new(destination).ok();
            job.concurrency_key = key.map(|key| ConcurrencyKey::new(key).unwrap());
        })
    };
    let mut jobs: Vec<NewJob> = (0..3)
        .map(|_| job("https://a.example", Some("k")))
        .collect();
    jobs.extend((0..3).map(|_| job("https://a.example", None)));
    jobs.extend((0..3).map(|_| job("https://b.example", None)));
    let ids = f.enqueue(jobs).await;
    let claims = claim(&f, &gates, 10).await.claims;
    let of = |range: std::ops::Range<usize>| {
        let wanted = &ids[range];
        claims
            .iter()
            .filter(|claim| wanted.contains(&claim.job().id))
            .count()
    };
    assert_eq!((of(0..3), of(3..6), of(6..9)), (2, 2, 1));
}

pub async fn starts_keep_to_a_rate(f: Fixture) {
    let rate = Rate {
        limit: 10,
        per: secs(1),
        burst: 2,
    };
    let limits = GateLimits {
        rate: Some(rate),
        ..GateLimits::default()
    };
    let gates = gates([gate(None, GateScope::Queue, "default", limits)]);
    f.enqueue(f.jobs(30)).await;
    let first = claim(&f, &gates, 30).await;
    assert_eq!(first.claims.len(), 3);
    let tenth = Duration::from_millis(100);
    assert_eq!(first.next_due, Some(f.now().plus(tenth)));
    assert_eq!(claim(&f, &gates, 30).await.claims.len(), 0);
    f.clock.advance(tenth);
    assert_eq!(claim(&f, &gates, 30).await.claims.len(), 1);
    f.clock.advance(secs(60));
    assert_eq!(
        claim(&f, &gates, 30).await.claims.len(),
        3,
        "no more than the burst"
    );
}

pub async fn what_a_destination_says_remains_is_spread_until_its_reset(f: Fixture) {
    let destination = Destination::new("https://a.example").unwrap();
    let job = || f.job_with(|job| job.destination = Some(destination.clone()));
    f.enqueue((0..9).map(|_| job()).collect()).await;
    // Three remain for a minute, and then nothing for another.
    let mut starts = Vec::new();
    for (reading, remaining) in [(1, "3"), (2, "0")] {
        let health = scarce(&f, job(), remaining);
        let gates = Gates::new([], GateDefaults::default());
        let gates = Arc::new(gates.with_health([(destination.clone(), Arc::new(health))]));
        for second in 0..60 {
            let result = claim(&f, &gates, 10).await;
            starts.extend(result.claims.iter().map(|_| (reading, second)));
            let next = result.next_due.unwrap();
            assert!(next > f.now() || !result.claims.is_empty());
            f.clock.advance(secs(1));
        }
    }
    assert_eq!(starts, [(1, 0), (1, 20), (1, 40)]);
}

/// The answer to an attempt has just said what remains for a minute.
fn scarce(f: &Fixture, job: NewJob, remaining: &str) -> DestinationHealth {
    let header = |name: &str| match name {
        "x-ratelimit-remaining" => Some(remaining.to_owned()),
        "x-ratelimit-reset" => Some("60".to_owned()),
        _ => None,
    };
    let claim = job
        .into_job(f.now())
        .claim(request(1).worker, None, f.now());
    let mut ended = claim.end(success(), f.now());
    ended.set_quota(TargetQuota::read(&header, f.now()));
    let mut tally = HealthTally::default();
    tally.add_quota(SharedQuota::of(&ended).unwrap(), None);
    reported(f, tally)
}

pub async fn a_paused_gate_opens_by_itself_at_its_time(f: Fixture) {
    let until = f.now().plus(secs(5));
    let pause = Pause {
        by: None,
        since: f.now(),
        reason: None,
        until: Some(until),
    };
    let limits = GateLimits {
        paused: Some(pause),
        ..GateLimits::default()
    };
    let gates = gates([gate(None, GateScope::Queue, "default", limits)]);
    f.enqueue(f.jobs(2)).await;
    let held = claim(&f, &gates, 10).await;
    assert_eq!((held.claims.len(), held.next_due), (0, Some(until)));
    f.clock.advance(secs(5));
    assert_eq!(claim(&f, &gates, 10).await.claims.len(), 2);
}

pub async fn retries_beyond_their_share_wait_and_first_attempts_do_not(f: Fixture) {
    let limits = GateLimits {
        retry_share: RetryShare::new(0.0),
        ..GateLimits::default()
    };
    let gates = gates([gate(None, GateScope::Queue, "default", limits)]);
    let floor = usize::try_from(steadfast_core::limits::RETRY_SHARE_FLOOR).unwrap();
    f.enqueue(f.jobs(floor + 3)).await;
    for claim in claim(&f, &gates, 100).await.claims {
        f.end(claim, failure("no")).await;
    }
    f.clock.advance(secs(60));
    let fresh = f.enqueue_one(f.job()).await;
    let started = claim(&f, &gates, 100).await;
    assert_eq!(started.claims.len(), floor + 1);
    assert!(ids_of(&started.claims).contains(&fresh));
    assert!(started.next_due.is_some_and(|next| next > f.now()));
    f.clock.advance(secs(60));
    assert_eq!(claim(&f, &gates, 100).await.claims.len(), 3);
}

pub async fn a_caller_takes_no_more_for_a_destination_than_it_wants(f: Fixture) {
    let to =
        |destination: &str| f.job_with(|job| job.destination = Destination::new(destination).ok());
    let mut jobs: Vec<NewJob> = (0..5).map(|_| to("https://slow.example")).collect();
    jobs.push(to("https://quick.example"));
    let ids = f.enqueue(jobs).await;
    let asking = |most| ClaimRequest {
        allowance: Some(Allowance::new(move |owner: &CallOwner| match owner {
            CallOwner::Destination(to) if to.as_str() == "https://slow.example" => most,
            _ => 10,
        })),
        ..request(10)
    };
    let claims = f.store.claim(asking(2)).await.unwrap().claims;
    assert_eq!(claims.len(), 3);
    assert!(ids_of(&claims).contains(&ids[5]));
    assert_eq!(f.store.claim(asking(0)).await.unwrap().claims.len(), 0);
    assert_eq!(f.store.claim(asking(1)).await.unwrap().claims.len(), 1);
    assert_eq!(f.claim(10).await.len(), 2, "others may take the rest");
}

pub async fn a_caller_takes_no_more_of_a_tenant_or_kind_than_it_wants(f: Fixture) {
    let loud = tenant("loud");
    let of = |tenant: &Tenant, kind: &str| {
        f.job_with(|job| {
            job.tenant = tenant.clone();
            job.kind = Kind::new(kind).unwrap();
        })
    };
    let mut jobs: Vec<NewJob> = (0..5).map(|_| of(&loud, "http")).collect();
    jobs.push(of(&loud, "webhook"));
    jobs.push(of(&tenant("quiet"), "http"));
    let ids = f.enqueue(jobs).await;
    let asking = |of_loud: usize, of_http: usize| {
        let loud = loud.clone();
        let of = move |owner: &CallOwner| match owner {
            CallOwner::Tenant(tenant, kind) if *tenant == loud && kind.as_str() == "http" => {
                of_loud
            }
            CallOwner::Kind(kind) if kind.as_str() == "http" => of_http,
            _ => 10,
        };
        ClaimRequest {
            allowance: Some(Allowance::new(of)),
            ..request(10)
        }
    };
    let webhook = f.store.claim(asking(10, 0)).await.unwrap().claims;
    assert_eq!(ids_of(&webhook), [ids[5]]);
    let claims = f.store.claim(asking(2, 10)).await.unwrap().claims;
    assert_eq!(claims.len(), 3);
    assert!(ids_of(&claims).contains(&ids[6]));
    assert_eq!(f.store.claim(asking(0, 10)).await.unwrap().claims.len(), 0);
    assert_eq!(f.store.claim(asking(3, 1)).await.unwrap().claims.len(), 1);
    assert_eq!(f.claim(10).await.len(), 2, "others may take the rest");
}

pub async fn a_probe_is_a_job_that_is_tried_again(f: Fixture) {
    let once = enqueue_calls(&f, Guarantee::AtMostOnce, 3).await;
    f.clock.advance(secs(1));
    let held = held_if(broken(&f, &probed()));
    f.clock.advance(secs(10));
    assert_eq!(claim(&f, &held, 5).await.claims.len(), 0);
    let again = enqueue_calls(&f, Guarantee::AtLeastOnce, 2).await;
    let probe = claim(&f, &held, 5).await.claims;
    assert_eq!(probe.len(), 1);
    assert!(again.contains(&probe[0].job().id));
    assert_eq!(claim(&f, &held, 5).await.claims.len(), 0, "one at a time");
    let open = held_if(DestinationHealth::default());
    let claims = claim(&f, &open, 5).await.claims;
    assert_eq!(claims.len(), 4);
    assert!(once.iter().all(|id| ids_of(&claims).contains(id)));
}

pub async fn a_probe_is_a_job_that_is_not_tried_again_if_there_is_no_other(f: Fixture) {
    let once = enqueue_calls(&f, Guarantee::AtMostOnce, 3).await;
    f.clock.advance(secs(1));
    let held = held_if(broken(&f, &probed()));
    // A minute after the first probe might have started.
    f.clock.advance(secs(64));
    assert_eq!(claim(&f, &held, 5).await.claims.len(), 0);
    f.clock.advance(secs(2));
    let probe = claim(&f, &held, 5).await.claims;
    assert_eq!(probe.len(), 1);
    assert!(once.contains(&probe[0].job().id));
    assert_eq!(claim(&f, &held, 5).await.claims.len(), 0, "one at a time");
    // The next one is again a job that is tried again, if there is one.
    f.clock.advance(limits::PROBE_LOST_AFTER + secs(1));
    let again = enqueue_calls(&f, Guarantee::AtLeastOnce, 1).await;
    let probe = claim(&f, &held, 5).await.claims;
    assert_eq!(ids_of(&probe), again);
}

/// Calls of a destination.
async fn enqueue_calls(f: &Fixture, guarantee: Guarantee, count: usize) -> Vec<JobId> {
    let call = |_| {
        f.job_with(|job| {
            job.kind = Kind::http();
            job.destination = Some(probed());
            job.guarantee = guarantee;
        })
    };
    f.enqueue((0..count).map(call).collect()).await
}

fn probed() -> Destination {
    Destination::new("https://a.example").unwrap()
}

/// The gates of that destination, which is held if its health says so.
fn held_if(health: DestinationHealth) -> Arc<Gates> {
    let limits = GateLimits {
        hold: Some(HoldMode::Auto),
        ..GateLimits::default()
    };
    let auto = gate(None, GateScope::Destination, probed().as_str(), limits);
    let gates = Gates::new([auto], GateDefaults::default());
    Arc::new(gates.with_health([(probed(), Arc::new(health))]))
}

/// Twenty attempts at a destination have just failed.
fn broken(f: &Fixture, destination: &Destination) -> DestinationHealth {
    let mut tally = HealthTally::default();
    for _ in 0..20 {
        let mut job = f.job();
        job.destination = Some(destination.clone());
        let claim = job
            .into_job(f.now())
            .claim(request(1).worker, None, f.now());
        let failed = Outcome::Failure {
            failure: Failure::new(FailureClass::CONNECTION, "refused"),
            output: None,
        };
        tally.add(&claim.end(failed, f.now()), None);
    }
    reported(f, tally)
}

/// The health of a destination after the first report of a node.
fn reported(f: &Fixture, mut tally: HealthTally) -> DestinationHealth {
    let report = tally.take_report("node", f.now());
    let input = HealthInput {
        report: Some(&report),
        ..HealthInput::default()
    };
    let change = DestinationHealth::default().step(input, &HealthRules::default(), f.now());
    change.unwrap().health
}

pub async fn room_that_one_cannot_use_is_for_others(f: Fixture) {
    let paused = GateLimits {
        paused: Some(Pause {
            by: None,
            since: f.now(),
            reason: None,
            until: None,
        }),
        ..GateLimits::default()
    };
    let set = [
        gate(None, GateScope::Queue, "default", at_most(1)),
        gate(None, GateScope::Destination, "https://a.example", paused),
    ];
    let gates = gates(set);
    let first = f.enqueue_one(f.job()).await;
    let mut claims = claim(&f, &gates, 10).await.claims;
    assert_eq!(ids_of(&claims), [first]);
    f.enqueue_one(f.job_with(|job| {
        job.priority = Priority::new(9).unwrap();
        job.destination = Destination::new("https://a.example").ok();
    }))
    .await;
    let other = f
        .enqueue_one(f.job_with(|job| job.priority = Priority::new(0).unwrap()))
        .await;
    assert_eq!(claim(&f, &gates, 10).await.claims.len(), 0);
    f.end(claims.remove(0), success()).await;
    assert_eq!(ids_of(&claim(&f, &gates, 10).await.claims), [other]);
}

pub async fn starts_count_although_their_jobs_have_ended(f: Fixture) {
    let rate = GateLimits {
        rate: Rate::new(1, secs(60), 0).ok(),
        ..GateLimits::default()
    };
    let rate = gate(None, GateScope::Queue, "default", rate);
    let first = f.enqueue_one(f.job()).await;
    let mut claims = claim(&f, &gates([rate.clone()]), 10).await.claims;
    assert_eq!(ids_of(&claims), [first]);
    f.end(claims.remove(0), success()).await;
    // Something else is changed while no job waits or runs.
    let other = gate(None, GateScope::Queue, "other", at_most(1));
    let changed = gates([rate, other]);
    assert_eq!(claim(&f, &changed, 10).await.claims.len(), 0);
    let next = f.enqueue_one(f.job()).await;
    assert_eq!(claim(&f, &changed, 10).await.claims.len(), 0);
    f.clock.advance(secs(60));
    assert_eq!(ids_of(&claim(&f, &changed, 10).await.claims), [next]);
}

pub async fn destination_and_key_are_kept(f: Fixture) {
    let destination = Destination::new("https://a.example").unwrap();
    let key = ConcurrencyKey::new("customer 7").unwrap();
    let id = f
        .enqueue_one(f.job_with(|job| {
            job.destination = Some(destination.clone());
            job.concurrency_key = Some(key.clone());
        }))
        .await;
    let claimed = f.claim_of(id).await;
    for job in [claimed.job().clone(), f.read(id).await] {
        assert_eq!(job.destination, Some(destination.clone()));
        assert_eq!(job.concurrency_key, Some(key.clone()));
    }
}

pub(crate) fn at_most(running: u32) -> GateLimits {
    GateLimits {
        max_running: Some(running),
        ..GateLimits::default()
    }
}

pub(crate) fn gate(of: Option<&str>, scope: GateScope, key: &str, limits: GateLimits) -> Gate {
    let id = GateId {
        tenant: of.map(tenant),
        scope,
        key: key.to_owned(),
    };
    Gate { id, limits }
}

pub(crate) fn gates<const N: usize>(set: [Gate; N]) -> Arc<Gates> {
    Arc::new(Gates::new(set, GateDefaults::default()))
}

pub(super) fn tenant_jobs(f: &Fixture, of: &str, count: usize) -> Vec<NewJob> {
    let jobs = (0..count).map(|_| f.job_with(|job| job.tenant = tenant(of)));
    jobs.collect()
}

pub(crate) async fn claim(f: &Fixture, gates: &Arc<Gates>, max: usize) -> ClaimResult {
    f.use_gates(gates).await;
    f.store.claim(request(max)).await.unwrap()
}

pub(super) fn by_tenant(claims: &[Claim]) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<Tenant, usize> = BTreeMap::new();
    for claim in claims {
        *counts.entry(claim.job().tenant.clone()).or_default() += 1;
    }
    let counts = counts.into_iter();
    counts
        .map(|(tenant, count)| (tenant.to_string(), count))
        .collect()
}

fn sorted(claims: &[Claim]) -> Vec<JobId> {
    sorted_ids(ids_of(claims))
}

fn sorted_ids(ids: impl IntoIterator<Item = JobId>) -> Vec<JobId> {
    let mut ids: Vec<JobId> = ids.into_iter().collect();
    ids.sort_unstable();
    ids
}
