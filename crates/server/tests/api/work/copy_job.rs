//! Jobs like others.

use serde_json::{Value, json};
use steadfast_server::keys::Scope;

use crate::{
    server::{Server, id_of},
    target::Target,
};

#[tokio::test]
async fn a_copied_job_has_every_field_except_unique_ones() {
    let server = Server::start().await;
    let body = json!({
        "kind": "resize", "payload": {"file": "a.png"}, "queue": "images", "priority": 7,
        "delay": "1h", "timeout": "10s", "lease": "1m", "tags": {"team": "media"},
        "tenant": "acme", "destination": "https://images.example.com", "concurrencyKey": "c1",
        "retry": {"maxRetries": 2, "backoff": "linear", "baseDelay": "10s"},
        "idempotencyKey": "k1", "unique": {"key": "u1"}, "startBefore": "2h",
        "webhook": {"url": "https://example.com/hook", "events": ["job.failed"],
            "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}
    });
    let first = server.http.create(body).await;
    let like = json!({"like": first["id"], "priority": 3, "maxRetries": 5});
    let second = server.http.create(like).await;
    assert_ne!(first["id"], second["id"]);
    for field in [
        "kind",
        "payload",
        "queue",
        "tenant",
        "timeoutMs",
        "leaseMs",
        "tags",
        "destination",
        "concurrencyKey",
        "webhook",
        "type",
    ] {
        assert_eq!(second[field], first[field], "{field}");
        assert_ne!(second[field], Value::Null, "{field}");
    }
    assert_eq!(second["webhook"]["signed"], true);
    assert_eq!(
        (&second["priority"], &second["maxRetries"]),
        (&json!(3), &json!(5))
    );
    assert_eq!(second["retry"]["backoff"], "linear");
    assert_eq!(second["retry"]["baseDelay"], "10s");
    assert_eq!(second["label"], "ready", "its time is its own");
    for field in ["unique", "startBefore"] {
        assert_eq!(second[field], Value::Null, "{field}");
    }
    let once = json!({"kind": "k", "type": "AT_MOST_ONCE", "delay": "1h"});
    let once = server.http.create(once).await;
    let like = server.http.create(json!({"like": once["id"]})).await;
    assert_eq!(like["type"], "AT_MOST_ONCE");
}

#[tokio::test]
async fn headers_of_a_request_are_copied_for_the_same_system_only() {
    let server = Server::start().await;
    let (meant, other) = (Target::always(200).await, Target::always(200).await);
    let http = json!({
        "url": meant.url(), "method": "PUT", "body": {"n": 1},
        "headers": {"authorization": "Bearer s3cret", "x-shop": "7"}
    });
    let first = server
        .http
        .create(json!({"http": http, "delay": "1h"}))
        .await;
    let run = async |http: Option<Value>| {
        let mut like = json!({"like": first["id"]});
        if let Some(http) = http {
            like["http"] = http;
        }
        let id = server.http.create_id(like).await;
        server.http.wait_for_label(&id, "succeeded").await;
    };
    run(None).await;
    run(Some(
        json!({"url": meant.url(), "body": {"n": 2}, "headers": {"X-Shop": "8"}}),
    ))
    .await;
    run(Some(json!({"url": other.url()}))).await;
    for (request, shop, n) in [(&meant.seen()[0], "7", 1), (&meant.seen()[1], "8", 2)] {
        assert!(request.line.starts_with("PUT "), "{request:?}");
        assert_eq!(request.headers["authorization"], "Bearer s3cret");
        assert_eq!(request.headers["x-shop"], shop);
        assert_eq!(request.json(), json!({"n": n}));
    }
    let elsewhere = &other.seen()[0];
    assert_eq!(elsewhere.headers.get("authorization"), None);
    assert_eq!(elsewhere.json(), json!({"n": 1}));
}

#[tokio::test]
async fn a_job_that_a_caller_cannot_see_or_create_cannot_be_copied() {
    let server = Server::start().await;
    let job = json!({"kind": "k", "delay": "1h", "tenant": "acme"});
    let id = server.http.create_id(job).await;
    let refused = [
        (json!({"like": id, "kind": "other"}), "kind"),
        (json!({"like": id, "api": "http://127.0.0.1:9/"}), "api"),
        (json!({"like": id, "tenant": "other"}), "tenant"),
        (json!({"jobs": [{"like": id}]}), "jobs[0].like"),
        (json!({"like": "job_1"}), "like"),
    ];
    for (body, field) in refused {
        let reply = server.http.post("/api/v1/jobs", body).await;
        reply.is_problem(422, "invalid", Some(field));
    }
    let schedule = json!({"name": "s", "every": "1h", "job": {"like": id}});
    let reply = server.http.post("/api/v1/schedules", schedule).await;
    reply.is_problem(422, "invalid", Some("job.like"));
    let endpoint = json!({"url": "http://127.0.0.1:9/"});
    let endpoint = server
        .http
        .post("/api/v1/endpoints", endpoint)
        .await
        .is(201);
    let test = server
        .http
        .command("endpoints", &id_of(&endpoint), "test")
        .await;
    let like = json!({"like": id_of(&test.is(200))});
    let reply = server.http.post("/api/v1/jobs", like).await;
    reply.is_problem(422, "invalid", Some("like"));

    let admin = server.key(Scope::Admin, None).await;
    let stranger = server.key(Scope::Tenant, Some("other")).await;
    let owner = server.key(Scope::Tenant, Some("acme")).await;
    let like = json!({"like": id});
    let reply = stranger.post("/api/v1/jobs", like.clone()).await;
    reply.is_problem(404, "not_found", None);
    for http in [owner, admin] {
        let created = http.post("/api/v1/jobs", like.clone()).await.is(201);
        assert_eq!(created["tenant"], "acme");
    }
}
