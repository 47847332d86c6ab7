//! Stores in two schemas of one database do not wait for each other.

use std::time::Duration;

use steadfast_core::{
    BatchId, ConflictAction, NewBatch, NewJob, NewJobExtras, Tenant, Unique, UniqueKey, UniqueScope,
};
use steadfast_store::{BaseStore as _, DependencyStore as _, JobStore as _, PostgresStore};

use crate::common::{TestDatabase, job, jobs};

/// The lock that one transaction at a time takes to create batches.
const NAMES_LOCK: &str = include_str!("../../src/drivers/postgres/transaction/names_lock.sql");

fn unique(store: &PostgresStore) -> NewJob {
    job(store).with_extras(NewJobExtras {
        unique: Some(Unique {
            key: UniqueKey::new("k").unwrap(),
            scope: UniqueScope::Unfinished,
            on_conflict: ConflictAction::Keep,
        }),
        ..NewJobExtras::default()
    })
}

#[tokio::test]
async fn locks_of_unique_keys_and_names_belong_to_one_schema() {
    let (held, free) = (TestDatabase::new(), TestDatabase::new());
    let (store, other) = (held.open().await, free.open().await);
    let mut client = held.client().await;
    let transaction = client.transaction().await.unwrap();
    let stored = store.enqueue_in(&transaction, vec![unique(&store)]).await;
    assert_eq!(stored.unwrap().len(), 1);
    let names = vec![format!("batches of {}", Tenant::default())];
    let locked = transaction.query(&*held.sql(NAMES_LOCK), &[&names]).await;
    assert_eq!(locked.unwrap().len(), 1);
    let new = |store: &PostgresStore| NewBatch {
        id: BatchId::new(store.now(), 7),
        tenant: Tenant::default(),
        name: None,
        idempotency_key: None,
        is_open: true,
        jobs: jobs(store, 0),
        on_end: None,
        on_success: None,
    };
    let creates = async {
        other.enqueue(vec![unique(&other)], None).await.unwrap();
        other.create_batch(new(&other), 10).await.unwrap();
    };
    let created = tokio::time::timeout(Duration::from_secs(20), creates).await;
    assert!(created.is_ok(), "a store waits for one in another schema");
    // One of the same schema does wait.
    let batch = new(&store);
    let own = tokio::spawn(async move { store.create_batch(batch, 10).await });
    held.lock_waits().await;
    transaction.rollback().await.unwrap();
    own.await.unwrap().unwrap();
}
