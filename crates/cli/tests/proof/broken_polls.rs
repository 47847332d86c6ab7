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
    let (mut unanswered, mut answered, mut run) = (0, 0, 0);
    for round in 0..rounds {
        let queue = format!("polled-{round}");
        let mut open = BTreeSet::new();
        for _ in 0..POLLS {
            let ask = json!({"worker": "gone", "queues": [queue], "wait": "20s", "lease": "60s"});
            let poll = begin(&node, "/api/v1/claims", &ask);
            let job = json!({"kind": "once", "queue": queue, "type": "AT_MOST_ONCE"});
            let create = begin(&node, "/api/v1/jobs", &job);
            let asked = Instant::now();
            let micros = random.random_range(0..HANG_UP_WITHIN_MICROS);
            while asked.elapsed() < Duration::from_micros(micros) {
                thread::yield_now();
            }
            // What the server sent before it noticed is still read, so that it is known which of
            // the two it was.
            poll.shutdown(Shutdown::Write).unwrap();
            let received = read(poll);
            open.insert(body(&read(create))["id"].as_str().unwrap().to_owned());
            if received.is_empty() {
                unanswered += 1;
                continue;
            }
            answered += 1;
            // Perhaps it was given what an earlier poll had not taken.
            for id in claimed(&received) {
                open.remove(&id);
            }
        }
        until("every unanswered claim to come back", || {
            run += claim_all(&node, &queue, &mut open);
            open.is_empty().then_some(())
        });
    }
    prove::tell(
        "broken polls",
        &[
            ("polls cut before an answer", unanswered),
            ("polls cut after it", answered),
            ("jobs run by the next worker", run),
        ],
    );
    assert!(unanswered > 0, "every poll was answered in time");
}

/// A request of which nothing has been answered yet.
fn begin(node: &Node, path: &str, body: &Value) -> TcpStream {
    let body = body.to_string();
    let mut stream = TcpStream::connect(node.address()).unwrap();
    stream.set_nodelay(true).unwrap();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        node.address(),
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// All that comes until the server closes the connection.
fn read(mut stream: TcpStream) -> Vec<u8> {
    let mut received = Vec::new();
    let _ended = stream.read_to_end(&mut received);
    received
}

fn body(response: &[u8]) -> Value {
    let text = String::from_utf8_lossy(response);
    let (_, body) = text.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}

/// The ids in a response to a claim.
fn claimed(response: &[u8]) -> Vec<String> {
    let response = body(response);
    let claims = response["claims"].as_array().unwrap().iter();
    claims
        .map(|claim| claim["id"].as_str().unwrap().to_owned())
        .collect()
}

/// An honest worker runs whatever there is; its first attempt is the job's first.
fn claim_all(node: &Node, queue: &str, open: &mut BTreeSet<String>) -> u64 {
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
    claims["claims"].as_array().unwrap().len() as u64
}
