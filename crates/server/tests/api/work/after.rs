//! Jobs that run after others.

use serde_json::{Value, json};

use crate::{
    client::Http,
    server::{Server, Setup, id_of},
};

async fn after(http: &Http, ids: &[&str], on_failure: &str) -> String {
    let body = json!({"kind": "second", "after": ids, "onFailure": on_failure});
    http.create_id(body).await
}

async fn read(http: &Http, id: &str) -> Value {
    http.get(&format!("/api/v1/jobs/{id}")).await.is(200)
}

/// Moves the clock, and so lets the node catch up.
async fn advance(http: &Http) {
    let body = json!({"by": "1s"});
    http.post("/api/v1/test/advance", body).await.is(200);
}

async fn manual() -> Server {
    Server::with(Setup {
        manual_clock: true,
        ..Setup::default()
    })
    .await
}

#[tokio::test]
async fn a_job_after_another_says_what_it_waits_for_and_starts_then() {
    let server = manual().await;
    let http = &server.http;
    let first = http.create_id(json!({"kind": "first"})).await;
    advance(http).await;
    let body = json!({"kind": "second", "after": [first], "onFailure": "wait"});
    let created = http.post("/api/v1/jobs", body).await.is(201);
    let second = id_of(&created);
    let body = read(http, &second).await;
    for field in ["label", "runAt"] {
        assert_eq!(created[field], body[field], "{field}");
    }
    assert_eq!(body["label"], "scheduled");
    assert_eq!(body["after"], json!([{"id": first, "state": "unfinished"}]));
    assert_eq!(body["onFailure"], "wait");
    assert_eq!(body["runAt"], body["createdAt"]);
    assert_eq!(body["waitingFor"][0]["kind"], "runs_after");
    assert_eq!(read(http, &first).await["dependants"], 1);
    let why = http.get(&format!("/api/v1/jobs/{second}/explain")).await;
    let why = why.is(200);
    assert_eq!(why["claimable"], false);
    assert_eq!(why["blockers"][0]["jobs"], json!([first]));
    let listed = http.get("/api/v1/jobs?kind=second").await.is(200);
    assert_eq!(listed["jobs"][0]["waitingFor"][0]["kind"], "runs_after");
    let run_now = http
        .post(&format!("/api/v1/jobs/{second}/run-now"), json!({}))
        .await;
    run_now.is_problem(409, "refused", None);

    assert_eq!(http.claim("second", "0s").await.len(), 0);
    let claim = &http.claim("first", "20s").await[0];
    http.report(claim, "succeed", json!({})).await.is(200);
    advance(http).await;
    let released = read(http, &second).await;
    assert_eq!(released["label"], "ready");
    assert_eq!(released["after"][0]["state"], "succeeded");
    assert_eq!(http.claim("second", "20s").await.len(), 1);
}

#[tokio::test]
async fn a_job_follows_its_on_failure_rule_when_a_prerequisite_fails() {
    let server = manual().await;
    let http = &server.http;
    let first = http.create_id(json!({"kind": "first"})).await;
    let waits = after(http, &[&first], "wait").await;
    let fails = after(http, &[&first], "fail").await;
    let runs = after(http, &[&first], "run").await;
    let claim = &http.claim("first", "20s").await[0];
    let failure = json!({"failure": {"class": "forbidden", "message": "no"}});
    http.report(claim, "fail", failure).await.is(200);
    advance(http).await;
    assert_eq!(read(http, &waits).await["label"], "scheduled");
    let failed = read(http, &fails).await;
    assert_eq!(failed["reason"], "prerequisite_failed");
    assert_eq!(read(http, &runs).await["label"], "ready");
    let retry = http
        .post(&format!("/api/v1/jobs/{fails}/retry"), json!({}))
        .await;
    retry.is_problem(409, "refused", None);
    let detail = retry.json()["detail"].to_string();
    assert!(detail.contains("requeue that job first"), "{detail}");
}

#[tokio::test]
async fn a_job_of_another_tenant_is_not_found() {
    let server = Server::start().await;
    let http = &server.http;
    let foreign = http
        .create_id(json!({"kind": "first", "tenant": "acme"}))
        .await;
    let body = json!({"kind": "second", "after": [foreign]});
    let refused = http.post("/api/v1/jobs", body).await;
    refused.is_problem(422, "unknown_job", Some("after"));
}
