//! Hot statements must find rows by index, whatever the tables hold.

use std::{fmt::Write as _, time::Duration};

use steadfast_core::{ExpiryAction, NewJobExtras, StartBefore};
use steadfast_store::{JobStore as _, tokio_postgres::Client};

use crate::common::{TestDatabase, jobs, request, success};

const HOUR: Duration = Duration::from_secs(3_600);

macro_rules! sql {
    ($folder:literal, $name:literal) => {
        (
            $name,
            include_str!(concat!(
                "../../src/drivers/postgres/",
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

/// Each statement, and the indexes that it must come down to.
const PLANS: &[((&str, &str), &[&str])] = &[
    (
        sql!("claim", "claim"),
        &["job_due on job", "job_hot_pkey on job_hot"],
    ),
    (sql!("claim", "claim_next"), &["job_due on job"]),
    (sql!("claim", "claim_ordered"), &["job_key on job"]),
    (sql!("claim/start", "start_first"), &["job_due on job"]),
    (sql!("claim/start", "start_ahead"), &["job_due on job"]),
    (
        sql!("claim/start", "start_holders"),
        &[
            "gate_running_pkey on gate_running",
            "job_hot_pkey on job_hot",
        ],
    ),
    (
        sql!("claim/due_cache/sync", "due_ranges"),
        &["job_due on job", "job_hot_pkey on job_hot"],
    ),
    (
        sql!("claim/due_cache/sync", "due_found"),
        &["job_due on job"],
    ),
    (
        sql!("claim/gates", "gate_state"),
        &[
            "gate_running_pkey on gate_running",
            "gate_state_pkey on gate_state",
        ],
    ),
    (
        sql!("queries/damage", "damaged_find"),
        &["job_quarantine on job"],
    ),
    (
        shared!("batches", "batch_changes"),
        &["event_batch on event"],
    ),
    (
        shared!("batches", "batch_events_page"),
        &["event_kind on event"],
    ),
    (
        shared!("dependencies", "dependency_events"),
        &["event_kind on event"],
    ),
    (
        shared!("records", "record_find"),
        &["record_pkey on record"],
    ),
    (
        shared!("records", "records_newest_of_tenant_and_state"),
        &["record_tenant_state on record"],
    ),
    (
        sql!("jobs/commit", "commit"),
        &[
            "job_hot_pkey on job_hot",
            "(turn = gate_entry.turn) AND (job = gate_entry.id)",
        ],
    ),
    (
        sql!("claim/gates", "gate_save"),
        &["gate_state_pkey on gate_state", "(turn = new_2.before)"],
    ),
    (sql!("jobs/change", "command"), &["job_hot_pkey on job_hot"]),
    (
        sql!("jobs/change", "command_find"),
        &["job_hot_pkey on job_hot"],
    ),
    (sql!("jobs/change", "renew"), &["job_hot_pkey on job_hot"]),
    (
        sql!("jobs/change", "claimed_step"),
        &["job_hot_pkey on job_hot"],
    ),
    (
        sql!("jobs/change", "save_claimed_step"),
        &["job_hot_pkey on job_hot"],
    ),
    (sql!("queries/get", "jobs"), &["job_hot_pkey on job_hot"]),
    (
        sql!("claim", "quarantine"),
        &[
            "job_hot_pkey on job_hot",
            "(turn = gate_entry.turn) AND (job = gate_entry.id)",
        ],
    ),
    (
        sql!("counts", "fold"),
        &["count_change_pkey on count_change"],
    ),
    (
        sql!("queries/get", "expired_leases"),
        &["job_running on job"],
    ),
    (
        sql!("queries/get", "expired_starts"),
        &["job_start_before on job"],
    ),
    (
        sql!("queries/get", "cancel_requests"),
        &["job_cancel on job"],
    ),
    (
        sql!("queries/get", "attempts_find"),
        &["attempt_rest_pkey on attempt_rest"],
    ),
    (
        sql!("queries/list", "attempts_of_job"),
        &["attempt_rest_pkey on attempt_rest"],
    ),
    (
        sql!("queries/lane_minutes", "waiting_by_minute"),
        &["waiting_count_pkey on waiting_count"],
    ),
    (
        sql!("queries/lane_minutes", "ended_by_minute"),
        &["minute_pkey on minute"],
    ),
    (sql!("claim/start", "due_by_minute"), &["job_due on job"]),
    (
        sql!("queries/get", "attempts_of_jobs"),
        &["attempt_rest_pkey on attempt_rest"],
    ),
    (
        sql!("queries/list", "attempts_of_schedule"),
        &["attempt_rest_schedule_finished_at_job_fence_idx on attempt_rest"],
    ),
    (
        sql!("queries/list", "list_all"),
        &["job_hot_pkey on job_hot"],
    ),
    (
        sql!("queries/list", "list_failed"),
        &["job_hot_id_idx on job_hot"],
    ),
    (
        sql!("queries/list", "list_batch"),
        &["batch_job_batch on batch_job", "job_hot_pkey on job_hot"],
    ),
    (
        sql!("queries/list", "list_batch_in_state"),
        &["batch_job_state on batch_job", "job_hot_pkey on job_hot"],
    ),
    (
        sql!("queries/list", "list_runs"),
        &["job_hot_schedule_id_idx on job_hot"],
    ),
    (sql!("queries/list", "list_running"), &["on job"]),
    (
        sql!("queries/list", "list_lanes"),
        &["job_hot_lane_id_idx on job_hot"],
    ),
    (
        sql!("queries/list", "list_lanes_failed"),
        &["job_hot_lane_id_idx1 on job_hot"],
    ),
    (
        sql!("queries/list", "list_lanes_cancelled"),
        &["job_hot_lane_id_idx2 on job_hot"],
    ),
    (sql!("queries/list", "list_waiting"), &["job_due on job"]),
    (
        sql!("queries/get", "jobs_listed"),
        &["job_hot_pkey on job_hot"],
    ),
    (
        sql!("queries/stats", "stats_minutes"),
        &["waiting_count_pkey on waiting_count"],
    ),
    (
        sql!("jobs/prune", "prune"),
        &[
            "job_hot_finished_at_idx on job_hot",
            "job_hot_resolved_at_idx on job_hot",
            "job_hot_pkey on job_hot",
            "attempt_rest_pkey on attempt_rest",
            "once_pkey on once",
            "idempotency_pkey on idempotency",
        ],
    ),
    (
        sql!("jobs/days", "sweep"),
        &[
            "job_hot_finished_at_idx on job_hot",
            "job_hot_resolved_at_idx on job_hot",
        ],
    ),
    (
        sql!("jobs/prune", "prune_ticks"),
        &[
            "tick_age on tick",
            "(tick >= old.tick) AND (tick <= old.tick)",
        ],
    ),
    (
        sql!("jobs/prune", "prune_minutes"),
        &["minute_pkey on minute", "(lane = old.lane)"],
    ),
    (
        shared!("records", "records_earliest"),
        &["record_at on record"],
    ),
    (shared!("records", "record_next"), &["record_at on record"]),
    (
        shared!("records", "record_ids"),
        &["record_state on record"],
    ),
    (
        shared!("records", "records_free"),
        &["record_pkey on record"],
    ),
    (
        shared!("records", "records_named_of_tenant"),
        &["record_name on record"],
    ),
    (
        shared!("schedules", "unfinished_runs"),
        &["job_run_unfinished on job"],
    ),
    (sql!("queries/stats", "stats_waiting"), &["job_due on job"]),
    (
        sql!("queries/stats", "stats_recent"),
        &["minute_pkey on minute"],
    ),
    (
        sql!("jobs/insert", "keys_find"),
        &["idempotency_pkey on idempotency"],
    ),
    (sql!("queries/get", "steps"), &["once_pkey on once"]),
];

/// A connection that plans as those of a store do.
async fn planner(database: &TestDatabase) -> Client {
    let client = database.client().await;
    let settings = include_str!("../../src/drivers/postgres/open/settings.sql");
    client.batch_execute(settings).await.unwrap();
    client
}

async fn prepare(client: &Client, database: &TestDatabase, name: &str, sql: &str) {
    let sql = format!("PREPARE {name} AS {}", database.sql(sql));
    client.batch_execute(&sql).await.unwrap();
}

async fn explain(client: &Client, how: &str, name: &str, parameters: &str) -> String {
    let call = match parameters {
        "" => name.to_owned(),
        _ => format!("{name}({parameters})"),
    };
    let sql = format!("EXPLAIN ({how}) EXECUTE {call}");
    let rows = client.simple_query(&sql).await.unwrap();
    let mut plan = String::new();
    for row in rows {
        if let steadfast_store::tokio_postgres::SimpleQueryMessage::Row(row) = row {
            writeln!(plan, "{}", row.get(0).unwrap()).unwrap();
        }
    }
    plan
}

/// The text of a statement that both dialects may share.
fn as_postgres_reads_it(sql: &str) -> String {
    let mut sql = sql.to_owned();
    for (shared, own) in [
        ("/*ids*/", "(?2)"),
        ("/*batch*/", "?3"),
        ("/*name*/", "part"),
        ("/*rows*/", "(?1)"),
        ("/*lock free*/", "FOR UPDATE SKIP LOCKED"),
        ("/*uuid*/", "::uuid"),
        ("job/*hot*/", "job_hot"),
        ("steadfast_", "steadfast."),
        ("?", "$"),
    ] {
        sql = sql.replace(shared, own);
    }
    sql
}

/// How many parameters a statement has.
fn parameters(sql: &str) -> usize {
    let numbers = sql.split('$').skip(1).filter_map(|rest| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    });
    numbers.max().unwrap_or(0)
}

#[tokio::test]
async fn hot_statements_use_the_indexes_made_for_them() {
    let database = TestDatabase::new();
    database.open().await;
    // Empty and full: neither must lead to a plan that is bad for the other.
    let mut wrong = Vec::new();
    for rows in [0, 50_000] {
        fill(&database, rows, rows).await;
        let client = planner(&database).await;
        for ((name, sql), indexes) in PLANS {
            let sql = as_postgres_reads_it(sql);
            prepare(&client, &database, name, &sql).await;
            let nulls = vec!["NULL"; parameters(&sql)].join(", ");
            let plan = explain(&client, "COSTS OFF", name, &nulls).await;
            let scans = ["Seq Scan on job", "Seq Scan on attempt"]
                .iter()
                .any(|scan| plan.contains(scan));
            let missing = indexes.iter().any(|index| !plan.contains(index));
            // Reads rows of all ids to find one.
            let filters = plan.lines().filter(|line| line.contains("Filter: "));
            let searches = filters.into_iter().any(|filter| filter.contains("(id = "));
            if scans || missing || searches {
                wrong.push(format!("{name} should use {indexes:?}:\n{plan}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// What a claim reads does not grow with what waits for later, waits now, or has ended.
#[tokio::test]
async fn the_cost_of_a_claim_is_flat() {
    let database = TestDatabase::new();
    let store = database.open().await;
    let client = planner(&database).await;
    prepare(&client, &database, "claim", sql!("claim", "claim").1).await;
    prepare(&client, &database, "next", sql!("claim", "claim_next").1).await;
    let mut pages = Vec::new();
    for rows in [1_000, 100_000] {
        fill(&database, rows, rows).await;
        // Work that leaves dead rows behind.
        store.enqueue(jobs(&store, 500), None).await.unwrap();
        let claims = store.claim(request(500)).await.unwrap().claims;
        let ends = claims.into_iter().map(|claim| success(&store, claim));
        store.commit(ends.collect()).await.unwrap();

        let range = format!("'{{{}}}', '{{0}}', '{{10}}'", lane(&database).await);
        let claim = format!(
            "NULL, '{{1}}', {range}, '{{0}}', '{{100}}', '{{NULL}}', '{{NULL}}', '{{100}}', 'w1', \
             NULL, 16777216, false, 100"
        );
        let claim = explain(&client, "ANALYZE, BUFFERS", "claim", &claim).await;
        let next = format!("{range}, '{{0}}'");
        let next = explain(&client, "ANALYZE, BUFFERS", "next", &next).await;
        pages.push([touched(&claim), touched(&next)]);
    }
    let [few, many] = [pages[0], pages[1]];
    // A hundred times the rows makes the trees a level or two deeper.
    for (few, many) in few.into_iter().zip(many) {
        assert!(many < few * 3, "{pages:?}");
    }
}

/// A job without a start deadline has none, and the search for missed ones reads no job that waits.
#[tokio::test]
async fn a_search_for_missed_starts_reads_no_job_that_still_may_start() {
    let database = TestDatabase::new();
    let store = database.open().await;
    store.enqueue(jobs(&store, 200), None).await.unwrap();
    let soon = NewJobExtras {
        start_before: Some((StartBefore::After(HOUR), ExpiryAction::Fail)),
        ..NewJobExtras::default()
    };
    let late = jobs(&store, 200).into_iter();
    let late = late.map(|job| job.with_extras(soon.clone()));
    store.enqueue(late.collect(), None).await.unwrap();
    let with_deadline = "SELECT count(*) FROM steadfast.job WHERE start_before IS NOT NULL";
    assert_eq!(database.number(with_deadline).await, 200);

    let client = planner(&database).await;
    let sql = sql!("queries/get", "expired_starts").1;
    prepare(&client, &database, "expired_starts", sql).await;
    database.execute("ANALYZE steadfast.job").await;
    let how = "ANALYZE, COSTS OFF, TIMING OFF";
    let plan = explain(&client, how, "expired_starts", "NULL, 100").await;
    assert!(plan.contains("job_start_before on job"), "{plan}");
    assert!(!plan.contains("Rows Removed by Filter"), "{plan}");
}

/// Ten times the tenants are ten times the work, in rows and in comparisons.
#[tokio::test]
async fn a_claim_from_many_tenants_looks_at_each_of_them_once() {
    let database = TestDatabase::new();
    database.open().await;
    let client = planner(&database).await;
    prepare(&client, &database, "claim", sql!("claim", "claim").1).await;
    let mut rows = Vec::new();
    for tenants in [20, 200] {
        let each = |value: &str| vec![value; tenants].join(",");
        let turns: Vec<String> = (1..=tenants).map(|turn| turn.to_string()).collect();
        let (turns, zeros, ones) = (turns.join(","), each("0"), each("1"));
        let (levels, nulls) = (each("10"), each("NULL"));
        let claim = format!(
            "NULL, '{{{turns}}}', '{{{turns}}}', '{{{zeros}}}', '{{{levels}}}', '{{{zeros}}}', \
             '{{{ones}}}', '{{{nulls}}}', '{{{nulls}}}', '{{{ones}}}', 'w1', NULL, 16777216, false, 100"
        );
        let how = "ANALYZE, COSTS OFF, TIMING OFF";
        rows.push(handled(&explain(&client, how, "claim", &claim).await));
    }
    assert!(rows[0] > 0 && rows[1] <= rows[0] * 10, "{rows:?}");
}

/// How many rows a plan says that its steps passed on or held back.
fn handled(plan: &str) -> u64 {
    let number = |text: &str, after: &str| -> Option<u64> {
        let (_, rest) = text.split_once(after)?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    };
    let mut loops = 0;
    let mut rows = 0;
    for line in plan.lines() {
        if let Some(count) = number(line, "(actual rows=") {
            loops = number(line, "loops=").unwrap_or(1);
            rows += count * loops;
        } else if line.contains("Rows Removed") {
            rows += number(line, "Filter: ").unwrap_or(0) * loops;
        }
    }
    rows
}

/// What is counted at a gate is written without a look for what cannot be there: a row and its entry
/// in the index.
#[tokio::test]
async fn to_count_an_attempt_at_a_gate_costs_one_entry() {
    const JOBS: u64 = 100;
    let database = TestDatabase::new();
    let store = database.open().await;
    let client = planner(&database).await;
    prepare(&client, &database, "claim", sql!("claim", "claim").1).await;
    let new = jobs(&store, usize::try_from(JOBS).unwrap());
    store.enqueue(new, None).await.unwrap();
    let lane = lane(&database).await;
    let claim = format!(
        "NULL, '{{1}}', '{{{lane}}}', '{{0}}', '{{10}}', '{{0}}', '{{{JOBS}}}', '{{NULL}}', \
         '{{\"{{7}}\"}}', '{{{JOBS}}}', 'w1', NULL, 16777216, false, 100"
    );
    let plan = explain(&client, "ANALYZE, BUFFERS", "claim", &claim).await;
    let (_, insert) = plan.split_once("Insert on gate_running").unwrap();
    let pages = touched(insert);
    assert!(pages > JOBS && pages < JOBS * 4, "{pages}: {plan}");
    let rows = "SELECT count(*) FROM steadfast.gate_running WHERE gate = 7";
    let row = client.query_one(&database.sql(rows), &[]).await.unwrap();
    assert_eq!(row.get::<_, i64>(0), i64::try_from(JOBS).unwrap());
}

/// The number of the lane of new jobs.
async fn lane(database: &TestDatabase) -> i64 {
    let lane = "SELECT id FROM steadfast.lane WHERE tenant = 'default'";
    database.number(lane).await
}

/// How many pages a plan says that it touched in all.
fn touched(plan: &str) -> u64 {
    let line = plan.lines().find(|line| line.contains("Buffers: shared"));
    let numbers = line.unwrap().split_whitespace().filter_map(|word| {
        let count = word.strip_prefix("hit=").or(word.strip_prefix("read="))?;
        count.parse::<u64>().ok()
    });
    numbers.sum()
}

/// Adds jobs that wait for tomorrow at every priority and in many lanes, and jobs that ended.
async fn fill(database: &TestDatabase, future: u32, ended: u32) {
    database
        .execute(&format!(
            "INSERT INTO steadfast.policy (id, body) VALUES (1, '{{}}') ON CONFLICT DO NOTHING;
             INSERT INTO steadfast.lane (id, tenant, queue, kind)
             SELECT n, 't' || n, 'default', 'mail' FROM generate_series(1, 20) AS n
             ON CONFLICT DO NOTHING;
             INSERT INTO steadfast.job (id, lane, policy, priority, run_at, at_most_once, lease, created_at, payload)
             SELECT gen_random_uuid(), n % 20 + 1, 1, n % 10, 4000000000000000 + n, false, 1, 1, 'null'
             FROM generate_series(1, {future}) AS n;
             INSERT INTO steadfast.job (id, lane, policy, priority, run_at, at_most_once, lease, created_at, payload, state, finished_at)
             SELECT gen_random_uuid(), n % 20 + 1, 1, n % 10, 0, false, 1, 1, 'null', 2, n
             FROM generate_series(1, {ended}) AS n;
             ANALYZE steadfast.job;"
        ))
        .await;
}
