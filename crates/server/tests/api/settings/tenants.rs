//! Two tenants on one node: neither can see that the other is there.

use serde_json::{Value, json};
use steadfast_server::keys::Scope;

use crate::{
    client::Http,
    server::{Server, id_of},
    target::Target,
};

/// One of everything, all of it named so that it is found wherever it leaks.
struct Things {
    job: String,
    dead: String,
    schedule: String,
    endpoint: String,
    key: String,
}

async fn furnish(http: &Http, target: &Target) -> Things {
    let body = json!({"kind": "acme-kind", "queue": "acme-queue", "payload": "acme-payload"});
    let job = http.create_id(body).await;
    let dead = json!({"http": {"url": target.url()}, "queue": "acme-queue", "retry": "once"});
    let dead = http.create_id(dead).await;
    http.wait_for_label(&dead, "failed").await;
    let body = json!({"name": "acme-schedule", "every": "1h", "job": {"kind": "acme-kind"}});
    let schedule = http.post("/api/v1/schedules", body).await.is(201);
    let body = json!({"url": "https://acme.example.com/hook"});
    let endpoint = http.post("/api/v1/endpoints", body).await.is(201);
    let body = json!({"scope": "read", "name": "acme-key"});
    let key = http.post("/api/v1/keys", body).await.is(201);
    Things {
        job,
        dead,
        schedule: id_of(&schedule),
        endpoint: id_of(&endpoint),
        key: id_of(&key),
    }
}

#[tokio::test]
async fn no_list_shows_anything_of_another_tenant() {
    let server = Server::start().await;
    let acme = server.key(Scope::Tenant, Some("acme")).await;
    let other = server.key(Scope::Tenant, Some("other")).await;
    let target = Target::always(500).await;
    furnish(&acme, &target).await;
    for path in [
        "/api/v1/jobs",
        "/api/v1/jobs?label=failed",
        "/api/v1/schedules",
        "/api/v1/dlq",
        "/api/v1/queues",
        "/api/v1/stats",
        "/api/v1/stats/minutes",
        "/api/v1/alerts",
        "/api/v1/endpoints",
        "/api/v1/keys",
        "/metrics",
    ] {
        let theirs = acme.get(path).await;
        assert!(theirs.status == 200, "{path}");
        let seen = other.get(path).await;
        assert_eq!(seen.status, 200, "{path}");
        assert!(!seen.body.contains("acme"), "{path}: {}", seen.body);
        // Asking for the other by name is refused whether it exists or not.
        for tenant in ["acme", "unknown"] {
            if path == "/metrics" || path == "/api/v1/keys" || path.contains('?') {
                continue;
            }
            let asked = other.get(&format!("{path}?tenant={tenant}")).await;
            asked.is_problem(403, "wrong_scope", Some("tenant"));
        }
    }
    let own = acme.get("/api/v1/stats").await.is(200);
    assert_eq!(own["dlqSize"], 1);
    let stats = other.get("/api/v1/stats").await.is(200);
    assert_eq!(stats["dlqSize"], 0);
    assert_eq!(stats["lanes"], json!([]));
    assert_eq!(stats["total"]["attempts"], 0);
}

#[tokio::test]
async fn resources_of_another_tenant_are_not_found() {
    let server = Server::start().await;
    let acme = server.key(Scope::Tenant, Some("acme")).await;
    let other = server.key(Scope::Tenant, Some("other")).await;
    let target = Target::always(500).await;
    let things = furnish(&acme, &target).await;
    let Things {
        job,
        dead,
        schedule,
        endpoint,
        key,
    } = &things;
    let nothing = json!({});
    let retry = json!({"payload": 1});
    for (method, path, body) in [
        ("GET", format!("/jobs/{job}"), None),
        ("GET", format!("/jobs/{dead}/history"), None),
        ("GET", format!("/jobs/{schedule}/history"), None),
        ("PATCH", format!("/jobs/{job}"), Some(&nothing)),
        ("POST", format!("/jobs/{job}/cancel"), None),
        ("POST", format!("/jobs/{dead}/retry"), Some(&retry)),
        ("POST", format!("/jobs/{dead}/retry"), None),
        ("POST", format!("/jobs/{job}/run-now"), None),
        ("GET", format!("/schedules/{schedule}"), None),
        ("PATCH", format!("/schedules/{schedule}"), Some(&nothing)),
        ("DELETE", format!("/schedules/{schedule}"), None),
        ("POST", format!("/schedules/{schedule}/pause"), None),
        ("POST", format!("/schedules/{schedule}/resume"), None),
        ("POST", format!("/schedules/{schedule}/run-now"), None),
        ("GET", format!("/schedules/{schedule}/ticks"), None),
        ("DELETE", format!("/endpoints/{endpoint}"), None),
        ("POST", format!("/endpoints/{endpoint}/rotate"), None),
        ("DELETE", format!("/keys/{key}"), None),
    ] {
        let path = format!("/api/v1{path}");
        let (headers, body): (&[(&str, &str)], String) = match body {
            Some(body) => (&[("content-type", "application/json")], body.to_string()),
            None => (&[], String::new()),
        };
        let theirs = other.send(method, &path, headers, &body).await;
        theirs.is_problem(404, "not_found", None);
        // The answer is the same, word for word, for what never was.
        let place = path.split('/').nth(4).unwrap();
        let (kind, digits) = place.split_once('_').unwrap();
        let never = format!("{kind}_{}", "0".repeat(digits.len()));
        let nowhere = path.replace(place, &never);
        let absent = other.send(method, &nowhere, headers, &body).await;
        assert_eq!(absent.body.replace(&never, place), theirs.body, "{path}");
    }
    assert_eq!(acme.read_job(job).await["label"], "ready");
    assert_eq!(acme.read_job(dead).await["label"], "failed");
}

#[tokio::test]
async fn dead_letters_queues_and_keys_of_another_tenant_cannot_be_touched() {
    let server = Server::start().await;
    let acme = server.key(Scope::Tenant, Some("acme")).await;
    let other = server.key(Scope::Tenant, Some("other")).await;
    let target = Target::always(500).await;
    let things = furnish(&acme, &target).await;
    for body in [json!({"ids": [things.dead]}), json!({"all": true})] {
        for verb in ["requeue", "discard"] {
            let path = format!("/api/v1/dlq/{verb}");
            let done = other.post(&path, body.clone()).await.is(200);
            assert_eq!(done["count"], 0);
        }
    }
    // Queues of the same name are queues of one's own.
    other
        .post_empty("/api/v1/queues/acme-queue/pause")
        .await
        .is(204);
    let queues = acme.get("/api/v1/queues").await.is(200);
    let own = queues["queues"].as_array().unwrap();
    assert!(own.iter().all(|queue| queue["paused"] == json!(false)));
    let claim = json!({"worker": "w", "kinds": ["acme-kind"]});
    let claims = other.post("/api/v1/claims", claim).await.is(200);
    assert_eq!(claims["claims"], json!([]));
    let made = json!({"kind": "k", "tenant": "acme"});
    let made = other.post("/api/v1/jobs", made).await;
    made.is_problem(403, "wrong_scope", Some("tenant"));
    // One key, one job: per tenant.
    let body = json!({"kind": "k", "idempotencyKey": "same"});
    let (mine, theirs): (Value, Value) = (
        acme.post("/api/v1/jobs", body.clone()).await.is(201),
        other.post("/api/v1/jobs", body).await.is(201),
    );
    assert_ne!(mine["id"], theirs["id"]);
}

#[tokio::test]
async fn a_job_that_cannot_be_read_is_named_to_its_tenant_and_to_no_other() {
    let server = Server::start().await;
    let acme = server.key(Scope::Admin, None).await;
    let other = server.key(Scope::Read, Some("other")).await;
    let id = acme
        .create_id(json!({"kind": "report", "tenant": "acme", "delay": "1h"}))
        .await;
    server.spoil("UPDATE steadfast_job SET tags = '[]'");
    let path = format!("/api/v1/jobs/{id}");
    let problem = acme.get(&path).await.is(409);
    assert_eq!(problem["code"], "damaged");
    assert!(
        problem["detail"].as_str().unwrap().contains("tags"),
        "{problem}"
    );
    assert_eq!(other.get(&path).await.is(404)["code"], "not_found");
    let metrics = acme.get("/metrics").await.body;
    assert!(metrics.contains("steadfast_damaged_rows 1"), "{metrics}");
    assert!(metrics.contains("steadfast_store_log_bytes "), "{metrics}");
    let metrics = other.get("/metrics").await.body;
    assert!(metrics.contains("steadfast_damaged_rows 0"), "{metrics}");
}
