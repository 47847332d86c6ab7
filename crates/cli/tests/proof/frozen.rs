//! A node that stands still for longer than its leases hold, and comes back.
//!
//! It does not notice the pause. Its jobs have been given to another node, and its own results
//! must be refused.

use std::{
    collections::BTreeMap,
    sync::{Arc, Condvar, Mutex},
};

use serde_json::{Value, json};
use steadfast_sim::prove;

use crate::{
    node::{Node, until},
    postgres,
    target::Target,
};

/// A node calls as many at once at a destination that has not answered yet.
const JOBS: usize = 16;
/// One in four may start only once.
const ONCE: usize = JOBS / 4;

#[test]
fn a_node_that_stood_still_settles_nothing_that_was_given_to_another() {
    let rounds = prove::times(1);
    let (mut taken_over, mut refused, mut settled_twice) = (0, 0, 0);
    for _ in 0..rounds {
        let gate = Gate::default();
        let held = gate.clone();
        let target = Target::start(move |attempt| {
            if attempt == 1 {
                held.wait();
            }
            Some(200)
        });
        let (store, dir) = (postgres::fresh_store(), tempfile::tempdir().unwrap());
        let slow = Node::start_on(&store, dir.path());
        let claim = claim_one(&slow);
        let ids = create_jobs(&slow, &target);
        until("all first attempts", || {
            (target.requests().len() == JOBS).then_some(())
        });
        slow.freeze();
        let other = Node::start_on(&store, dir.path());
        until("the other node to take over", || {
            settle_again(&other);
            ended(&other).then_some(())
        });
        // The responses reach a frozen process, and wait for it.
        let seen = last_seen(&other);
        gate.open();
        slow.thaw();
        // A worker that was frozen as well calls its old node.
        let path = format!("/api/v1/claims/{}/succeed", claim["id"].as_str().unwrap());
        let stale = slow.post(&path, &json!({"fence": claim["fence"]})).is(409);
        assert_eq!(stale["code"], "stale_fence");
        until("all late attempts to be let go", || {
            is_idle(&other, &seen).then_some(())
        });
        refused += 1 + fences_lost(&slow);
        for (number, id) in ids.iter().enumerate() {
            settled_twice += u64::from(!is_settled_once(&slow, id, number < ONCE));
        }
        taken_over += (1 + JOBS - ONCE) as u64;
        assert_eq!(target.check_none_twice(), (JOBS + JOBS - ONCE) as u64);
        assert!(ended(&other), "something ran again");
        other.stop();
        slow.stop();
    }
    prove::tell(
        "frozen node",
        &[
            ("freezes", rounds),
            ("jobs taken over", taken_over),
            ("late results refused", refused),
            ("settled twice or lost", settled_twice),
        ],
    );
    assert_eq!(settled_twice, 0);
}

fn create_jobs(node: &Node, target: &Target) -> Vec<String> {
    let job = |number| {
        let guarantee = match number < ONCE {
            true => "AT_MOST_ONCE",
            false => "AT_LEAST_ONCE",
        };
        json!({"api": target.url, "type": guarantee, "lease": "1s", "maxRetries": 3,
               "retry": {"backoff": "fixed", "baseDelay": "10ms", "jitter": "none"}})
    };
    let created = node.create(&json!({"jobs": (0..JOBS).map(job).collect::<Vec<Value>>()}));
    let jobs = created["jobs"].as_array().unwrap().iter();
    jobs.map(|job| job["id"].as_str().unwrap().to_owned())
        .collect()
}

/// Whether every job has ended as its guarantee says.
fn ended(node: &Node) -> bool {
    let stats = node.get("/api/v1/stats");
    stats["succeeded"] == 1 + JOBS - ONCE && stats["failed"] == ONCE
}

/// A worker's job, claimed through the node that will be frozen.
fn claim_one(node: &Node) -> Value {
    let retry = json!({"backoff": "fixed", "baseDelay": "10ms", "jitter": "none"});
    node.create(&json!({"kind": "work", "lease": "1s", "retry": retry}));
    let claims = node.post("/api/v1/claims", &json!({"worker": "first"}));
    claims.is(200)["claims"][0].clone()
}

/// Another worker runs it as soon as it can be claimed again.
fn settle_again(node: &Node) {
    let claims = node
        .post("/api/v1/claims", &json!({"worker": "second"}))
        .is(200);
    for claim in claims["claims"].as_array().unwrap() {
        let path = format!("/api/v1/claims/{}/succeed", claim["id"].as_str().unwrap());
        node.post(&path, &json!({"fence": claim["fence"]})).is(200);
    }
}

/// When each node was last seen, by its name.
fn last_seen(node: &Node) -> BTreeMap<String, String> {
    let nodes = node.get("/api/v1/nodes");
    let text = |node: &Value, field: &str| node[field].as_str().unwrap().to_owned();
    let nodes = nodes["nodes"].as_array().unwrap().iter();
    nodes
        .map(|node| (text(node, "name"), text(node, "lastSeen")))
        .collect()
}

/// Whether every node has been seen since, without a running attempt.
fn is_idle(node: &Node, seen: &BTreeMap<String, String>) -> bool {
    let now = last_seen(node);
    let nodes = node.get("/api/v1/nodes");
    let mut nodes = nodes["nodes"].as_array().unwrap().iter();
    nodes.all(|node| node["inFlight"] == 0) && seen.iter().all(|(name, was)| now[name] != *was)
}

/// An AT_MOST_ONCE job ended as unknown; every other attempt was lost once and then repeated.
fn is_settled_once(node: &Node, id: &str, is_once: bool) -> bool {
    let attempts = node.attempts(id);
    let statuses: Vec<&str> = attempts
        .iter()
        .map(|attempt| attempt["status"].as_str().unwrap())
        .collect();
    let expected: &[&str] = match is_once {
        true => &["LOST"],
        false => &["SUCCESS", "LOST"],
    };
    if statuses != expected {
        eprintln!("frozen node: {id} has {statuses:?} and not {expected:?}");
    }
    statuses == expected
}

fn fences_lost(node: &Node) -> u64 {
    let metrics = node.http().unwrap().text("/metrics").unwrap();
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix("steadfast_fence_lost_total "));
    line.unwrap().parse().unwrap()
}

/// Holds responses back until it is opened.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    fn wait(&self) {
        let (is_open, opened) = &*self.0;
        let guard = is_open.lock().unwrap();
        drop(opened.wait_while(guard, |is_open| !*is_open).unwrap());
    }

    fn open(&self) {
        let (is_open, opened) = &*self.0;
        *is_open.lock().unwrap() = true;
        opened.notify_all();
    }
}
