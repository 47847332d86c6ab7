//! Renewals: a lease lasts as long as its holder says so, and no other can.

use steadfast_core::{Fence, Job, JobCommand, Outcome, Timestamp};

use super::fixture::{Fixture, secs, success};
use crate::{RenewResult, Renewal};

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
    let mut unknown = f.job().stored(f.now());
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
