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
        conn.prepare_cached(include_str!("../sql/lane_intern.sql"))
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

fn wants(kinds: &[&str]) -> ClaimRequest {
    ClaimRequest {
        worker: WorkerName::new("w1").unwrap(),
        tenant: None,
        queues: Vec::new(),
        kinds: kinds.iter().map(|kind| Kind::new(kind).unwrap()).collect(),
        except_kinds: Vec::new(),
        max: 1,
        lease: None,
    }
}

fn next_due(lanes: &mut Lanes, conn: &Connection, kinds: &[&str]) -> Option<i64> {
    let wanted = lanes.wanted(conn, &wants(kinds)).unwrap();
    let due = lanes.next_due(conn, &wanted).unwrap();
    due.map(Timestamp::as_micros)
}

#[test]
fn what_waits_in_the_file_is_found_when_it_is_asked_for() {
    let conn = with_lanes(&["a", "b"]);
    wait(&conn, 1, 1, 5, 300);
    wait(&conn, 2, 2, 9, 200);
    let mut lanes = Lanes::default();
    assert_eq!(next_due(&mut lanes, &conn, &[]), Some(200));
    assert_eq!(next_due(&mut lanes, &conn, &["a"]), Some(300));
    assert_eq!(next_due(&mut lanes, &conn, &["c"]), None);
}

#[test]
fn an_earlier_job_lowers_the_bound_and_a_later_one_does_not() {
    let conn = with_lanes(&["a"]);
    wait(&conn, 1, 1, 5, 300);
    let mut lanes = Lanes::default();
    assert_eq!(next_due(&mut lanes, &conn, &[]), Some(300));
    assert!(!lanes.added(1, 5, at(400)));
    assert_eq!(next_due(&mut lanes, &conn, &[]), Some(300));
    assert!(lanes.added(1, 5, at(100)));
    assert_eq!(next_due(&mut lanes, &conn, &[]), Some(100));
    assert!(
        lanes.added(1, 4, at(200)),
        "each priority has a bound of its own"
    );
}

#[test]
fn when_the_first_job_goes_the_next_one_is_looked_up() {
    let conn = with_lanes(&["a"]);
    wait(&conn, 1, 1, 5, 300);
    wait(&conn, 2, 1, 5, 400);
    let mut lanes = Lanes::default();
    assert_eq!(next_due(&mut lanes, &conn, &[]), Some(300));
    conn.execute_batch("UPDATE steadfast_job SET state = 1 WHERE run_at = 300")
        .unwrap();
    lanes.removed(1, 5, at(300));
    assert_eq!(next_due(&mut lanes, &conn, &[]), Some(400));
    conn.execute_batch("UPDATE steadfast_job SET state = 1")
        .unwrap();
    lanes.removed(1, 5, at(400));
    assert_eq!(next_due(&mut lanes, &conn, &[]), None);
}

#[test]
fn a_bound_that_is_too_early_costs_a_look_and_nothing_else() {
    let conn = with_lanes(&["a"]);
    wait(&conn, 1, 1, 5, 300);
    let mut lanes = Lanes::default();
    let wanted = lanes.wanted(&conn, &wants(&[])).unwrap();
    lanes.raise(wanted[0], 5, at(200));
    assert_eq!(lanes.due(&wanted, 5, at(250)).len(), 1);
    assert_eq!(lanes.exact(&conn, wanted[0], 5).unwrap(), 300);
    assert!(lanes.due(&wanted, 5, at(250)).is_empty());
}

#[test]
fn what_others_write_is_not_seen_until_bounds_are_forgotten() {
    let conn = with_lanes(&["a"]);
    let mut lanes = Lanes::default();
    assert_eq!(next_due(&mut lanes, &conn, &[]), None);
    wait(&conn, 1, 1, 5, 300);
    assert_eq!(next_due(&mut lanes, &conn, &[]), None);
    lanes.forget();
    assert!(
        lanes.added(1, 5, at(900)),
        "a stale bound cannot say that nothing is earlier"
    );
    assert_eq!(next_due(&mut lanes, &conn, &[]), Some(300));
}

#[test]
fn a_lane_that_is_new_is_read() {
    let conn = with_lanes(&["a"]);
    let mut lanes = Lanes::default();
    assert_eq!(next_due(&mut lanes, &conn, &[]), None);
    let intern = include_str!("../sql/lane_intern.sql");
    conn.execute(intern, ("other", "default", "a")).unwrap();
    wait(&conn, 1, 2, 5, 300);
    assert!(lanes.added(2, 5, at(300)));
    assert_eq!(next_due(&mut lanes, &conn, &[]), Some(300));
}

#[test]
fn a_paused_queue_is_not_wanted_whether_or_not_its_lanes_are_known() {
    let conn = with_lanes(&["a"]);
    wait(&conn, 1, 1, 5, 300);
    let (tenant, queue) = (Tenant::default(), Queue::default());
    let mut lanes = Lanes::default();
    assert_eq!(next_due(&mut lanes, &conn, &[]), Some(300));
    lanes.set_paused(&tenant, &queue, true);
    assert_eq!(next_due(&mut lanes, &conn, &[]), None);
    lanes.set_paused(&tenant, &queue, false);
    assert_eq!(next_due(&mut lanes, &conn, &[]), Some(300));
    conn.execute(include_str!("../sql/pause.sql"), ("default", "default"))
        .unwrap();
    lanes.forget();
    assert_eq!(next_due(&mut lanes, &conn, &[]), None);
}
