//! Through PgBouncer in transaction mode, where the next statement may reach another connection.

use std::time::Duration;

use steadfast_store::{
    BaseStore as _, JobStore as _, PostgresStore,
    testing::Pooler,
    tokio_postgres::{self, NoTls},
};

use crate::common::{TestDatabase, job, jobs, request, success, woken};

async fn open(database: &TestDatabase, direct: Option<&str>) -> PostgresStore {
    let options = database.options();
    let options = match direct {
        Some(url) => options.direct(url),
        None => options,
    };
    let opened = PostgresStore::open(&Pooler::shared().url(), options).await;
    opened.unwrap()
}

/// Claims jobs that are due and reports them as done, until there were as many as expected. A node may
/// take the time of the database to be a little earlier, and finds a job then.
async fn run(store: &PostgresStore, expected: usize) {
    let work = async {
        let mut done = 0;
        while done < expected {
            let claims = store.claim(request(100)).await.unwrap().claims;
            done += claims.len();
            let ended = claims.into_iter().map(|claim| success(store, claim));
            store.commit(ended.collect()).await.unwrap();
        }
        done
    };
    let done = tokio::time::timeout(Duration::from_secs(60), work).await;
    assert_eq!(done.unwrap(), expected);
}

#[tokio::test]
async fn jobs_live_through_a_pooler() {
    let database = TestDatabase::new();
    for direct in [None, Some(database.url.as_str())] {
        let store = open(&database, direct).await;
        store.enqueue(jobs(&store, 250), None).await.unwrap();
        run(&store, 250).await;
        assert!(store.recount(true).await.unwrap().is_empty(), "{direct:?}");
    }
}

#[tokio::test]
async fn what_a_node_sets_stays_in_its_transactions() {
    let database = TestDatabase::new();
    let store = open(&database, None).await;
    let (client, connection) = tokio_postgres::connect(&Pooler::shared().url(), NoTls)
        .await
        .unwrap();
    tokio::spawn(connection);
    for round in 0..20 {
        store.enqueue(vec![job(&store)], None).await.unwrap();
        run(&store, 1).await;
        for (setting, default) in [
            ("plan_cache_mode", "auto"),
            ("enable_seqscan", "on"),
            ("jit", "on"),
        ] {
            let row = client
                .query_one(&format!("SHOW {setting}"), &[])
                .await
                .unwrap();
            let found: &str = row.get(0);
            assert_eq!(found, default, "{setting} in round {round}");
        }
    }
}

#[tokio::test]
async fn a_node_that_cannot_listen_finds_the_jobs_of_another() {
    let database = TestDatabase::new();
    let (polls, creates) = (open(&database, None).await, open(&database, None).await);
    let mut wakeups = polls.wakeups();
    assert!(polls.claim(request(1)).await.unwrap().claims.is_empty());
    creates.enqueue(vec![job(&creates)], None).await.unwrap();
    let find = async {
        loop {
            woken(&mut wakeups).await;
            if !polls.claim(request(1)).await.unwrap().claims.is_empty() {
                return;
            }
        }
    };
    let found = tokio::time::timeout(Duration::from_secs(60), find).await;
    assert!(found.is_ok());
}

#[tokio::test]
async fn repairs_of_counters_wait_for_each_other_through_a_pooler() {
    let database = TestDatabase::new();
    let store = open(&database, None).await;
    store.enqueue(jobs(&store, 5), None).await.unwrap();
    let wrong =
        "INSERT INTO steadfast.count_change (lane, waiting) SELECT id, 7 FROM steadfast.lane";
    database.execute(wrong).await;
    let (first, second) = tokio::join!(store.recount(true), store.recount(true));
    let found = [first.unwrap().len(), second.unwrap().len()];
    assert!(found == [1, 0] || found == [0, 1], "{found:?}");
    assert!(store.recount(false).await.unwrap().is_empty());
}
