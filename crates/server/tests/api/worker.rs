//! The worker of the examples, started as its documentation says.

use std::{path::Path, process::Stdio, time::Duration};

use serde_json::json;
use tokio::process::{Child, Command};

use crate::{
    server::{Server, each, until},
    target::{Target, ok, says},
};

#[tokio::test]
async fn the_python_worker_does_its_jobs_and_stops_at_a_signal() {
    let server = Server::start().await;
    let retry = json!({"maxRetries": 2, "backoff": "fixed", "baseDelay": 0});
    let make = |payload: serde_json::Value| {
        let body = json!({"kind": "greet", "payload": payload, "retry": retry, "lease": "3s"});
        let http = server.http.clone();
        async move { http.create_id(body).await }
    };
    let greeted = make(json!({"name": "Ada"})).await;
    let nameless = make(json!({})).await;

    let mut worker = start(&server.http.address.to_string());
    let job = server.http.wait_for_label(&greeted, "succeeded").await;
    assert_eq!(job["attempt"], 1);
    let attempts = server.http.attempts(&greeted).await;
    assert_eq!(attempts[0]["result"], json!({"greeting": "Hello, Ada!"}));
    let job = server.http.wait_for_label(&nameless, "failed").await;
    assert_eq!(job["reason"], "exhausted");
    assert_eq!(job["failure"]["class"], "KeyError");
    let attempts = server.http.attempts(&nameless).await;
    assert_eq!(each(&attempts, "status"), ["FAILED", "FAILED", "FAILED"]);

    stop(&mut worker).await;
}

#[tokio::test]
async fn the_python_worker_repeats_a_report_that_was_not_taken() {
    let claim = json!({"id": "job_1", "fence": 7, "job": {
        "id": "job_1", "kind": "greet", "leaseMs": 60_000, "payload": {"name": "Ada"}}});
    let target = Target::start(move |number| match number {
        0 => ok(&json!({"claims": [claim]}).to_string()),
        1 | 2 => says(503),
        3 => ok("{}"),
        _ => ok(r#"{"claims": []}"#).after(Duration::from_secs(1)),
    })
    .await;
    let mut worker = start(&target.address.to_string());
    let seen = until("the report to be taken", || async {
        let seen = target.seen();
        (seen.len() > 4).then_some(seen)
    })
    .await;
    for report in &seen[1..4] {
        assert!(
            report.line.contains("/claims/job_1/succeed"),
            "{}",
            report.line
        );
        assert_eq!(report.json()["fence"], 7);
        assert_eq!(report.json()["result"]["greeting"], "Hello, Ada!");
    }
    assert!(seen[4].line.contains("/claims HTTP"), "{}", seen[4].line);
    stop(&mut worker).await;
}

fn start(address: &str) -> Child {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/worker.py");
    Command::new("python3")
        .arg(script)
        .env("STEADFAST_URL", format!("http://{address}"))
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

async fn stop(worker: &mut Child) {
    let pid = worker.id().unwrap().to_string();
    let signalled = Command::new("kill").args(["-TERM", &pid]).status().await;
    assert!(signalled.unwrap().success());
    let ended = tokio::time::timeout(Duration::from_secs(30), worker.wait());
    assert!(ended.await.unwrap().unwrap().success());
}
