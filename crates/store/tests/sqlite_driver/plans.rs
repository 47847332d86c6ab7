//! Hot statements must find rows by index, whatever the table holds.

use steadfast_store::{JobStore as _, rusqlite::Connection};

use crate::common::{TestDatabase, jobs, request, success};

/// The steps of a plan, one per line.
fn plan(conn: &Connection, sql: &str) -> String {
    let explained = format!("EXPLAIN QUERY PLAN {sql}");
    let mut statement = conn.prepare(&explained).unwrap();
    let steps: Vec<String> = statement
        .raw_query()
        .mapped(|row| row.get("detail"))
        .map(Result::unwrap)
        .collect();
    steps.join("\n")
}

macro_rules! sql {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../src/drivers/sqlite/sql/", $name, ".sql")),
        )
    };
}

/// A statement that both dialects share.
macro_rules! shared {
    ($folder:literal, $name:literal) => {
        (
            $name,
            include_str!(concat!(
                "../../src/drivers/sql/shared/",
                $folder,
                "/",
                $name,
                ".sql"
            )),
        )
    };
}

/// Each statement, and the search that it must come down to.
const PLANS: &[((&str, &str), &str)] = &[
    (
        sql!("claim_due"),
        "steadfast_job_waiting (lane=? AND sublane=? AND level=?)",
    ),
    (
        sql!("claim_next"),
        "steadfast_job_waiting (lane=? AND sublane=? AND level=?)",
    ),
    (sql!("claim_ordered"), "steadfast_job_key (key_number=?)"),
    (
        sql!("start_ahead"),
        "steadfast_job_waiting (lane=? AND sublane=? AND level=? AND run_at<?)",
    ),
    (
        sql!("due_range"),
        "steadfast_job_waiting (lane=? AND sublane=? AND level>?)",
    ),
    (
        sql!("due_range"),
        "steadfast_job_waiting (lane=? AND sublane>?)",
    ),
    (sql!("due_range"), "steadfast_job_waiting (lane>?)"),
    (
        shared!("batches", "batch_changes"),
        "steadfast_event_batch (batch=? AND seq>?)",
    ),
    (
        shared!("dependencies", "dependency_events"),
        "steadfast_event_kind (kind=?)",
    ),
    (
        shared!("records", "record_find"),
        "sqlite_autoindex_steadfast_record_1 (kind=? AND id=?)",
    ),
    (
        shared!("records", "records_count"),
        "steadfast_record_tenant_state (kind=? AND tenant=? AND state=?)",
    ),
    (
        shared!("records", "records_earliest"),
        "steadfast_record_at (kind=? AND state=? AND at<?)",
    ),
    (
        shared!("records", "records_newest"),
        "sqlite_autoindex_steadfast_record_1 (kind=? AND id<?)",
    ),
    (
        shared!("records", "records_newest_of_state"),
        "steadfast_record_state (kind=? AND state=? AND id<?)",
    ),
    (
        shared!("records", "records_newest_of_tenant"),
        "steadfast_record_tenant (kind=? AND tenant=? AND id<?)",
    ),
    (
        shared!("records", "records_newest_of_tenant_and_state"),
        "steadfast_record_tenant_state (kind=? AND tenant=? AND state=? AND id<?)",
    ),
    (
        shared!("dependencies", "dependants"),
        "steadfast_dependency_prerequisite (prerequisite=? AND job>?)",
    ),
    (sql!("claim"), "INTEGER PRIMARY KEY (rowid=?)"),
    (sql!("progress"), "INTEGER PRIMARY KEY (rowid=?)"),
    (
        sql!("commit_find"),
        "sqlite_autoindex_steadfast_job_1 (id=?)",
    ),
    (sql!("renew"), "sqlite_autoindex_steadfast_job_1 (id=?)"),
    (sql!("job"), "sqlite_autoindex_steadfast_job_1 (id=?)"),
    (
        sql!("expired_leases"),
        "steadfast_job_running (lease_until<?)",
    ),
    (sql!("cancel_requests"), "steadfast_job_cancel (worker=?)"),
    (
        sql!("prune_find"),
        "steadfast_job_ended (finished_at>? AND finished_at<?)",
    ),
    (
        sql!("prune_find"),
        "steadfast_job_discarded (resolved_at>? AND resolved_at<?)",
    ),
    (sql!("prune_ticks"), "tick_age (tick<?)"),
    (sql!("prune_minutes"), "PRIMARY KEY (minute<?)"),
    (
        sql!("prune_schedule_attempts"),
        "PRIMARY KEY (schedule=? AND finished_at=? AND job=? AND fence=?)",
    ),
    (sql!("list_all"), "sqlite_autoindex_steadfast_job_1 (id<?)"),
    (sql!("list_failed"), "steadfast_job_failed (id<?)"),
    (
        sql!("list_lane_failed"),
        "steadfast_job_lane_unsuccessful (lane=? AND state=? AND id<?)",
    ),
    (
        sql!("list_lane_cancelled"),
        "steadfast_job_lane_unsuccessful (lane=? AND state=? AND id<?)",
    ),
    (
        sql!("list_batch"),
        "steadfast_batch_job_batch (batch=? AND job<?)",
    ),
    (
        sql!("list_batch_in_state"),
        "steadfast_batch_job_state (batch=? AND state=? AND job<?)",
    ),
    (sql!("list_runs"), "steadfast_job_run (schedule=? AND id<?)"),
    (sql!("attempts_of_job"), "PRIMARY KEY (job=?)"),
    (
        sql!("waiting_by_minute"),
        "steadfast_waiting USING PRIMARY KEY (minute<?)",
    ),
    (
        sql!("ended_by_minute"),
        "steadfast_minute USING PRIMARY KEY (minute>?)",
    ),
    (
        sql!("due_by_minute"),
        "steadfast_job_waiting (lane=? AND sublane=? AND level=? AND run_at<?)",
    ),
    (sql!("attempts_of_jobs"), "PRIMARY KEY (job=?)"),
    (
        sql!("attempts_of_schedule"),
        "PRIMARY KEY (schedule=? AND (finished_at,job,fence)<(?,?,?))",
    ),
    (
        shared!("schedules", "unfinished_runs"),
        "steadfast_job_run_unfinished (schedule=?)",
    ),
    (
        shared!("records", "records_earliest"),
        "steadfast_record_at (kind=? AND state=? AND at<?)",
    ),
    (
        shared!("records", "record_next"),
        "steadfast_record_at (kind=? AND state=? AND at>?)",
    ),
    (
        shared!("records", "record_ids"),
        "steadfast_record_state (kind=? AND state=?)",
    ),
    (
        shared!("records", "records_free"),
        "sqlite_autoindex_steadfast_record_1 (kind=? AND id=?)",
    ),
    (
        shared!("records", "records_named_of_tenant"),
        "steadfast_record_name (kind=? AND name=? AND tenant=?",
    ),
    (
        sql!("stats_head"),
        "steadfast_job_waiting (lane=? AND sublane=? AND level>?)",
    ),
    (
        sql!("stats_waiting"),
        "steadfast_job_waiting (lane=? AND sublane=? AND level=? AND run_at>? AND run_at<?)",
    ),
    (sql!("stats_minutes"), "PRIMARY KEY (minute<?)"),
    (sql!("waiting_drop_empty"), "PRIMARY KEY (minute<?)"),
    (
        sql!("waiting_folded"),
        "PRIMARY KEY (minute>? AND minute<?)",
    ),
];

#[tokio::test]
async fn hot_statements_use_the_indexes_made_for_them() {
    let database = TestDatabase::new();
    let store = database.open();
    store.enqueue(jobs(&store, 50)).await.unwrap();
    let claims = store.claim(request(20)).await.unwrap().claims;
    let ended = claims
        .into_iter()
        .take(10)
        .map(|claim| success(&store, claim));
    store.commit(ended.collect()).await.unwrap();

    let conn = Connection::open(&database.file).unwrap();
    let mut wrong = Vec::new();
    for ((name, sql), index) in PLANS {
        let sql = sql
            .replace("/*ids*/", "(?2)")
            .replace("/*rows*/", "(?1)")
            .replace("/*batch*/", "?3")
            .replace("/*name*/", "part");
        let plan = plan(&conn, &sql);
        // What was found by an index just now, or stands in the statement.
        let is_small = |step: &str| {
            let small = ["SCAN each", "SCAN found"];
            small.contains(&step)
                || step.starts_with("SCAN (subquery-")
                || step.ends_with("CONSTANT ROWS")
                || step.ends_with("VALUES CLAUSE")
        };
        let scans = plan
            .lines()
            .any(|step| step.starts_with("SCAN") && !is_small(step));
        // A job has few attempts, few minutes have anything that waits, and of what waits for a
        // destination a bounded number is looked at.
        let sorts_little = ["attempts_of_job", "stats_minutes", "due_by_minute"].contains(name);
        let sorts = plan.contains("TEMP B-TREE") && !sorts_little;
        if !plan.contains(index) || scans || sorts {
            wrong.push(format!(
                "{name} should use {index}, without a scan or sort:\n{plan}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
