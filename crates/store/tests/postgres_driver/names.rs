//! Numbers of lanes and policies that nothing uses any more, while others may be about to use them.

use std::{sync::Arc, time::Duration};

use steadfast_core::{JobCommand, JobId, NewJob, PolicyPatch, Preset, Queue, limits::DAY};
use steadfast_store::{
    BaseStore as _, JobDetail, JobStore as _, ManualClock, PostgresStore, PruneRequest,
    QueryStore as _,
};

use crate::common::{TestDatabase, job};

async fn open(database: &TestDatabase, clock: &ManualClock) -> PostgresStore {
    let options = database.options().clock(clock.clone());
    PostgresStore::open(&database.url, options).await.unwrap()
}

/// A job with a lane and a policy of its own.
fn own_job(store: &PostgresStore, number: u32) -> NewJob {
    let mut job = job(store);
    let patch = PolicyPatch::preset(Preset::Queue).max_retries(number);
    job.policy = Arc::new(patch.build().unwrap());
    job.queue = Queue::new(&format!("q{number}")).unwrap();
    job
}

/// Stores jobs and has retention delete them, so that only their names are left.
async fn use_names(store: &PostgresStore, clock: &ManualClock, numbers: std::ops::Range<u32>) {
    let new: Vec<NewJob> = numbers.map(|number| own_job(store, number)).collect();
    let ids = new.iter().map(|job| job.id).collect();
    let count = new.len();
    store.enqueue(new, None).await.unwrap();
    let cancelled = store.run_command(ids, JobCommand::Cancel, Arc::default(), None);
    assert!(cancelled.await.unwrap().iter().all(Result::is_ok));
    clock.advance(Duration::from_secs(60 * 60 * 2));
    assert_eq!(prune_jobs(store).await, count);
}

/// The queues of lanes, and how often policies are retried, that have numbers.
async fn numbered(database: &TestDatabase) -> (Vec<String>, Vec<i64>) {
    let sql = "SELECT
        ARRAY(SELECT queue::text FROM steadfast.lane ORDER BY queue),
        ARRAY(SELECT (body::json ->> 'maxRetries')::bigint FROM steadfast.policy ORDER BY 1)";
    let row = database
        .client()
        .await
        .query_one(&database.sql(sql), &[])
        .await
        .unwrap();
    (row.get(0), row.get(1))
}

#[tokio::test]
async fn a_node_stores_a_name_again_that_another_node_deleted() {
    let (database, clock) = (TestDatabase::new(), ManualClock::default());
    let (store, other) = (open(&database, &clock).await, open(&database, &clock).await);
    use_names(&other, &clock, 1..4).await;
    store.enqueue(vec![own_job(&store, 9)], None).await.unwrap();
    clock.advance(DAY * 3);
    assert_eq!(prune_names(&store).await, 0, "they are marked");
    clock.advance(DAY);
    assert_eq!(prune_names(&store).await, 6);
    assert_eq!(numbered(&database).await, (vec!["q9".to_owned()], vec![9]));

    let again = own_job(&other, 2);
    let (id, policy) = (again.id, again.policy.clone());
    other.enqueue(vec![again], None).await.unwrap();
    for store in [&store, &other] {
        let found = store
            .get_jobs(vec![id], JobDetail::Full)
            .await
            .unwrap()
            .remove(0)
            .unwrap();
        assert_eq!((found.queue.as_str(), &found.policy), ("q2", &policy));
    }
}

#[tokio::test]
async fn a_users_transaction_keeps_its_names() {
    let (database, clock) = (TestDatabase::new(), ManualClock::default());
    let store = open(&database, &clock).await;
    use_names(&store, &clock, 1..4).await;
    clock.advance(DAY * 3);
    let mut client = database.client().await;
    // It stays open over two searches.
    let transaction = client.transaction().await.unwrap();
    let own = own_job(&store, 1);
    let id = own.id;
    store.enqueue_in(&transaction, vec![own]).await.unwrap();
    assert_eq!(prune_names(&store).await, 0);
    clock.advance(DAY);
    assert_eq!(prune_names(&store).await, 4);
    transaction.commit().await.unwrap();
    clock.advance(DAY);
    assert_eq!(prune_names(&store).await, 0);
    let left = (vec!["q1".to_owned()], vec![1]);
    assert_eq!(numbered(&database).await, left);
    assert!(store.get_jobs(vec![id], JobDetail::Full).await.unwrap()[0].is_some());
}

#[tokio::test]
async fn a_job_from_sql_keeps_its_names() {
    let (database, clock) = (TestDatabase::new(), ManualClock::default());
    let store = open(&database, &clock).await;
    let mut client = database.client().await;
    let sql =
        database.sql("SELECT steadfast.enqueue(kind => 'mail', queue => 'q7', max_retries => 7)");
    client.query_one(&*sql, &[]).await.unwrap();
    let mark =
        "UPDATE steadfast.lane SET unused_since = 1; UPDATE steadfast.policy SET unused_since = 1";
    database.execute(mark).await;
    database
        .execute("DELETE FROM steadfast.job; DELETE FROM steadfast.count_change")
        .await;
    let transaction = client.transaction().await.unwrap();
    transaction.query_one(&*sql, &[]).await.unwrap();
    assert_eq!(prune_names(&store).await, 0, "it is not committed");
    transaction.commit().await.unwrap();
    clock.advance(DAY * 2);
    assert_eq!(prune_names(&store).await, 0);
    assert_eq!(numbered(&database).await, (vec!["q7".to_owned()], vec![7]));
}

#[tokio::test]
async fn the_new_lanes_of_a_batch_are_stored_in_one_transaction() {
    const LANES: u32 = 50;
    let (database, clock) = (TestDatabase::new(), ManualClock::default());
    let store = open(&database, &clock).await;
    store
        .enqueue(vec![own_job(&store, 10)], None)
        .await
        .unwrap();
    // Two jobs of each, and one whose lane is known.
    let numbers = (10..=10 + LANES).chain(11..=10 + LANES);
    let new: Vec<NewJob> = numbers
        .rev()
        .map(|number| own_job(&store, number))
        .collect();
    let queues: Vec<(JobId, Queue)> = new.iter().map(|job| (job.id, job.queue.clone())).collect();
    store.enqueue(new, None).await.unwrap();
    let sql =
        "SELECT count(*), count(DISTINCT xmin::text) FROM steadfast.lane WHERE queue <> 'q10'";
    let client = database.client().await;
    let row = client.query_one(&database.sql(sql), &[]).await.unwrap();
    assert_eq!((row.get(0), row.get(1)), (i64::from(LANES), 1_i64));
    let ids = queues.iter().map(|(id, _)| *id).collect();
    let found = store.get_jobs(ids, JobDetail::Full).await.unwrap();
    for ((_, queue), job) in queues.iter().zip(found) {
        assert_eq!(job.unwrap().queue, *queue);
    }
}

async fn prune_jobs(store: &PostgresStore) -> usize {
    let request = PruneRequest::Jobs {
        ended_before: store.now(),
        limit: 100,
    };
    store.prune(request).await.unwrap()
}

async fn prune_names(store: &PostgresStore) -> usize {
    store.prune(PruneRequest::Names { keep: 0 }).await.unwrap()
}
