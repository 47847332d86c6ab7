//! Paused queues: nothing is claimed from them, and everything else goes on.

use steadfast_core::{JobState, RunAt};

use super::fixture::{Fixture, ids_of, queue, request, secs, success, tenant};
use crate::ClaimRequest;

pub async fn jobs_of_a_paused_queue_are_left_alone(f: Fixture) {
    let paused = f
        .enqueue_one(f.job_with(|job| job.queue = queue("a")))
        .await;
    let other = f
        .enqueue_one(f.job_with(|job| job.queue = queue("b")))
        .await;
    pause(&f, "default", "a", true).await;
    let claimed = f.store.claim(request(10)).await.unwrap();
    assert_eq!(ids_of(&claimed.claims), [other]);
    assert_eq!(claimed.next_due, None);
    assert_eq!(f.read(paused).await.progress.state, JobState::Waiting);

    pause(&f, "default", "a", false).await;
    f.claim_of(paused).await;
}

pub async fn a_paused_queue_that_is_asked_for_by_name_gives_nothing(f: Fixture) {
    f.enqueue_one(f.job()).await;
    pause(&f, "default", "default", true).await;
    let by_name = ClaimRequest {
        queues: vec![queue("default")],
        tenant: Some(tenant("default")),
        ..request(1)
    };
    let claimed = f.store.claim(by_name).await.unwrap();
    assert_eq!((claimed.claims, claimed.next_due), (vec![], None));
}

pub async fn paused_queues_are_listed_with_or_without_jobs(f: Fixture) {
    f.enqueue_one(f.job_with(|job| job.queue = queue("b")))
        .await;
    for (of, name) in [("default", "b"), ("default", "a"), ("acme", "a")] {
        pause(&f, of, name, true).await;
    }
    pause(&f, "default", "resumed", true).await;
    pause(&f, "default", "resumed", false).await;
    let listed = |of: Option<&'static str>, limit| {
        let store = &f.store;
        async move { store.paused_queues(of.map(tenant), limit).await.unwrap() }
    };
    let pair = |of, name| (tenant(of), queue(name));
    let all = [
        pair("acme", "a"),
        pair("default", "a"),
        pair("default", "b"),
    ];
    assert_eq!(listed(None, 10).await, all);
    assert_eq!(listed(None, 2).await, all[..2]);
    assert_eq!(listed(Some("default"), 10).await, all[1..]);
}

pub async fn a_pause_is_for_one_tenant(f: Fixture) {
    let theirs = f
        .enqueue_one(f.job_with(|job| job.tenant = tenant("acme")))
        .await;
    f.enqueue_one(f.job()).await;
    pause(&f, "default", "default", true).await;
    assert_eq!(ids_of(&f.claim(10).await), [theirs]);
}

pub async fn a_queue_can_be_paused_before_it_holds_jobs(f: Fixture) {
    pause(&f, "default", "default", true).await;
    let id = f.enqueue_one(f.job()).await;
    assert!(f.claim(1).await.is_empty());
    pause(&f, "default", "default", false).await;
    f.claim_of(id).await;
}

pub async fn pausing_and_resuming_twice_is_once(f: Fixture) {
    let id = f.enqueue_one(f.job()).await;
    for paused in [true, true, false, false] {
        pause(&f, "default", "default", paused).await;
    }
    f.claim_of(id).await;
}

pub async fn the_next_due_time_leaves_out_paused_queues(f: Fixture) {
    let now = f.now();
    for (lane, due) in [("a", 10), ("b", 20)] {
        f.enqueue_one(f.job_with(|job| {
            job.queue = queue(lane);
            job.run_at = RunAt::After(secs(due));
        }))
        .await;
    }
    pause(&f, "default", "a", true).await;
    let next_due = f.store.claim(request(1)).await.unwrap().next_due;
    assert_eq!(next_due, Some(now.plus(secs(20))));
    pause(&f, "default", "a", false).await;
    let next_due = f.store.claim(request(1)).await.unwrap().next_due;
    assert_eq!(next_due, Some(now.plus(secs(10))));
}

pub async fn what_ran_before_the_pause_can_end(f: Fixture) {
    let claim = f.claimed(f.job()).await;
    pause(&f, "default", "default", true).await;
    let job = f.end(claim, success()).await;
    assert_eq!(job.progress.state, JobState::Succeeded);
}

async fn pause(f: &Fixture, owner: &str, lane: &str, paused: bool) {
    let done = f
        .store
        .set_queue_paused(tenant(owner), queue(lane), paused)
        .await;
    done.unwrap();
}
