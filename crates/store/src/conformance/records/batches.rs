//! Jobs that are counted together.

use std::sync::Arc;

use steadfast_core::{
    BatchEvent, BatchId, BatchName, BatchStatus, Dependencies, JobCommand, JobId, JobState,
    NewBatch, NewJob, NewJobExtras, OnFailure, RunAt, Tenant, Traceparent,
};

use crate::conformance::fixture::{Fixture, kind, permanent, secs, success, tenant};
use crate::{BatchCreateResult, BatchRecord, EnqueueError, EnqueueResult};

pub async fn a_batch_counts_its_jobs_and_makes_each_callback_once(f: Fixture) {
    let batch = f.batch(2);
    let (id, on_end, on_success) = (
        batch.id,
        callback(&batch.on_end),
        callback(&batch.on_success),
    );
    let created = create(&f, batch.clone()).await;
    assert_eq!(
        (created.on_end, created.on_success),
        (Some(on_end), Some(on_success))
    );
    assert_eq!(created.name, batch.name);
    assert_eq!(counts(&created), (2, 0, 0, BatchStatus::Running));
    assert_eq!(f.read(batch.jobs[0].id).await.batch(), Some(id));
    let mut claims = f.claim(5).await;
    assert_eq!(claims.len(), 2, "callbacks are not made yet");
    f.end(claims.remove(0), success()).await;
    follow(&f).await;
    assert_eq!(counts(&read(&f, id).await), (2, 1, 0, BatchStatus::Running));
    assert_eq!(f.find(on_end).await, None);

    f.clock.advance(secs(5));
    f.end(claims.remove(0), success()).await;
    follow(&f).await;
    let ended = read(&f, id).await;
    assert_eq!(counts(&ended), (2, 2, 0, BatchStatus::Succeeded));
    assert_eq!(ended.finished_at, Some(f.now()));
    // As it was asked for, with a delay that counts from now.
    let made = f.read(on_end).await;
    assert_eq!((&made.kind, made.created_at), (&kind("after"), f.now()));
    assert_eq!(made.progress.run_at, f.now().plus(secs(7)));
    assert_eq!(made.payload, batch.on_end.unwrap().payload);
    assert_eq!(made.batch(), None);
    f.claim_of(on_success).await;
    follow(&f).await;
    assert_eq!(read(&f, id).await, ended);
}

pub async fn an_open_batch_takes_jobs_until_it_is_closed(f: Fixture) {
    let mut batch = f.batch(1);
    batch.is_open = true;
    let (id, on_success) = (batch.id, callback(&batch.on_success));
    create(&f, batch).await;
    let claim = f.claim(1).await.remove(0);
    f.end(claim, success()).await;
    follow(&f).await;
    assert_eq!(counts(&read(&f, id).await), (1, 1, 0, BatchStatus::Open));
    let job = member(&f, id);
    let added = f.enqueue_one(job.clone()).await;
    assert_eq!(counts(&read(&f, id).await), (2, 1, 0, BatchStatus::Open));

    let closed = f.store.close_batch(id, None).await.unwrap().unwrap();
    assert_eq!(counts(&closed), (2, 1, 0, BatchStatus::Running));
    assert_eq!(f.store.close_batch(id, None).await.unwrap(), Some(closed));
    // A request whose answer was lost is no new one.
    let again = f.store.enqueue(vec![job], None).await.unwrap();
    assert_eq!(again, [EnqueueResult::Existing(added)]);
    let late = vec![f.job(), member(&f, id)];
    let first = late[0].id;
    match f.store.enqueue(late, None).await.unwrap_err() {
        EnqueueError::BatchRefused {
            index: 1,
            batch,
            reason,
        } => {
            assert_eq!((batch, reason.value.as_str()), (id, "closed"));
        }
        error => panic!("{error}"),
    }
    assert_eq!(f.find(first).await, None, "all or none");
    let claim = f.claim_of(added).await;
    f.end(claim, success()).await;
    follow(&f).await;
    assert_eq!(
        counts(&read(&f, id).await),
        (2, 2, 0, BatchStatus::Succeeded)
    );
    f.claim_of(on_success).await;

    let unknown = BatchId::new(f.now(), f.next_number());
    assert_eq!(f.store.close_batch(unknown, None).await.unwrap(), None);
    let mut foreign = f.batch(0);
    (foreign.tenant, foreign.is_open) = (tenant("other"), true);
    let foreign = create(&f, foreign).await.id;
    for batch in [unknown, foreign] {
        match f
            .store
            .enqueue(vec![member(&f, batch)], None)
            .await
            .unwrap_err()
        {
            EnqueueError::UnknownBatch {
                index: 0,
                batch: refused,
            } => assert_eq!(refused, batch),
            error => panic!("{error}"),
        }
    }
}

pub async fn a_batch_without_jobs_ends_when_it_is_closed(f: Fixture) {
    let mut batch = f.batch(0);
    batch.is_open = true;
    let id = batch.id;
    let made = [callback(&batch.on_end), callback(&batch.on_success)];
    create(&f, batch).await;
    follow(&f).await;
    assert_eq!(f.find(made[0]).await, None);
    let closed = f.store.close_batch(id, None).await.unwrap().unwrap();
    assert_eq!(counts(&closed), (0, 0, 0, BatchStatus::Succeeded));
    assert_eq!(closed.finished_at, Some(f.now()));
    for job in made {
        f.read(job).await;
    }
    let at_once = f.batch(0);
    let made = callback(&at_once.on_success);
    assert_eq!(create(&f, at_once).await.finished_at, Some(f.now()));
    f.read(made).await;
}

pub async fn a_requeued_job_is_counted_back_and_nothing_is_made_twice(f: Fixture) {
    let batch = f.batch(1);
    let (id, job) = (batch.id, batch.jobs[0].id);
    let (on_end, on_success) = (callback(&batch.on_end), callback(&batch.on_success));
    create(&f, batch).await;
    for _ in 0..2 {
        let claim = f.claim_of(job).await;
        f.end(claim, permanent("no")).await;
        follow(&f).await;
        assert_eq!(counts(&read(&f, id).await), (1, 0, 1, BatchStatus::Failed));
        f.read(on_end).await;
        assert_eq!(f.find(on_success).await, None);
        f.command(job, retry()).await;
        follow(&f).await;
        let back = read(&f, id).await;
        assert_eq!(counts(&back), (1, 0, 0, BatchStatus::Running));
        assert_eq!(back.finished_at, None);
    }
    // What was made does not come back, even if it is gone.
    f.command(on_end, JobCommand::Cancel).await;
    f.clock.advance(secs(60));
    assert_eq!(f.prune(f.now(), 10).await, 1);
    let claim = f.claim_of(job).await;
    f.end(claim, success()).await;
    follow(&f).await;
    assert_eq!(
        counts(&read(&f, id).await),
        (1, 1, 0, BatchStatus::Succeeded)
    );
    assert_eq!(f.find(on_end).await, None);
    f.claim_of(on_success).await;
}

pub async fn what_happens_to_a_job_before_it_is_counted_adds_up(f: Fixture) {
    let batch = f.batch(2);
    let (id, job) = (batch.id, batch.jobs[0].id);
    create(&f, batch).await;
    for _ in 0..3 {
        f.command(job, JobCommand::Cancel).await;
        f.command(job, retry()).await;
    }
    let claims = f.claim(2).await;
    let claim = claims.into_iter().find(|claim| claim.job().id == job);
    f.end(claim.unwrap(), permanent("no")).await;
    f.command(job, JobCommand::Discard).await;
    // A look may take less than there is.
    while f
        .store
        .release_dependants(2, Arc::default())
        .await
        .unwrap()
        .has_more
    {}
    assert_eq!(counts(&read(&f, id).await), (2, 0, 1, BatchStatus::Running));
}

/// A look may take less than there is, of many batches as of one.
pub async fn many_batches_are_counted_in_small_looks(f: Fixture) {
    let mut batches = Vec::new();
    for _ in 0..5 {
        let batch = f.batch(1);
        batches.push((batch.id, callback(&batch.on_end)));
        create(&f, batch).await;
    }
    for claim in f.claim(5).await {
        f.end(claim, success()).await;
    }
    let mut looks = 1;
    while f
        .store
        .release_dependants(2, Arc::default())
        .await
        .unwrap()
        .has_more
    {
        looks += 1;
    }
    assert!(looks >= 3, "at most two in a look");
    for (id, on_end) in batches {
        let ended = read(&f, id).await;
        assert_eq!(counts(&ended), (1, 1, 0, BatchStatus::Succeeded));
        f.read(on_end).await;
    }
}

pub async fn a_callback_is_of_the_trace_of_its_request(f: Fixture) {
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let trace = Traceparent::new(trace).unwrap();
    let mut batch = f.batch(0);
    let on_end = f.job().with_traceparent(&trace);
    let id = on_end.id;
    batch.on_end = Some(on_end);
    create(&f, batch).await;
    assert_eq!(f.read(id).await.traceparent, Some(trace));
}

pub async fn a_job_may_wait_for_others_and_be_of_a_batch(f: Fixture) {
    let first = f.claimed(f.job()).await;
    let mut batch = f.batch(1);
    let id = batch.id;
    let job = batch.jobs[0].id;
    let after = Dependencies::new(job, [first.job().id], OnFailure::Fail).unwrap();
    batch.jobs[0] = batch.jobs[0].clone().with_extras(NewJobExtras {
        after: Some(after),
        batch: Some(id),
        ..NewJobExtras::default()
    });
    create(&f, batch).await;
    f.end(first, permanent("no")).await;
    follow(&f).await;
    assert_eq!(f.read(job).await.progress.state, JobState::Failed);
    follow(&f).await;
    assert_eq!(counts(&read(&f, id).await), (1, 0, 1, BatchStatus::Failed));
}

pub async fn callers_at_once_count_each_end_once(f: Fixture) {
    let batch = f.batch(12);
    let (id, on_end) = (batch.id, callback(&batch.on_end));
    let expected = BatchEvent::Added(12);
    assert_eq!(
        create(&f, batch)
            .await
            .counts
            .step(expected)
            .unwrap_err()
            .value,
        "closed"
    );
    let claims = f.claim(12).await;
    let ends = claims.into_iter().map(|claim| async {
        f.end(claim, success()).await;
        f.store.release_dependants(3, Arc::default()).await.unwrap();
    });
    futures_util::future::join_all(ends).await;
    follow(&f).await;
    assert_eq!(
        counts(&read(&f, id).await),
        (12, 12, 0, BatchStatus::Succeeded)
    );
    f.read(on_end).await;
    assert_eq!(f.count_all().await, 14);
}

impl Fixture {
    /// A closed batch with callbacks, of which the one for the end waits for seven seconds.
    pub(crate) fn batch(&self, jobs: usize) -> NewBatch {
        let id = BatchId::new(self.now(), self.next_number());
        NewBatch {
            id,
            tenant: Tenant::default(),
            name: Some(BatchName::new("import 7").unwrap()),
            idempotency_key: None,
            is_open: false,
            jobs: (0..jobs).map(|_| member(self, id)).collect(),
            on_end: Some(self.job_with(|job| {
                job.kind = kind("after");
                job.run_at = RunAt::After(secs(7));
            })),
            on_success: Some(self.job()),
        }
    }
}

pub(super) fn member(f: &Fixture, batch: BatchId) -> NewJob {
    f.job().with_extras(NewJobExtras {
        batch: Some(batch),
        ..NewJobExtras::default()
    })
}

pub(super) fn callback(job: &Option<NewJob>) -> JobId {
    job.as_ref().unwrap().id
}

pub(super) fn retry() -> JobCommand {
    JobCommand::Retry { payload: None }
}

pub(crate) async fn create(f: &Fixture, batch: NewBatch) -> BatchRecord {
    let jobs = batch.jobs.len();
    match f.store.create_batch(batch, 10).await.unwrap() {
        BatchCreateResult::Created(record, results) => {
            let is_new = |result: &EnqueueResult| matches!(result, EnqueueResult::Created(..));
            assert!(results.len() == jobs && results.iter().all(is_new));
            record
        }
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn read(f: &Fixture, id: BatchId) -> BatchRecord {
    f.store.get_batch(id).await.unwrap().unwrap()
}

/// All, succeeded and failed, and what that comes to.
pub(crate) fn counts(batch: &BatchRecord) -> (u64, u64, u64, BatchStatus) {
    let counts = batch.counts;
    (
        counts.total,
        counts.succeeded,
        counts.failed,
        counts.status(),
    )
}

pub(crate) async fn follow(f: &Fixture) {
    while f
        .store
        .release_dependants(10, Arc::default())
        .await
        .unwrap()
        .has_more
    {}
}
