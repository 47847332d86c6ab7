//! Batches of which something cannot be read.

use std::sync::Arc;

use steadfast_core::{BatchId, JobId, NewBatch, NewJobExtras, Tenant};
use steadfast_store::{
    BatchCreateResult, BatchFilter, JobStore as _, LinkStore as _, PageRequest, QueryStore as _,
    SqliteStore, rusqlite::Connection,
};

use crate::common::{TestDatabase, job, request, success};

/// A batch of one job that has succeeded, and the job that follows.
async fn ended_batch(store: &SqliteStore) -> (BatchId, JobId) {
    let on_end = job(store);
    let id = BatchId::from_bits(on_end.id.bits());
    let member = job(store).with_extras(NewJobExtras {
        batch: Some(id),
        ..NewJobExtras::default()
    });
    let made = on_end.id;
    let batch = NewBatch {
        id,
        tenant: Tenant::default(),
        name: None,
        idempotency_key: None,
        is_open: false,
        jobs: vec![member],
        on_end: Some(on_end),
        on_success: None,
    };
    let created = store.create_batch(batch, 10).await.unwrap();
    assert!(matches!(created, BatchCreateResult::Created(..)));
    let claim = store.claim(request(1)).await.unwrap().claims.remove(0);
    store.commit(vec![success(store, claim)]).await.unwrap();
    (id, made)
}

async fn is_made(store: &SqliteStore, job: JobId) -> bool {
    store.get_jobs(vec![job]).await.unwrap()[0].is_some()
}

#[tokio::test]
async fn a_callback_that_cannot_be_read_is_made_once_it_can_be_and_holds_up_no_other_batch() {
    let database = TestDatabase::new();
    let store = database.open();
    let (damaged, late) = ended_batch(&store).await;
    let (other, made) = ended_batch(&store).await;
    let conn = Connection::open(&database.file).unwrap();
    let key = damaged.bits().to_be_bytes();
    let spoil = "UPDATE steadfast_batch_callback SET template = '{' || template WHERE batch = ?1";
    conn.execute(spoil, [key]).unwrap();
    for _ in 0..3 {
        store.follow_links(1, Arc::default()).await.unwrap();
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

    let mend =
        "UPDATE steadfast_batch_callback SET template = substr(template, 2) WHERE batch = ?1";
    conn.execute(mend, [key]).unwrap();
    store.follow_links(9, Arc::default()).await.unwrap();
    let counted = store.get_batch(damaged).await.unwrap().unwrap().counts;
    assert!(counted.has_succeeded() && is_made(&store, late).await);
    assert_eq!(store.list_damaged().await.unwrap().rows, []);
}

#[tokio::test]
async fn a_damaged_batch_does_not_end_the_list() {
    let database = TestDatabase::new();
    let store = database.open();
    let [first, second, third] = [
        ended_batch(&store).await.0,
        ended_batch(&store).await.0,
        ended_batch(&store).await.0,
    ];
    let conn = Connection::open(&database.file).unwrap();
    let spoil = "UPDATE steadfast_batch SET counts = '{' WHERE id = ?1";
    conn.execute(spoil, [second.bits().to_be_bytes()]).unwrap();
    for is_unfinished in [false, true] {
        let filter = BatchFilter {
            tenant: Some(Tenant::default()),
            is_unfinished,
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
