//! A learned pace holds inside the claim, as a gate does that grows with time.

use std::{sync::Arc, time::Duration};

use steadfast_core::{
    Destination, DestinationHealth, GateDefaults, GateLimits, GateScope, Gates, HealthInput,
    HealthRules, HealthTally, JobId, PaceMode, Timestamp, limits,
};

use super::flow::{by_tenant, claim, gate};
use crate::conformance::fixture::{Fixture, ids_of, request, secs, success, tenant};

const TO: &str = "https://api.example.com";

pub async fn no_more_run_than_a_learned_pace_allows(f: Fixture) {
    let ids = enqueue(&f, "default", 9).await;
    let gates = learned(GateLimits::default(), None);
    let mut first = claim(&f, &gates, 10).await.claims;
    assert_eq!(
        ids_of(&first),
        ids[..4],
        "as of a destination of which nothing is known"
    );
    assert_eq!(claim(&f, &gates, 10).await.claims.len(), 0);
    f.end(first.remove(0), success()).await;
    assert_eq!(ids_of(&claim(&f, &gates, 10).await.claims), ids[4..5]);
}

pub async fn a_learned_pace_that_grows_opens_with_time(f: Fixture) {
    enqueue(&f, "default", 20).await;
    let health = grown(f.now());
    let gates = learned(GateLimits::default(), Some(&health));
    assert_eq!(claim(&f, &gates, 20).await.claims.len(), 4);
    let closed = claim(&f, &gates, 20).await;
    assert_eq!(closed.claims.len(), 0);
    // The next place is announced, in time.
    let next = closed.next_due.unwrap();
    assert!(next > f.now() && next <= f.now().plus(limits::PACE_ROUND / 4));
    f.clock.advance(limits::PACE_ROUND / 4);
    assert_eq!(claim(&f, &gates, 20).await.claims.len(), 1);
    f.clock.advance(secs(1));
    assert_eq!(claim(&f, &gates, 20).await.claims.len(), 3);
    assert_eq!(claim(&f, &gates, 20).await.claims.len(), 0);
}

pub async fn a_learned_pace_does_not_pass_a_gate(f: Fixture) {
    enqueue(&f, "default", 9).await;
    let limits = GateLimits {
        max_running: Some(2),
        ..GateLimits::default()
    };
    let gates = learned(limits, Some(&grown(f.now())));
    f.clock.advance(secs(1));
    assert_eq!(claim(&f, &gates, 10).await.claims.len(), 2);
    assert_eq!(claim(&f, &gates, 10).await.claims.len(), 0);
}

pub async fn a_learned_pace_that_is_shared_is_divided_between_tenants(f: Fixture) {
    enqueue(&f, "loud", 50).await;
    enqueue(&f, "quiet", 3).await;
    let shared = GateLimits {
        share_retry_after: Some(true),
        ..GateLimits::default()
    };
    let gates = learned(shared, None);
    // One tenant may get all of a claim; the other comes first in the next.
    let mut started = Vec::new();
    for _ in 0..2 {
        let claims = claim(&f, &gates, 10).await.claims;
        assert_eq!(claims.len(), 4);
        for claim in claims {
            started.push(claim.job().tenant.clone());
            f.end(claim, success()).await;
        }
    }
    let of_quiet = started.iter().filter(|of| **of == tenant("quiet"));
    assert_eq!(of_quiet.count(), 3, "{started:?}");
}

pub async fn the_learned_pace_of_one_tenant_closes_no_gate_of_another(f: Fixture) {
    enqueue(&f, "loud", 50).await;
    enqueue(&f, "quiet", 3).await;
    let gates = learned(GateLimits::default(), None);
    let claims = claim(&f, &gates, 10).await.claims;
    assert_eq!(
        by_tenant(&claims),
        [("loud".into(), 4), ("quiet".into(), 3)]
    );
}

async fn enqueue(f: &Fixture, of: &str, count: usize) -> Vec<JobId> {
    let jobs = (0..count).map(|_| {
        f.job_with(|job| {
            job.tenant = tenant(of);
            job.kind = steadfast_core::Kind::http();
            job.destination = Destination::new(TO).ok();
        })
    });
    f.enqueue(jobs.collect()).await
}

/// Gates of a destination whose pace is learned, with what was learned for the default tenant.
fn learned(limits: GateLimits, health: Option<&DestinationHealth>) -> Arc<Gates> {
    let limits = GateLimits {
        pace: Some(PaceMode::Learn),
        ..limits
    };
    let set = gate(None, GateScope::Destination, TO, limits);
    let destination = Destination::new(TO).unwrap();
    let subject = steadfast_core::HealthSubject::of_tenant(&destination, &tenant("default"));
    let known = health.map(|health| (subject, Arc::new(health.clone())));
    Arc::new(Gates::new([set], GateDefaults::default()).with_health(known))
}

/// Four places were used for a second, with good answers, and now there are eight within a moment.
fn grown(now: Timestamp) -> DestinationHealth {
    let latency = Duration::from_millis(200);
    let mut health = DestinationHealth::default();
    for (millis, calls) in [(1_000, 1), (0, 20)] {
        let at = now.minus(Duration::from_millis(millis));
        let mut tally = HealthTally::default();
        for _ in 0..calls {
            let job = steadfast_core::NewJob::new(
                JobId::from_bits(1),
                steadfast_core::Kind::http(),
                steadfast_core::Payload::default(),
                Arc::new(steadfast_core::Preset::Http.policy()),
            );
            let start = at.minus(latency);
            let claim = job.into_job(start).claim(request(1).worker, None, start);
            tally.add_pace(&claim.end(success(), at), Some(&health));
        }
        let report = tally.take_report("node", at);
        let input = HealthInput {
            report: Some(&report),
            ..HealthInput::default()
        };
        let change = health.step(input, &HealthRules::default(), at);
        health = change.unwrap().health;
    }
    health
}
