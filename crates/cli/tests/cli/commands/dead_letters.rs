//! Dead letters, and what is counted before they are changed.

use insta::assert_snapshot;
use serde_json::json;

use super::{DEAD_PORT, dead_letter, start};
use crate::{
    node::Node,
    transcript::{Transcript, mask},
};

#[test]
fn attempts_are_counted_by_retry_budget_after_a_requeue() {
    let node = Node::start(&["--listen", "127.0.0.1:0", "--store", "memory:"]);
    let id = dead_letter(&node);
    assert_eq!(node.run(&["dlq", "requeue", &id]).code, 0);
    node.until(&["jobs", "show", &id], |job| {
        job["label"] == "failed" && job["attempt"] == 4
    });
    let shown = node.run(&["jobs", "show", &id]).out;
    let count = "  attempts  2 of 2 (4 in total, requeued once)\n";
    assert!(shown.contains(count), "{shown}");
    assert!(shown.contains("by api, with a new retry"), "{shown}");
    let names: Vec<&str> = shown
        .lines()
        .filter_map(|line| line.strip_prefix("│ ")?.split(" │").next())
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect();
    assert_eq!(
        names,
        [
            "Attempt", "Initial", "Retry #1", "requeued", "Initial", "Retry #1"
        ],
        "{shown}"
    );
    let history = node.json(&["jobs", "history", &id]);
    let attempts = history["attempts"].as_array().unwrap().iter();
    let by: Vec<_> = attempts.map(|it| it["requeuedBy"].as_str()).collect();
    assert_eq!(by, [None, Some("api"), None, None], "{history:#}");
    let listed = mask(&node.run(&["dlq", "list"]).out);
    assert!(
        listed.contains("failed  POST 127.0.0.1:1  default  1/1  "),
        "{listed}"
    );
    let job = node.json(&["jobs", "show", &id]);
    assert_eq!(
        (&job["retryCount"], &job["maxRetries"]),
        (&1.into(), &1.into())
    );
    // A fingerprint alone does not name a failure of one of two tenants.
    let failures = node.run(&["failures", "list"]).out;
    assert!(!failures.contains("TENANT"), "{failures}");
    let other = [
        "jobs", "create", DEAD_PORT, "--tenant", "shop", "--retry", "once",
    ];
    let other = node.json(&other)["id"].as_str().unwrap().to_owned();
    node.until(&["jobs", "show", &other], |job| job["label"] == "failed");
    let failures = node.run(&["failures", "list"]).out;
    for word in ["TENANT", "  shop  ", "  default  "] {
        assert!(failures.contains(word), "{word}: {failures}");
    }
}

#[test]
fn dead_letters_are_counted_before_they_are_changed() {
    let node = start();
    let mut transcript = Transcript::new(&node);
    transcript.run(&["dlq", "list"]);
    transcript.run(&["dlq", "requeue", "--class", "none"]);
    let none = node.json(&["dlq", "requeue", "--class", "none", "--yes"]);
    assert_eq!(none["count"], 0, "{none}");
    let left = node.json(&["operations", "list"]);
    assert_eq!(left["operations"], json!([]), "no operation is left behind");
    let first = dead_letter(&node);
    dead_letter(&node);
    transcript.run(&["dlq", "list", "--reason", "exhausted"]);
    transcript.run(&["dlq", "requeue"]);
    transcript.run(&["dlq", "requeue", "--class", "connection", "--dry-run"]);
    let long_ago = "2001-01-01T00:00:00Z";
    transcript.run(&["dlq", "requeue", "--failed-before", long_ago, "--dry-run"]);
    transcript.run(&["dlq", "requeue", "--failed-from", long_ago, "--dry-run"]);
    transcript.run(&["dlq", "discard", "--all"]);
    transcript.run(&["dlq", "requeue", &first]);
    node.until(&["jobs", "show", &first], |job| job["label"] == "failed");
    let history = node.json(&["jobs", "history", &first]);
    assert_eq!(history["attempts"].as_array().unwrap().len(), 4);
    transcript.run(&["dlq", "discard", "--all", "--yes"]);
    assert_eq!(node.json(&["stats"])["dlqSize"], 0);
    transcript.run(&["dlq", "discard", &first]);
    assert_snapshot!(transcript.finish());
}

#[test]
fn more_dead_letters_than_one_page_are_all_changed() {
    let node = start();
    // Few go to one address, which would be held otherwise.
    let address = |number: u32| format!("http://127.0.{}.{}:1/", number / 100, 1 + number % 100);
    let jobs: Vec<_> = (0..600)
        .map(|number| json!({"api": address(number), "maxRetries": 0}))
        .collect();
    let body = json!({"jobs": jobs}).to_string();
    std::fs::write(node.dir.path().join("jobs.json"), body).unwrap();
    node.json(&["jobs", "create", "--from", "jobs.json"]);
    node.until(&["stats"], |stats| stats["dlqSize"] == 600);
    let done = node.run(&["dlq", "discard", "--all", "--yes"]);
    assert_eq!(done.out, "600 dead letters discarded\n", "{done:?}");
    assert!(done.err.is_empty(), "no bar outside a terminal: {done:?}");
}
