//! Manual commands on jobs, and when they are refused.

use std::time::Duration;

use serde_json::json;

use crate::{
    server::{Server, id_of, until},
    target::{Target, says},
};

#[tokio::test]
async fn a_waiting_job_is_cancelled_at_once_and_can_be_tried_again() {
    let server = Server::start().await;
    let target = Target::always(200).await;
    let body = json!({"api": target.url(), "delay": "1h"});
    let id = server.http.create_id(body).await;
    let job = server.http.command("jobs", &id, "cancel").await.is(200);
    assert_eq!(job["label"], "cancelled");
    let again = server.http.command("jobs", &id, "run-now").await;
    again.is_problem(409, "refused", None);
    let job = server.http.command("jobs", &id, "retry").await.is(200);
    assert_ne!(job["label"], "cancelled");
    server.http.wait_for_label(&id, "succeeded").await;
    for verb in ["cancel", "retry", "run-now"] {
        let refused = server.http.command("jobs", &id, verb).await;
        refused.is_problem(409, "refused", None);
    }
    assert_eq!(target.seen().len(), 1);
}

#[tokio::test]
async fn a_requeued_job_counts_the_retries_of_its_new_budget() {
    let server = Server::start().await;
    let target = Target::always(503).await;
    let retry = json!({"maxRetries": 1, "backoff": "fixed", "baseDelay": 0});
    let id = server
        .http
        .create_id(json!({"api": target.url(), "retry": retry}))
        .await;
    server.http.wait_for_label(&id, "failed").await;
    server.http.command("jobs", &id, "retry").await.is(200);
    let job = until("the second budget to be used", || async {
        let job = server.http.wait_for_label(&id, "failed").await;
        (job["attempt"] == 4).then_some(job)
    })
    .await;
    assert_eq!(job["attemptsBefore"], 2);
    assert_eq!(job["retryCount"], 1);
    assert_eq!(job["maxRetries"], 1);
    assert_eq!(job["reason"], "exhausted");
    assert_eq!(job["explanation"], "no retries left");
    let attempts = server.http.attempts(&id).await;
    let last = &attempts[3];
    assert_eq!(
        last["explanation"],
        "Not retried: the only retry of the policy is used up."
    );
}

#[tokio::test]
async fn a_running_job_is_cancelled_as_soon_as_it_can_be() {
    let server = Server::start().await;
    let target = Target::start(|_| says(200).after(Duration::from_secs(120))).await;
    let id = server.http.create_id(json!({"api": target.url()})).await;
    until("the target to be asked", || async {
        (target.seen().len() == 1).then_some(())
    })
    .await;
    server.http.command("jobs", &id, "cancel").await.is(200);
    server.http.wait_for_label(&id, "cancelled").await;
    let attempts = server.http.attempts(&id).await;
    assert_eq!(attempts[0]["status"], "CANCELLED");
}

#[tokio::test]
async fn run_now_starts_a_scheduled_job_and_cuts_a_backoff_short() {
    let server = Server::start().await;
    let target = Target::failing(1).await;
    let body = json!({"api": target.url(), "delay": "1h", "retry": "patient"});
    let id = server.http.create_id(body).await;
    server.http.command("jobs", &id, "run-now").await.is(200);
    server.http.wait_for_label(&id, "retrying").await;
    server.http.command("jobs", &id, "run-now").await.is(200);
    let job = server.http.wait_for_label(&id, "succeeded").await;
    assert_eq!(job["attempt"], 2);
}

#[tokio::test]
async fn a_retry_by_hand_has_a_fresh_budget_a_new_payload_and_the_old_history() {
    let server = Server::start().await;
    let retry = json!({"maxRetries": 1, "backoff": "fixed", "baseDelay": 0});
    let body = json!({"kind": "mail", "payload": {"to": "wrong"}, "retry": retry});
    let id = server.http.create_id(body).await;
    let fail = json!({"failure": {"class": "error", "message": "no"}});
    for _ in 0..2 {
        let claim = &server.http.claim("mail", "20s").await[0];
        server
            .http
            .report(claim, "fail", fail.clone())
            .await
            .is(200);
    }
    let job = server.http.wait_for_label(&id, "failed").await;
    assert_eq!(job["reason"], "exhausted");
    let path = format!("/api/v1/jobs/{id}/retry");
    let body = json!({"payload": {"to": "right"}});
    server.http.post(&path, body).await.is(200);
    let claim = &server.http.claim("mail", "20s").await[0];
    assert_eq!(claim["job"]["payload"], json!({"to": "right"}));
    assert_eq!(claim["job"]["attempt"], 3);
    let job = server.http.report(claim, "fail", fail).await.is(200);
    assert_ne!(job["label"], "failed", "one retry is left again");
    assert_eq!(id_of(&job), id);
    let attempts = server.http.attempts(&id).await;
    let by: Vec<_> = attempts
        .iter()
        .map(|it| it["requeuedBy"].as_str())
        .collect();
    assert_eq!(by, [None, None, Some("api")], "{attempts:#?}");
}

#[tokio::test]
async fn a_paused_queue_is_not_served_until_it_is_resumed() {
    let server = Server::start().await;
    let target = Target::always(200).await;
    server
        .http
        .post_empty("/api/v1/queues/slow/pause")
        .await
        .is(204);
    let body = json!({"api": target.url(), "queue": "slow"});
    let paused = server.http.create_id(body).await;
    let other = server.http.create_id(json!({"api": target.url()})).await;
    server.http.wait_for_label(&other, "succeeded").await;
    assert_eq!(server.http.read_job(&paused).await["label"], "ready");
    let queues = server.http.get("/api/v1/queues").await.is(200);
    let queues = queues["queues"].as_array().unwrap();
    let slow = queues.iter().find(|queue| queue["name"] == "slow");
    let slow = slow.unwrap();
    assert_eq!(slow["paused"], true);
    assert_eq!(slow["ready"], 1);
    assert!(slow["oldestReady"].is_string());
    server
        .http
        .post_empty("/api/v1/queues/slow/resume")
        .await
        .is(204);
    server.http.wait_for_label(&paused, "succeeded").await;
}

#[tokio::test]
async fn a_queue_that_is_paused_and_empty_is_listed() {
    let server = Server::start().await;
    let pause = "/api/v1/queues/typo/pause";
    server.http.post_empty(pause).await.is(204);
    let list = server.http.get("/api/v1/queues").await.is(200);
    let queue = &list["queues"][0];
    assert_eq!(
        (&queue["name"], &queue["paused"]),
        (&json!("typo"), &json!(true))
    );
    assert_eq!(queue["ready"], 0);
    let of_other = server.http.get("/api/v1/queues?tenant=other").await;
    assert_eq!(of_other.is(200)["queues"], json!([]));
    let resume = "/api/v1/queues/typo/resume";
    server.http.post_empty(resume).await.is(204);
    let list = server.http.get("/api/v1/queues").await.is(200);
    assert_eq!(list["queues"], json!([]));
}
