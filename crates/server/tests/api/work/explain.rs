//! Why jobs have not started.

use serde_json::{Value, json};
use steadfast_core::{GateId, GatePatch, GateScope};
use steadfast_server::keys::Scope;

use crate::{client::Http, server::Server};

async fn explain(http: &Http, id: &str) -> Value {
    http.get(&format!("/api/v1/jobs/{id}/explain"))
        .await
        .is(200)
}

#[tokio::test]
async fn a_job_explains_why_it_has_not_started() {
    let server = Server::start().await;
    let id = server.http.create_id(json!({"kind": "mail"})).await;
    let explanation = explain(&server.http, &id).await;
    assert_eq!(explanation["job"], json!(id));
    assert_eq!(explanation["claimable"], json!(true));
    assert_eq!(explanation["blockers"][0]["kind"], json!("no_worker"));
    let action = "Start a node or worker for kind mail and queue default.";
    assert_eq!(explanation["action"], json!(action));
    // A time is said to the second.
    let later = json!({"kind": "mail", "runAt": "2096-01-01T12:00:00.123456Z"});
    let later = server.http.create_id(later).await;
    let sentence = &explain(&server.http, &later).await["blockers"][0]["sentence"];
    let text = sentence.as_str().unwrap();
    assert!(text.ends_with("at 2096-01-01T12:00:00Z."), "{text}");
    // A worker that was seen counts, here at once.
    let most = GatePatch::default().max_running(1);
    let gate = GateId::new(None, GateScope::Kind, "mail").unwrap();
    server.client().set_gate(gate, &most, None).await.unwrap();
    assert_eq!(server.http.claim("mail", "0s").await.len(), 1);
    let next = server.http.create_id(json!({"kind": "mail"})).await;
    let explanation = explain(&server.http, &next).await;
    assert_eq!(explanation["claimable"], json!(false));
    let blocker = &explanation["blockers"][0];
    assert_eq!(blocker["kind"], json!("max_running"));
    assert_eq!(blocker["gate"], json!({"scope": "kind", "key": "mail"}));
    assert_eq!(blocker["holders"][0]["job"], json!(id));
    // The job itself says so, and a list says what costs nothing.
    let job = server.http.read_job(&next).await;
    assert_eq!(job["label"], json!("ready"));
    assert_eq!(job["waitingFor"][0]["kind"], json!("max_running"));
    assert_eq!(server.http.read_job(&id).await["waitingFor"], Value::Null);
    let queue = server
        .http
        .get("/api/v1/queues/default/explain")
        .await
        .is(200);
    assert_eq!(queue["next"]["job"], json!(next));
    assert_eq!((&queue["ready"], &queue["running"]), (&json!(1), &json!(1)));
    let page = server.http.get(&format!("/jobs/{next}")).await;
    assert!(page.body.contains("Why it is waiting"), "{}", page.body);
    assert!(page.body.contains("allows 1 attempt at once"));
    let page = server.http.get("/queues/why?queue=default").await;
    assert!(page.body.contains(&next), "{}", page.body);
    server.stop().await;
}

#[tokio::test]
async fn a_tenant_learns_of_its_own_jobs_only() {
    let server = Server::start().await;
    let most = GatePatch::default().max_running(1);
    let gate = GateId::new(None, GateScope::Kind, "mail").unwrap();
    server.client().set_gate(gate, &most, None).await.unwrap();
    let other = json!({"kind": "mail", "tenant": "other"});
    let other = server.http.create_id(other).await;
    assert_eq!(server.http.claim("mail", "0s").await.len(), 1);
    let own = server
        .http
        .create_id(json!({"kind": "mail", "tenant": "own"}))
        .await;
    let key = server.key(Scope::Read, Some("own")).await;
    let explanation = explain(&key, &own).await;
    assert_eq!(explanation["blockers"][0]["kind"], json!("max_running"));
    assert!(!explanation.to_string().contains(&other), "{explanation}");
    // It learns what to ask the operator for.
    let action = "Ask the operator to raise maxRunning of kind mail (currently 1).";
    assert_eq!(explanation["action"], json!(action));
    let writer = server.key(Scope::Tenant, Some("own")).await;
    let pause = json!({"paused": true});
    writer
        .patch("/api/v1/gates/queue/default", pause)
        .await
        .is(200);
    let action = "Resume queue default of tenant own.";
    assert_eq!(explain(&key, &own).await["action"], json!(action));
    let path = format!("/api/v1/jobs/{other}/explain");
    key.get(&path).await.is_problem(404, "not_found", None);
    let path = "/api/v1/queues/default/explain?tenant=other";
    key.get(path)
        .await
        .is_problem(403, "wrong_scope", Some("tenant"));
    let queue = key.get("/api/v1/queues/default/explain").await.is(200);
    assert_eq!(queue["next"]["job"], json!(own));
    let admin = server.key(Scope::Admin, None).await;
    writer
        .send("DELETE", "/api/v1/gates/queue/default", &[], "")
        .await;
    let holders = explain(&admin, &own).await;
    assert!(holders.to_string().contains(&other));
    let action = "Raise maxRunning of kind mail (currently 1).";
    assert_eq!(holders["action"], json!(action));
    admin
        .get("/api/v1/queues/a%20b/explain")
        .await
        .is_problem(422, "invalid", Some("queue"));
    server.stop().await;
}
