//! One idempotency key, one job, however often and concurrently it is requested.

use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    client::{Http, Reply},
    server::{Server, id_of, until},
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

#[tokio::test]
async fn an_idempotency_key_covers_a_job_at_the_next_cron_match() {
    let server = Server::start().await;
    let body = json!({"kind": "x", "schedule": "0 0 1 1 *", "isRecurring": false});
    let first = create(&server.http, "once", body.clone()).await.is(201);
    assert_eq!(first["idempotencyKey"], "once");
    let again = create(&server.http, "once", body.clone()).await;
    assert_eq!(id_of(&again.is(200)), id_of(&first));
    assert_eq!(again.headers["idempotent-replayed"], "true");
    // Another second, another match: the rule is the request, not the time.
    let soon = json!({"kind": "x", "schedule": "* * * * * *", "isRecurring": false});
    let first = create(&server.http, "soon", soon.clone()).await.is(201);
    until("the next match", || async {
        let again = create(&server.http, "soon", soon.clone()).await.is(200);
        assert_eq!(id_of(&again), id_of(&first));
        (again["label"] == "ready").then_some(())
    })
    .await;
    let other = json!({"kind": "x", "schedule": "0 0 2 1 *", "isRecurring": false});
    let other = create(&server.http, "once", other).await;
    other.is_problem(409, "idempotency_conflict", Some("idempotencyKey"));

    let keyed = json!({"kind": "x", "schedule": "0 0 1 1 *", "isRecurring": false,
        "idempotencyKey": "once"});
    let list = json!({"jobs": [keyed.clone(), {"kind": "y"}]});
    let list = server.http.post("/api/v1/jobs", list).await.is(201);
    let single = create(&server.http, "once", body).await.is(200);
    assert_eq!(list["jobs"][0]["id"], single["id"]);
    let list = create(&server.http, "header", json!({"jobs": [keyed]})).await;
    list.is_problem(422, "invalid", Some("Idempotency-Key"));
}

#[tokio::test]
async fn a_keyed_recurring_job_makes_one_schedule_and_never_another() {
    let server = Server::start().await;
    let body = json!({"kind": "report", "schedule": "0 3 * * *", "payload": {"n": 1}});
    let first = create(&server.http, "k", body.clone()).await.is(201);
    let path = format!("/api/v1/schedules/{}", id_of(&first));
    server
        .http
        .patch(&path, json!({"schedule": "0 4 * * *"}))
        .await
        .is(200);
    let again = create(&server.http, "k", body.clone()).await;
    assert_eq!(again.headers["idempotent-replayed"], "true");
    let again = again.is(200);
    assert_eq!(id_of(&again), id_of(&first));
    assert_eq!(again["schedule"], "0 4 * * *", "as it is now");

    for other in [
        json!({"kind": "report", "schedule": "0 5 * * *", "payload": {"n": 1}}),
        json!({"kind": "report", "schedule": "0 3 * * *", "payload": {"n": 2}}),
        json!({"kind": "report", "schedule": "0 3 * * *", "payload": {"n": 1}, "jobName": "x"}),
        json!({"kind": "report", "payload": {"n": 1}}),
    ] {
        let other = create(&server.http, "k", other).await;
        other.is_problem(409, "idempotency_conflict", Some("idempotencyKey"));
    }
    let kept = server.http.get(&path).await.is(200);
    assert_eq!(kept["schedule"], "0 4 * * *");
    // The key goes with the schedule.
    server.http.delete(&path).await.is(204);
    let new = create(&server.http, "k", body).await.is(201);
    assert_ne!(id_of(&new), id_of(&first));
}
