//! Work on many jobs while the nodes that carry it on are killed.

use std::{collections::BTreeMap, thread, time::Duration};

use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use serde_json::{Value, json};
use steadfast_sim::prove;

use crate::{
    node::{Node, until},
    postgres,
    target::Target,
};

/// Jobs per second: what fits between two kills.
const PACE: u64 = 500;

// long: one story, told in the order in which it happens
#[test]
fn an_operation_outlives_its_nodes_and_comes_to_each_job_once() {
    let (seed, kills) = (prove::seed(), prove::times(4));
    let count = PACE * kills;
    eprintln!("operations: the moments are of seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let dir = tempfile::tempdir().unwrap();
    let store = postgres::fresh_store();
    let start = || Node::start_on(&store, dir.path());
    let mut nodes = [start(), start()];
    // What is tried again fails again, and is a dead letter again: an operation that came back to it
    // would take it a second time.
    let target = Target::start(|_| Some(400));
    let job = json!({"api": target.url, "retry": {"maxRetries": 0}, "lease": "1s"});
    for _ in 0..count / 500 {
        nodes[0].create(&json!({"jobs": vec![job.clone(); 500]}));
    }
    until("all jobs to fail", || {
        let stats = nodes[0].get("/api/v1/stats");
        (stats["failed"] == count).then_some(())
    });
    let request = json!({"kind": "requeue", "all": true, "pace": PACE});
    let created = nodes[0].post("/api/v1/operations", &request).is(201);
    let path = format!("/api/v1/operations/{}", created["id"].as_str().unwrap());

    let mut worked = Vec::new();
    for kill in 0..kills {
        let moment = Duration::from_millis(random.random_range(200..700));
        // sleep: this is the moment at which a node is killed
        thread::park_timeout(moment);
        let next = start();
        let turn = usize::from(kill % 2 == 1);
        std::mem::replace(&mut nodes[turn], next).kill();
        worked.push(nodes[0].get(&path)["worked"].as_u64().unwrap());
    }
    let operation = until("the operation to end", || {
        let operation = nodes[1].get(&path);
        (operation["status"] != "running").then_some(operation)
    });
    // Thousands are apart: there are no other digits than those of whole thousands.
    let shown = format!("{},000", count / 1_000);
    let report = format!("requeue of {shown} jobs is done: {shown} changed");
    let said = operation["report"].as_str().unwrap();
    assert!(said.starts_with(&report), "{operation}");
    assert_eq!(operation["worked"], count, "{operation}");

    until("all jobs to fail again", || {
        let stats = nodes[0].get("/api/v1/stats");
        (stats["failed"] == count).then_some(())
    });
    let jobs = all(&nodes[0], "/api/v1/jobs?limit=500");
    assert_eq!(jobs.len() as u64, count);
    let twice: Vec<&Value> = jobs.iter().filter(|job| job["attempt"] != 2).collect();
    assert!(twice.is_empty(), "not tried once more: {twice:?}");
    let results = all(&nodes[0], &format!("{path}/jobs?limit=500"));
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for row in &results {
        *counts.entry(row["result"].as_str().unwrap()).or_default() += 1;
    }
    assert_eq!(counts, BTreeMap::from([("changed", count)]));
    let audit = nodes[0].get("/api/v1/audit?action=operation.");
    assert_eq!(audit["records"].as_array().map(Vec::len), Some(1));
    let under_way = worked.iter().filter(|worked| **worked < count);
    prove::tell(
        "operations",
        &[
            ("nodes killed", kills),
            ("of them before the end", under_way.count() as u64),
            ("jobs worked on", results.len() as u64),
            ("jobs tried more or less than once", twice.len() as u64),
        ],
    );
}

/// What all pages of a list hold.
fn all(node: &Node, path: &str) -> Vec<Value> {
    let mut items = Vec::new();
    let mut after = String::new();
    loop {
        let page = node.get(&format!("{path}{after}"));
        items.extend(page["jobs"].as_array().unwrap().clone());
        match page["nextCursor"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return items,
        }
    }
}
