use rusqlite::Connection;
use steadfast_core::{Kind, Queue, Tenant, Timestamp, WorkerName};

use super::*;

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

/// A file in memory with the schema, and a lane for each kind given.
fn with_lanes(kinds: &[&str]) -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    conn.execute_batch(include_str!("../migrations/0001_jobs.sql"))
        .unwrap();
    for kind in kinds {
        conn.prepare_cached(include_str!("../sql/lane_insert.sql"))
            .unwrap()
            .execute(("default", "default", *kind))
            .unwrap();
    }
    conn
}

/// A row that waits, as another connection might write it.
fn wait(conn: &Connection, id: u8, lane: LaneId, priority: u8, run_at: i64) {
    let values = (vec![id; 16], lane, priority, run_at);
    let sql = "INSERT INTO steadfast_job (id, lane, state, priority, run_at, fence, attempt, \
               attempts_before, cancel_requested, snoozes, policy, at_most_once, lease, \
               created_at) VALUES (?1, ?2, 0, ?3, ?4, 0, 0, 0, 0, 0, 1, 0, 1, 0)";
    conn.execute(sql, values).unwrap();
}

fn request(kinds: &[&str]) -> ClaimRequest {
    let mut request = ClaimRequest::new(WorkerName::new("w1").unwrap(), 1);
    request.kinds = kinds.iter().map(|kind| Kind::new(kind).unwrap()).collect();
    request
}

fn next_due(index: &mut DueIndex, conn: &Connection, kinds: &[&str]) -> Option<i64> {
    let wanted = index
        .wanted_lanes(conn, &DamageLog::default(), &request(kinds))
        .unwrap();
    let due = index.next_due(conn, &wanted).unwrap();
    due.map(Timestamp::as_micros)
}

#[test]
fn jobs_that_wait_in_the_file_are_found() {
    let conn = with_lanes(&["a", "b"]);
    wait(&conn, 1, 1, 5, 300);
    wait(&conn, 2, 2, 9, 200);
    let mut index = DueIndex::default();
    assert_eq!(next_due(&mut index, &conn, &[]), Some(200));
    assert_eq!(next_due(&mut index, &conn, &["a"]), Some(300));
    assert_eq!(next_due(&mut index, &conn, &["c"]), None);
}

#[test]
fn an_earlier_job_lowers_the_bound_and_a_later_one_does_not() {
    let conn = with_lanes(&["a"]);
    wait(&conn, 1, 1, 5, 300);
    let mut index = DueIndex::default();
    assert_eq!(next_due(&mut index, &conn, &[]), Some(300));
    assert!(!index.add(1, 5, at(400)));
    assert_eq!(next_due(&mut index, &conn, &[]), Some(300));
    assert!(index.add(1, 5, at(100)));
    assert_eq!(next_due(&mut index, &conn, &[]), Some(100));
    assert!(
        index.add(1, 4, at(200)),
        "each priority has a bound of its own"
    );
}

#[test]
fn when_the_first_job_goes_the_next_one_is_looked_up() {
    let conn = with_lanes(&["a"]);
    wait(&conn, 1, 1, 5, 300);
    wait(&conn, 2, 1, 5, 400);
    let mut index = DueIndex::default();
    assert_eq!(next_due(&mut index, &conn, &[]), Some(300));
    conn.execute_batch("UPDATE steadfast_job SET state = 1 WHERE run_at = 300")
        .unwrap();
    index.remove(1, 5, at(300));
    assert_eq!(next_due(&mut index, &conn, &[]), Some(400));
    conn.execute_batch("UPDATE steadfast_job SET state = 1")
        .unwrap();
    index.remove(1, 5, at(400));
    assert_eq!(next_due(&mut index, &conn, &[]), None);
}

#[test]
fn a_bound_that_is_too_early_costs_one_search_and_nothing_else() {
    let conn = with_lanes(&["a"]);
    wait(&conn, 1, 1, 5, 300);
    let mut index = DueIndex::default();
    let wanted = index
        .wanted_lanes(&conn, &DamageLog::default(), &request(&[]))
        .unwrap();
    index.raise_bound(wanted[0], 5, at(200));
    assert_eq!(index.due(&wanted, 5, at(250)).len(), 1);
    assert_eq!(index.exact_bound(&conn, wanted[0], 5).unwrap(), 300);
    assert!(index.due(&wanted, 5, at(250)).is_empty());
}

#[test]
fn writes_of_other_connections_are_seen_after_an_invalidation() {
    let conn = with_lanes(&["a"]);
    let mut index = DueIndex::default();
    assert_eq!(next_due(&mut index, &conn, &[]), None);
    wait(&conn, 1, 1, 5, 300);
    assert_eq!(next_due(&mut index, &conn, &[]), None);
    index.invalidate();
    assert!(
        index.add(1, 5, at(900)),
        "a stale bound cannot say that nothing is earlier"
    );
    assert_eq!(next_due(&mut index, &conn, &[]), Some(300));
}

#[test]
fn a_lane_that_is_new_is_read() {
    let conn = with_lanes(&["a"]);
    let mut index = DueIndex::default();
    assert_eq!(next_due(&mut index, &conn, &[]), None);
    let insert = include_str!("../sql/lane_insert.sql");
    conn.execute(insert, ("other", "default", "a")).unwrap();
    wait(&conn, 1, 2, 5, 300);
    assert!(index.add(2, 5, at(300)));
    assert_eq!(next_due(&mut index, &conn, &[]), Some(300));
}

#[test]
fn a_paused_queue_is_not_wanted_whether_or_not_its_lanes_are_known() {
    let conn = with_lanes(&["a"]);
    wait(&conn, 1, 1, 5, 300);
    let (tenant, queue) = (Tenant::default(), Queue::default());
    let mut index = DueIndex::default();
    assert_eq!(next_due(&mut index, &conn, &[]), Some(300));
    index.set_paused(&tenant, &queue, true);
    assert_eq!(next_due(&mut index, &conn, &[]), None);
    index.set_paused(&tenant, &queue, false);
    assert_eq!(next_due(&mut index, &conn, &[]), Some(300));
    conn.execute(include_str!("../sql/pause.sql"), ("default", "default"))
        .unwrap();
    index.invalidate();
    assert_eq!(next_due(&mut index, &conn, &[]), None);
}
