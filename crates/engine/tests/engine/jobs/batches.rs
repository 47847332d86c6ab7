//! Jobs that are counted together.

use std::sync::Arc;

use steadfast_core::{BatchStatus, IdempotencyKey, Payload, Unique, UniqueKey, limits};
use steadfast_engine::{
    BatchRequest, Client, ClientError, EngineConfig, JobEvent, JobKind as _, JobRequest, Notice,
};
use steadfast_store::{
    BatchFilter, EnqueueError, JobFilter, MemoryStore, PageRequest, SqliteOptions, SqliteStore,
    Store,
};

use crate::common::{GatedEngine, Wait, notice};

/// That the end of the last job wakes the node is tested with each store.
async fn runs_to_its_end(store: Arc<dyn Store>) {
    let mut gated = GatedEngine::on_shared(store, EngineConfig::default());
    let client = &gated.client;
    let request = BatchRequest::new()
        .name("import")
        .open()
        .jobs([Wait.job()])
        .on_end(Wait.job())
        .on_success(Wait.job());
    let created = client.create_batch(request).await.unwrap();
    let batch = created.batch;
    let first = created.jobs[0].clone().job();
    assert_eq!(first.batch(), Some(batch.id));
    let added = client.enqueue(Wait.job().batch(batch.id)).await.unwrap();
    let closed = client.close_batch(batch.id).await.unwrap();
    assert_eq!(closed.counts.status(), BatchStatus::Running);
    let late = client.enqueue(Wait.job().batch(batch.id)).await;
    assert!(
        matches!(
            late,
            Err(ClientError::Enqueue(EnqueueError::BatchRefused { .. }))
        ),
        "{late:?}"
    );
    gated.gate.add_permits(100);
    let mut ended = Vec::new();
    for _ in 0..4 {
        let is_success = |notice: &Notice| notice.event == JobEvent::Succeeded;
        ended.push(notice(&mut gated.notices, is_success).await.job);
    }
    let mut members = ended[..2].to_vec();
    members.sort_unstable();
    assert_eq!(members, [first.id, added]);
    let mut callbacks = ended[2..].to_vec();
    callbacks.sort_unstable();
    let mut expected = [batch.on_end.unwrap(), batch.on_success.unwrap()];
    expected.sort_unstable();
    assert_eq!(callbacks, expected);
    let made = client.job(expected[0]).await.unwrap().unwrap();
    assert_eq!(made.tags["batch"], batch.id.to_string());
    let ended = client.batch(batch.id).await.unwrap().unwrap();
    assert_eq!(ended.counts.status(), BatchStatus::Succeeded);
    let jobs = client.jobs(JobFilter::of_batch(batch.id, None), PageRequest::first(9));
    assert_eq!(jobs.await.unwrap().items.len(), 2);
    gated.engine.stop().await;
}

#[tokio::test]
async fn a_batch_makes_its_callbacks_as_soon_as_its_jobs_have_ended() {
    runs_to_its_end(Arc::new(MemoryStore::default())).await;
}

#[tokio::test]
async fn a_batch_of_a_file_makes_its_callbacks_as_soon_as_its_jobs_have_ended() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("jobs.db");
    let store = SqliteStore::open(path, SqliteOptions::default()).unwrap();
    runs_to_its_end(Arc::new(store)).await;
}

fn job() -> JobRequest {
    JobRequest::new("page", Payload::default())
}

#[tokio::test]
async fn what_a_batch_cannot_have_is_refused_by_name() {
    let client = Client::new(Arc::new(MemoryStore::default()));
    let known = client.create_batch(BatchRequest::new()).await.unwrap();
    let batch = known.batch.id;
    let id = client.enqueue(job()).await.unwrap();
    let unique = || Unique {
        key: UniqueKey::new("k").unwrap(),
        scope: steadfast_core::UniqueScope::Unfinished,
        on_conflict: steadfast_core::ConflictAction::Keep,
    };
    let many = (0..=limits::BULK_JOBS_MAX).map(|_| job());
    let new = BatchRequest::new;
    for (request, field) in [
        (new().name(""), "name"),
        (new().tenant("no tenant"), "tenant"),
        (new().idempotency_key(""), "idempotencyKey"),
        (new().jobs(many), "jobs"),
        (new().jobs([job(), job().batch(batch)]), "jobs[1].batch"),
        (new().jobs([job().tenant("other")]), "jobs[0].tenant"),
        (new().jobs([job().unique(unique())]), "jobs[0].unique"),
        (new().on_end(job().batch(batch)), "onEnd.batch"),
        (new().on_end(job().after([id])), "onEnd.after"),
        (new().on_success(job().unique(unique())), "onSuccess.unique"),
        (
            new().on_success(job().idempotency_key("k")),
            "onSuccess.idempotencyKey",
        ),
    ] {
        match client.create_batch(request).await {
            Err(ClientError::Invalid(invalid)) => assert_eq!(invalid.field, field),
            other => panic!("{field}: {other:?}"),
        }
    }
    let filter = BatchFilter::default();
    let stored = client.batches(filter, PageRequest::first(9)).await.unwrap();
    assert_eq!(stored.items.len(), 1);
}

#[tokio::test]
async fn a_request_for_a_batch_may_be_repeated_with_its_key() {
    let client = Client::new(Arc::new(MemoryStore::default()));
    let request = BatchRequest::new()
        .idempotency_key("k")
        .jobs([job(), job()]);
    let first = client.create_batch(request.clone()).await.unwrap();
    assert!(!first.is_existing && first.jobs.len() == 2);
    let again = client.create_batch(request.clone()).await.unwrap();
    assert!(again.is_existing && again.jobs.is_empty());
    assert_eq!(again.batch, first.batch);
    let other = client.create_batch(request.on_end(job())).await;
    match other {
        Err(ClientError::KeyTaken { key }) => {
            assert_eq!(key, IdempotencyKey::new("k").unwrap());
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn jobs_that_exist_by_their_keys_are_not_of_a_new_batch_and_refuse_it_if_there_are_no_others()
{
    let client = Client::new(Arc::new(MemoryStore::default()));
    let known = client.enqueue(job().idempotency_key("k")).await.unwrap();
    let request = BatchRequest::new().jobs([job().idempotency_key("k"), job()]);
    let created = client.create_batch(request).await.unwrap();
    assert_eq!(created.batch.counts.total, 1);
    assert_eq!(created.jobs[0].clone().job().id, known);
    // It would be empty, and end at once.
    let request = BatchRequest::new().jobs([job().idempotency_key("of a batch")]);
    let first = client.create_batch(request.clone()).await.unwrap();
    let known = first.jobs[0].clone().job().id;
    match client.create_batch(request).await {
        Err(ClientError::BatchJobsExist { job, batch }) => {
            assert_eq!((job, batch), (known, Some(first.batch.id)));
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_jobs_of_a_batch_are_listed_without_their_payloads() {
    let client = Client::new(Arc::new(MemoryStore::default()));
    let job = JobRequest::new("page", Payload::encode(&7).unwrap());
    let created = client.create_batch(BatchRequest::new().jobs([job])).await;
    let batch = created.unwrap().batch.id;
    let jobs = client.jobs(JobFilter::of_batch(batch, None), PageRequest::first(9));
    assert_eq!(jobs.await.unwrap().items[0].payload, Payload::default());
}
