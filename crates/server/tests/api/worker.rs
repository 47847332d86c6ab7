//! The worker of the examples, started as its documentation says.

use std::{path::Path, process::Stdio};

use serde_json::json;
use tokio::process::Command;

use crate::server::{Server, each};

#[tokio::test]
async fn the_python_worker_does_its_jobs_and_stops_when_it_is_told() {
    let server = Server::start().await;
    let retry = json!({"maxRetries": 2, "backoff": "fixed", "baseDelay": 0});
    let make = |payload: serde_json::Value| {
        let body = json!({"kind": "greet", "payload": payload, "retry": retry, "lease": "3s"});
        let http = server.http.clone();
        async move { http.create_id(body).await }
    };
    let greeted = make(json!({"name": "Ada"})).await;
    let nameless = make(json!({})).await;

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/worker.py");
    let mut worker = Command::new("python3")
        .arg(script)
        .env("STEADFAST_URL", format!("http://{}", server.http.address))
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let job = server.http.wait_for_label(&greeted, "succeeded").await;
    assert_eq!(job["attempt"], 1);
    let attempts = server.http.attempts(&greeted).await;
    assert_eq!(attempts[0]["result"], json!({"greeting": "Hello, Ada!"}));
    let job = server.http.wait_for_label(&nameless, "failed").await;
    assert_eq!(job["reason"], "exhausted");
    assert_eq!(job["failure"]["class"], "KeyError");
    let attempts = server.http.attempts(&nameless).await;
    assert_eq!(each(&attempts, "status"), ["FAILED", "FAILED", "FAILED"]);

    let pid = worker.id().unwrap().to_string();
    let signalled = Command::new("kill").args(["-TERM", &pid]).status().await;
    assert!(signalled.unwrap().success());
    let ended = tokio::time::timeout(std::time::Duration::from_secs(30), worker.wait());
    assert!(ended.await.unwrap().unwrap().success());
}
