//! The logs of attempts, followed while they run.

use std::io::{BufRead as _, BufReader};

use serde_json::{Value, json};

use super::start;
use crate::node::{Node, output_of};

/// What a worker sends.
fn post(node: &Node, path: &str, body: &Value) -> Value {
    let mut curl = std::process::Command::new("curl");
    let url = format!("{}/api/v1/{path}", node.url);
    curl.args(["--silent", "--show-error", "--fail-with-body", &url]);
    curl.args(["--header", "content-type: application/json"]);
    curl.args(["--data", &body.to_string()]);
    let answer = output_of(curl);
    assert_eq!(answer.code, 0, "{path}: {answer:?}");
    serde_json::from_str(&answer.out).unwrap()
}

fn create(node: &Node) -> String {
    let retry = r#"{"maxRetries": 2, "baseDelay": "1ms", "jitter": "none"}"#;
    let created = node.json(&["jobs", "create", "--kind", "import", "--retry", retry]);
    created["id"].as_str().unwrap().to_owned()
}

fn claim(node: &Node) -> Value {
    let asked = json!({"worker": "w1", "kinds": ["import"], "wait": "20s"});
    post(node, "claims", &asked)["claims"][0].clone()
}

/// Reports on a claim, with a line of its log.
fn report(node: &Node, claim: &Value, verb: &str, line: &str, mut body: Value) {
    body["fence"] = claim["fence"].clone();
    let line = json!({"at": "2026-11-18T09:00:00Z", "level": "info", "text": line});
    body["log"] = json!({"from": 0, "lines": [line]});
    let id = claim["id"].as_str().unwrap();
    post(node, &format!("claims/{id}/{verb}"), &body);
}

#[test]
fn a_followed_job_prints_each_line_of_all_its_attempts_once() {
    let node = start();
    let id = create(&node);
    let mut command = node.command(&["jobs", "logs", &id, "--follow", "--json"]);
    let following = command.spawn().unwrap();
    // Several attempts begin and end between two looks.
    for line in ["one", "two"] {
        let failure = json!({"failure": {"class": "oops"}});
        report(&node, &claim(&node), "fail", line, failure);
    }
    report(&node, &claim(&node), "succeed", "three", json!({}));
    let output = following.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let out = String::from_utf8(output.stdout).unwrap();
    let lines = out.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["text"].as_str().unwrap().to_owned()
    });
    // It begins with the attempt that is the newest when it is started.
    let lines: Vec<String> = lines.collect();
    assert!(
        ["one", "two", "three"].ends_with(&lines.iter().map(String::as_str).collect::<Vec<_>>()),
        "{lines:?}"
    );
    assert_eq!(lines.last().map(String::as_str), Some("three"));
}

#[test]
fn a_followed_attempt_whose_server_stops_is_an_error() {
    let node = start();
    let id = create(&node);
    report(&node, &claim(&node), "heartbeat", "begins", json!({}));
    let args = ["jobs", "logs", &id, "--follow", "--attempt", "1"];
    let mut following = node.command(&args).spawn().unwrap();
    let lines = BufReader::new(following.stdout.take().unwrap()).lines();
    let first = lines.map_while(Result::ok).next().unwrap();
    assert!(first.ends_with("begins"), "{first}");
    assert!(node.stop());
    assert_eq!(following.wait().unwrap().code(), Some(3));
}
