//! Agents over both transports, and the conformance suite of the protocol.

use std::process::Command;

use serde_json::{Value, json};

use super::{packages, run_script};
use crate::node::{Node, output_of};

/// What an agent was offered and answered.
fn ask(transport: &Value, calls: &Value) -> Value {
    let output = run_script("agent.mjs", &[&transport.to_string(), &calls.to_string()]);
    serde_json::from_str(&output.out).unwrap()
}

fn stdio(node: &Node, args: &[&str]) -> Value {
    let args: Vec<&str> = ["mcp", "--url", &node.url]
        .iter()
        .chain(args)
        .copied()
        .collect();
    json!({"command": env!("CARGO_BIN_EXE_steadfast"), "args": args})
}

fn http(node: &Node, key: Option<&str>) -> Value {
    json!({"url": format!("{}/mcp", node.url), "key": key})
}

fn texts(answer: &Value) -> Vec<(bool, &str)> {
    let answers = answer["answers"].as_array().unwrap().iter();
    answers
        .map(|it| (it["isError"] == true, it["text"].as_str().unwrap()))
        .collect()
}

fn has_tool(answer: &Value, name: &str) -> bool {
    let tools = answer["tools"].as_array().unwrap();
    tools.iter().any(|tool| tool == name)
}

fn create_job(node: &Node) -> String {
    let args = [
        "jobs",
        "create",
        "--kind",
        "resize",
        "--queue",
        "images",
        "--payload",
        "\"s3cret\"",
    ];
    node.json(&args)["id"].as_str().unwrap().to_owned()
}

/// A key, made with another one if there is one.
fn create_key(node: &Node, scope: &str, by: Option<&str>) -> String {
    let mut args = vec!["keys", "create", "--scope", scope];
    args.extend(by.iter().flat_map(|key| ["--api-key", key]));
    let key = node.json(&args);
    key["token"].as_str().unwrap().to_owned()
}

#[test]
fn an_agent_reads_over_both_transports() {
    let node = Node::start(&["--listen", "127.0.0.1:0"]);
    let job = create_job(&node);
    let calls = json!([
        ["explain_job", {"job": job}],
        ["list_jobs", {"queue": "images", "label": "ready"}],
        ["get_job", {"job": "job_nonsense"}],
        ["list_jobs", {"limit": 9999}],
        ["list_jobs", {"limit": "ten"}],
        ["preview_policy", {"retry": {"preset": "http", "maxRetries": 2}}],
        ["pause_queue", {"queue": "images"}],
        ["certify_policy", {"capacity": 100, "traffic": 200, "latency": "200ms", "maxRunning": 20}],
        ["certify_policy", {"capacity": 100}],
    ]);
    for transport in [stdio(&node, &[]), http(&node, None)] {
        let answer = ask(&transport, &calls);
        assert_eq!(answer["server"]["name"], "steadfast");
        assert!(
            answer["instructions"]
                .as_str()
                .unwrap()
                .contains("dead letter")
        );
        let texts = texts(&answer);
        assert!(!texts[0].0 && texts[0].1.contains("worker"), "{texts:?}");
        assert!(!texts[1].0 && texts[1].1.contains(&job), "{texts:?}");
        assert!(
            texts[2].0 && texts[2].1.contains("job_nonsense"),
            "{texts:?}"
        );
        assert!(texts[3].0 && texts[3].1.contains("limit"), "{texts:?}");
        assert!(
            texts[4].0 && texts[4].1.contains("argument limit"),
            "{texts:?}"
        );
        assert!(!texts[5].0 && texts[5].1.contains("givesUp"), "{texts:?}");
        let verdict = "\"verdict\":\"overloaded\"";
        assert!(!texts[7].0 && texts[7].1.contains(verdict), "{texts:?}");
        assert!(texts[8].0 && texts[8].1.contains("latency"), "{texts:?}");
    }
    // A process that serves an agent writes only if it may.
    let answer = ask(&stdio(&node, &[]), &calls);
    assert!(!has_tool(&answer, "pause_queue") && texts(&answer)[6].0);
}

#[test]
fn a_command_shows_what_it_would_change_and_needs_a_token() {
    let node = Node::start(&["--listen", "127.0.0.1:0"]);
    for (index, transport) in [stdio(&node, &["--allow-writes"]), http(&node, None)]
        .iter()
        .enumerate()
    {
        let job = create_job(&node);
        let calls = json!([
            ["cancel_job", {"job": job}],
            ["get_job", {"job": job}],
            ["retry_job", {"job": job, "confirm": "$token"}],
            ["cancel_job", {"job": job, "confirm": "$token"}],
            ["get_job", {"job": job}],
        ]);
        let answer = ask(transport, &calls);
        let texts = texts(&answer);
        assert!(
            texts[0]
                .1
                .starts_with("Nothing was changed: this is a dry run.")
        );
        assert!(texts[1].1.contains("\"label\":\"ready\""), "{texts:?}");
        assert!(texts[2].0 && texts[2].1.contains("confirm"), "{texts:?}");
        assert!(!texts[3].0 && texts[3].1.starts_with("Done: cancel this job."));
        assert!(texts[4].1.contains("\"label\":\"cancelled\""), "{texts:?}");
        let audit = node.json(&["audit", "--subject", &job]);
        let record = &audit["records"][0];
        assert_eq!(record["action"], "job.cancel", "{index}");
        assert_eq!(record["actor"]["agent"], "Test agent 7.1", "{index}");
        assert_eq!(record["actor"]["name"], "api");
    }
    let listed = node.run(&["audit"]).out;
    assert!(listed.contains("api, by agent Test agent 7.1"), "{listed}");
}

#[test]
fn a_bulk_command_counts_first_and_its_token_covers_no_more() {
    let node = Node::start(&["--listen", "127.0.0.1:0"]);
    create_job(&node);
    let filter = json!({"kind": "cancel", "filter": {"queue": "images"}});
    let mut confirmed = filter.clone();
    confirmed["confirm"] = "$token".into();
    let calls = json!([
        ["start_operation", filter],
        ["start_operation", confirmed],
        ["list_operations", {}]
    ]);
    let answer = ask(&http(&node, None), &calls);
    let texts = texts(&answer);
    assert!(texts[0].1.contains("\"count\":1"), "{texts:?}");
    assert!(
        texts[1].1.starts_with("Done: start this operation."),
        "{texts:?}"
    );
    assert!(texts[2].1.contains("opr_"), "{texts:?}");
}

#[test]
fn the_rights_of_a_key_are_those_of_its_agent() {
    let node = Node::start(&["--listen", "127.0.0.1:0"]);
    let job = create_job(&node);
    let admin = create_key(&node, "admin", None);
    let read = create_key(&node, "read", Some(&admin));
    let calls = json!([["get_job", {"job": job}], ["cancel_job", {"job": job}]]);
    let answer = ask(&http(&node, Some(&admin)), &calls);
    assert!(has_tool(&answer, "cancel_job"));
    assert!(texts(&answer)[0].1.contains("s3cret"));
    let answer = ask(&http(&node, Some(&read)), &calls);
    assert!(!has_tool(&answer, "cancel_job") && has_tool(&answer, "list_failures"));
    let texts = texts(&answer);
    assert!(!texts[0].0 && !texts[0].1.contains("s3cret"), "{texts:?}");
    assert!(
        texts[1].0 && texts[1].1.contains("may only read"),
        "{texts:?}"
    );
    for key in ["", "sf_nonsense"] {
        let refused = output_of({
            let mut curl = Command::new("curl");
            let header = format!("authorization: Bearer {key}");
            curl.args([
                "--silent",
                "--write-out",
                "%{http_code}",
                "--header",
                &header,
            ]);
            curl.args(["--data", "{}", &format!("{}/mcp", node.url)]);
            curl
        });
        assert!(refused.out.ends_with("401"), "{refused:?}");
    }
}

/// Scenarios of the suite that are about servers of any kind. The others call tools, prompts and
/// resources that a server must have for the suite alone.
const SCENARIOS: &[&str] = &[
    "server-initialize",
    "ping",
    "tools-list",
    "dns-rebinding-protection",
];

#[test]
fn the_conformance_suite_of_the_protocol_accepts_the_server() {
    let node = Node::start(&["--listen", "127.0.0.1:0"]);
    let suite = packages().join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    for scenario in SCENARIOS {
        let mut command = Command::new("node");
        command.arg(&suite).current_dir(node.dir.path());
        command.args(["server", "--url", &format!("{}/mcp", node.url)]);
        command.args(["--scenario", scenario]);
        let output = output_of(command);
        assert_eq!(output.code, 0, "{scenario}: {output:?}");
        assert!(output.out.contains("0 failed"), "{scenario}: {output:?}");
    }
}
