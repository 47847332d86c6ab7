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
    ($folder:literal, $name:literal) => {
        (
            $name,
            include_str!(concat!(
                "../../src/drivers/sqlite/",
                $folder,
                "/",
                $name,
                ".sql"
            )),
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
        sql!("claim", "claim_due"),
        "steadfast_job_waiting (lane=? AND flow_key=? AND level=?)",
    ),
    (
        sql!("claim", "claim_next"),
        "steadfast_job_waiting (lane=? AND flow_key=? AND level=?)",
    ),
    (
        sql!("claim", "claim_ordered"),
        "steadfast_job_key (key_number=?)",
    ),
    (
        sql!("claim/start", "start_ahead"),
        "steadfast_job_waiting (lane=? AND flow_key=? AND level=? AND run_at<?)",
    ),
    (
        sql!("claim/due_index", "due_range"),
        "steadfast_job_waiting (lane=? AND flow_key=? AND level>?)",
    ),
    (
        sql!("claim/due_index", "due_range"),
        "steadfast_job_waiting (lane=? AND flow_key>?)",
    ),
    (
        sql!("claim/due_index", "due_range"),
        "steadfast_job_waiting (lane>?)",
    ),
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
    (sql!("claim", "claim"), "INTEGER PRIMARY KEY (rowid=?)"),
    (
        sql!("jobs/commit", "progress"),
        "INTEGER PRIMARY KEY (rowid=?)",
    ),
    (
        sql!("jobs/commit", "commit_find"),
        "sqlite_autoindex_steadfast_job_1 (id=?)",
    ),
    (
        sql!("jobs/change", "renew"),
        "sqlite_autoindex_steadfast_job_1 (id=?)",
    ),
    (
        sql!("queries/get", "job"),
        "sqlite_autoindex_steadfast_job_1 (id=?)",
    ),
    (
        sql!("queries/get", "expired_leases"),
        "steadfast_job_running (lease_until<?)",
    ),
    (
        sql!("queries/get", "cancel_requests"),
        "steadfast_job_cancel (worker=?)",
    ),
    (
        sql!("jobs/prune", "prune_find"),
        "steadfast_job_ended (finished_at>? AND finished_at<?)",
    ),
    (
        sql!("jobs/prune", "prune_find"),
        "steadfast_job_discarded (resolved_at>? AND resolved_at<?)",
    ),
    (sql!("jobs/prune", "prune_ticks"), "tick_age (tick<?)"),
    (
        sql!("jobs/prune", "prune_minutes"),
        "PRIMARY KEY (minute<?)",
    ),
    (
        sql!("jobs/prune", "prune_schedule_attempts"),
        "PRIMARY KEY (schedule=? AND finished_at=? AND job=? AND fence=?)",
    ),
    (
        sql!("queries/list", "list_all"),
        "sqlite_autoindex_steadfast_job_1 (id<?)",
    ),
    (
        sql!("queries/list", "list_failed"),
        "steadfast_job_failed (id<?)",
    ),
    (
        sql!("queries/list", "list_lane_failed"),
        "steadfast_job_lane_unsuccessful (lane=? AND state=? AND id<?)",
    ),
    (
        sql!("queries/list", "list_lane_cancelled"),
        "steadfast_job_lane_unsuccessful (lane=? AND state=? AND id<?)",
    ),
    (
        sql!("queries/list", "list_batch"),
        "steadfast_batch_job_batch (batch=? AND job<?)",
    ),
    (
        sql!("queries/list", "list_batch_in_state"),
        "steadfast_batch_job_state (batch=? AND state=? AND job<?)",
    ),
    (
        sql!("queries/list", "list_runs"),
        "steadfast_job_run (schedule=? AND id<?)",
    ),
    (
        sql!("queries/list", "attempts_of_job"),
        "PRIMARY KEY (job=?)",
    ),
    (
        sql!("queries/lane_minutes", "waiting_by_minute"),
        "steadfast_waiting USING PRIMARY KEY (minute<?)",
    ),
    (
        sql!("queries/lane_minutes", "ended_by_minute"),
        "steadfast_minute USING PRIMARY KEY (minute>?)",
    ),
    (
        sql!("claim/start", "due_by_minute"),
        "steadfast_job_waiting (lane=? AND flow_key=? AND level=? AND run_at<?)",
    ),
    (
        sql!("queries/get", "attempts_of_jobs"),
        "PRIMARY KEY (job=?)",
    ),
    (
        sql!("queries/list", "attempts_of_schedule"),
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
        sql!("queries/stats", "stats_head"),
        "steadfast_job_waiting (lane=? AND flow_key=? AND level>?)",
    ),
    (
        sql!("queries/stats", "stats_waiting"),
        "steadfast_job_waiting (lane=? AND flow_key=? AND level=? AND run_at>? AND run_at<?)",
    ),
    (
        sql!("queries/stats", "stats_lanes"),
        "sqlite_autoindex_steadfast_lane_1 (tenant>? AND tenant<?)",
    ),
    (
        sql!("queries/stats", "stats_minutes"),
        "PRIMARY KEY (minute<?)",
    ),
    (
        sql!("counts", "waiting_drop_empty"),
        "PRIMARY KEY (minute<?)",
    ),
    (
        sql!("counts", "waiting_folded"),
        "PRIMARY KEY (minute>? AND minute<?)",
    ),
];

#[tokio::test]
async fn hot_statements_use_the_indexes_made_for_them() {
    let database = TestDatabase::new();
    let store = database.open();
    store.enqueue(jobs(&store, 50), None).await.unwrap();
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
