//! Tenants get fair shares of what is claimed.

use std::sync::Arc;

use steadfast_core::{
    Destination, GateLimits, GateScope, Gates, Kind, NewJob, Priority, RunAt, Weight,
};

use super::flow::{at_most, by_tenant, claim, gate, gates, tenant_jobs};
use crate::conformance::fixture::{Fixture, ids_of, secs, success, tenant};

pub async fn tenants_take_turns(f: Fixture) {
    f.enqueue(tenant_jobs(&f, "loud", 20)).await;
    f.clock.advance(secs(1));
    f.enqueue(tenant_jobs(&f, "small", 3)).await;
    let claims = f.claim(6).await;
    assert_eq!(
        by_tenant(&claims),
        [("loud".into(), 3), ("small".into(), 3)]
    );
    // What one does not need is for the others.
    assert_eq!(by_tenant(&f.claim(10).await), [("loud".into(), 10)]);
}

pub async fn one_job_at_a_time_is_shared_as_well(f: Fixture) {
    f.enqueue(tenant_jobs(&f, "loud", 10)).await;
    f.enqueue(tenant_jobs(&f, "small", 3)).await;
    let mut claims = Vec::new();
    for _ in 0..6 {
        claims.extend(f.claim(1).await);
    }
    assert_eq!(
        by_tenant(&claims),
        [("loud".into(), 3), ("small".into(), 3)]
    );
}

pub async fn a_tenant_saves_nothing_up_while_it_has_no_jobs(f: Fixture) {
    f.enqueue(tenant_jobs(&f, "steady", 40)).await;
    assert_eq!(f.claim(20).await.len(), 20);
    f.enqueue(tenant_jobs(&f, "late", 20)).await;
    let claims = f.claim(10).await;
    // Who comes first may be one ahead.
    let late = claims
        .iter()
        .filter(|claim| claim.job().tenant.as_str() == "late");
    assert!((5..=6).contains(&late.count()));
}

pub async fn weights_are_shares(f: Fixture) {
    let weight = GateLimits {
        weight: Weight::new(3),
        ..GateLimits::default()
    };
    let gates = gates([gate(None, GateScope::Tenant, "heavy", weight)]);
    f.enqueue(tenant_jobs(&f, "heavy", 40)).await;
    f.enqueue(tenant_jobs(&f, "light", 40)).await;
    let mut claims = Vec::new();
    for _ in 0..20 {
        claims.extend(claim(&f, &gates, 1).await.claims);
    }
    assert_eq!(
        by_tenant(&claims),
        [("heavy".into(), 15), ("light".into(), 5)]
    );
}

pub async fn within_a_tenant_priority_and_time_decide(f: Fixture) {
    let mut jobs = Vec::new();
    for (priority, after, destination) in [
        (5, 3, "https://a.example"),
        (5, 1, "https://b.example"),
        (9, 4, "https://c.example"),
        (5, 2, "https://a.example"),
        (0, 0, "https://b.example"),
    ] {
        let start = f.now();
        jobs.push(f.job_with(|job| {
            job.priority = Priority::new(priority).unwrap();
            job.run_at = RunAt::At(start.plus(secs(after)));
            job.destination = Destination::new(destination).ok();
        }));
    }
    let ids = f.enqueue(jobs).await;
    f.clock.advance(secs(10));
    let expected = [2, 1, 3, 0, 4].map(|index: usize| ids[index]);
    assert_eq!(ids_of(&f.claim(5).await), expected);
}

pub async fn room_that_a_loud_tenant_leaves_is_for_others(f: Fixture) {
    let gates = gates([gate(None, GateScope::Kind, "mail", at_most(1))]);
    let jobs = |count: usize, of: &str, kind: &str, priority: u8| {
        let (kind, priority) = (Kind::new(kind).unwrap(), Priority::new(priority).unwrap());
        let change = |job: &mut NewJob| (job.kind, job.priority) = (kind.clone(), priority);
        let mut jobs = tenant_jobs(&f, of, count);
        jobs.iter_mut().for_each(change);
        f.enqueue(jobs)
    };
    jobs(1, "quiet", "mail", 5).await;
    let running = claim(&f, &gates, 1).await.claims.remove(0);
    jobs(1, "loud", "mail", 2).await;
    let urgent = jobs(1, "quiet", "mail", 9).await;
    assert_eq!(claim(&f, &gates, 10).await.claims.len(), 0);
    // The loud tenant has had less and could start at the gate, but has more urgent things to do.
    jobs(20, "loud", "other", 9).await;
    jobs(20, "quiet", "other", 1).await;
    f.end(running, success()).await;
    let mut started = Vec::new();
    while !by_tenant(&started).iter().any(|(name, _)| name == "quiet") {
        started = claim(&f, &gates, 1).await.claims;
    }
    assert_eq!(ids_of(&started), urgent);
}

/// One place, claims that ask for more than that, and the place is free again before the next claim.
pub async fn a_place_that_tenants_share_goes_round(f: Fixture) {
    let gates = gates([gate(None, GateScope::Kind, "mail", at_most(1))]);
    for of in ["a", "b", "c"] {
        f.enqueue(tenant_jobs(&f, of, 10)).await;
    }
    assert_eq!(starts_at_one_place(&f, &gates, 9).await, [3, 3, 3]);
}

/// The shares of those that wait at the gate become equal when another tenant has had more.
pub async fn a_place_goes_round_while_another_tenant_is_served_elsewhere(f: Fixture) {
    let gates = gates([gate(None, GateScope::Kind, "mail", at_most(1))]);
    for of in ["a", "b", "c"] {
        f.enqueue(tenant_jobs(&f, of, 10)).await;
    }
    let elsewhere = (0..200).map(|_| {
        f.job_with(|job| {
            job.tenant = tenant("busy");
            job.kind = Kind::new("other").unwrap();
        })
    });
    f.enqueue(elsewhere.collect()).await;
    assert_eq!(starts_at_one_place(&f, &gates, 9).await, [3, 3, 3]);
}

/// How many jobs of the tenants `a`, `b` and `c` start at a gate that lets one run, in as many claims.
async fn starts_at_one_place(f: &Fixture, gates: &Arc<Gates>, claims: usize) -> [usize; 3] {
    let mut starts = [0; 3];
    for _ in 0..claims {
        for one in claim(f, gates, 10).await.claims {
            let name = one.job().tenant.as_str();
            if let Some(index) = ["a", "b", "c"].iter().position(|of| *of == name) {
                starts[index] += 1;
            }
            f.end(one, success()).await;
        }
    }
    starts
}
