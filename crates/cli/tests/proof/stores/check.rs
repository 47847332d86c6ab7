//! `steadfast check` finds what was planted, in both databases.

use steadfast_store::testing::Server;
use tokio_postgres::NoTls;

use super::{fill, run, succeed};
use crate::{
    load::Load,
    node::{FILE, Node},
    postgres,
    target::Target,
};

/// Runs a statement of SQLite in a database.
type Planter<'p> = &'p dyn Fn(&str);

/// Damage, as a statement of SQLite, and the sentence that tells it.
const DAMAGE: [(&str, &str); 5] = [
    (
        "UPDATE steadfast_job SET lease_until = 1 WHERE id = (SELECT id FROM steadfast_job WHERE state = 2 ORDER BY id LIMIT 1)",
        "has a lease although it is not running",
    ),
    (
        "UPDATE steadfast_job SET finished_at = NULL WHERE id = (SELECT id FROM steadfast_job WHERE state = 2 ORDER BY id DESC LIMIT 1)",
        "has ended without a time",
    ),
    (
        "DELETE FROM steadfast_policy",
        "has a retry policy that does not exist",
    ),
    (
        "DELETE FROM steadfast_job WHERE id = (SELECT id FROM steadfast_job WHERE state = 2 ORDER BY id LIMIT 1)",
        "belongs to a job that does not exist",
    ),
    (
        "DELETE FROM steadfast_job WHERE state = 3",
        "not matching the jobs: repair with --repair",
    ),
];

#[test]
fn planted_damage_is_found_and_counters_are_repaired() {
    let dir = tempfile::tempdir().unwrap();
    let target = Target::start(|_| Some(200));
    let file = dir.path().join("jobs.db");
    let sqlite = |sql: &str| {
        let conn = rusqlite::Connection::open(&file).unwrap();
        conn.execute_batch(sql).unwrap();
    };
    let store = postgres::fresh_store();
    let schema = store.split_once("schema=").unwrap().1.to_owned();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let postgres = |sql: &str| {
        let sql = sql.replace("steadfast_", &format!("{schema}."));
        runtime.block_on(async {
            let url = Server::shared().url();
            let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
            tokio::spawn(connection);
            client.batch_execute(&sql).await.unwrap();
        });
    };
    let databases: [(&str, Planter<'_>); 2] = [(FILE, &sqlite), (&store, &postgres)];
    for (store, plant) in databases {
        let load = Load::new(&target.url);
        fill(&load, Node::start_on(store, dir.path()), 500, |_| ());
        let well = succeed(&["check", "--store", store], dir.path());
        for looked_at in ["jobs", "attempts", "lanes", "idempotency keys"] {
            assert!(well.contains(looked_at), "{looked_at}: {well}");
        }
        for (sql, sentence) in DAMAGE {
            plant(sql);
            let found = run(&["check", "--store", store], dir.path());
            assert_eq!(found.code, 1, "{store} {sql}: {found:?}");
            assert!(found.out.contains(sentence), "{store} {sql}: {found:?}");
        }
        let repaired = run(&["check", "--store", store, "--repair"], dir.path());
        assert_eq!(repaired.code, 1, "broken rows stay: {repaired:?}");
        assert!(
            repaired.out.contains("did not match the jobs: repaired"),
            "{repaired:?}"
        );
        let after = run(&["check", "--store", store, "--json"], dir.path());
        let after: serde_json::Value = serde_json::from_str(&after.out).unwrap();
        assert_eq!(after["counters"], serde_json::json!([]), "{after}");
        assert!(!after["broken"].as_array().unwrap().is_empty(), "{after}");
    }
}
