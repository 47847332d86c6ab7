//! Rates in units hold inside the claim, and attempts give back what they did not use.

use std::{sync::Arc, time::Duration};

use steadfast_core::{
    Claim, Cost, Dice, GateLimits, GateScope, Gates, JobId, NewJob, NewJobExtras, Outcome,
    Subscriptions, Transition, Unit, UnitRate, after_attempt,
};

use super::flow::{claim, gate, gates};
use crate::{
    CommitResult,
    conformance::fixture::{Fixture, failure, ids_of, queue, secs, success, tenant},
};

pub async fn usage_keeps_to_a_rate(f: Fixture) {
    let gates = of_kind(&[("tokens", 1_000)]);
    let ids = enqueue(&f, &[400.0; 5]).await;
    let first = claim(&f, &gates, 10).await;
    assert_eq!(ids_of(&first.claims), ids[..2]);
    assert_eq!(claim(&f, &gates, 10).await.claims.len(), 0);
    f.clock.advance(secs(30));
    let closed = claim(&f, &gates, 10).await;
    assert_eq!(closed.claims.len(), 0);
    let opens = first.claims[0]
        .job()
        .progress
        .started_at
        .unwrap()
        .plus(secs(60));
    assert!(
        closed
            .next_due
            .is_some_and(|next| next > f.now() && next <= opens)
    );
    f.clock.advance(secs(30));
    assert_eq!(ids_of(&claim(&f, &gates, 10).await.claims), ids[2..4]);
    assert_eq!(claim(&f, &gates, 10).await.claims.len(), 0);
}

pub async fn all_rates_of_a_gate_must_have_room(f: Fixture) {
    let gates = of_kind(&[("starts", 3), ("usd", 10), ("tokens", 1_000)]);
    let ids = enqueue(&f, &[100.0, 100.0, 900.0, 1.0]).await;
    assert_eq!(ids_of(&claim(&f, &gates, 10).await.claims), ids[..2]);
    let cheap = of_kind(&[("starts", 3), ("usd", 10)]);
    assert_eq!(ids_of(&claim(&f, &cheap, 10).await.claims), ids[2..3]);
    assert_eq!(
        claim(&f, &cheap, 10).await.claims.len(),
        0,
        "three have started"
    );
}

pub async fn what_was_not_used_is_free_at_once(f: Fixture) {
    let gates = of_kind(&[("tokens", 1_000)]);
    let ids = enqueue(&f, &[500.0, 500.0, 400.0, 400.0]).await;
    let mut claims = claim(&f, &gates, 10).await.claims;
    assert_eq!(ids_of(&claims), ids[..2]);
    f.clock.advance(secs(5));
    assert_eq!(claim(&f, &gates, 10).await.claims.len(), 0);
    let transition = used(&f, claims.remove(0), success(), 100.0);
    // Written twice, as after a lost answer, it is given back once.
    for _ in 0..2 {
        assert_eq!(f.commit(transition.clone()).await, CommitResult::Done);
    }
    assert_eq!(ids_of(&claim(&f, &gates, 10).await.claims), ids[2..3]);
    let record = f.attempts_of(ids[0]).await.remove(0);
    assert_eq!(record.usage, Cost::new([("tokens", 100.0)]).ok());
}

pub async fn what_was_used_beyond_the_cost_is_charged(f: Fixture) {
    let gates = of_kind(&[("tokens", 1_000)]);
    let ids = enqueue(&f, &[100.0, 100.0]).await;
    let first = claim(&f, &gates, 1).await.claims.remove(0);
    f.clock.advance(secs(10));
    let transition = used(&f, first, failure("again"), 5_000.0);
    assert_eq!(f.commit(transition).await, CommitResult::Done);
    assert_eq!(claim(&f, &gates, 10).await.claims.len(), 0);
    f.clock.advance(secs(59));
    assert_eq!(claim(&f, &gates, 10).await.claims.len(), 0);
    f.clock.advance(secs(1));
    // However much it was: it has left the window.
    let both = claim(&f, &gates, 10).await.claims;
    assert_eq!(both.len(), 2, "the other job, and the retry of {}", ids[0]);
}

pub async fn an_attempt_without_a_report_is_charged_its_cost(f: Fixture) {
    let gates = of_kind(&[("tokens", 1_000)]);
    enqueue(&f, &[500.0; 6]).await;
    let mut claims = claim(&f, &gates, 10).await.claims;
    f.clock.advance(secs(1));
    f.end(claims.remove(0), success()).await;
    f.clock.advance(secs(40));
    f.end(claims.remove(0), Outcome::Lost).await;
    assert_eq!(claim(&f, &gates, 10).await.claims.len(), 0);
    // What never started gives all back.
    f.clock.advance(secs(19));
    let mut claims = claim(&f, &gates, 10).await.claims;
    assert_eq!(claims.len(), 2);
    let released = claims.remove(0);
    f.end(released, Outcome::Released { started: false }).await;
    assert_eq!(claim(&f, &gates, 10).await.claims.len(), 1);
    assert_eq!(claim(&f, &gates, 10).await.claims.len(), 0);
}

pub async fn an_expensive_job_is_not_overtaken(f: Fixture) {
    let gates = of_kind(&[("tokens", 1_000)]);
    let first = enqueue(&f, &[300.0]).await;
    assert_eq!(ids_of(&claim(&f, &gates, 10).await.claims), first);
    f.clock.advance(secs(1));
    let expensive = enqueue(&f, &[900.0]).await;
    let closed = claim(&f, &gates, 10).await;
    assert_eq!(closed.claims.len(), 0);
    // Cheap ones of its tenant that came later, of another queue, wait behind it.
    f.clock.advance(secs(1));
    let cheap = (0..3).map(|_| {
        let mut job = costing(f.job(), 50.0);
        job.queue = queue("other");
        job
    });
    let cheap = f.enqueue(cheap.collect()).await;
    assert_eq!(claim(&f, &gates, 10).await.claims.len(), 0);
    f.clock.advance(secs(58));
    let started = claim(&f, &gates, 10).await.claims;
    assert_eq!(ids_of(&started), [expensive[0], cheap[0], cheap[1]]);
}

pub async fn an_expensive_job_of_one_tenant_gets_its_turn_beside_another(f: Fixture) {
    let gates = of_kind(&[("tokens", 1_000)]);
    let of = |name: &str, cost: f64| {
        let mut job = costing(f.job(), cost);
        job.tenant = tenant(name);
        job
    };
    let loud: Vec<NewJob> = (0..200).map(|_| of("loud", 50.0)).collect();
    f.enqueue(loud).await;
    assert_eq!(claim(&f, &gates, 100).await.claims.len(), 20);
    let expensive = f.enqueue_one(of("quiet", 800.0)).await;
    let mut started_after = None;
    for second in 0..130 {
        f.clock.advance(secs(1));
        let claims = claim(&f, &gates, 100).await.claims;
        if claims.iter().any(|claim| claim.job().id == expensive) {
            started_after = Some(second);
            break;
        }
    }
    assert!(
        started_after.is_some_and(|after| after <= 121),
        "{started_after:?}"
    );
}

pub async fn a_job_that_costs_more_than_the_limit_starts_alone(f: Fixture) {
    let gates = of_kind(&[("tokens", 1_000)]);
    let ids = enqueue(&f, &[100.0, 5_000.0, 100.0]).await;
    assert_eq!(ids_of(&claim(&f, &gates, 10).await.claims), ids[..1]);
    f.clock.advance(secs(60));
    assert_eq!(ids_of(&claim(&f, &gates, 10).await.claims), ids[1..2]);
    f.clock.advance(secs(59));
    assert_eq!(claim(&f, &gates, 10).await.claims.len(), 0);
    f.clock.advance(secs(1));
    assert_eq!(ids_of(&claim(&f, &gates, 10).await.claims), ids[2..]);
}

pub async fn a_cost_is_stored_with_its_job(f: Fixture) {
    let cost = Cost::new([("usd", 0.02), ("pages", 3.0)]).unwrap();
    let id = f
        .enqueue_one(f.job().with_extras(extras(cost.clone())))
        .await;
    assert_eq!(*f.read(id).await.cost(), cost);
    // A unit that no gate knows limits nothing.
    let gates = of_kind(&[("tokens", 1)]);
    assert_eq!(claim(&f, &gates, 10).await.claims.len(), 1);
}

fn extras(cost: Cost) -> NewJobExtras {
    NewJobExtras {
        cost: Some(cost),
        ..NewJobExtras::default()
    }
}

fn costing(job: NewJob, tokens: f64) -> NewJob {
    job.with_extras(extras(Cost::new([("tokens", tokens)]).unwrap()))
}

async fn enqueue(f: &Fixture, costs: &[f64]) -> Vec<JobId> {
    let jobs = costs.iter().map(|cost| costing(f.job(), *cost));
    f.enqueue(jobs.collect()).await
}

/// What follows if the attempt ends now and reports what it used.
fn used(f: &Fixture, claim: Claim, outcome: Outcome, tokens: f64) -> Transition {
    let mut ended = claim.end(outcome, f.now());
    ended.set_usage(Cost::new([("tokens", tokens)]).ok());
    after_attempt(&ended, &Subscriptions::default(), Dice::new(0))
}

/// Rates of a minute each.
fn of_kind(rates: &[(&str, i64)]) -> Arc<Gates> {
    let rates = rates.iter().map(|(unit, limit)| {
        let unit = Unit::new(unit).unwrap();
        UnitRate::new(*limit, Duration::from_secs(60), unit).unwrap()
    });
    let limits = GateLimits {
        rates: rates.collect(),
        ..GateLimits::default()
    };
    gates([gate(None, GateScope::Kind, "mail", limits)])
}
