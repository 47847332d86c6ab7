//! The sweep: leases that ran out are found, and settled once.

use std::collections::BTreeSet;

use steadfast_core::{AttemptStatus, FailureClass, JobCommand, JobState, Outcome};

use crate::conformance::fixture::{Fixture, MICRO, failure, ids_of, request, secs, success};
use crate::{ClaimRequest, CommitResult, Renewal};

pub async fn a_lease_has_run_out_at_its_end_and_not_before(f: Fixture) {
    let job = f.running(f.job()).await;
    let end = job.progress.lease_until.unwrap();
    f.clock.set(end.minus(MICRO));
    assert!(f.store.expired_leases(10).await.unwrap().is_empty());
    f.clock.set(end);
    let expired = f.store.expired_leases(10).await.unwrap();
    assert_eq!(ids_of(&expired), [job.id]);
    assert_eq!(*expired[0].job(), job);
}

pub async fn only_running_jobs_are_swept(f: Fixture) {
    f.ended(f.job(), success()).await;
    f.ended(f.job(), failure("x")).await;
    f.enqueue_one(f.job_with(|job| job.run_at = steadfast_core::RunAt::After(secs(5))))
        .await;
    let patient = f.job().with_lease(secs(7_200)).unwrap();
    f.claimed(patient).await;
    f.clock.advance(secs(3_600));
    assert!(f.store.expired_leases(10).await.unwrap().is_empty());
}

pub async fn looking_changes_nothing(f: Fixture) {
    let job = f.running(f.job()).await;
    f.clock.advance(secs(60));
    for _ in 0..2 {
        assert_eq!(ids_of(&f.store.expired_leases(10).await.unwrap()), [job.id]);
        assert_eq!(f.read(job.id).await, job);
    }
    assert!(f.attempts_of(job.id).await.is_empty());
}

pub async fn no_more_than_asked_are_swept(f: Fixture) {
    f.enqueue(f.jobs(5)).await;
    let mut left: BTreeSet<_> = ids_of(&f.claim(5).await).into_iter().collect();
    f.clock.advance(secs(60));
    assert!(f.store.expired_leases(0).await.unwrap().is_empty());
    for expected in [2, 2, 1, 0] {
        let expired = f.store.expired_leases(2).await.unwrap();
        assert_eq!(expired.len(), expected);
        for claim in expired {
            assert!(left.remove(&claim.job().id));
            f.end(claim, Outcome::Lost).await;
        }
    }
    assert!(left.is_empty());
}

pub async fn a_lost_attempt_is_retried_and_recorded(f: Fixture) {
    let job = f.running(f.job()).await;
    let renewal = Renewal {
        job: job.id,
        fence: job.progress.fence,
        lease: secs(30),
        note: Some("half way".into()),
        within_timeout: false,
    };
    f.store.renew(vec![renewal]).await.unwrap();
    f.clock.advance(secs(60));
    let claim = f.store.expired_leases(1).await.unwrap().remove(0);
    let job = f.end(claim, Outcome::Lost).await;
    assert_eq!(job.progress.state, JobState::Waiting);
    assert_eq!(job.progress.run_at, f.now().plus(secs(10)));
    let records = f.attempts_of(job.id).await;
    let seen: Vec<_> = records
        .iter()
        .map(|record| (record.status, record.note.as_deref()))
        .collect();
    assert_eq!(seen, [(AttemptStatus::Lost, Some("half way"))]);
}

/// Both are 30 s by default: a timeout would be a guess, and blame the target.
pub async fn a_lease_as_long_as_the_timeout_that_runs_out_is_lost(f: Fixture) {
    for within_timeout in [false, true] {
        let lease = f.job().into_job(f.now()).lease;
        let id = f.enqueue_one(f.job().with_timeout(lease).unwrap()).await;
        let request = ClaimRequest {
            within_timeout,
            ..request(1)
        };
        f.store.claim(request).await.unwrap();
        f.clock.advance(lease + secs(1));
        let expired = f.store.expired_leases(1).await.unwrap().remove(0);
        assert_eq!(expired.job().id, id);
        let job = f.end(expired, Outcome::Lost).await;
        let class = job.progress.failure.map(|failure| failure.class);
        assert_eq!(class, Some(FailureClass::LOST), "{within_timeout}");
        f.command(id, JobCommand::Cancel).await;
    }
}

pub async fn two_sweepers_settle_a_lease_once(f: Fixture) {
    let job = f.running(f.job()).await;
    f.clock.advance(secs(60));
    let mut swept = [
        f.store.expired_leases(1).await.unwrap(),
        f.store.expired_leases(1).await.unwrap(),
    ]
    .map(|mut claims| claims.remove(0))
    .into_iter();
    let first = f.decide(swept.next().unwrap(), Outcome::Lost);
    f.clock.advance(secs(1));
    let second = f.decide(swept.next().unwrap(), Outcome::Lost);
    assert_eq!(f.commit(first.clone()).await, CommitResult::Done);
    assert_eq!(f.commit(second).await, CommitResult::Stale);
    assert_eq!(f.read(job.id).await.progress, first.to);
    assert_eq!(f.attempts_of(job.id).await, Vec::from_iter(first.record));
    assert_eq!(f.tally().await.failures, 1);
}
