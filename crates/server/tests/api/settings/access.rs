//! Keys and what they are good for.

use serde_json::{Value, json};
use steadfast_server::keys::Scope;

use super::secrets::listen;
use crate::{
    client::Http,
    server::{Server, Setup, id_of, until},
};

const UNKNOWN: &str = "sf_00000000000000000000000000_00";

#[tokio::test]
async fn without_a_key_nothing_is_shown_but_health_and_the_description() {
    let setup = Setup {
        open: false,
        ..Setup::default()
    };
    let server = Server::with(setup).await;
    for path in [
        "/api/v1/jobs",
        "/api/v1/schedules",
        "/api/v1/dlq",
        "/api/v1/queues",
        "/api/v1/stats",
        "/api/v1/stats/minutes",
        "/api/v1/alerts",
        "/api/v1/endpoints",
        "/api/v1/keys",
        "/api/v1/events",
        "/metrics",
    ] {
        let refused = server.http.get(path).await;
        refused.is_problem(401, "no_key", None);
        assert!(refused.headers["www-authenticate"].starts_with("Bearer"));
        let stranger = server.http.with_key(UNKNOWN).get(path).await;
        stranger.is_problem(401, "unknown_key", None);
    }
    for path in ["/healthz", "/readyz", "/api/v1/openapi.json"] {
        server.http.get(path).await.is(200);
    }
    let basic = [("authorization", "Basic c2VjcmV0")];
    let basic = server.http.send("GET", "/api/v1/jobs", &basic, "").await;
    basic.is_problem(401, "no_key", None);
}

#[tokio::test]
async fn refused_keys_leave_a_few_lines_in_the_log_and_a_valid_one_is_never_refused() {
    let (log, _logging) = listen();
    let server = Server::start().await;
    let admin = server.key(Scope::Admin, None).await;
    let stranger = server.http.with_key(UNKNOWN);
    for _ in 0..60 {
        let refused = stranger.get("/api/v1/jobs").await;
        refused.is_problem(401, "unknown_key", None);
    }
    admin.get("/api/v1/jobs").await.is(200);
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert_eq!(log.matches("API keys refused").count(), 2, "{log}");
    assert!(!log.contains(UNKNOWN));
}

#[tokio::test]
async fn on_loopback_no_key_is_needed_until_there_is_one() {
    let server = Server::start().await;
    // A first key that cannot make keys would lock everybody out.
    for body in [
        json!({"scope": "tenant", "tenant": "acme"}),
        json!({"scope": "worker"}),
        json!({"scope": "read"}),
    ] {
        let refused = server.http.post("/api/v1/keys", body).await;
        refused.is_problem(422, "invalid", Some("scope"));
    }
    let body = json!({"name": "first", "scope": "admin"});
    let first = server.http.post("/api/v1/keys", body.clone()).await.is(201);
    let refused = server.http.post("/api/v1/keys", body).await;
    refused.is_problem(401, "no_key", None);
    let admin = server.http.with_key(first["token"].as_str().unwrap());
    admin.get("/api/v1/jobs").await.is(200);
    let keys = admin.get("/api/v1/keys").await.is(200);
    assert_eq!(keys["keys"][0]["name"], "first");
    assert_eq!(keys["keys"][0].get("token"), None);
    // Without it, no caller could ever create another.
    let path = format!("/api/v1/keys/{}", id_of(&first));
    admin
        .delete(&path)
        .await
        .is_problem(409, "last_admin_key", None);
}

// long: one table of all scopes.
#[tokio::test]
async fn each_scope_allows_its_own_requests_only() {
    let server = Server::start().await;
    let admin = server.key(Scope::Admin, None).await;
    let tenant = server.key(Scope::Tenant, Some("acme")).await;
    let worker = server.key(Scope::Worker, Some("acme")).await;
    let read = server.key(Scope::Read, Some("acme")).await;
    let claim = json!({"worker": "w1"});
    let job = json!({"kind": "k"});
    let preview = json!({"retry": "http"});
    let key = json!({"scope": "read", "tenant": "acme"});
    // Who may: admin, tenant, worker, read.
    for (path, body, may) in [
        ("/api/v1/jobs", job, [true, true, false, false]),
        ("/api/v1/claims", claim, [true, true, true, false]),
        (
            "/api/v1/policies/preview",
            preview,
            [true, true, true, true],
        ),
        ("/api/v1/keys", key, [true, true, false, false]),
        (
            "/api/v1/dlq/discard",
            json!({"all": true}),
            [true, true, false, false],
        ),
    ] {
        for (http, may) in [&admin, &tenant, &worker, &read].into_iter().zip(may) {
            let reply = http.post(path, body.clone()).await;
            match may {
                true => assert!(reply.status < 300, "{path}: {}", reply.body),
                false => reply.is_problem(403, "wrong_scope", None),
            }
        }
    }
    for http in [&admin, &tenant, &worker, &read] {
        http.get("/api/v1/jobs").await.is(200);
        http.get("/api/v1/stats").await.is(200);
        http.get("/metrics").await.is(200);
    }
    for http in [&worker, &read] {
        http.get("/api/v1/keys")
            .await
            .is_problem(403, "wrong_scope", None);
    }
    let metrics = admin
        .post("/api/v1/keys", json!({"scope": "metrics"}))
        .await;
    let metrics = metrics.is(201);
    let metrics = server.http.with_key(metrics["token"].as_str().unwrap());
    for path in ["/metrics", "/healthz", "/readyz"] {
        metrics.get(path).await.is(200);
    }
    let description: Value = serde_json::from_str(&steadfast_server::openapi_json()).unwrap();
    let mut refused = 0;
    for (path, methods) in description["paths"].as_object().unwrap() {
        let parts = path.split('/');
        let parts = parts.map(|part| if part.starts_with('{') { "x" } else { part });
        let path = parts.collect::<Vec<_>>().join("/");
        if !methods["get"].is_null() {
            let reply = metrics.get(&path).await;
            reply.is_problem(403, "wrong_scope", None);
            refused += 1;
        }
    }
    assert!(refused > 30, "{refused}");
    let above = tenant.post("/api/v1/keys", json!({"scope": "admin"})).await;
    above.is_problem(403, "wrong_scope", Some("scope"));
    let beside = json!({"scope": "read", "tenant": "other"});
    let beside = tenant.post("/api/v1/keys", beside).await;
    beside.is_problem(403, "wrong_scope", Some("tenant"));
}

#[tokio::test]
async fn a_revoked_key_is_refused() {
    let server = Server::start().await;
    let admin = server.key(Scope::Admin, None).await;
    let body = json!({"scope": "tenant", "tenant": "acme", "name": "ci"});
    let made = admin.post("/api/v1/keys", body).await.is(201);
    let theirs = server.http.with_key(made["token"].as_str().unwrap());
    theirs.get("/api/v1/jobs").await.is(200);
    let path = format!("/api/v1/keys/{}", id_of(&made));
    admin.delete(&path).await.is(204);
    theirs
        .get("/api/v1/jobs")
        .await
        .is_problem(401, "unknown_key", None);
    admin.delete(&path).await.is_problem(404, "not_found", None);
    let wrong = json!({"scope": "tenant"});
    let wrong = admin.post("/api/v1/keys", wrong).await;
    wrong.is_problem(422, "invalid", Some("tenant"));
    let wrong = json!({"scope": "everything"});
    let wrong = admin.post("/api/v1/keys", wrong).await;
    wrong.is_problem(422, "invalid", Some("scope"));
    let keys = admin.get("/api/v1/keys").await.is(200);
    let tenants: Vec<&Value> = keys["keys"]
        .as_array()
        .unwrap()
        .iter()
        .map(|key| &key["tenant"])
        .collect();
    assert_eq!(tenants, [&Value::Null]);
}

#[tokio::test]
async fn a_key_tells_who_created_it_when_it_was_used_and_when_it_ends() {
    let server = Server::start().await;
    let admin = server.key(Scope::Admin, None).await;
    let make = async |http: &Http, body: Value| http.post("/api/v1/keys", body).await.is(201);
    let body = json!({"scope": "tenant", "tenant": "acme", "expiresAt": "2999-01-01T00:00:00Z"});
    let tenant = make(&admin, body).await;
    assert_eq!(tenant["lastUsedAt"], Value::Null);
    let theirs = server.http.with_key(tenant["token"].as_str().unwrap());
    let child = make(&theirs, json!({"scope": "read"})).await;
    assert_eq!(child["createdBy"], tenant["id"]);
    assert_eq!(child["expiresAt"], "2999-01-01T00:00:00Z", "as its creator");
    for (at, http) in [
        ("2001-01-01T00:00:00Z", &admin),
        ("2999-01-02T00:00:00Z", &theirs),
    ] {
        let body = json!({"scope": "read", "tenant": "acme", "expiresAt": at});
        let refused = http.post("/api/v1/keys", body).await;
        refused.is_problem(422, "invalid", Some("expiresAt"));
    }
    until("its use to be written", || async {
        let keys = theirs.get("/api/v1/keys").await.is(200);
        let key = keys["keys"].as_array().unwrap().iter();
        let mut key = key.filter(|key| key["id"] == tenant["id"]);
        (!key.next().unwrap()["lastUsedAt"].is_null()).then_some(())
    })
    .await;
    let reader = server.http.with_key(child["token"].as_str().unwrap());
    reader.get("/api/v1/jobs").await.is(200);
    reader
        .get("/api/v1/nodes")
        .await
        .is_problem(403, "wrong_scope", None);
    let path = format!("/api/v1/keys/{}", id_of(&tenant));
    admin.delete(&path).await.is(204);
    for http in [&theirs, &reader] {
        let refused = http.get("/api/v1/jobs").await;
        refused.is_problem(401, "unknown_key", None);
    }
}

#[tokio::test]
async fn admins_who_revoke_each_other_leave_one_and_a_server_without_keys_stays_closed() {
    let server = Server::start().await;
    let mut admins = Vec::new();
    for _ in 0..2 {
        let http = admins.last().map_or(&server.http, |(_, http)| http);
        let body = json!({"scope": "admin"});
        let made = http.post("/api/v1/keys", body).await.is(201);
        let http = server.http.with_key(made["token"].as_str().unwrap());
        admins.push((format!("/api/v1/keys/{}", id_of(&made)), http));
    }
    let [(one_path, one), (other_path, other)] = &admins[..] else {
        unreachable!("two were made");
    };
    let answers = tokio::join!(one.delete(other_path), other.delete(one_path));
    let mut statuses = [answers.0.status, answers.1.status];
    statuses.sort_unstable();
    // The second may also find its own key revoked already.
    assert!(
        matches!(statuses, [204, 401 | 409]),
        "{statuses:?}: {answers:?}"
    );
    server.delete_all_keys().await;
    until("the keys to be gone", || async {
        let known = one.get("/api/v1/jobs").await.status == 200;
        let known = known || other.get("/api/v1/jobs").await.status == 200;
        (!known).then_some(())
    })
    .await;
    let refused = server.http.get("/api/v1/jobs").await;
    refused.is_problem(401, "no_key", None);
}
