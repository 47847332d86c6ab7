//! An ordered concurrency key: its jobs run one at a time, in the order in which they were created.

use std::sync::Arc;

use steadfast_core::{
    ConcurrencyKey, GateLimits, GateScope, Gates, JobCommand, JobEdit, NewJob, Priority, RunAt,
};

use crate::conformance::{
    fixture::{Fixture, failure, ids_of, permanent, queue, secs, success},
    flow::{claim, gate, gates},
};

pub async fn an_ordered_key_runs_in_the_order_of_creation(f: Fixture) {
    let gates = ordered();
    let urgent = Priority::new(9).unwrap();
    let jobs = vec![
        keyed(&f, |_| {}),
        keyed(&f, |job| job.priority = urgent),
        keyed(&f, |job| job.queue = queue("other")),
    ];
    let ids = f.enqueue(jobs).await;
    for id in ids {
        let claims = claim(&f, &gates, 10).await.claims;
        assert_eq!(ids_of(&claims), [id]);
        assert_eq!(claim(&f, &gates, 10).await.claims.len(), 0, "one at a time");
        f.end(claims.into_iter().next().unwrap(), success()).await;
    }
}

pub async fn a_retry_holds_back_those_behind_it(f: Fixture) {
    let gates = ordered();
    let ids = f.enqueue(vec![keyed(&f, |_| {}), keyed(&f, |_| {})]).await;
    let first = claim(&f, &gates, 10).await.claims.remove(0);
    f.end(first, failure("no")).await;
    let waiting = claim(&f, &gates, 10).await;
    assert_eq!(waiting.claims.len(), 0);
    let retry_at = f.read(ids[0]).await.progress.run_at;
    assert!((f.now()..=retry_at).contains(&waiting.next_due.unwrap()));
    f.clock.advance(retry_at.since(f.now()));
    let again = claim(&f, &gates, 10).await.claims;
    assert_eq!(ids_of(&again), [ids[0]]);
    f.end(again.into_iter().next().unwrap(), success()).await;
    assert_eq!(ids_of(&claim(&f, &gates, 10).await.claims), [ids[1]]);
}

pub async fn a_cancelled_job_lets_those_behind_it_go_on(f: Fixture) {
    let gates = ordered();
    let later = RunAt::After(secs(60));
    let first = keyed(&f, |job| job.run_at = later);
    let ids = f.enqueue(vec![first, keyed(&f, |_| {})]).await;
    assert_eq!(claim(&f, &gates, 10).await.claims.len(), 0);
    f.command(ids[0], JobCommand::Cancel).await;
    assert_eq!(ids_of(&claim(&f, &gates, 10).await.claims), [ids[1]]);
}

pub async fn an_older_job_that_comes_back_to_an_ordered_key_is_its_first_again(f: Fixture) {
    let gates = ordered();
    let jobs = vec![
        keyed(&f, |_| {}),
        keyed(&f, |job| job.priority = Priority::new(9).unwrap()),
        keyed(&f, |_| {}),
    ];
    let ids = f.enqueue(jobs).await;
    let only = async |id| {
        let mut claims = claim(&f, &gates, 10).await.claims;
        assert_eq!(ids_of(&claims), [id]);
        claims.remove(0)
    };
    f.end(only(ids[0]).await, permanent("no")).await;
    f.end(only(ids[1]).await, failure("later")).await;
    assert_eq!(claim(&f, &gates, 10).await.claims.len(), 0);
    f.command(ids[0], JobCommand::Retry { payload: None }).await;
    let first = only(ids[0]).await;
    f.clock
        .advance(f.read(ids[1]).await.progress.run_at.since(f.now()));
    assert_eq!(claim(&f, &gates, 10).await.claims.len(), 0);
    f.end(first, success()).await;
    f.end(only(ids[1]).await, success()).await;
    only(ids[2]).await;
}

pub async fn the_first_of_an_ordered_key_may_change_its_priority(f: Fixture) {
    let gates = ordered();
    let urgent = Priority::new(9).unwrap();
    let first = keyed(&f, |job| job.run_at = RunAt::After(secs(60)));
    let second = keyed(&f, |job| job.priority = urgent);
    let ids = f.enqueue(vec![first, second]).await;
    assert_eq!(claim(&f, &gates, 10).await.claims.len(), 0);
    let edit = JobEdit {
        run_at: Some(f.now()),
        priority: Some(urgent),
        ..JobEdit::default()
    };
    f.command(ids[0], JobCommand::Edit(edit)).await;
    assert_eq!(ids_of(&claim(&f, &gates, 10).await.claims), [ids[0]]);
}
pub async fn an_ordered_key_keeps_to_creation_times_after_the_clock_was_set_back(f: Fixture) {
    let gates = ordered();
    let later = f.enqueue_one(keyed(&f, |_| {})).await;
    f.clock.set(f.now().minus(secs(60)));
    let earlier = f.enqueue_one(keyed(&f, |_| {})).await;
    f.clock.advance(secs(60));
    for id in [earlier, later] {
        let claims = claim(&f, &gates, 10).await.claims;
        assert_eq!(ids_of(&claims), [id]);
        f.end(claims.into_iter().next().unwrap(), success()).await;
    }
}

fn ordered() -> Arc<Gates> {
    let limits = GateLimits {
        ordered: true,
        ..GateLimits::default()
    };
    gates([gate(Some("default"), GateScope::Key, "k", limits)])
}

fn keyed(f: &Fixture, change: impl FnOnce(&mut NewJob)) -> NewJob {
    let mut job = f.job();
    job.concurrency_key = ConcurrencyKey::new("k").ok();
    change(&mut job);
    job
}
