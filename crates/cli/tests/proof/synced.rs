//! Acknowledged means on disk: the log is synced before the response leaves, and if it cannot be
//! synced, no job is acknowledged.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use steadfast_sim::prove;

use crate::{
    http::Http,
    ledger::{Broken, Ledger},
    load::Listing,
    node::Node,
    trace::{self, Acknowledgement, Calls},
};

/// A mark that is not part of another mark.
fn mark(number: u64) -> String {
    format!("mark-{number:06}-")
}

fn request(number: u64) -> Value {
    let mark = mark(number);
    json!({"kind": "work", "payload": mark, "idempotencyKey": mark})
}

#[test]
fn the_log_is_synced_before_the_answer_leaves() {
    if !trace::is_allowed() {
        return;
    }
    let creates = prove::times(100);
    let dir = tempfile::tempdir().unwrap();
    let node = Node::start_traced(dir.path(), None);
    let mut http = node.http().unwrap();
    for number in 0..creates {
        http.post("/api/v1/jobs", &request(number)).unwrap().is(201);
    }
    node.stop();
    let trace = trace::read(dir.path());
    let mut calls = Calls::of(&trace);
    let mut counts = BTreeMap::new();
    for number in 0..creates {
        *counts.entry(calls.answered(&mark(number))).or_insert(0) += 1;
    }
    let count = |answered| counts.get(&answered).copied().unwrap_or(0);
    prove::tell(
        "fsync before the answer",
        &[
            ("acknowledged creates", creates),
            ("synced before the answer", count(Acknowledgement::Synced)),
            (
                "answered before they were synced",
                count(Acknowledgement::Unsynced),
            ),
        ],
    );
    assert_eq!(counts, BTreeMap::from([(Acknowledgement::Synced, creates)]));
}

#[test]
fn while_the_log_cannot_be_synced_nothing_is_acknowledged() {
    through_trouble("EIO on fsync", "fsync,fdatasync:error=EIO", 10);
}

/// The error of a full disk at any write, also where no disk can be mounted to fill it.
#[test]
fn while_the_log_cannot_be_written_nothing_is_acknowledged() {
    through_trouble("ENOSPC on write", "pwrite64:error=ENOSPC", 100);
}

/// Makes the calls after the `first` ones fail for a while, and creates jobs all the time.
fn through_trouble(proof: &str, trouble: &str, first: u64) {
    if !trace::is_allowed() {
        return;
    }
    let rounds = prove::times(1);
    let (mut acknowledged, mut refused, mut failed) = (0, 0, 0);
    let (mut unsynced, mut lost) = (0, 0);
    for round in 0..rounds {
        let dir = tempfile::tempdir().unwrap();
        // A new file is written by the thread that creates it, an old one by the writer only. Each
        // thread counts its own calls, so that these are the writer's.
        Node::start(dir.path()).stop();
        let first = first + round % 20;
        let inject = format!("inject={trouble}:when={first}..{}", first + FAILURES - 1);
        let node = Node::start_traced(dir.path(), Some(&inject));
        let mut ledger = Ledger::default();
        refused += create_all(&mut node.http().unwrap(), &mut ledger);
        node.kill();
        let trace = trace::read(dir.path());
        let mut calls = Calls::of(&trace);
        failed += trace.matches("(INJECTED)").count() as u64;
        let answered = (0..CREATES).map(|number| calls.answered(&mark(number)));
        unsynced += answered.filter(|it| *it != Acknowledgement::Synced).count() as u64;
        let node = Node::start(dir.path());
        ledger.check_all(Listing::of(&node));
        acknowledged += ledger.acknowledged();
        lost += ledger.count(Broken::Lost) + ledger.count(Broken::Doubled);
    }
    prove::tell(
        proof,
        &[
            ("calls that failed", failed),
            ("creates refused with 503", refused),
            ("acknowledged jobs", acknowledged),
            ("acknowledged before they were synced", unsynced),
            ("jobs lost or doubled", lost),
        ],
    );
    assert_eq!((unsynced, lost), (0, 0));
    assert!(failed >= FAILURES * rounds, "too few calls failed");
    assert!(refused >= rounds, "no request was refused");
}

/// In one round of trouble.
const FAILURES: u64 = 20;
const CREATES: u64 = 60;

/// Creates jobs one by one, each as often as it takes; returns how often that was refused.
fn create_all(http: &mut Http, ledger: &mut Ledger) -> u64 {
    let mut refused = 0;
    for number in 0..CREATES {
        loop {
            let answer = http.post("/api/v1/jobs", &request(number)).unwrap();
            if answer.status != 503 {
                assert!(matches!(answer.status, 200 | 201), "{answer:?}");
                ledger.created(&answer.body);
                break;
            }
            assert_eq!(answer.body["code"], "unavailable");
            refused += 1;
        }
    }
    refused
}
