//! A primary that dies, loses its role, stands still or cannot commit, and a standby that takes over.

use std::{sync::Arc, time::Duration};

use steadfast_core::{JobCommand, Kind};
use steadfast_store::{
    CommitResult, JobFilter, JobStore as _, PostgresOptions, PostgresStore, QueryStore as _,
    testing::Server,
    tokio_postgres::{self, NoTls},
};

use super::until_back;
use crate::common::{job, jobs, request, success};

/// Less than a call waits for a server that does not answer.
const SOON: Duration = Duration::from_secs(40);

/// A primary and its standby, and a store that has used the primary.
async fn pair() -> (Server, Server, PostgresStore) {
    let primary = Server::start().unwrap();
    let standby = primary.standby().unwrap();
    let store = open(&[&primary, &standby]).await;
    store.enqueue(jobs(&store, 10), None).await.unwrap();
    follows(&primary).await;
    (primary, standby, store)
}

async fn open(servers: &[&Server]) -> PostgresStore {
    let hosts: Vec<_> = { servers.iter() }
        .map(|server| server.directory().display().to_string())
        .collect();
    let hosts = hosts.join(",");
    let url = format!("host={hosts} user=postgres dbname=postgres application_name=node");
    let opened = PostgresStore::open(&url, PostgresOptions::default()).await;
    opened.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_that_is_promoted_is_found_and_goes_on() {
    let (primary, standby, store) = pair().await;
    let claim = store.claim(request(1)).await.unwrap().claims.remove(0);
    follows(&primary).await;

    primary.crash().unwrap();
    standby.promote().unwrap();
    let ended = until_back(&store, success(&store, claim)).await;
    assert_eq!(ended, CommitResult::Done);
    let claims = store.claim(request(100)).await.unwrap().claims;
    assert_eq!(claims.len(), 9);
    // A lane that the new primary has never seen.
    let mut other = job(&store);
    other.kind = Kind::new("other").unwrap();
    store.enqueue(vec![other], None).await.unwrap();
    assert_eq!(
        store
            .count_jobs(JobFilter::default(), 99)
            .await
            .unwrap()
            .count,
        11
    );
}

/// A managed failover: the old primary stays up, and refuses writes.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_lost_its_role_is_left_for_the_one_that_takes_writes() {
    let (primary, standby, store) = pair().await;
    // Several connections of the pool, and some that are in use.
    let checks = (0..8).map(|_| store.check_writable());
    for check in futures_util::future::join_all(checks).await {
        check.unwrap();
    }
    follows(&primary).await;
    let old = client_of(&primary).await;
    old.batch_execute("ALTER SYSTEM SET default_transaction_read_only = on")
        .await
        .unwrap();
    old.batch_execute("SELECT pg_reload_conf()").await.unwrap();
    // The server takes up its settings a moment later.
    while store.check_writable().await.is_ok() {}
    let error = store.check_writable().await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    assert!(store.enqueue(jobs(&store, 1), None).await.is_err());

    standby.promote().unwrap();
    while store.check_writable().await.is_err() {}
    store.enqueue(jobs(&store, 1), None).await.unwrap();
    assert_eq!(store.claim(request(99)).await.unwrap().claims.len(), 11);
    leaves(&store, &old).await;
}

/// A primary whose machine swaps or was paused: it neither answers nor ends its connections.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stands_still_is_left_with_the_calls_that_wait_for_it() {
    let (primary, standby, store) = pair().await;
    let frozen = primary.freeze().unwrap();
    let waiting = tokio::spawn({
        let store = store.clone();
        async move { store.enqueue(jobs(&store, 1), None).await }
    });
    standby.promote().unwrap();
    let waited = tokio::time::timeout(SOON, waiting).await;
    let refused = waited.unwrap().unwrap().unwrap_err();
    assert!(refused.to_string().contains("is unavailable"), "{refused}");
    goes_on(&store, 10).await;

    // The old primary takes writes as before when it comes back, and gets none.
    drop(frozen);
    leaves(&store, &client_of(&primary).await).await;
    store.enqueue(jobs(&store, 1), None).await.unwrap();
    assert_eq!(store.claim(request(99)).await.unwrap().claims.len(), 1);
}

/// A primary that its standbys no longer follow, as one that is cut off from them but not from nodes.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_commits_have_no_end_is_left_for_one_that_commits() {
    let (primary, standby, store) = pair().await;
    let old = client_of(&primary).await;
    old.batch_execute("ALTER SYSTEM SET synchronous_standby_names = 'gone'")
        .await
        .unwrap();
    old.batch_execute("SELECT pg_reload_conf()").await.unwrap();
    standby.promote().unwrap();
    goes_on(&store, 10).await;
    // It takes writes again, but is not asked.
    old.batch_execute("ALTER SYSTEM RESET synchronous_standby_names")
        .await
        .unwrap();
    old.batch_execute("SELECT pg_reload_conf()").await.unwrap();
    store.enqueue(jobs(&store, 1), None).await.unwrap();
    assert_eq!(store.claim(request(99)).await.unwrap().claims.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_starts_although_the_first_server_of_its_address_is_silent() {
    let (primary, standby, store) = pair().await;
    drop(store);
    let _frozen = primary.freeze().unwrap();
    standby.promote().unwrap();
    let opened = tokio::time::timeout(SOON, open(&[&primary, &standby])).await;
    goes_on(&opened.unwrap(), 10).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_for_a_lock_is_not_mistaken_for_a_silent_server() {
    let (primary, _standby, store) = pair().await;
    let id = store.enqueue(jobs(&store, 1), None).await.unwrap()[0].id();
    let mut other = client_of(&primary).await;
    let lock = other.transaction().await.unwrap();
    lock.batch_execute("SELECT 1 FROM steadfast.job FOR UPDATE")
        .await
        .unwrap();
    let cancel = store.run_command(vec![id], JobCommand::Cancel, Arc::default(), None);
    let release = async {
        tokio::time::sleep(Duration::from_secs(4)).await; // sleep: this is how long the lock is held
        lock.rollback().await.unwrap();
    };
    let (cancelled, ()) = tokio::join!(cancel, release);
    assert!(cancelled.unwrap()[0].is_ok());
}

/// No connection stays at the old server, the one that listens included.
async fn leaves(store: &PostgresStore, old: &tokio_postgres::Client) {
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'node'";
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while old.query_one(sql, &[]).await.unwrap().get::<_, i64>(0) > 0 {
        assert!(std::time::Instant::now() < deadline, "some stay behind");
        // What the pool holds is dropped when it is next taken.
        store.check_writable().await.unwrap();
    }
}

/// The store takes jobs again, and has those from before.
async fn goes_on(store: &PostgresStore, before: usize) {
    let new = jobs(store, 1);
    let enqueue = async {
        loop {
            match store.enqueue(new.clone(), None).await {
                Ok(_) => return,
                Err(error) => assert!(error.to_string().contains("is unavailable"), "{error}"),
            }
        }
    };
    tokio::time::timeout(SOON, enqueue).await.unwrap();
    let claims = store.claim(request(99)).await.unwrap().claims;
    assert!(
        claims.len() > before,
        "{} of {before} and one",
        claims.len()
    );
}

async fn client_of(server: &Server) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(&server.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Waits until the standby has everything.
async fn follows(primary: &Server) {
    let client = client_of(primary).await;
    let sql = "SELECT count(*) FROM pg_stat_replication WHERE replay_lsn = pg_current_wal_lsn()";
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while client.query_one(sql, &[]).await.unwrap().get::<_, i64>(0) == 0 {
        assert!(std::time::Instant::now() < deadline, "it does not follow");
        tokio::time::sleep(Duration::from_millis(20)).await; // sleep: between looks at a server
    }
}
