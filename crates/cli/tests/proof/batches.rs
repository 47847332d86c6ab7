//! Batches on a node that is killed again and again: each counts every end of its jobs, and makes
//! each of its callbacks once.

use std::{thread, time::Duration};

use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use serde_json::{Value, json};
use steadfast_sim::prove;

use crate::{
    http::Http,
    node::{Node, until},
    target::Target,
};

/// In each cycle; requests that the kill cuts off are repeated at the end.
const BATCHES: u64 = 6;
const JOBS: usize = 8;

/// Each third batch has a job that fails for good. A lease is short, so that the next node soon takes
/// over the jobs of the killed one.
fn batch(url: &str, number: u64) -> Value {
    let job = |url: &str| json!({"api": url, "retry": "once", "lease": "1s"});
    // An attempt that a kill or a slow machine lets go is a retry, too.
    let policy =
        json!({"preset": "http", "baseDelay": "100ms", "maxDelay": "1s", "maxRetries": 100});
    let retried = json!({"api": url, "retry": policy, "lease": "1s"});
    let mut jobs = vec![retried; JOBS];
    if number.is_multiple_of(3) {
        jobs[0] = job("http://127.0.0.1:1/");
    }
    json!({
        "jobs": jobs, "idempotencyKey": format!("batch {number}"),
        "onEnd": {"kind": "ended"}, "onSuccess": {"kind": "succeeded"}
    })
}

#[test]
fn batches_count_every_end_and_call_back_once_while_nodes_are_killed() {
    let (seed, cycles) = (prove::seed(), prove::times(6));
    eprintln!("batches: the moments are of seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let dir = tempfile::tempdir().unwrap();
    let target = Target::start(|attempt| Some(if attempt == 1 { 500 } else { 200 }));
    let url = target.url.as_str();
    for cycle in 0..cycles {
        let node = Node::start(dir.path());
        let moment = Duration::from_millis(random.random_range(1..600));
        let address = node.address().to_owned();
        thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..BATCHES {
                    let body = batch(url, cycle * BATCHES + number);
                    let http = Http::connect(&address);
                    // The node may be gone.
                    let _answer = http.and_then(|mut http| http.post("/api/v1/batches", &body));
                }
            });
            // sleep: this is the moment at which the node is killed
            thread::park_timeout(moment);
            node.kill();
        });
    }
    let node = Node::start(dir.path());
    let mut callbacks = 0;
    for number in 0..cycles * BATCHES {
        let created = node.post("/api/v1/batches", &batch(url, number));
        assert!([200, 201].contains(&created.status), "{created:?}");
        callbacks += check_end(&node, created.body["id"].as_str().unwrap(), number);
    }
    let batches = cycles * BATCHES;
    prove::tell(
        "batches",
        &[
            ("kills", cycles),
            ("batches", batches),
            ("callbacks", callbacks),
        ],
    );
    let jobs = node.get("/api/v1/stats");
    assert_eq!(jobs["ready"], callbacks, "no callback was made twice");
}

/// Waits for the end of a batch, and answers with how many jobs it has made.
fn check_end(node: &Node, id: &str, number: u64) -> u64 {
    let path = format!("/api/v1/batches/{id}");
    let ended = until("the end of a batch", || {
        let batch = node.get(&path);
        batch["finishedAt"].is_string().then_some(batch)
    });
    let fails = u64::from(number.is_multiple_of(3));
    assert_eq!(ended["total"], JOBS, "{ended}");
    assert_eq!(ended["failed"], fails, "{ended}");
    assert_eq!(ended["succeeded"], JOBS as u64 - fails, "{ended}");
    for state in ["succeeded", "failed"] {
        let listed = node.get(&format!("{path}/jobs?state={state}"));
        assert_eq!(
            listed["jobs"].as_array().unwrap().len() as u64,
            ended[state]
        );
    }
    let made = node.get(&format!("/api/v1/jobs?tag=batch:{id}"));
    let mut kinds: Vec<&str> = made["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| job["kind"].as_str().unwrap())
        .collect();
    kinds.sort_unstable();
    match fails {
        0 => assert_eq!(kinds, ["ended", "succeeded"], "{ended}"),
        _ => assert_eq!(kinds, ["ended"], "{ended}"),
    }
    kinds.len() as u64
}
