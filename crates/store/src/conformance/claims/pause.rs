//! Paused queues: nothing is claimed from them, and everything else goes on.

use steadfast_core::JobState;

use crate::ClaimRequest;
use crate::conformance::fixture::{Fixture, ids_of, queue, request, success, tenant};

pub async fn jobs_of_a_paused_queue_are_left_alone(f: Fixture) {
    let paused = f
        .enqueue_one(f.job_with(|job| job.queue = queue("a")))
        .await;
    let other = f
        .enqueue_one(f.job_with(|job| job.queue = queue("b")))
        .await;
    f.pause_only([("default", "a")]).await;
    let claimed = f.store.claim(request(10)).await.unwrap();
    assert_eq!(ids_of(&claimed.claims), [other]);
    assert_eq!(claimed.next_due, None);
    assert_eq!(f.read(paused).await.progress.state, JobState::Waiting);

    f.pause_only([]).await;
    f.claim_of(paused).await;
}

pub async fn a_paused_queue_that_is_asked_for_by_name_gives_nothing(f: Fixture) {
    f.enqueue_one(f.job()).await;
    f.pause_only([("default", "default")]).await;
    let by_name = ClaimRequest {
        queues: vec![queue("default")],
        tenant: Some(tenant("default")),
        ..request(1)
    };
    let claimed = f.store.claim(by_name).await.unwrap();
    assert_eq!((claimed.claims, claimed.next_due), (vec![], None));
}

pub async fn a_pause_is_for_one_tenant(f: Fixture) {
    let theirs = f
        .enqueue_one(f.job_with(|job| job.tenant = tenant("acme")))
        .await;
    f.enqueue_one(f.job()).await;
    f.pause_only([("default", "default")]).await;
    assert_eq!(ids_of(&f.claim(10).await), [theirs]);
}

pub async fn a_queue_can_be_paused_before_it_holds_jobs(f: Fixture) {
    f.pause_only([("default", "default")]).await;
    let id = f.enqueue_one(f.job()).await;
    assert!(f.claim(1).await.is_empty());
    f.pause_only([]).await;
    f.claim_of(id).await;
}

pub async fn what_ran_before_the_pause_can_end(f: Fixture) {
    let claim = f.claimed(f.job()).await;
    f.pause_only([("default", "default")]).await;
    let job = f.end(claim, success()).await;
    assert_eq!(job.progress.state, JobState::Succeeded);
}
