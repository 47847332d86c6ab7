//! Jobs that must not start late.

use std::{sync::Arc, time::Duration};

use steadfast_core::{
    BlockerKind, EndReason, ExpiryAction, JobCommand, JobState, NewJob, NewJobExtras, RunAt,
    StartBefore, StartDeadline,
};

use crate::StartQuery;
use crate::conformance::fixture::{Fixture, MICRO, failure, permanent, secs, tenant};

pub async fn a_job_that_is_late_is_not_started(f: Fixture) {
    let late = f.enqueue_one(before(&f, secs(60))).await;
    let stored = f.read(late).await;
    let deadline = StartDeadline::stored(f.now().plus(secs(60)), ExpiryAction::Fail);
    assert_eq!(stored.start_deadline(), Some(deadline));
    assert_eq!(f.store.expired_starts(10).await.unwrap(), []);
    let start = async || {
        let reading = f.store.explain_start(StartQuery::Job(late));
        let reading = reading.await.unwrap().unwrap();
        reading.facts().explain(f.now())
    };
    assert!(start().await.claimable);
    f.clock.advance(secs(60));
    let explained = start().await;
    assert_eq!(explained.blockers[0].kind, BlockerKind::Expired);
    assert!(!explained.claimable && explained.estimate.is_none());
    let other = f.enqueue_one(f.job()).await;
    // The one that is late does not hold up the others.
    f.claim_of(other).await;
    assert_eq!(f.store.expired_starts(10).await.unwrap(), [late]);
    let ended = f.command(late, JobCommand::Expire).await;
    assert_eq!(ended.progress.state, JobState::Failed);
    assert_eq!(ended.progress.reason, Some(EndReason::ExpiredUnstarted));
    assert_eq!(ended.progress.finished_at, Some(f.now()));
    assert!(ended.is_dead_letter());
    assert_eq!(f.read(late).await, ended);
    assert_eq!(f.store.expired_starts(10).await.unwrap(), []);
}

pub async fn a_job_may_start_until_the_very_end_of_its_time(f: Fixture) {
    let id = f.enqueue_one(before(&f, secs(60))).await;
    f.clock.advance(secs(60) - MICRO);
    let answers = f
        .store
        .run_command(vec![id], JobCommand::Expire, Arc::default(), None)
        .await
        .unwrap();
    assert!(answers[0].is_err(), "its time is not over");
    let claim = f.claim_of(id).await;
    // Once it has started, its retries may come later.
    f.end(claim, failure("no")).await;
    f.clock.advance(secs(60));
    assert_eq!(f.store.expired_starts(10).await.unwrap(), []);
    f.claim_of(id).await;
}

pub async fn a_late_job_is_cancelled_if_it_asks_for_that(f: Fixture) {
    let mut job = before(&f, secs(60));
    let mut extras = job.extras().unwrap().clone();
    let at = f.now().plus(secs(30));
    extras.start_before = Some((StartBefore::At(at), ExpiryAction::Cancel));
    job = job.with_extras(extras);
    job.tenant = tenant("other");
    let id = f.enqueue_one(job).await;
    f.clock.advance(secs(30));
    assert_eq!(f.claim(1).await.len(), 0);
    let ended = f.command(id, JobCommand::Expire).await;
    assert_eq!(ended.progress.state, JobState::Cancelled);
    assert_eq!(ended.progress.reason, Some(EndReason::ExpiredUnstarted));
}

pub async fn a_late_job_that_a_person_retries_may_start(f: Fixture) {
    let id = f.enqueue_one(before(&f, secs(60))).await;
    f.clock.advance(secs(90));
    f.command(id, JobCommand::Expire).await;
    let job = f.command(id, JobCommand::Retry { payload: None }).await;
    assert_eq!(job.start_deadline(), None);
    assert_eq!(f.read(id).await, job);
    assert_eq!(f.store.expired_starts(10).await.unwrap(), []);
    let claim = f.claim_of(id).await;
    f.end(claim, permanent("no")).await;
}

pub async fn late_jobs_are_found_in_batches(f: Fixture) {
    let mut expected = Vec::new();
    for number in 1..=7 {
        let mut job = before(&f, secs(10 * number));
        job.run_at = RunAt::After(secs(number));
        expected.push(f.enqueue_one(job).await);
    }
    f.clock.advance(secs(50));
    let found = f.store.expired_starts(3).await.unwrap();
    assert_eq!(found, expected[..3], "the longest late first");
    for id in found {
        f.command(id, JobCommand::Expire).await;
    }
    assert_eq!(f.store.expired_starts(3).await.unwrap(), expected[3..5]);
    let expected = &expected[5..];
    let claims = f.claim(10).await;
    let claimed: Vec<_> = claims.iter().map(|claim| claim.job().id).collect();
    assert_eq!(claimed, expected);
}

fn before(f: &Fixture, wait: Duration) -> NewJob {
    f.job().with_extras(NewJobExtras {
        start_before: Some((StartBefore::After(wait), ExpiryAction::Fail)),
        ..NewJobExtras::default()
    })
}
