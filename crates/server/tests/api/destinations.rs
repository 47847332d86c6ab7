//! Destinations over the API: read, set, held and released.

use serde_json::{Value, json};
use steadfast_server::keys::Scope;

use crate::server::Server;

const PARTNER: &str = "/api/v1/destinations/https%3A%2F%2Fapi.example.com";

#[tokio::test]
async fn a_destination_is_held_listed_and_released() {
    let server = Server::start().await;
    let http = &server.http;
    let unknown = http.get(PARTNER).await.is(200);
    assert_eq!(
        (&unknown["status"], &unknown["hold"]),
        (&json!("healthy"), &json!("watch"))
    );
    let list = http.get("/api/v1/destinations").await.is(200);
    assert_eq!(list["destinations"], json!([]));

    let hold = format!("{PARTNER}/hold");
    let held = http
        .post(&hold, json!({"reason": "they move"}))
        .await
        .is(200);
    assert_eq!(held["status"], "held");
    assert_eq!(held["heldByHand"]["reason"], "they move");
    assert_eq!(held["incident"]["cause"], "held: they move");
    let job = json!({"kind": "mail", "destination": "https://api.example.com"});
    http.post("/api/v1/jobs", job).await.is(201);
    let claim = json!({"worker": "w", "kinds": ["mail"], "max": 3});
    let claimed = http.post("/api/v1/claims", claim.clone()).await.is(200);
    assert_eq!(claimed["claims"], json!([]));
    let list = http.get("/api/v1/destinations?status=held").await.is(200);
    assert_eq!(
        list["destinations"][0]["destination"],
        "https://api.example.com"
    );

    let released = http.post_empty(&format!("{PARTNER}/release")).await.is(200);
    assert_eq!(released["heldByHand"], Value::Null);
    let claimed = http.post("/api/v1/claims", claim).await.is(200);
    assert_eq!(claimed["claims"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn settings_of_a_destination_are_those_of_its_gate() {
    let server = Server::start().await;
    let http = &server.http;
    let gate = "/api/v1/gates/destination/https%3A%2F%2Fapi.example.com";
    http.put(gate, json!({"maxRunning": 5})).await.is(200);
    let settings = json!({"hold": "auto", "health": {"minJobs": 7}});
    let set = http.put(PARTNER, settings).await.is(200);
    assert_eq!(
        (&set["hold"], &set["health"]["minJobs"]),
        (&json!("auto"), &json!(7))
    );
    let limits = http.get(gate).await.is(200);
    assert_eq!(
        (&limits["maxRunning"], &limits["hold"]),
        (&json!(5), &json!("auto"))
    );
    // What is left out is as by default; limits stay.
    let set = http.put(PARTNER, json!({})).await.is(200);
    assert_eq!(
        (&set["hold"], &set["health"]["minJobs"]),
        (&json!("watch"), &json!(5))
    );
    assert_eq!(http.get(gate).await.is(200)["maxRunning"], 5);
    for (body, field) in [
        (json!({"hold": "maybe"}), Some("hold")),
        (json!({"health": {"minJobs": 0}}), Some("health.minJobs")),
        (json!({"health": {"minJob": 1}}), Some("health.minJob")),
        (json!({"maxRunning": 1}), None),
    ] {
        let reply = http.put(PARTNER, body.clone()).await;
        let problem = reply.json();
        assert_eq!(reply.status, 422, "{body}: {problem}");
        assert_eq!(problem["field"].as_str(), field, "{body}: {problem}");
    }
    let reply = http.get("/api/v1/destinations/api.example.com").await;
    reply.is_problem(422, "invalid", Some("key"));
    let past = json!({"until": "2020-01-01T00:00:00Z"});
    let reply = http.post(&format!("{PARTNER}/hold"), past).await;
    reply.is_problem(422, "invalid", Some("until"));
}

#[tokio::test]
async fn a_tenant_reads_destinations_and_sets_hold_for_its_own_jobs_only() {
    let server = Server::start().await;
    let acme = server.key(Scope::Tenant, Some("acme")).await;
    let other = server.key(Scope::Tenant, Some("other")).await;
    for verb in ["hold", "release"] {
        let reply = acme.post_empty(&format!("{PARTNER}/{verb}")).await;
        reply.is_problem(403, "wrong_scope", None);
    }
    let set = acme.put(PARTNER, json!({"hold": "off"})).await.is(200);
    assert_eq!(set["hold"], "off");
    assert_eq!(other.get(PARTNER).await.is(200)["hold"], "watch");
    let reply = acme.put(PARTNER, json!({"shareRetryAfter": false})).await;
    reply.is_problem(422, "invalid", Some("shareRetryAfter"));
}
