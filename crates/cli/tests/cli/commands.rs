//! The commands, against a real server.

use std::{
    io::{BufRead as _, BufReader},
    process::Stdio,
    time::Duration,
};

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{
    node::{Node, dir, read_to_end, run},
    transcript::{Transcript, mask},
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
fn a_job_is_created_and_watched_to_its_end() {
    let node = start();
    let mut transcript = Transcript::new(&node);
    let health = format!("{}/healthz", node.url);
    let good = transcript.run(&["jobs", "create", &health, "--method", "GET", "--watch"]);
    assert_eq!(good.code, 0, "{good:?}");
    let bad = transcript.run(&["jobs", "create", DEAD_PORT, "--retry", ONE_RETRY, "--watch"]);
    assert_eq!(bad.code, 1, "{bad:?}");
    let text = transcript.finish().replace(&node.url, "http://NODE");
    // Whether the job is seen before it runs is a matter of milliseconds.
    let lines = text
        .lines()
        .filter(|line| !line.ends_with(" is ready") && !line.ends_with(" is running"));
    assert_snapshot!(lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_watched_job_that_no_worker_asks_for_says_so() {
    let node = start();
    let mut command = node.command(&["jobs", "create", "--kind", "nobody", "--watch"]);
    let mut watching = command.spawn().unwrap();
    let lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    let mut lines = lines.map_while(Result::ok);
    let line = lines.find(|line| line.contains("nobody")).unwrap();
    assert!(line.contains("worker"), "{line}");
    watching.kill().unwrap();
    watching.wait().unwrap();
}

#[test]
fn all_jobs_can_be_followed_as_they_run() {
    let node = start();
    let mut command = node.command(&["jobs", "watch", "--json"]);
    let mut watching = command.spawn().unwrap();
    let lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    let (send, received) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        lines
            .map_while(Result::ok)
            .try_for_each(|line| send.send(line))
    });
    // Events before the stream is open are not kept, so jobs are created until one is seen.
    let first = loop {
        node.json(&["jobs", "create", DEAD_PORT, "--retry", "once"]);
        if let Ok(line) = received.recv_timeout(Duration::from_millis(200)) {
            break line;
        }
    };
    let first: serde_json::Value = serde_json::from_str(&first).unwrap();
    let text = |key: &str| first[key].as_str().unwrap_or_default().to_owned();
    assert!(text("event").starts_with("job."), "{first}");
    assert!(text("jobId").starts_with("job_"), "{first}");
    assert!(node.stop());
    assert_eq!(
        watching.wait().unwrap().code(),
        Some(3),
        "the server has stopped"
    );
}

#[test]
fn a_job_is_shown_with_its_attempts() {
    let node = start();
    let id = dead_letter(&node);
    let mut transcript = Transcript::new(&node);
    let shown = transcript.run(&["jobs", "show", &id]);
    transcript.run(&["jobs", "history", &id, "--limit", "1"]);
    assert!(!shown.out.contains('\x1b'), "no colours outside a terminal");
    for line in shown
        .out
        .lines()
        .filter(|line| line.starts_with(['┌', '│']))
    {
        assert_eq!(line.chars().count(), 80, "{line}");
    }
    let history = node.json(&["jobs", "history", &id]);
    assert_eq!(history["attempts"][0]["retryCount"], 1);
    assert_snapshot!(transcript.finish());
}

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
}

#[test]
fn jobs_are_listed_filtered_and_changed() {
    let node = start();
    let mut transcript = Transcript::new(&node);
    transcript.run(&["jobs", "list"]);
    let created = node.json(&[
        "jobs",
        "create",
        "--kind",
        "resize",
        "--payload",
        r#"{"image": 1}"#,
        "--queue",
        "images",
        "--delay",
        "1h",
        "--tag",
        "size=big",
    ]);
    let id = created["id"].as_str().unwrap();
    transcript.run(&["jobs", "list", "--queue", "images"]);
    transcript.run(&["jobs", "list", "--label", "failed"]);
    transcript.run(&["jobs", "edit", id, "--priority", "9", "--payload", "2"]);
    transcript.run(&["jobs", "edit", id]);
    transcript.run(&["jobs", "run-now", id]);
    transcript.run(&["jobs", "cancel", id]);
    transcript.run(&["jobs", "retry", id]);
    transcript.run(&["jobs", "show", id]);
    transcript.run(&["jobs", "history", id]);
    assert_snapshot!(transcript.finish());
}

#[test]
fn a_repeated_create_with_the_same_key_says_that_the_job_exists() {
    let node = start();
    let mut transcript = Transcript::new(&node);
    let create = [
        "jobs",
        "create",
        "--kind",
        "later",
        "--delay",
        "1h",
        "--idempotency-key",
        "order-7",
    ];
    transcript.run(&create);
    transcript.run(&create);
    transcript.run(&["jobs", "create", "--kind", "now"]);
    assert_snapshot!(transcript.finish());
}

#[test]
fn a_job_after_another_is_shown_with_what_it_waits_for() {
    let node = start();
    let later = ["jobs", "create", "--kind", "first", "--delay", "1h"];
    let first = node.json(&later)["id"].as_str().unwrap().to_owned();
    let after = ["jobs", "create", "--kind", "second", "--after", &first];
    let second = node.json(&[&after[..], &["--on-failure", "run"]].concat());
    let second = second["id"].as_str().unwrap();
    let shown = node.json(&["jobs", "show", second]);
    assert_eq!(shown["after"][0]["id"], *first);
    let why = node.json(&["jobs", "why", second]);
    assert_eq!(why["blockers"][0]["jobs"][0], *first);
    node.json(&["jobs", "cancel", &first]);
    node.until(&["jobs", "show", second], |job| job["label"] == "ready");
}

#[test]
fn nothing_is_cut_in_a_list_that_goes_into_a_pipe() {
    let node = start();
    let url = format!("http://127.0.0.1:1/{}", "x".repeat(200));
    let created = node.json(&["jobs", "create", &url, "--retry", "once"]);
    let id = created["id"].as_str().unwrap();
    let failed = node.until(&["jobs", "show", id], |job| job["label"] == "failed");
    let message = failed["failure"]["message"].as_str().unwrap();
    let reason = failed["explanation"].as_str().unwrap();
    let listed = node.run(&["jobs", "list"]).out;
    let line = listed.lines().last().unwrap();
    assert!(line.contains(&url["http://".len()..]), "{listed}");
    assert!(line.contains(reason) && line.contains(message), "{listed}");
    assert!(!line.contains('…'), "{listed}");
}

#[test]
fn a_request_of_the_api_can_come_from_a_file() {
    let node = start();
    let file = |name: &str, body: &str| {
        std::fs::write(node.dir.path().join(name), body).unwrap();
    };
    file(
        "job.json",
        r#"{"schedule": "*/10 * * * * *", "api": "http://127.0.0.1:1/", "type": "AT_LEAST_ONCE", "isRecurring": true, "maxRetryCount": 3}"#,
    );
    file("jobs.json", r#"{"jobs": [{"kind": "a"}, {"kind": "b"}]}"#);
    file("wrong.json", r#"{"kind": "a", "colour": "red"}"#);
    let mut transcript = Transcript::new(&node);
    for name in ["job.json", "jobs.json", "wrong.json"] {
        transcript.run(&["jobs", "create", "--from", name]);
    }
    let tagged = ["jobs", "create", "--kind", "a", "--tag", "k8s:app=web"];
    let tagged = node.json(&tagged);
    assert_eq!(tagged["tags"], json!({"k8s:app": "web"}), "{tagged}");
    let found = node.json(&["jobs", "list", "--tag", "k8s:app=web"]);
    assert_eq!(found["jobs"][0]["id"], tagged["id"], "{found}");
    assert_snapshot!(transcript.finish());
}

#[test]
fn dead_letters_are_counted_before_they_are_changed() {
    let node = start();
    let mut transcript = Transcript::new(&node);
    transcript.run(&["dlq", "list"]);
    transcript.run(&["dlq", "requeue", "--class", "none"]);
    let none = node.json(&["dlq", "requeue", "--class", "none", "--yes"]);
    assert_eq!(
        (&none["status"], &none["total"]),
        (&"done".into(), &0.into())
    );
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
    let jobs: Vec<_> = (0..600)
        .map(|_| json!({"api": DEAD_PORT, "maxRetries": 0}))
        .collect();
    let body = json!({"jobs": jobs}).to_string();
    std::fs::write(node.dir.path().join("jobs.json"), body).unwrap();
    node.json(&["jobs", "create", "--from", "jobs.json"]);
    node.until(&["stats"], |stats| stats["dlqSize"] == 600);
    let done = node.run(&["dlq", "discard", "--all", "--yes"]);
    assert_eq!(done.out, "600 dead letters discarded\n", "{done:?}");
    assert!(done.err.is_empty(), "no bar outside a terminal: {done:?}");
}

#[test]
fn schedules_are_created_paused_run_and_deleted() {
    let node = start();
    let mut transcript = Transcript::new(&node);
    transcript.run(&["schedules", "list"]);
    transcript.run(&[
        "schedules",
        "create",
        "nightly",
        DEAD_PORT,
        "--cron",
        "0 3 * * *",
        "--timezone",
        "Europe/Paris",
        "--retry",
        "once",
    ]);
    let listed = node.json(&["schedules", "list"]);
    let schedule = &listed["schedules"][0];
    assert_eq!(schedule["job"]["maxRetries"], 0);
    let id = schedule["id"].as_str().unwrap();
    transcript.run(&["schedules", "show", id]);
    for verb in ["pause", "show", "resume", "run-now", "ticks", "edit"] {
        transcript.run(&["schedules", verb, "nightly"]);
    }
    let edit = ["--cron", "30 4 * * MON-FRI", "--max-runs", "5"];
    transcript.run(&[&["schedules", "edit", "nightly"], &edit[..]].concat());
    transcript.run(&["schedules", "edit", "nightly", "--max-runs", "none"]);
    transcript.run(&["schedules", "list"]);
    node.until(&["jobs", "list", "--schedule", "nightly"], |runs| {
        runs["jobs"][0]["label"] == "failed"
    });
    transcript.run(&["jobs", "history", "nightly"]);
    transcript.run(&["schedules", "delete", "nightly"]);
    transcript.run(&["schedules", "show", "nightly"]);
    transcript.run(&["schedules", "create", "x", DEAD_PORT]);
    transcript.run(&[
        "schedules",
        "create",
        "x",
        DEAD_PORT,
        "--cron",
        "61 * * * *",
    ]);
    assert_snapshot!(transcript.finish());
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
fn gates_are_set_changed_shown_and_deleted() {
    let node = start();
    let mut transcript = Transcript::new(&node);
    let partner = "https://api.example.com";
    for args in [
        &["gates", "list"][..],
        &[
            "gates",
            "set",
            "destination",
            partner,
            "--rate",
            "10/1s+5",
            "--max-running",
            "5",
        ],
        &[
            "gates",
            "set",
            "destination",
            partner,
            "--rate",
            "none",
            "--hold",
            "auto",
        ],
        &["gates", "set", "key", "customer 7", "--ordered", "true"],
        &["gates", "set", "queue", "mail", "--max-running", "0"],
        &["gates", "set", "queue", "mail", "--rate", "fast"],
        &["gates", "set", "queue", "mail", "--ordered", "true"],
        &["gates", "set", "queue", "mail"],
        &["gates", "set", "colour", "red", "--max-running", "1"],
        &[
            "gates",
            "set",
            "destination",
            partner,
            "--health",
            r#"{"minJob": 1}"#,
        ],
        &["gates", "show", "queue", "mail"],
        &["gates", "list"],
        &["gates", "delete", "destination", partner],
        &["gates", "delete", "destination", partner, "--yes"],
    ] {
        transcript.run(args);
    }
    assert_snapshot!(transcript.finish());
    let reason = ["--pause", "--reason", "the provider moves", "--for", "2h"];
    let set = ["gates", "set", "queue", "mail"];
    let paused = node.json(&[&set[..], &reason].concat());
    assert_eq!(paused["paused"]["reason"], "the provider moves");
    assert!(paused["paused"]["until"].is_string());
    let resumed = node.json(&[&set[..], &["--resume"]].concat());
    assert!(resumed["paused"].is_null());
}

#[test]
fn destinations_are_set_held_shown_and_released() {
    let node = start();
    let mut transcript = Transcript::new(&node);
    let partner = "https://api.example.com";
    for args in [
        &["list"][..],
        &["show", partner],
        &[
            "set",
            partner,
            "--hold",
            "auto",
            "--health",
            r#"{"minJobs": 7}"#,
        ],
        &["set", partner, "--share-retry-after", "false"],
        &["set", partner, "--hold", "none"],
        &["set", partner],
        &["set", partner, "--hold", "maybe"],
        &["hold", "api.example.com"],
    ] {
        transcript.run(&[&["destinations"][..], args].concat());
    }
    assert_snapshot!(transcript.finish());
    let settings = node.json(&["destinations", "show", partner]);
    assert_eq!(settings["health"]["minJobs"], 7, "it was not named again");
    let run = |args: &[&str]| node.run(&[&["destinations"][..], args].concat()).out;
    let held = run(&["hold", partner, "--reason", "they move", "--for", "2h"]);
    assert!(
        held.starts_with("https://api.example.com: held manually\n"),
        "{held}"
    );
    assert!(held.contains(": they move; released in "), "{held}");
    let list = run(&["list", "--status", "held"]);
    assert!(
        list.contains("held manually") && list.contains("held: they move"),
        "{list}"
    );
    let released = run(&["release", partner]);
    assert!(
        released.starts_with("https://api.example.com: ramping\n"),
        "{released}"
    );
}

#[test]
fn a_paused_queue_says_who_paused_it_and_why() {
    let node = start();
    node.run(&["jobs", "create", "--kind", "mail", "--queue", "mail"]);
    let pause = [
        "queues",
        "pause",
        "mail",
        "--reason",
        "bad template",
        "--for",
        "2h",
    ];
    assert_eq!(node.run(&pause).out, "queue mail is paused\n");
    let list = node.run(&["queues", "list"]).out;
    assert!(list.contains("mail is paused"), "{list}");
    assert!(list.contains(": bad template; ends in "), "{list}");
    let why = node.run(&["queues", "why", "mail"]).out;
    assert!(why.contains("bad template"), "{why}");
    assert_eq!(
        node.run(&["queues", "resume", "mail"]).out,
        "queue mail is resumed\n"
    );
    node.run(&[
        "gates",
        "set",
        "queue",
        "mail",
        "--pause",
        "--reason",
        "they move",
    ]);
    let refused = node.run(&["queues", "resume", "mail"]);
    assert!(
        refused.err.contains("its gate for all tenants is paused"),
        "{}",
        refused.err
    );
    assert!(refused.err.contains("they move"), "{}", refused.err);
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
fn a_cancel_of_a_running_job_is_a_request() {
    let node = start();
    // It accepts connections and answers nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    let created = node.json(&["jobs", "create", &url]);
    let id = created["id"].as_str().unwrap();
    node.until(&["jobs", "show", id], |job| job["label"] == "running");
    let cancelled = node.run(&["jobs", "cancel", id]).out;
    let expected = " cancel requested: it is running, and its attempt was asked to stop\n";
    assert!(cancelled.ends_with(expected), "{cancelled}");
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
