//! What is stored of gates: what ended is not walked over, and nothing stays for ever.

use std::time::Duration;

use steadfast_core::{Gate, GateId, GateLimits, GateScope, Rate, limits::DAY};
use steadfast_store::{
    BaseStore as _, GateSettings, JobStore as _, ManualClock, PostgresStore, PruneRequest,
    testing::Server,
};

use crate::common::{TestDatabase, job, jobs, request, success};

/// One gate of all jobs, which counts what runs and what starts.
fn limit(store: &PostgresStore) {
    let limits = GateLimits {
        max_running: Some(10_000),
        rate: Some(Rate::new(10_000, Duration::from_secs(1), 10_000).unwrap()),
        ..GateLimits::default()
    };
    set_gate(store, limits);
}

fn set_gate(store: &PostgresStore, limits: GateLimits) {
    let id = GateId::new(None, GateScope::Kind, "mail").unwrap();
    store.set_gate_settings(GateSettings {
        gates: vec![Gate { id, limits }],
        ..GateSettings::default()
    });
}

#[tokio::test]
async fn what_has_ended_is_not_walked_over_at_a_gate() {
    const ROUNDS: usize = 20;
    const JOBS: usize = 50;
    let (database, _holder) = TestDatabase::with_old_snapshot().await;
    let store = database.open().await;
    limit(&store);
    for _ in 0..ROUNDS {
        store.enqueue(jobs(&store, JOBS), None).await.unwrap();
        let mut left = JOBS;
        while left > 0 {
            let claims = store.claim(request(left)).await.unwrap().claims;
            left -= claims.len();
            let ends = claims.into_iter().map(|claim| success(&store, claim));
            store.commit(ends.collect()).await.unwrap();
        }
    }
    drop(store);
    let scans = i64::try_from(ROUNDS * JOBS).unwrap();
    let tables = "'gate', 'gate_running', 'gate_state'";
    let read = database.entries_read(tables, scans).await;
    let walked = scans * i64::try_from(ROUNDS).unwrap() / 2;
    assert!(
        read < walked / 2,
        "{read} entries were read; walking over all would be {walked}"
    );
}

#[tokio::test]
async fn gates_that_were_not_used_for_long_are_deleted_and_come_back() {
    let (database, clock) = (TestDatabase::new(), ManualClock::default());
    let options = database.options().clock(clock.clone());
    let store = PostgresStore::open(&database.url, options).await.unwrap();
    limit(&store);
    store.enqueue(vec![job(&store)], None).await.unwrap();
    let mut claims = store.claim(request(1)).await.unwrap().claims;
    let rows = "SELECT (SELECT count(*) FROM steadfast.gate) + (SELECT count(*) FROM steadfast.gate_state)";
    let search = async || {
        for _ in 0..300 {
            store.prune(PruneRequest::Names { keep: 0 }).await.unwrap();
            if database.number(rows).await == 0 {
                break;
            }
            // sleep: what other tests do on the same server has to end first
            tokio::time::sleep(Duration::from_millis(10)).await;
            clock.advance(DAY);
        }
        database.number(rows).await
    };
    for _ in 0..5 {
        store.prune(PruneRequest::Names { keep: 0 }).await.unwrap();
        clock.advance(DAY);
    }
    assert_eq!(database.number(rows).await, 2, "an attempt runs there");
    let end = success(&store, claims.remove(0));
    store.commit(vec![end]).await.unwrap();
    assert_eq!(search().await, 0);
    store.enqueue(vec![job(&store)], None).await.unwrap();
    assert_eq!(store.claim(request(1)).await.unwrap().claims.len(), 1);
    assert_eq!(database.number(rows).await, 2);
}

#[tokio::test]
async fn what_was_counted_while_it_ended_is_taken_out() {
    let database = TestDatabase::new();
    let store = database.open().await;
    store.enqueue(vec![job(&store)], None).await.unwrap();
    let claims = store.claim(request(1)).await.unwrap().claims;
    // It is counted because the gate is new.
    limit(&store);
    assert!(store.claim(request(1)).await.unwrap().claims.is_empty());
    let rows = "SELECT count(*) FROM steadfast.gate_running";
    assert_eq!(database.number(rows).await, 1);
    let lost =
        "INSERT INTO steadfast.gate_running (gate, turn, job) SELECT 7, 0, gen_random_uuid()";
    database.execute(lost).await;
    // A node that starts looks at once, as others do now and then.
    let other = database.open().await;
    let wait = async {
        while database.number(rows).await != 1 {
            // sleep: this is done in the background
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), wait)
        .await
        .unwrap();
    let ends = claims.into_iter().map(|claim| success(&other, claim));
    other.commit(ends.collect()).await.unwrap();
    assert_eq!(database.number(rows).await, 0);
}

/// After a failover that lost transactions, attempts run that were counted in earlier turns than a node
/// knows of. The connections that claim find the new server before the one that listens does.
#[tokio::test]
async fn what_is_known_of_a_gate_counts_for_no_new_connection() {
    let database = TestDatabase::new();
    let direct = format!("{} application_name=listener", Server::shared().url());
    let options = database.options().direct(&direct);
    let store = PostgresStore::open(&database.url, options).await.unwrap();
    store.enqueue(jobs(&store, 3), None).await.unwrap();
    let limits = GateLimits {
        max_running: Some(1),
        ..GateLimits::default()
    };
    set_gate(&store, limits);
    for _ in 0..2 {
        let claim = store.claim(request(1)).await.unwrap().claims.remove(0);
        store.commit(vec![success(&store, claim)]).await.unwrap();
    }
    let older = "INSERT INTO steadfast.gate_running (gate, turn, job)
         SELECT number, 1, gen_random_uuid() FROM steadfast.gate";
    database.execute(older).await;
    let connections = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = '{}'",
        database.schema
    );
    assert!(database.number(&connections).await > 0);
    let claimed = loop {
        match store.claim(request(1)).await {
            Ok(claimed) => break claimed,
            Err(error) => assert!(error.is_transient(), "{error}"),
        }
    };
    assert_eq!(claimed.claims.len(), 0, "one runs already");
}
