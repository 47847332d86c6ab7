//! Batches that are held by others, of which something cannot be read, or that fail.

use std::sync::Arc;

use steadfast_core::{BatchId, JobId, NewBatch, NewJob, NewJobExtras, Tenant};
use steadfast_store::{
    BaseStore as _, BatchCreateResult, BatchFilter, JobStore as _, LinkStore as _, PageRequest,
    PostgresStore, QueryStore as _, WakeInterest,
};

use crate::common::{TestDatabase, job, request, success, woken};

fn member(store: &PostgresStore, batch: BatchId) -> NewJob {
    job(store).with_extras(NewJobExtras {
        batch: Some(batch),
        ..NewJobExtras::default()
    })
}

/// A batch whose jobs have succeeded, and the job that follows.
async fn ended_batch(store: &PostgresStore, jobs: usize, is_open: bool) -> (BatchId, JobId) {
    let on_end = job(store);
    let made = on_end.id;
    let id = BatchId::from_bits(made.bits());
    let batch = NewBatch {
        id,
        tenant: Tenant::default(),
        name: None,
        idempotency_key: None,
        is_open,
        jobs: (0..jobs).map(|_| member(store, id)).collect(),
        on_end: Some(on_end),
        on_success: None,
    };
    let created = store.create_batch(batch, 10).await.unwrap();
    assert!(matches!(created, BatchCreateResult::Created(..)));
    for claim in store.claim(request(jobs)).await.unwrap().claims {
        store.commit(vec![success(store, claim)]).await.unwrap();
    }
    (id, made)
}

async fn succeeded(store: &PostgresStore, batch: BatchId) -> u64 {
    let batch = store.get_batch(batch).await.unwrap().unwrap();
    batch.counts.succeeded
}

async fn is_made(store: &PostgresStore, job: JobId) -> bool {
    store.get_jobs(vec![job]).await.unwrap()[0].is_some()
}

#[tokio::test]
async fn a_batch_that_a_user_holds_does_not_hold_up_the_others() {
    let database = TestDatabase::new();
    let store = database.open().await;
    let (held, _) = ended_batch(&store, 3, true).await;
    let (other, made) = ended_batch(&store, 1, false).await;
    let mut client = database.client().await;
    let transaction = client.transaction().await.unwrap();
    let added = vec![member(&store, held)];
    store.enqueue_in(&transaction, added).await.unwrap();
    let followed = store.follow_links(3, Arc::default()).await.unwrap();
    assert!(!followed.has_more, "the same again would not help");
    assert_eq!(succeeded(&store, held).await, 0);
    assert_eq!(succeeded(&store, other).await, 1);
    assert!(is_made(&store, made).await);
    transaction.commit().await.unwrap();
    while store
        .follow_links(3, Arc::default())
        .await
        .unwrap()
        .has_more
    {}
    let batch = store.get_batch(held).await.unwrap().unwrap();
    assert_eq!((batch.counts.total, batch.counts.succeeded), (4, 3));
}

#[tokio::test]
async fn a_callback_that_cannot_be_read_is_made_once_it_can_be_and_holds_up_no_other_batch() {
    let database = TestDatabase::new();
    let store = database.open().await;
    let (damaged, late) = ended_batch(&store, 1, false).await;
    let (other, made) = ended_batch(&store, 1, false).await;
    let change = async |template: &str| {
        let sql = "UPDATE steadfast.batch_callback SET template = ";
        let which = format!("WHERE batch = '{:032x}'", damaged.bits());
        database.execute(&format!("{sql}{template} {which}")).await;
    };
    change("'{' || template").await;
    for _ in 0..3 {
        store.follow_links(1, Arc::default()).await.unwrap();
    }
    assert_eq!(succeeded(&store, other).await, 1);
    assert!(is_made(&store, made).await);
    assert_eq!(succeeded(&store, damaged).await, 0);
    let rows = store.list_damaged().await.unwrap().rows;
    assert_eq!(
        (rows[0].table, &*rows[0].id),
        ("batch", &*damaged.to_string())
    );

    change("substr(template, 2)").await;
    store.follow_links(9, Arc::default()).await.unwrap();
    assert_eq!(succeeded(&store, damaged).await, 1);
    assert!(is_made(&store, late).await);
    assert_eq!(store.list_damaged().await.unwrap().rows, []);
}

#[tokio::test]
async fn what_was_counted_before_a_batch_that_fails_wakes_those_who_wait() {
    let database = TestDatabase::new();
    let store = database.open().await;
    // The first wake-up is for having begun to listen.
    woken(&mut store.wakeups()).await;
    let (first, made) = ended_batch(&store, 1, false).await;
    let (failing, late) = ended_batch(&store, 1, false).await;
    database
        .execute(&format!(
            "CREATE FUNCTION steadfast.fail() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN RAISE EXCEPTION 'no'; END $$;
             CREATE TRIGGER fail BEFORE UPDATE ON steadfast.batch FOR EACH ROW
             WHEN (NEW.id = '{:032x}') EXECUTE FUNCTION steadfast.fail()",
            failing.bits()
        ))
        .await;
    let mut wakeups = store.wakeups_for(WakeInterest::of(&request(1)));
    let followed = store.follow_links(9, Arc::default()).await.unwrap();
    assert!(followed.has_more, "there is one that was not counted");
    woken(&mut wakeups).await;
    assert_eq!(succeeded(&store, first).await, 1);
    let claims = store.claim(request(9)).await.unwrap().claims;
    assert_eq!(claims.len(), 1);
    assert_eq!(claims[0].job().id, made);
    store.follow_links(9, Arc::default()).await.unwrap_err();
    database
        .execute("DROP TRIGGER fail ON steadfast.batch")
        .await;
    while store
        .follow_links(9, Arc::default())
        .await
        .unwrap()
        .has_more
    {}
    assert_eq!(succeeded(&store, failing).await, 1);
    assert!(is_made(&store, late).await);
}

#[tokio::test]
async fn a_damaged_batch_does_not_end_the_list() {
    let database = TestDatabase::new();
    let store = database.open().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(ended_batch(&store, 1, false).await.0);
    }
    let spoil = "UPDATE steadfast.batch SET counts = '{' WHERE id = ";
    let spoil = format!("{spoil}'{:032x}'", ids[1].bits());
    database.execute(&spoil).await;
    for is_unfinished in [false, true] {
        let filter = BatchFilter {
            tenant: Some(Tenant::default()),
            is_unfinished,
        };
        let page = store.list_batches(filter.clone(), PageRequest::first(1));
        let page = page.await.unwrap();
        assert_eq!((page.items[0].id, page.next), (ids[2], Some(ids[2])));
        let page = PageRequest {
            after: page.next,
            limit: 1,
        };
        let page = store.list_batches(filter, page).await.unwrap();
        assert_eq!((page.items[0].id, page.next), (ids[0], None));
    }
}
