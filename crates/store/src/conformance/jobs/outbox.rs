//! Jobs that a transition makes: they exist if and only if it does.

use steadfast_core::{JobCommand, NewJob, Outcome, RunAt};

use crate::conformance::fixture::{Fixture, failure, held, key, kind, queue, secs, success};
use crate::{CommitResult, JobDetail};

pub async fn the_outbox_is_written_with_its_transition(f: Fixture) {
    let mut transition = f.decide(f.claimed(f.job()).await, success());
    transition.outbox = vec![webhook(&f), webhook(&f)];
    let now = f.clock.advance(secs(1));
    assert_eq!(f.commit(transition.clone()).await, CommitResult::Done);
    for new in transition.outbox {
        assert_eq!(f.read(new.id).await, new.into_job(now));
    }
}

pub async fn the_outbox_can_be_claimed(f: Fixture) {
    let mut transition = f.decide(f.claimed(f.job()).await, success());
    let delivery = f.job();
    transition.outbox = vec![delivery.clone()];
    assert_eq!(f.commit(transition).await, CommitResult::Done);
    f.claim_of(delivery.id).await;
}

pub async fn the_outbox_of_a_refused_transition_is_not_written(f: Fixture) {
    let stale = f.running(f.job()).await;
    f.end(held(stale.clone()), success()).await;
    let cancelled = f.running(f.job()).await;
    f.command(cancelled.id, JobCommand::Cancel).await;
    let renewed = f.running(f.job()).await;

    let refusals = [
        (stale, failure("late"), CommitResult::Stale),
        (cancelled, success(), CommitResult::CancelRequested),
        (renewed, Outcome::Lost, CommitResult::Stale),
    ];
    for (job, outcome, expected) in refusals {
        let mut transition = f.decide(held(job), outcome);
        transition.outbox = vec![webhook(&f)];
        let delivery = transition.outbox[0].id;
        assert_eq!(f.commit(transition).await, expected);
        assert_eq!(f.find(delivery).await, None, "{expected:?}");
    }
}

pub async fn the_outbox_of_a_repeated_commit_is_written_once(f: Fixture) {
    let mut transition = f.decide(f.claimed(f.job()).await, success());
    transition.outbox = vec![f.job()];
    assert_eq!(f.commit(transition.clone()).await, CommitResult::Done);
    let delivery = f.running_of(transition.outbox[0].id).await;

    // A sender that rolls new ids when it decides again makes no second delivery either.
    let mut again = transition.clone();
    again.outbox = vec![f.job()];
    for repeated in [transition, again] {
        assert_eq!(f.commit(repeated).await, CommitResult::Done);
    }
    assert_eq!(f.read(delivery.id).await, delivery);
    assert_eq!(f.count_all().await, 2);
}

pub async fn a_known_id_or_key_in_the_outbox_does_not_hinder_the_transition(f: Fixture) {
    let known = webhook(&f);
    let mut keyed = webhook(&f);
    keyed.idempotency_key = key("k");
    f.enqueue(vec![known.clone(), keyed.clone()]).await;
    let before = f
        .store
        .get_jobs(vec![known.id, keyed.id], JobDetail::Full)
        .await
        .unwrap();

    let mut same_id = known.clone();
    same_id.kind = kind("other");
    let mut same_key = webhook(&f);
    same_key.idempotency_key = key("k");
    let mut same_key_other_request = same_key.clone();
    same_key_other_request.id = f.id();
    same_key_other_request.kind = kind("other");
    let fresh = webhook(&f);

    let mut transition = f.decide(f.claimed(f.job()).await, success());
    let outbox = [same_id, same_key, same_key_other_request, fresh.clone()];
    transition.outbox = outbox.into();
    assert_eq!(f.commit(transition).await, CommitResult::Done);
    assert_eq!(f.find(fresh.id).await, Some(fresh.into_job(f.now())));
    let after = f
        .store
        .get_jobs(vec![known.id, keyed.id], JobDetail::Full)
        .await
        .unwrap();
    assert_eq!(after, before);
    assert_eq!(f.count_all().await, 4);
}

/// A job that is not due, to stay out of the way of claims.
fn webhook(f: &Fixture) -> NewJob {
    f.job_with(|job| {
        job.kind = kind("webhook");
        job.queue = queue("webhooks");
        job.run_at = RunAt::After(secs(30));
    })
}

impl Fixture {
    async fn running_of(&self, id: steadfast_core::JobId) -> steadfast_core::Job {
        self.claim_of(id).await.job().clone()
    }
}
