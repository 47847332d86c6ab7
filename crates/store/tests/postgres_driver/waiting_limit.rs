//! Limits of waiting jobs: for programs that store jobs by SQL, and for transactions that are open together.

use steadfast_core::{Gate, GateId, GateLimits, GateScope, Payload};
use steadfast_store::{
    Document, DocumentKind, DocumentStore as _, EnqueueError, JobStore as _, Outbox, PostgresStore,
    tokio_postgres::{Client, error::SqlState},
};

use crate::common::{TestDatabase, jobs, request};

async fn limit(store: &PostgresStore, scope: GateScope, key: &str, most: u32) {
    let gate = Gate {
        id: GateId::new(None, scope, key).unwrap(),
        limits: GateLimits {
            max_waiting: Some(most),
            ..GateLimits::default()
        },
    };
    let document = Document {
        kind: DocumentKind::Gate,
        id: gate.id.to_string(),
        body: Payload::encode(&gate).unwrap(),
        revision: 0,
    };
    let saved = store.save_document(document, Outbox::default());
    saved.await.unwrap();
    store.gates().await.unwrap();
}

/// Stores the names that the jobs of a case have: two transactions that store the same name for the first
/// time wait for each other anyway.
async fn store_names(store: &PostgresStore) {
    store.enqueue(jobs(store, 1), None).await.unwrap();
    assert_eq!(store.claim(request(1)).await.unwrap().claims.len(), 1);
}

async fn enqueue(client: &Client, database: &TestDatabase, more: &str) -> Result<String, String> {
    let sql = database.sql(&format!("SELECT steadfast.enqueue('mail'{more})"));
    match client.query_one(&*sql, &[]).await {
        Ok(row) => Ok(row.get(0)),
        Err(error) => {
            let refused = error.as_db_error().unwrap();
            assert_eq!(refused.code(), &SqlState::CONFIGURATION_LIMIT_EXCEEDED);
            Err(refused.message().to_owned())
        }
    }
}

#[tokio::test]
async fn sql_obeys_the_limits_that_people_have_set() {
    let database = TestDatabase::new();
    let store = database.open().await;
    let client = database.client().await;
    limit(&store, GateScope::Queue, "default", 2).await;
    limit(&store, GateScope::Tenant, "acme", 1).await;
    let keyed = ", idempotency_key => 'k'";
    let first = enqueue(&client, &database, keyed).await.unwrap();
    store.enqueue(jobs(&store, 1), None).await.unwrap();
    let refused = enqueue(&client, &database, "").await.unwrap_err();
    assert_eq!(
        refused,
        "queue default has 2 waiting jobs and may have 2 (maxWaiting): 1 new job does not fit, and \
         nothing was created"
    );
    let of_node = store.enqueue(jobs(&store, 1), None).await.unwrap_err();
    assert_eq!(of_node.to_string(), refused, "one sentence");
    // What is stored already needs no room.
    let again = enqueue(&client, &database, keyed).await;
    assert_eq!(again, Ok(first));
    let acme = ", queue => 'other', tenant => 'acme'";
    enqueue(&client, &database, acme).await.unwrap();
    let refused = enqueue(&client, &database, acme).await.unwrap_err();
    assert!(
        refused.starts_with("tenant acme has 1 waiting job and may have 1 "),
        "{refused}"
    );
    // A claim makes room, and a gate that is deleted limits nothing.
    assert_eq!(store.claim(request(3)).await.unwrap().claims.len(), 3);
    for _ in 0..2 {
        enqueue(&client, &database, "").await.unwrap();
    }
    enqueue(&client, &database, "").await.unwrap_err();
    let id = "queue default".to_owned();
    let deleted = store.delete_document(DocumentKind::Gate, id, None, None);
    assert!(deleted.await.unwrap());
    store.gates().await.unwrap();
    enqueue(&client, &database, "").await.unwrap();
}

/// A transaction that has taken the last place may still be rolled back, so the next one waits for it.
#[tokio::test]
async fn near_the_limit_one_transaction_waits_for_the_other() {
    for is_committed in [true, false] {
        let database = TestDatabase::new();
        let store = database.open().await;
        store_names(&store).await;
        limit(&store, GateScope::Queue, "default", 1).await;
        let mut client = database.client().await;
        let transaction = client.transaction().await.unwrap();
        let sql = database.sql("SELECT steadfast.enqueue('mail')");
        transaction.query_one(&*sql, &[]).await.unwrap();
        let (other, new) = (store.clone(), jobs(&store, 1));
        let create = tokio::spawn(async move { other.enqueue(new, None).await });
        database.lock_waits().await;
        match is_committed {
            true => transaction.commit().await.unwrap(),
            false => transaction.rollback().await.unwrap(),
        }
        let created = create.await.unwrap();
        let is_refused = matches!(created, Err(EnqueueError::WaitingFull(_)));
        assert_eq!(is_refused, is_committed, "{created:?}");
    }
}

#[tokio::test]
async fn far_below_the_limit_no_transaction_waits() {
    let database = TestDatabase::new();
    let store = database.open().await;
    store_names(&store).await;
    limit(&store, GateScope::Queue, "default", 1_000_000).await;
    let mut client = database.client().await;
    let transaction = client.transaction().await.unwrap();
    let sql = database.sql("SELECT steadfast.enqueue('mail')");
    for _ in 0..10 {
        transaction.query_one(&*sql, &[]).await.unwrap();
    }
    // It would wait until the transaction ends, which is here.
    store.enqueue(jobs(&store, 100), None).await.unwrap();
    transaction.commit().await.unwrap();
}
