//! Events in and out, with the official SDK on the other side.

use std::{
    io::{BufRead as _, BufReader},
    process::Stdio,
};

use serde_json::Value;

use super::{run_script, script};
use crate::node::Node;

#[test]
fn events_of_the_official_sdk_become_jobs() {
    let node = Node::start(&["--listen", "127.0.0.1:0"]);
    let url = format!("{}/api/v1/cloudevents", node.url);
    let output = run_script("cloud_events.mjs", &["send", &url]);
    let answers: Value = serde_json::from_str(&output.out).unwrap();
    for (mode, status) in [
        ("binary", 201),
        ("structured", 201),
        ("repeated", 200),
        ("text", 201),
        ("batch", 201),
        ("reserved", 422),
    ] {
        assert_eq!(answers[mode]["status"], status, "{mode}: {answers:#}");
    }
    let job = |mode: &str| &answers[mode]["body"];
    assert_eq!(job("repeated")["id"], job("binary")["id"]);
    assert_eq!(job("reserved")["field"], "type");
    assert_eq!(job("structured")["priority"], 7);
    assert_eq!(job("text")["payload"], "hello");
    let binary = job("binary");
    assert_eq!(binary["kind"], "order-created");
    assert_eq!(binary["queue"], "orders");
    assert_eq!(binary["payload"]["total"], 99.5);
    let tags = &binary["tags"];
    assert_eq!(tags["id"], "binary");
    assert_eq!(tags["source"], "https://shop.example.com/orders");
    assert_eq!(tags["subject"], "order/ä 17");
    assert_eq!(tags["time"], "2026-05-01T12:00:00.000Z");
    assert_eq!(tags["region"], "eu");
    let batch = job("batch")["jobs"].as_array().unwrap();
    assert_eq!(batch.len(), 3);
    assert_eq!(batch[2]["id"], binary["id"]);
}

#[test]
fn the_official_sdk_accepts_a_webhook_as_an_event() {
    let node = Node::start(&["--listen", "127.0.0.1:0", "--outbound-allow", "127.0.0.0/8"]);
    let mut receiver = script("cloud_events.mjs", &["receive"]);
    let mut receiver = receiver.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(receiver.stdout.take().unwrap()).lines();
    let url = lines.next().unwrap().unwrap();
    let endpoint = [
        "endpoints",
        "create",
        &url,
        "--format",
        "cloudevents",
        "--events",
        "job.cancelled",
    ];
    node.json(&endpoint);
    let job = node.json(&["jobs", "create", "--kind", "resize"]);
    let id = job["id"].as_str().unwrap();
    node.json(&["jobs", "cancel", id]);
    let event: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert!(receiver.wait().unwrap().success());
    assert_eq!(event["type"], "job.cancelled");
    assert_eq!(event["source"], "/steadfast/default");
    assert_eq!(event["subject"], id);
    assert_eq!(event["data"]["id"], id);
}
