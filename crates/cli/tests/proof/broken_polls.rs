//! Workers that hang up while they wait for a claim.
//!
//! A claim whose answer never left is given back: the job is neither lost nor counted, and one
//! that may start only once is still there for the next worker.

use std::{
    collections::BTreeSet,
    io::{Read as _, Write as _},
    net::{Shutdown, TcpStream},
    thread,
    time::{Duration, Instant},
};

use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use serde_json::{Value, json};
use steadfast_sim::prove;

use crate::node::{Node, until};

/// Polls of a round, each with a job of its own.
const POLLS: u64 = 20;
/// A worker hangs up within this time of its job's creation, before, during or after the claim.
const HANG_UP_WITHIN_MICROS: u64 = 6_000;

#[test]
fn a_worker_that_hangs_up_in_the_middle_of_a_claim_loses_no_job() {
    let (seed, rounds) = (prove::seed(), prove::times(1));
    eprintln!("broken polls: the moments are of seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let dir = tempfile::tempdir().unwrap();
    let node = Node::start(dir.path());
    let (mut unanswered, mut answered) = (0, 0);
    for round in 0..rounds {
        let queue = format!("polled-{round}");
        let mut open = BTreeSet::new();
        for _ in 0..POLLS {
            let mut poll = begin_poll(&node, &queue);
            let created = Instant::now();
            let job = json!({"kind": "once", "queue": queue, "type": "AT_MOST_ONCE"});
            let job = node.create(&job)["id"].as_str().unwrap().to_owned();
            let micros = random.random_range(0..HANG_UP_WITHIN_MICROS);
            while created.elapsed() < Duration::from_micros(micros) {
                thread::yield_now();
            }
            // What the server sent before it noticed is still read, so that it is known which of
            // the two it was.
            poll.shutdown(Shutdown::Write).unwrap();
            let mut received = Vec::new();
            let _ended = poll.read_to_end(&mut received);
            if !received.is_empty() {
                answered += 1;
            } else {
                unanswered += 1;
                open.insert(job);
            }
        }
        until("every unanswered claim to come back", || {
            claim_all(&node, &queue, &mut open);
            open.is_empty().then_some(())
        });
    }
    let lost = node.get("/api/v1/dlq?limit=500");
    let unknown = lost["jobs"].as_array().unwrap().iter();
    let unknown = unknown.filter(|job| job["reason"] == "outcome_unknown");
    let unknown = u64::try_from(unknown.count()).unwrap();
    prove::tell(
        "broken polls",
        &[
            ("polls cut before an answer", unanswered),
            ("polls cut after it", answered),
            ("jobs that no worker had and that ended", unknown),
        ],
    );
    assert!(unanswered > 0, "every poll was answered in time");
}

/// A poll of which nothing has been answered yet.
fn begin_poll(node: &Node, queue: &str) -> TcpStream {
    let body = json!({"worker": "gone", "queues": [queue], "wait": "20s", "lease": "60s"});
    let body = body.to_string();
    let mut stream = TcpStream::connect(node.address()).unwrap();
    stream.set_nodelay(true).unwrap();
    let head = format!(
        "POST /api/v1/claims HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        node.address(),
        body.len()
    );
    stream
        .write_all(format!("{head}{body}").as_bytes())
        .unwrap();
    stream
}

/// An honest worker runs whatever there is; its first attempt is the job's first.
fn claim_all(node: &Node, queue: &str, open: &mut BTreeSet<String>) {
    let ask = json!({"worker": "honest", "queues": [queue], "max": 100});
    let claims = node.post("/api/v1/claims", &ask).is(200);
    for claim in claims["claims"].as_array().unwrap() {
        assert_eq!(claim["job"]["attempt"], 1, "{claim}");
        let id = claim["id"].as_str().unwrap();
        let fence: &Value = &claim["fence"];
        let path = format!("/api/v1/claims/{id}/succeed");
        node.post(&path, &json!({"fence": fence})).is(200);
        open.remove(id);
    }
}
