//! What was acknowledged is there for the next process that opens the data, or has it open too.

use std::collections::BTreeSet;

use steadfast_core::{Claim, GateScope, Job};
use tokio::task::JoinSet;

use super::{
    claims::{
        flow::{at_most, gate},
        gate_changes::gate_document,
    },
    fixture::{Durable, Fixture, ids_of, json, key, queue, request, secs, step},
    workload::Workload,
};
use crate::{DocumentKind, EnqueueResult, JobDetail, JobFilter, Outbox, PageRequest, Store};

pub async fn jobs_history_and_counts_are_there_after_reopening(
    mut f: Fixture,
    harness: &dyn Durable,
) {
    let workload = Workload::run(&f, 23, 400).await;
    let ids = workload.ids;
    let before = everything(&f, &ids).await;
    assert!(before.len() > 2 * ids.len(), "there was something to keep");

    reopen(&mut f, harness).await;
    assert_eq!(everything(&f, &ids).await, before);
}

pub async fn schedules_and_ticks_are_there_after_reopening(mut f: Fixture, harness: &dyn Durable) {
    let schedule = f.saved_schedule("nightly").await;
    let tick = f.clock.advance(secs(60));
    let (schedule, run) = f.fired(&schedule, tick).await;
    let ticks = f.ticks(schedule.id).await;

    reopen(&mut f, harness).await;
    assert_eq!(f.read_schedule(schedule.id).await, schedule);
    assert_eq!(f.ticks(schedule.id).await, ticks);
    assert_eq!(f.read(run.id).await, run);
    assert!(f.due_ids().await.is_empty());
    f.clock.advance(secs(60));
    assert_eq!(f.due().await.due[0].unfinished, Some(run.id));
}

pub async fn keys_and_steps_are_there_after_reopening(mut f: Fixture, harness: &dyn Durable) {
    let keyed = |f: &Fixture| f.job_with(|job| job.idempotency_key = key("k"));
    let id = f.enqueue_one(keyed(&f)).await;
    f.save_step(id, step("s"), json("1")).await;

    reopen(&mut f, harness).await;
    let answers = f.store.enqueue(vec![keyed(&f)], None).await.unwrap();
    assert_eq!(answers, [EnqueueResult::Existing(id)]);
    let kept = f.save_step(id, step("s"), json("2")).await;
    assert_eq!(kept, json("1"));
}

pub async fn a_claim_outlives_the_store_that_gave_it(mut f: Fixture, harness: &dyn Durable) {
    let claim = f.claimed(f.job()).await;
    reopen(&mut f, harness).await;
    assert!(f.claim(1).await.is_empty());
    let job = f.end(claim, super::fixture::success()).await;
    assert_eq!(f.attempts_of(job.id).await.len(), 1);
}

pub async fn a_second_store_sees_what_the_first_has_acknowledged(
    f: Fixture,
    harness: &dyn Durable,
) {
    let second = harness.reopen(f.clock.clone()).await;
    let ids = f.enqueue(f.jobs(3)).await;
    let found = second.get_jobs(ids.clone(), JobDetail::Full).await.unwrap();
    assert!(found.iter().all(Option::is_some));
    let claims = second.claim(request(2)).await.unwrap().claims;
    assert_eq!(claims.len(), 2);
    for claim in &claims {
        assert_eq!(f.read(claim.job().id).await, *claim.job());
    }
    assert_eq!(f.claim(10).await.len(), 1);
}

pub async fn two_stores_agree_on_lanes(f: Fixture, harness: &dyn Durable) {
    let stores = [f.store.clone(), harness.reopen(f.clock.clone()).await];
    let job_in = |name: &str| f.job_with(|job| job.queue = queue(name));
    // Each makes lanes that the other has not seen, and both have seen the first.
    for (number, name) in ["a", "b", "a", "c", "b", "d"].into_iter().enumerate() {
        let [ours, theirs] = [&stores[number % 2], &stores[(number + 1) % 2]];
        let job = job_in(name);
        ours.enqueue(vec![job.clone()], None).await.unwrap();
        let claims = claim_soon(theirs).await;
        assert_eq!(ids_of(&claims), [job.id], "{name}");
        assert_eq!(claims[0].job().queue, job.queue);
    }
}

/// Claims what another store has stored: a store on the same data may learn of it a moment later.
async fn claim_soon(store: &std::sync::Arc<dyn Store>) -> Vec<Claim> {
    let deadline = std::time::Instant::now() + secs(10);
    loop {
        let claims = store.claim(request(10)).await.unwrap().claims;
        if !claims.is_empty() || std::time::Instant::now() > deadline {
            return claims;
        }
        // sleep: until the notification has come.
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

pub async fn two_stores_claim_each_job_once(f: Fixture, harness: &dyn Durable) {
    let ids = f.enqueue(f.jobs(300)).await;
    let second = harness.reopen(f.clock.clone()).await;
    let mut callers = JoinSet::new();
    for store in [f.store.clone(), second.clone(), f.store.clone(), second] {
        callers.spawn(async move {
            let mut claimed: Vec<Claim> = Vec::new();
            loop {
                let claims = store.claim(request(5)).await.unwrap().claims;
                if claims.is_empty() {
                    return claimed;
                }
                claimed.extend(claims);
            }
        });
    }
    let claims: Vec<Claim> = callers.join_all().await.into_iter().flatten().collect();
    let claimed: BTreeSet<_> = claims.iter().map(|claim| claim.job().id).collect();
    assert_eq!(
        (claims.len(), claimed),
        (ids.len(), ids.into_iter().collect())
    );
}

pub async fn a_gate_changed_by_another_store_applies_within_two_seconds(
    f: Fixture,
    harness: &dyn Durable,
) {
    f.enqueue(f.jobs(4)).await;
    assert_eq!(f.claim(1).await.len(), 1, "the gates have been read");
    let second = harness.reopen(f.clock.clone()).await;
    for (revision, most) in [(0, 1), (1, 3)] {
        let limited = gate(None, GateScope::Queue, "default", at_most(most));
        let saved = second.save_document(gate_document(&limited, revision), Outbox::default());
        saved.await.unwrap();
        f.clock.advance(secs(2));
        let running = 1 + f.claim(10).await.len();
        assert_eq!(running, usize::try_from(most).unwrap());
    }
    // A caller that asks for the gates has them read at once.
    let id = gate(None, GateScope::Queue, "default", at_most(1)).id;
    let deleted = second.delete_document(DocumentKind::Gate, id.to_string(), None, None);
    assert!(deleted.await.unwrap());
    assert!(f.store.gates().await.unwrap().own().is_empty());
    assert_eq!(f.claim(10).await.len(), 1);
}

/// Drops the fixture's store, and opens its data again.
async fn reopen(f: &mut Fixture, harness: &dyn Durable) {
    let nothing: std::sync::Arc<dyn Store> = std::sync::Arc::new(crate::MemoryStore::default());
    drop(std::mem::replace(&mut f.store, nothing));
    f.store = harness.reopen(f.clock.clone()).await;
}

/// Everything that can be read of these jobs, as text.
async fn everything(f: &Fixture, ids: &[steadfast_core::JobId]) -> Vec<String> {
    let mut seen = Vec::new();
    let jobs = f
        .store
        .get_jobs(ids.to_vec(), JobDetail::Full)
        .await
        .unwrap();
    let jobs: Vec<Job> = jobs.into_iter().map(Option::unwrap).collect();
    for job in jobs {
        seen.push(format!("{job:?}"));
        let attempts = f.attempts_of(job.id).await;
        seen.extend(attempts.iter().map(|attempt| format!("{attempt:?}")));
    }
    let mut lanes = f
        .store
        .lane_stats(None, f.now().minus(secs(300)))
        .await
        .unwrap();
    lanes.sort_by_key(|lane| format!("{lane:?}"));
    seen.extend(lanes.iter().map(|lane| format!("{lane:?}")));
    let listed = f
        .store
        .list_jobs(JobFilter::default(), PageRequest::first(1_000))
        .await
        .unwrap();
    seen.extend(listed.items.iter().map(|job| job.id.to_string()));
    seen
}
