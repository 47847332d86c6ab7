//! Renewals: a lease lasts as long as its holder says so, and no other can.

use std::collections::BTreeSet;

use steadfast_core::{
    AttemptStatus, Claim, Failure, FailureClass, Fence, Job, JobCommand, JobState, Outcome,
    Timestamp, WorkerName,
};

use crate::conformance::fixture::{Fixture, request, secs, success};
use crate::{ClaimRequest, RenewResult, Renewal};

pub async fn a_renewed_lease_counts_from_now(f: Fixture) {
    let job = f.running(f.job()).await;
    let now = f.clock.advance(secs(20));
    let until = now.plus(secs(45));
    assert_eq!(renew(&f, &renewal(&job, 45)).await, held(until));

    let mut expected = job;
    expected.progress.lease_until = Some(until);
    assert_eq!(f.read(expected.id).await, expected);
}

pub async fn an_expired_lease_can_still_be_renewed(f: Fixture) {
    let job = f.running(f.job()).await;
    f.clock.advance(secs(3_600));
    assert_eq!(f.store.expired_leases(10).await.unwrap().len(), 1);
    let until = f.now().plus(secs(30));
    assert_eq!(renew(&f, &renewal(&job, 30)).await, held(until));
    assert!(f.store.expired_leases(10).await.unwrap().is_empty());
}

pub async fn another_fence_renews_nothing(f: Fixture) {
    let job = f.running(f.job()).await;
    for fence in [0, 2, u32::MAX] {
        let fence = Fence(fence);
        let other = Renewal {
            fence,
            ..renewal(&job, 500)
        };
        assert_eq!(renew(&f, &other).await, RenewResult::Lost);
    }
    assert_eq!(f.read(job.id).await, job);
}

pub async fn what_does_not_run_cannot_be_renewed(f: Fixture) {
    let waiting = f.running(f.job()).await;
    let claim = f.held(waiting.id).await;
    let waiting = f.end(claim, Outcome::Snoozed(secs(10))).await;
    let done = f.ended(f.job(), success()).await;
    for job in [waiting, done] {
        assert_eq!(renew(&f, &renewal(&job, 30)).await, RenewResult::Lost);
        assert_eq!(f.read(job.id).await, job);
    }
    let mut unknown = f.job().into_job(f.now());
    unknown.progress.fence = Fence(1);
    assert_eq!(renew(&f, &renewal(&unknown, 30)).await, RenewResult::Lost);
}

pub async fn a_holder_that_was_given_up_has_lost(f: Fixture) {
    let stalled = f.running(f.job()).await;
    f.clock.advance(secs(60));
    let claim = f.held(stalled.id).await;
    let job = f.end(claim, Outcome::Lost).await;
    f.clock.set(job.progress.run_at);
    let second = f.claim_of(stalled.id).await;
    assert_eq!(renew(&f, &renewal(&stalled, 30)).await, RenewResult::Lost);
    assert_eq!(f.read(stalled.id).await, *second.job());
}

pub async fn a_note_is_kept_until_there_is_another(f: Fixture) {
    let job = f.running(f.job()).await;
    let with_note = |note: Option<&str>| Renewal {
        note: note.map(str::to_owned),
        ..renewal(&job, 30)
    };
    for (note, kept) in [
        (None, None),
        (Some("10 of 80, für Zoë"), Some("10 of 80, für Zoë")),
        (None, Some("10 of 80, für Zoë")),
        (Some("20 of 80"), Some("20 of 80")),
    ] {
        renew(&f, &with_note(note)).await;
        let job = f.read(job.id).await;
        assert_eq!(job.progress.note.as_deref(), kept);
    }
}

pub async fn a_holder_learns_of_a_request_to_cancel(f: Fixture) {
    let job = f.running(f.job()).await;
    f.command(job.id, JobCommand::Cancel).await;
    let expected = RenewResult::Held {
        until: f.now().plus(secs(30)),
        cancel_requested: true,
    };
    assert_eq!(renew(&f, &renewal(&job, 30)).await, expected);
    assert_eq!(renew(&f, &renewal(&job, 30)).await, expected);
}

pub async fn a_worker_finds_its_own_requests_to_cancel(f: Fixture) {
    let worker = |name: &str| WorkerName::new(name).unwrap();
    let requests = async |name: &str, limit| {
        let requests = f.store.cancel_requests(worker(name), limit);
        requests.await.unwrap()
    };
    f.enqueue(f.jobs(4)).await;
    let claims = f.claim(3).await;
    let others = ClaimRequest {
        worker: worker("w2"),
        ..request(1)
    };
    let others = f.store.claim(others).await.unwrap().claims;
    assert_eq!(requests("w1", 9).await, []);
    for claim in claims.iter().skip(1).chain(&others) {
        f.command(claim.job().id, JobCommand::Cancel).await;
    }
    let waiting = f.enqueue_one(f.job()).await;
    f.command(waiting, JobCommand::Cancel).await;
    let of = |claims: &[Claim]| -> Vec<_> {
        let found = claims.iter().map(|claim| (claim.job().id, claim.fence()));
        found.collect::<BTreeSet<_>>().into_iter().collect()
    };
    let own = of(&claims[1..]);
    assert_eq!(requests("w1", 9).await, own);
    assert_eq!(requests("w1", 1).await, own[..1]);
    assert_eq!(requests("w2", 9).await, of(&others));
    assert_eq!(requests("w3", 9).await, []);
    for claim in claims {
        let claim = f.held(claim.job().id).await;
        f.end(claim, success()).await;
    }
    assert_eq!(requests("w1", 9).await, []);
}

pub async fn a_lease_within_the_timeout_ends_with_it(f: Fixture) {
    let new = f.job().with_timeout(secs(40)).unwrap();
    let id = f.enqueue_one(new).await;
    let by_worker = |lease| ClaimRequest {
        lease: Some(secs(lease)),
        within_timeout: true,
        ..request(1)
    };
    let claim = f.store.claim(by_worker(30)).await.unwrap().claims.remove(0);
    let deadline = f.now().plus(secs(40));
    assert_eq!(claim.job().deadline(), Some(deadline));
    assert_eq!(
        claim.job().progress.lease_until,
        Some(f.now().plus(secs(30)))
    );
    let job = f.read(id).await;
    assert_eq!(job, *claim.job());

    f.clock.advance(secs(5));
    let within = Renewal {
        within_timeout: true,
        ..renewal(&job, 30)
    };
    assert_eq!(renew(&f, &within).await, held(f.now().plus(secs(30))));
    f.clock.advance(secs(20));
    assert_eq!(renew(&f, &within).await, held(deadline));
    f.clock.set(deadline.plus(secs(3)));
    // It cannot be renewed beyond its end, and is found as one that has run out.
    assert_eq!(renew(&f, &within).await, held(deadline));
    let expired = f.store.expired_leases(1).await.unwrap().remove(0);
    let job = f.end(expired, Outcome::Lost).await;
    assert_eq!(job.progress.state, JobState::Waiting);
    let class = |failure: &Option<Failure>| failure.as_ref().unwrap().class.clone();
    assert_eq!(class(&job.progress.failure), FailureClass::TIMEOUT);
    let attempts = f.attempts_of(id).await;
    assert_eq!(attempts[0].status, AttemptStatus::Failed);
    assert_eq!(class(&attempts[0].failure), FailureClass::TIMEOUT);

    // A lease that is longer than the timeout is cut from the beginning.
    f.clock.set(job.progress.run_at);
    let claim = f.store.claim(by_worker(90)).await.unwrap().claims.remove(0);
    assert_eq!(claim.job().progress.lease_until, claim.job().deadline());
    assert_eq!(f.read(id).await, *claim.job());
}

pub async fn a_node_that_keeps_the_timeout_itself_renews_beyond_it(f: Fixture) {
    let new = f.job().with_timeout(secs(2)).unwrap();
    let job = f.running(new).await;
    assert_eq!(job.progress.lease_until, Some(f.now().plus(job.lease)));
    f.clock.advance(secs(20));
    assert_eq!(
        renew(&f, &renewal(&job, 30)).await,
        held(f.now().plus(secs(30)))
    );
    f.clock.advance(secs(30));
    let expired = f.store.expired_leases(1).await.unwrap().remove(0);
    let job = f.end(expired, Outcome::Lost).await;
    let failure = job.progress.failure.unwrap();
    assert_eq!(failure.class, FailureClass::LOST);
}

pub async fn renewals_of_a_batch_are_apart(f: Fixture) {
    let lost = f.ended(f.job(), success()).await;
    f.enqueue(f.jobs(2)).await;
    let claims = f.claim(2).await;
    let [first, second] = [&claims[0], &claims[1]].map(|claim| claim.job().clone());
    let batch = vec![
        renewal(&first, 60),
        renewal(&lost, 60),
        renewal(&second, 90),
    ];
    let answers = f.store.renew(batch).await.unwrap();
    let [soon, late] = [60, 90].map(|seconds| f.now().plus(secs(seconds)));
    assert_eq!(answers, [held(soon), RenewResult::Lost, held(late)]);
    for (job, until) in [(first, soon), (second, late)] {
        let job = f.read(job.id).await;
        assert_eq!(job.progress.lease_until, Some(until));
    }
}

fn renewal(job: &Job, lease: u64) -> Renewal {
    Renewal {
        job: job.id,
        fence: job.progress.fence,
        lease: secs(lease),
        note: None,
        within_timeout: false,
    }
}

async fn renew(f: &Fixture, renewal: &Renewal) -> RenewResult {
    f.store.renew(vec![renewal.clone()]).await.unwrap()[0]
}

fn held(until: Timestamp) -> RenewResult {
    RenewResult::Held {
        until,
        cancel_requested: false,
    }
}
