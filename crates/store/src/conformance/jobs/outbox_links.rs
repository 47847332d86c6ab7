//! Jobs of an outbox that run after others, or belong to a batch.

use std::sync::Arc;

use steadfast_core::{
    BatchId, BatchStatus, Claim, Dependencies, JobId, NewBatch, NewJob, NewJobExtras, OnFailure,
    OutboxRefusalReason, Transition,
};

use crate::conformance::fixture::{Fixture, held, ids_of, secs, success, tenant};
use crate::{CommitResult, PageRequest};

pub async fn a_job_of_an_outbox_runs_after_the_jobs_that_it_names(f: Fixture) {
    let other = f.claimed(f.job()).await;
    let creator = f.claimed(f.job()).await;
    let waiting = after(&f, &[other.job().id]);
    let id = waiting.id;
    commit(&f, creator, vec![waiting, f.job()]).await;
    assert!(f.read(id).await.is_blocked());
    let claims = f.claim(2).await;
    assert_eq!(claims.len(), 1, "the other job of the outbox");
    let links = f.store.job_links(id, 10).await.unwrap();
    assert_eq!(links.after.len(), 1);

    f.end(other, success()).await;
    follow(&f).await;
    f.claim_of(id).await;
}

pub async fn a_job_of_an_outbox_may_run_after_its_creator_and_others_of_the_outbox(f: Fixture) {
    let creator = f.claimed(f.job()).await;
    let first = after(&f, &[creator.job().id]);
    let second = after(&f, &[first.id]);
    let (one, two) = (first.id, second.id);
    commit(&f, creator, vec![first, second]).await;
    follow(&f).await;
    let claim = f.claim_of(one).await;
    assert!(f.read(two).await.is_blocked());
    f.end(claim, success()).await;
    follow(&f).await;
    f.claim_of(two).await;
}

pub async fn a_batch_counts_what_its_last_job_adds_and_ends_after_it(f: Fixture) {
    for is_open in [false, true] {
        let batch = NewBatch {
            is_open,
            on_success: None,
            ..f.batch(1)
        };
        let (id, on_end) = (batch.id, batch.on_end.as_ref().unwrap().id);
        f.store.create_batch(batch, 10).await.unwrap();
        let creator = f.claim(1).await.remove(0);
        let added = [member(&f, id), member(&f, id)];
        let ids = added.clone().map(|job| job.id);
        commit(&f, creator, added.into()).await;
        if is_open {
            f.store.close_batch(id, None).await.unwrap();
        }
        follow(&f).await;
        assert_eq!(counts(&f, id).await, (3, 1, BatchStatus::Running));
        assert_eq!(f.find(on_end).await, None);

        let claims = f.claim(3).await;
        let mut claimed = ids_of(&claims);
        claimed.sort_unstable();
        assert_eq!(claimed, ids);
        for claim in claims {
            f.end(claim, success()).await;
        }
        follow(&f).await;
        assert_eq!(counts(&f, id).await, (3, 3, BatchStatus::Succeeded));
        f.read(on_end).await;
    }
}

pub async fn an_outbox_that_names_what_is_not_there_is_refused_and_nothing_is_written(f: Fixture) {
    let closed = f.batch(0);
    let closed_id = closed.id;
    f.store.create_batch(closed, 10).await.unwrap();
    let mut foreign_batch = f.batch(0);
    foreign_batch.tenant = tenant("other");
    foreign_batch.is_open = true;
    let foreign_id = foreign_batch.id;
    f.store.create_batch(foreign_batch, 10).await.unwrap();
    let foreign = f.job_with(|job| job.tenant = tenant("other"));
    let foreign = f.enqueue_one(foreign).await;
    for claim in f.claim(10).await {
        f.end(claim, success()).await;
    }
    let creator = f.claimed(f.job()).await;
    let before = (f.read(creator.job().id).await, f.count_all().await);
    let (unknown, no_batch) = (f.id(), BatchId::new(f.now(), f.next_number()));
    let cases = [
        (
            after(&f, &[unknown]),
            OutboxRefusalReason::UnknownPrerequisite(unknown),
        ),
        (
            after(&f, &[foreign]),
            OutboxRefusalReason::UnknownPrerequisite(foreign),
        ),
        (
            member(&f, no_batch),
            OutboxRefusalReason::UnknownBatch(no_batch),
        ),
        (
            member(&f, foreign_id),
            OutboxRefusalReason::UnknownBatch(foreign_id),
        ),
        (
            member(&f, closed_id),
            OutboxRefusalReason::BatchClosed(closed_id),
        ),
    ];
    for (job, reason) in cases {
        let mut transition = f.decide(held(before.0.clone()), success());
        transition.outbox = vec![f.job(), job];
        let CommitResult::OutboxRefused(refusal) = f.commit(transition).await else {
            panic!("{reason:?} is expected");
        };
        assert_eq!((refusal.index, refusal.reason), (1, reason));
        assert_eq!((f.read(before.0.id).await, f.count_all().await), before);
    }
    // The claim holds, and an attempt whose outbox is right can end.
    commit(&f, creator, vec![f.job()]).await;
}

pub async fn a_refused_outbox_hinders_no_other_transition(f: Fixture) {
    f.enqueue(f.jobs(3)).await;
    let claims = f.claim(3).await;
    let ends = claims.into_iter().map(|claim| f.decide(claim, success()));
    let mut ends: Vec<Transition> = ends.collect();
    let refused = ends[1].job;
    ends[0].outbox = vec![f.job_with(|job| job.run_at = steadfast_core::RunAt::After(secs(9)))];
    ends[1].outbox = vec![after(&f, &[f.id()])];
    let results = f.store.commit(ends.clone()).await.unwrap();
    assert_eq!(
        (results[0], results[2]),
        (CommitResult::Done, CommitResult::Done)
    );
    assert!(matches!(results[1], CommitResult::OutboxRefused(_)));
    assert!(f.read(refused).await.progress.lease_until.is_some());
    // An end that was written says more than its outbox.
    ends[0].outbox = vec![after(&f, &[f.id()])];
    assert_eq!(f.commit(ends.remove(0)).await, CommitResult::Done);
}

pub async fn links_of_a_repeated_commit_are_written_once(f: Fixture) {
    let other = f.claimed(f.job()).await;
    let batch = f.batch(1);
    let id = batch.id;
    f.store.create_batch(batch, 10).await.unwrap();
    let mut transition = f.decide(f.claim(1).await.remove(0), success());
    let waiting = after(&f, &[other.job().id]);
    transition.outbox = vec![waiting.clone(), member(&f, id)];
    for _ in 0..2 {
        assert_eq!(f.commit(transition.clone()).await, CommitResult::Done);
    }
    follow(&f).await;
    assert_eq!(counts(&f, id).await, (2, 1, BatchStatus::Running));
    let links = f.store.job_links(waiting.id, 10).await.unwrap();
    assert_eq!(links.after.len(), 1);
    let page = PageRequest::first(10);
    let jobs = f.store.list_jobs(Default::default(), page).await.unwrap();
    assert_eq!(jobs.items.len(), 4);
}

fn after(f: &Fixture, others: &[JobId]) -> NewJob {
    let job = f.job();
    let others = others.iter().copied();
    let extras = NewJobExtras {
        after: Some(Dependencies::new(job.id, others, OnFailure::Wait).unwrap()),
        ..NewJobExtras::default()
    };
    job.with_extras(extras)
}

fn member(f: &Fixture, batch: BatchId) -> NewJob {
    f.job().with_extras(NewJobExtras {
        batch: Some(batch),
        ..NewJobExtras::default()
    })
}

/// Ends an attempt with success and an outbox.
async fn commit(f: &Fixture, claim: Claim, outbox: Vec<NewJob>) {
    let mut transition = f.decide(claim, success());
    transition.outbox = outbox;
    assert_eq!(f.commit(transition).await, CommitResult::Done);
}

async fn counts(f: &Fixture, id: BatchId) -> (u64, u64, BatchStatus) {
    let counts = f.store.get_batch(id).await.unwrap().unwrap().counts;
    (counts.total, counts.succeeded, counts.status())
}

async fn follow(f: &Fixture) {
    while f
        .store
        .release_dependants(10, Arc::default())
        .await
        .unwrap()
        .has_more
    {}
}
