//! What the commands of `jobs` print and change.

use std::{
    io::{BufRead as _, BufReader},
    time::Duration,
};

use insta::assert_snapshot;
use serde_json::json;

use super::{DEAD_PORT, ONE_RETRY, dead_letter, start};
use crate::transcript::Transcript;

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
    let mut command = node.command(&["jobs", "create", "--kind", "unserved", "--watch"]);
    let mut watching = command.spawn().unwrap();
    let lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    let mut lines = lines.map_while(Result::ok);
    let line = lines.find(|line| line.contains("unserved")).unwrap();
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
