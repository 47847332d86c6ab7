//! Messages of QStash's clients on nodes that are killed: every ended attempt of a message makes one
//! callback, and its failure one failure callback, whatever was running when its node died.

use std::{path::Path, thread, time::Duration};

use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use serde_json::{Value, json};
use steadfast_sim::prove;

use crate::{
    http::Http,
    node::{FILE, Node, serve, until_within},
    postgres,
    process::steadfast,
    target::Target,
};

/// In each cycle; requests that the kill cuts off are repeated at the end.
const MESSAGES: u64 = 8;
/// A killed node's leases last half a minute, and a callback can be cut off as well as its message.
const DEADLINE: Duration = Duration::from_secs(240);

fn start(store: &str, dir: &Path) -> Node {
    let args = [&serve(store)[..], &["--qstash"]].concat();
    Node::run(steadfast(&args, dir))
}

/// Each second message fails for good after two attempts.
fn fails(number: u64) -> bool {
    number.is_multiple_of(2)
}

fn label(number: u64) -> String {
    format!("message-{number}")
}

/// A message whose repetition is recognised.
fn message(failing: &str, target: &str, number: u64) -> Value {
    let (url, retries) = match fails(number) {
        true => (failing, "1"),
        // An attempt that a kill lets go is a retry, too.
        false => (target, "100"),
    };
    json!({
        "destination": url,
        "body": "hello",
        "headers": {
            "Upstash-Retries": retries,
            "Upstash-Retry-Delay": "100",
            "Upstash-Label": label(number),
            "Upstash-Deduplication-Id": label(number),
            "Upstash-Callback": target,
            "Upstash-Callback-Retries": "100",
            "Upstash-Callback-Retry-Delay": "100",
            "Upstash-Failure-Callback": target,
            "Upstash-Failure-Callback-Retries": "100",
            "Upstash-Failure-Callback-Retry-Delay": "100",
        }
    })
}

#[test]
fn callbacks_of_messages_are_made_once_while_a_node_is_killed() {
    proof("QStash on SQLite", &[FILE.to_owned()]);
}

#[test]
fn callbacks_of_messages_are_made_once_while_one_of_two_nodes_is_killed() {
    let store = postgres::fresh_store();
    proof("QStash on PostgreSQL", &[store.clone(), store]);
}

/// The first of the nodes is killed in each cycle; the others stay.
fn proof(name: &str, stores: &[String]) {
    let (seed, cycles) = (prove::seed(), prove::times(3));
    eprintln!("{name}: the moments are of seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let dir = tempfile::tempdir().unwrap();
    let failing = Target::start(|_| Some(500));
    let target = Target::start(|_| Some(200));
    let [killed, staying @ ..] = stores else {
        panic!("no store");
    };
    let staying: Vec<Node> = staying.iter().map(|it| start(it, dir.path())).collect();
    for cycle in 0..cycles {
        let node = start(killed, dir.path());
        no_holds(&node);
        let moment = Duration::from_millis(random.random_range(1..400));
        let address = node.address().to_owned();
        thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..MESSAGES {
                    let number = cycle * MESSAGES + number;
                    let message = message(&failing.url, &target.url, number);
                    let http = Http::connect(&address);
                    // The node may be gone.
                    let _answer =
                        http.and_then(|mut it| it.post("/qstash/v2/batch", &json!([message])));
                }
            });
            // sleep: this is the moment at which the node is killed
            thread::park_timeout(moment);
            node.kill();
        });
    }
    let node = start(killed, dir.path());
    let mut callbacks = 0;
    for number in 0..cycles * MESSAGES {
        let message = message(&failing.url, &target.url, number);
        let published = node.post("/qstash/v2/batch", &json!([message])).is(200);
        let id = published[0]["messageId"].as_str().unwrap();
        callbacks += check_end(&node, id, number);
    }
    let messages = cycles * MESSAGES;
    let figures = [
        ("kills", cycles),
        ("messages", messages),
        ("callbacks", callbacks),
    ];
    prove::tell(name, &figures);
    drop(staying);
}

/// So that the target that fails on purpose is not held, which would only take time.
fn no_holds(node: &Node) {
    let path = "/api/v1/gates/tenant/default";
    let answer = node.http().unwrap().put(path, &json!({"hold": "off"}));
    let status = answer.unwrap().status;
    assert!(matches!(status, 200 | 201), "{status}");
}

/// Waits for the end of a message and of its callbacks, and answers with how many there are.
fn check_end(node: &Node, id: &str, number: u64) -> u64 {
    until_within(DEADLINE, "the end of a message", || {
        let job = node.get(&format!("/api/v1/jobs/{id}"));
        let expected = if fails(number) { "failed" } else { "succeeded" };
        let is_over = job["finishedAt"].is_string();
        assert!(!is_over || job["label"] == expected, "{job}");
        is_over.then_some(())
    });
    let attempts = node.attempts(id).len() as u64;
    let expected = attempts + u64::from(fails(number));
    let listed = until_within(DEADLINE, "the callbacks of a message", || {
        let tag = format!("qstash%20label%20{}", label(number));
        let listed = node.get(&format!("/api/v1/jobs?tag={tag}:"));
        let jobs = listed["jobs"].as_array().unwrap().clone();
        let over = jobs.iter().filter(|it| it["finishedAt"].is_string());
        (over.count() as u64 > expected).then_some(jobs)
    });
    let callbacks: Vec<_> = listed.iter().filter(|it| it["id"] != id).collect();
    assert_eq!(callbacks.len() as u64, expected, "{listed:?}");
    for callback in &callbacks {
        assert_eq!(callback["label"], "succeeded", "{callback}");
    }
    expected
}
