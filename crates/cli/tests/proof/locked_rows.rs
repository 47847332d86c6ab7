//! A session of PostgreSQL that locks due rows and forgets them: nodes go on with the other jobs,
//! and do not ask for the locked ones without a pause.

use std::{thread, time::Duration};

use serde_json::{Value, json};
use steadfast_sim::prove;
use steadfast_store::testing::Server;
use tokio_postgres::NoTls;

use crate::{
    node::{Node, until},
    target::Target,
};

const LOCKED: usize = 20;
const FREE: usize = 20;
/// How long a node is watched beside locked rows.
const WATCHED: Duration = Duration::from_secs(2);
/// Transactions of a node in that time; without a pause there are thousands each second.
const TRANSACTIONS_MAX: i64 = 600;

#[test]
fn due_rows_that_another_session_has_locked_hold_up_no_other_job_and_are_not_asked_for_all_the_time()
 {
    let rounds = prove::times(1);
    // A server of its own, because its transactions are counted.
    let server = Server::start().unwrap();
    let socket = server.directory().display().to_string().replace('/', "%2F");
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    let connect = || {
        let (client, connection) = runtime
            .block_on(tokio_postgres::connect(&server.url(), NoTls))
            .unwrap();
        runtime.spawn(connection);
        client
    };
    let (locker, watcher) = (connect(), connect());
    let transactions = || {
        let query = "SELECT xact_commit + xact_rollback FROM pg_stat_database \
                     WHERE datname = 'postgres'";
        let row = runtime.block_on(watcher.query_one(query, &[])).unwrap();
        row.get::<_, i64>(0)
    };
    let mut most = 0;
    for _ in 0..rounds {
        let schema = server.fresh_schema();
        let store = format!("postgres://postgres@{socket}/postgres?schema={schema}");
        let dir = tempfile::tempdir().unwrap();
        let target = Target::start(|_| Some(200));
        let node = Node::start_on(&store, dir.path());
        create(&node, &target, LOCKED, "3s");
        let lock = format!("BEGIN; SELECT 1 FROM {schema}.job FOR UPDATE");
        runtime.block_on(locker.batch_execute(&lock)).unwrap();
        create(&node, &target, FREE, "0s");
        until("the other jobs to run", || {
            (node.get("/api/v1/stats")["succeeded"] == FREE).then_some(())
        });
        until("the locked jobs to be due", || {
            (node.get("/api/v1/stats")["ready"] == LOCKED).then_some(())
        });
        let before = transactions();
        // sleep: this is how long the node is watched
        thread::park_timeout(WATCHED);
        most = most.max(transactions() - before);
        runtime.block_on(locker.batch_execute("COMMIT")).unwrap();
        until("the jobs that were locked to run", || {
            (node.get("/api/v1/stats")["succeeded"] == FREE + LOCKED).then_some(())
        });
        assert_eq!(target.check_none_twice(), (FREE + LOCKED) as u64);
        node.stop();
    }
    prove::tell(
        "locked rows",
        &[
            ("due jobs locked by another session", rounds * LOCKED as u64),
            ("other jobs run meanwhile", rounds * FREE as u64),
            (
                "transactions in two seconds at most",
                u64::try_from(most).unwrap(),
            ),
        ],
    );
    assert!(most < TRANSACTIONS_MAX, "{most} transactions");
}

fn create(node: &Node, target: &Target, count: usize, delay: &str) {
    let job = json!({"api": target.url, "delay": delay});
    node.create(&json!({"jobs": vec![job; count].into_iter().collect::<Vec<Value>>()}));
}
