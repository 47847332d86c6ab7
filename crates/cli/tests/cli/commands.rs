//! The commands, against a real server.

mod dead_letters;
mod flow;
mod jobs;
mod logs;
mod schedules;

use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::Value;

use crate::{
    node::{Node, dir, output_of, read_to_end, run},
    transcript::Transcript,
};

pub fn start() -> Node {
    Node::start(&["--listen", "127.0.0.1:0"])
}

/// A port on which no server listens refuses at once.
pub const DEAD_PORT: &str = "http://127.0.0.1:1/";
const ONE_RETRY: &str = r#"{"maxRetries": 1, "baseDelay": "10ms", "jitter": "none"}"#;

/// A job that has failed for good.
pub fn dead_letter(node: &Node) -> String {
    let created = node.json(&["jobs", "create", DEAD_PORT, "--retry", ONE_RETRY]);
    let id = created["id"].as_str().unwrap().to_owned();
    node.until(&["jobs", "show", &id], |job| job["label"] == "failed");
    id
}

#[test]
fn a_usage_line_demands_no_flag_whose_variable_is_set() {
    let node = start();
    let mut command = node.command(&["jobs", "show"]);
    command.env("STEADFAST_API_KEY", "sf_1");
    command.env("STEADFAST_CA_FILE", "ca.pem");
    let output = output_of(command);
    assert_eq!(output.code, 2);
    assert!(
        output.err.contains("Usage: steadfast jobs show <"),
        "{output:?}"
    );
    for flag in ["--url", "--api-key", "--ca-file"] {
        assert!(!output.err.contains(flag), "{flag}: {output:?}");
    }
}

#[test]
fn stats_for_programs_have_the_lanes_of_all_pages() {
    let dir = dir();
    assert_eq!(run(&["migrate", "--store", "sqlite:jobs.db"], &dir).code, 0);
    let conn = rusqlite::Connection::open(dir.path().join("jobs.db")).unwrap();
    let lanes = "INSERT INTO steadfast_lane (tenant, queue, kind, succeeded)
        WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 1200)
        SELECT 'default', 'queue' || n, 'k', 1 FROM number";
    conn.execute_batch(lanes).unwrap();
    drop(conn);
    let node = Node::start_in(
        dir,
        &["--listen", "127.0.0.1:0", "--store", "sqlite:jobs.db"],
    );
    let stats = node.json(&["stats"]);
    assert_eq!(stats["lanes"].as_array().unwrap().len(), 1_200);
    assert_eq!(
        (&stats["succeeded"], &stats["nextCursor"]),
        (&1_200.into(), &Value::Null)
    );
}

#[test]
fn queues_endpoints_alerts_and_stats_are_printed() {
    let node = start();
    let mut transcript = Transcript::new(&node);
    transcript.run(&["queues", "list"]);
    transcript.run(&["queues", "pause", "mail"]);
    transcript.run(&["queues", "list"]);
    let job = node.json(&["jobs", "create", DEAD_PORT, "--queue", "mail"]);
    transcript.run(&["queues", "list"]);
    transcript.run(&["queues", "why", "mail"]);
    transcript.run(&["jobs", "why", job["id"].as_str().unwrap()]);
    transcript.run(&["queues", "why", "other"]);
    transcript.run(&["stats"]);
    transcript.run(&["queues", "resume", "mail"]);

    transcript.run(&["endpoints", "create", "https://example.com/hook"]);
    let listed = node.json(&["endpoints", "list"]);
    let id = listed["endpoints"][0]["id"].as_str().unwrap();
    transcript.run(&["endpoints", "rotate", id]);
    transcript.run(&["endpoints", "list"]);
    transcript.run(&["endpoints", "delete", id]);
    transcript.run(&["alerts", "--firing"]);
    assert_snapshot!(transcript.finish());
}

#[test]
fn exit_codes_say_what_went_wrong() {
    let node = start();
    let mut transcript = Transcript::new(&node);
    for args in [
        &["jobs", "show", "job_00000000000000000000000000"][..],
        &["jobs", "list", "--label", "dead"],
        &["jobs", "list", "--url", "http://127.0.0.1:1"],
        &["jobs", "list", "--url", "nonsense"],
        &["jobs", "create"],
        &["jobs", "create", "--kind", "a", "--payload", "{"],
        &["jobs", "create", "--tag", "x", DEAD_PORT],
        &["jobs", "create", "--kind", "a", "--priority", "99"],
        &["jobs", "create", "--kind", "a", "--max-retries", "101"],
        &["jobs", "retry", "job_00000000000000000000000000"],
        &["jobs", "frobnicate"],
    ] {
        transcript.run(args);
    }
    assert_snapshot!(transcript.finish());
}

#[test]
fn json_is_printed_as_the_server_sent_it() {
    let node = start();
    node.json(&["jobs", "create", "--kind", "later", "--delay", "1h"]);
    let printed = node.run(&["jobs", "list", "--json"]).out;
    assert!(
        printed.starts_with(r#"{"jobs":[{"id":"job_"#),
        "the server's order and spaces: {printed}"
    );
}

#[test]
fn a_reader_that_closes_the_output_is_no_error() {
    let node = start();
    node.json(&["jobs", "create", "--kind", "later", "--delay", "1h"]);
    let mut command = node.command(&["jobs", "list", "--json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let err = read_to_end(child.stderr.take().unwrap());
    assert!(child.wait().unwrap().success(), "{err}");
    assert_eq!(err, "");
}
