//! A node that stands still for longer than its leases hold, and comes back.
//!
//! It knows nothing of the pause. What it was doing has been given to another node, and what it
//! then says of it must be refused.

use std::sync::{Arc, Condvar, Mutex};

use serde_json::{Value, json};
use steadfast_sim::prove;

use crate::{
    node::{Node, until},
    postgres,
    target::Target,
};

const JOBS: usize = 20;
/// One in four may start once only.
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
        let ids = make(&slow, &target);
        until("all first attempts", || {
            (target.asked().len() == JOBS).then_some(())
        });
        slow.freeze();
        let other = Node::start_on(&store, dir.path());
        until("the other node to take over", || {
            ended(&other).then_some(())
        });
        // The answers reach a process that stands still, and wait for it.
        gate.open();
        slow.thaw();
        refused += until("all late results to be refused", || {
            let count = fences_lost(&slow);
            (count >= JOBS as u64).then_some(count)
        });
        for (number, id) in ids.iter().enumerate() {
            settled_twice += u64::from(!is_settled_once(&slow, id, number < ONCE));
        }
        taken_over += (JOBS - ONCE) as u64;
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

fn make(node: &Node, target: &Target) -> Vec<String> {
    let job = |number| {
        let guarantee = match number < ONCE {
            true => "AT_MOST_ONCE",
            false => "AT_LEAST_ONCE",
        };
        json!({"api": target.url, "type": guarantee, "lease": "1s", "maxRetries": 3,
               "retry": {"backoff": "fixed", "baseDelay": "10ms", "jitter": "none"}})
    };
    let made = node.create(&json!({"jobs": (0..JOBS).map(job).collect::<Vec<Value>>()}));
    let jobs = made["jobs"].as_array().unwrap().iter();
    jobs.map(|job| job["id"].as_str().unwrap().to_owned())
        .collect()
}

/// Whether every job has ended as its guarantee says.
fn ended(node: &Node) -> bool {
    let stats = node.get("/api/v1/stats");
    stats["succeeded"] == JOBS - ONCE && stats["failed"] == ONCE
}

/// What a job may be once only is unknown; everything else was lost once and then done.
fn is_settled_once(node: &Node, id: &str, is_once: bool) -> bool {
    let attempts = node.attempts(id);
    let statuses: Vec<&str> = attempts
        .iter()
        .map(|attempt| attempt["status"].as_str().unwrap())
        .collect();
    match is_once {
        true => statuses == ["LOST"],
        false => statuses == ["SUCCESS", "LOST"],
    }
}

fn fences_lost(node: &Node) -> u64 {
    let metrics = node.http().unwrap().text("/metrics").unwrap();
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix("steadfast_fence_lost_total "));
    line.unwrap().parse().unwrap()
}

/// Holds answers back until it is opened.
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
