//! One key, one job, however often and at once it is asked for.

use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    client::{Http, Reply},
    server::{Server, id_of},
};

async fn create(http: &Http, key: &str, body: serde_json::Value) -> Reply {
    let headers = [
        ("content-type", "application/json"),
        ("idempotency-key", key),
    ];
    http.send("POST", "/api/v1/jobs", &headers, &body.to_string())
        .await
}

#[tokio::test]
async fn the_same_request_with_the_same_key_answers_with_the_same_job() {
    let server = Server::start().await;
    let body = json!({"kind": "mail", "payload": {"to": "a"}});
    let first = create(&server.http, "k1", body.clone()).await;
    let id = id_of(&first.is(201));
    assert_eq!(first.headers["location"], format!("/api/v1/jobs/{id}"));
    assert!(!first.headers.contains_key("idempotent-replayed"));

    let again = create(&server.http, "k1", body.clone()).await;
    assert_eq!(id_of(&again.is(200)), id);
    assert_eq!(again.headers["idempotent-replayed"], "true");

    // As a field it is the same key.
    let field = json!({"kind": "mail", "payload": {"to": "a"}, "idempotencyKey": "k1"});
    let again = server.http.post("/api/v1/jobs", field).await;
    assert_eq!(id_of(&again.is(200)), id);
    assert_eq!(again.headers["idempotent-replayed"], "true");

    let other = create(&server.http, "k2", body).await;
    assert_ne!(id_of(&other.is(201)), id);
}

#[tokio::test]
async fn another_request_with_the_same_key_is_a_conflict() {
    let server = Server::start().await;
    create(&server.http, "k1", json!({"kind": "mail"}))
        .await
        .is(201);
    let other = create(&server.http, "k1", json!({"kind": "mail", "priority": 9})).await;
    other.is_problem(409, "idempotency_conflict", Some("idempotencyKey"));
    let body = json!({"kind": "mail", "idempotencyKey": "k2"});
    let differing = create(&server.http, "k1", body).await;
    differing.is_problem(422, "invalid", Some("idempotencyKey"));
    let empty = create(&server.http, "", json!({"kind": "mail"})).await;
    empty.is_problem(422, "invalid", Some("idempotencyKey"));
}

#[tokio::test]
async fn twenty_creates_at_once_make_one_job() {
    let server = Server::start().await;
    let mut racing = JoinSet::new();
    for _ in 0..20 {
        let http = server.http.clone();
        racing.spawn(async move { create(&http, "race", json!({"kind": "mail"})).await });
    }
    let replies = racing.join_all().await;
    let made = replies.iter().filter(|reply| reply.status == 201).count();
    let replayed = replies.iter().filter(|reply| reply.status == 200).count();
    assert_eq!((made, replayed), (1, 19));
    let first = id_of(&replies[0].json());
    assert!(replies.iter().all(|reply| id_of(&reply.json()) == first));
    let jobs = server.http.get("/api/v1/jobs").await.is(200);
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 1);
}
