//! Batches and links of which something cannot be read, or that fail.

use std::sync::Arc;

use steadfast_core::{
    BatchId, Claim, Dependencies, JobId, NewBatch, NewJob, NewJobExtras, OnFailure, Tenant,
};
use steadfast_store::{
    BatchCreateResult, BatchFilter, DependencyStore as _, JobDetail, JobStore as _, PageRequest,
    QueryStore as _, SqliteStore, rusqlite::Connection,
};

use crate::common::{TestDatabase, job, request, success};

fn member(store: &SqliteStore, batch: BatchId) -> NewJob {
    job(store).with_extras(NewJobExtras {
        batch: Some(batch),
        ..NewJobExtras::default()
    })
}

/// A batch of one job that has succeeded, and the job that follows.
async fn ended_batch(store: &SqliteStore, is_open: bool) -> (BatchId, JobId) {
    let on_end = job(store);
    let id = BatchId::from_bits(on_end.id.bits());
    let made = on_end.id;
    let batch = NewBatch {
        id,
        tenant: Tenant::default(),
        name: None,
        idempotency_key: None,
        is_open,
        jobs: vec![member(store, id)],
        on_end: Some(on_end),
        on_success: None,
    };
    let created = store.create_batch(batch, 10).await.unwrap();
    assert!(matches!(created, BatchCreateResult::Created(..)));
    let claim = store.claim(request(1)).await.unwrap().claims.remove(0);
    store.commit(vec![success(store, claim)]).await.unwrap();
    (id, made)
}

fn job_after(store: &SqliteStore, other: JobId) -> NewJob {
    let job = job(store);
    let after = Dependencies::new(job.id, [other], OnFailure::Wait);
    job.with_extras(NewJobExtras {
        after: Some(after.unwrap()),
        ..NewJobExtras::default()
    })
}

/// A job that runs, and one that waits for it.
async fn linked(store: &SqliteStore) -> (Claim, JobId) {
    store.enqueue(vec![job(store)], None).await.unwrap();
    let claim = store.claim(request(1)).await.unwrap().claims.remove(0);
    let job = job_after(store, claim.job().id);
    let id = job.id;
    store.enqueue(vec![job], None).await.unwrap();
    (claim, id)
}

async fn is_blocked(store: &SqliteStore, job: JobId) -> bool {
    let jobs = store.get_jobs(vec![job], JobDetail::Full).await.unwrap();
    jobs[0].as_ref().unwrap().is_blocked()
}

async fn succeeded(store: &SqliteStore, batch: BatchId) -> u64 {
    let batch = store.get_batch(batch).await.unwrap().unwrap();
    batch.counts.succeeded
}

async fn is_made(store: &SqliteStore, job: JobId) -> bool {
    store.get_jobs(vec![job], JobDetail::Full).await.unwrap()[0].is_some()
}

#[tokio::test]
async fn a_callback_that_cannot_be_read_is_made_once_it_can_be_and_holds_up_no_other_batch() {
    let database = TestDatabase::new();
    let store = database.open();
    let (damaged, late) = ended_batch(&store, false).await;
    let (other, made) = ended_batch(&store, false).await;
    let conn = Connection::open(&database.file).unwrap();
    let key = format!("{damaged}/%");
    let spoil = "UPDATE steadfast_record SET body = '{' || body WHERE id LIKE ?1";
    conn.execute(spoil, [&key]).unwrap();
    for _ in 0..3 {
        store.release_dependants(1, Arc::default()).await.unwrap();
    }
    let counted = store.get_batch(other).await.unwrap().unwrap().counts;
    assert!(counted.has_succeeded() && is_made(&store, made).await);
    let waits = store.get_batch(damaged).await.unwrap().unwrap();
    assert_eq!(
        (waits.counts.succeeded, waits.counts.end_created),
        (0, false)
    );
    let rows = store.list_damaged().await.unwrap().rows;
    assert_eq!(
        (rows[0].table, &*rows[0].id),
        ("batch", &*damaged.to_string())
    );

    let mend = "UPDATE steadfast_record SET body = substr(body, 2) WHERE id LIKE ?1";
    conn.execute(mend, [&key]).unwrap();
    store.release_dependants(9, Arc::default()).await.unwrap();
    let counted = store.get_batch(damaged).await.unwrap().unwrap().counts;
    assert!(counted.has_succeeded() && is_made(&store, late).await);
    assert_eq!(store.list_damaged().await.unwrap().rows, []);
}

#[tokio::test]
async fn a_job_that_cannot_be_read_holds_up_none_but_those_that_need_it() {
    let database = TestDatabase::new();
    let store = database.open();
    let ((broken, held), (other, free)) = (linked(&store).await, linked(&store).await);
    let broken = broken.job().id;
    let (batch, _) = ended_batch(&store, true).await;
    let member = member(&store, batch);
    let member_id = member.id;
    store.enqueue(vec![member], None).await.unwrap();
    let conn = Connection::open(&database.file).unwrap();
    let set_state = |state: i64| {
        for id in [broken, member_id] {
            let sql = "UPDATE steadfast_job SET state = ?2 WHERE id = ?1";
            let key = id.bits().to_be_bytes();
            conn.execute(sql, (key, state)).unwrap();
        }
    };
    set_state(100_000);
    store.commit(vec![success(&store, other)]).await.unwrap();
    // One more may name it, and waits.
    let late = job_after(&store, broken);
    let late_id = late.id;
    store.enqueue(vec![late], None).await.unwrap();
    store.release_dependants(9, Arc::default()).await.unwrap();
    assert!(!is_blocked(&store, free).await);
    assert!(is_blocked(&store, held).await && is_blocked(&store, late_id).await);
    assert_eq!(succeeded(&store, batch).await, 1);
    let damaged = store.list_damaged().await.unwrap().rows;
    let damaged: Vec<_> = damaged.iter().map(|row| (row.table, &*row.id)).collect();
    assert_eq!(damaged, [("job", &*broken.to_string())]);
    set_state(2);
    store.release_dependants(9, Arc::default()).await.unwrap();
    assert!(!is_blocked(&store, held).await && !is_blocked(&store, late_id).await);
    assert_eq!(succeeded(&store, batch).await, 2);
    assert_eq!(store.list_damaged().await.unwrap().rows, []);
}

#[tokio::test]
async fn batches_are_counted_while_links_fail() {
    let database = TestDatabase::new();
    let store = database.open();
    let (claim, held) = linked(&store).await;
    store.commit(vec![success(&store, claim)]).await.unwrap();
    let (batch, made) = ended_batch(&store, false).await;
    let conn = Connection::open(&database.file).unwrap();
    let fail = "CREATE TRIGGER fail BEFORE DELETE ON steadfast_event
         WHEN old.kind = 0 BEGIN SELECT RAISE(ABORT, 'no'); END";
    conn.execute_batch(fail).unwrap();
    store
        .release_dependants(9, Arc::default())
        .await
        .unwrap_err();
    assert!(is_blocked(&store, held).await);
    assert_eq!(succeeded(&store, batch).await, 1);
    assert!(is_made(&store, made).await);
}

#[tokio::test]
async fn a_damaged_batch_does_not_end_the_list() {
    let database = TestDatabase::new();
    let store = database.open();
    let [first, second, third] = [
        ended_batch(&store, false).await.0,
        ended_batch(&store, false).await.0,
        ended_batch(&store, false).await.0,
    ];
    let conn = Connection::open(&database.file).unwrap();
    let spoil = "UPDATE steadfast_record SET body = '{' WHERE id = ?1";
    conn.execute(spoil, [second.to_string()]).unwrap();
    for is_unfinished in [false, true] {
        let filter = BatchFilter {
            tenant: Some(Tenant::default()),
            is_unfinished,
            ..BatchFilter::default()
        };
        let page = store.list_batches(filter.clone(), PageRequest::first(1));
        let page = page.await.unwrap();
        assert_eq!((page.items[0].id, page.next), (third, Some(third)));
        let page = PageRequest {
            after: page.next,
            limit: 1,
        };
        let page = store.list_batches(filter, page).await.unwrap();
        assert_eq!((page.items[0].id, page.next), (first, None));
    }
}
