//! Which workers there are.

use serde_json::{Value, json};
use steadfast_server::keys::Scope;

use crate::{
    client::Http,
    server::{Server, Setup, until},
};

async fn workers(http: &Http, count: usize) -> Vec<Value> {
    until("the workers to be known", || async {
        let list = http.get("/api/v1/workers").await.is(200);
        let workers = list["workers"].as_array().unwrap().clone();
        (workers.len() == count).then_some(workers)
    })
    .await
}

#[tokio::test]
async fn a_claiming_worker_is_listed_with_its_details() {
    let server = Server::start().await;
    let info = json!({"version": "1.2.3", "host": "db-7", "concurrency": 20,
        "library": "steadfast-python/0.1.0"});
    server
        .http
        .create_id(json!({"kind": "mail", "tenant": "a"}))
        .await;
    let body = json!({"worker": "w1", "kinds": ["mail"], "queues": ["default"], "tenant": "a",
        "workerInfo": info});
    let claims = server.http.post("/api/v1/claims", body).await.is(200);
    assert_eq!(claims["claims"].as_array().unwrap().len(), 1);
    let worker = workers(&server.http, 1).await.remove(0);
    for (field, value) in [
        ("name", json!("w1")),
        ("tenant", json!("a")),
        ("queues", json!(["default"])),
        ("kinds", json!(["mail"])),
        ("version", json!("1.2.3")),
        ("host", json!("db-7")),
        ("concurrency", json!(20)),
        ("library", json!("steadfast-python/0.1.0")),
        ("running", json!(1)),
        ("alive", json!(true)),
    ] {
        assert_eq!(worker[field], value, "{field}");
    }
    let page = server.http.get("/nodes").await.body;
    assert!(page.contains("steadfast-python/0.1.0"), "{page}");
    let running = r#"<td data-label="Kinds">mail</td><td class="num" data-label="Running">1</td>"#;
    assert!(page.contains(running), "{page}");
    let long = json!({"worker": "w1", "workerInfo": {"host": "x".repeat(129)}});
    let refused = server.http.post("/api/v1/claims", long).await;
    refused.is_problem(422, "invalid", Some("workerInfo.host"));
}

#[tokio::test]
async fn a_tenant_sees_its_own_workers() {
    let server = Server::start().await;
    let claim = |tenant: Value| json!({"worker": "w1", "tenant": tenant});
    for tenant in [json!("a"), json!("b"), Value::Null] {
        server
            .http
            .post("/api/v1/claims", claim(tenant))
            .await
            .is(200);
    }
    let all = workers(&server.http, 3).await;
    let tenants: Vec<&Value> = all.iter().map(|worker| &worker["tenant"]).collect();
    assert_eq!(tenants, [&Value::Null, &json!("a"), &json!("b")]);
    let first = server.http.get("/api/v1/workers?limit=2").await.is(200);
    let after = first["nextCursor"].as_str().unwrap().replace(' ', "%20");
    let path = format!("/api/v1/workers?limit=2&after={after}");
    let rest = server.http.get(&path).await.is(200);
    assert_eq!(rest["workers"][0]["tenant"], "b");
    assert!(rest["nextCursor"].is_null());
    let own = server.key(Scope::Read, Some("a")).await;
    let own = workers(&own, 1).await;
    assert_eq!(own[0]["tenant"], "a");
}

#[tokio::test]
async fn a_worker_that_only_sends_heartbeats_is_seen_under_the_tenant_that_it_claims_for() {
    let server = Server::with(Setup {
        manual_clock: true,
        ..Setup::default()
    })
    .await;
    let http = &server.http;
    http.create_id(json!({"kind": "mail", "tenant": "a"})).await;
    let body = json!({"worker": "w1", "tenant": "a"});
    let claims = http.post("/api/v1/claims", body).await.is(200);
    let first = workers(http, 1).await.remove(0);
    http.post("/api/v1/test/advance", json!({"by": "20s"}))
        .await
        .is(200);
    let claim = &claims["claims"][0];
    let entry = json!({"id": claim["id"], "fence": claim["fence"]});
    let body = json!({"worker": "w1", "claims": [entry]});
    let renewed = http.post("/api/v1/claims/heartbeat", body).await.is(200);
    assert_eq!(renewed["claims"][0]["ok"], true, "{renewed:#}");
    until("the worker to be seen again", || async {
        let seen = workers(http, 1).await.remove(0);
        assert_eq!(seen["tenant"], "a");
        (seen["lastSeen"] != first["lastSeen"]).then_some(())
    })
    .await;
}
