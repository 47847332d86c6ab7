//! Gates over the API: set, changed, read, deleted, and refused.

use serde_json::{Value, json};
use steadfast_core::Timestamp;
use steadfast_server::keys::Scope;

use crate::server::Server;

const PARTNER: &str = "/api/v1/gates/destination/https%3A%2F%2Fapi.example.com";

#[tokio::test]
async fn a_gate_is_set_changed_read_listed_and_deleted() {
    let server = Server::start().await;
    let http = &server.http;
    http.get(PARTNER).await.is_problem(404, "not_found", None);
    let limits = json!({"maxRunning": 5, "rate": {"limit": 10, "per": "1s"}});
    let gate = http.put(PARTNER, limits).await.is(200);
    let expected = json!({
        "scope": "destination", "key": "https://api.example.com", "maxRunning": 5,
        "rate": {"limit": 10, "per": "1s", "burst": 0}, "running": 0,
    });
    assert_eq!(gate, expected);
    assert_eq!(http.get(PARTNER).await.is(200), expected);
    let changes = json!({"rate": null, "paused": {"reason": "they move"}});
    let gate = http.patch(PARTNER, changes).await.is(200);
    assert_eq!(
        (&gate["maxRunning"], &gate["rate"]),
        (&json!(5), &Value::Null)
    );
    assert_eq!(gate["paused"]["reason"], "they move");
    let list = http.get("/api/v1/gates").await.is(200);
    assert_eq!(list, json!({"gates": [gate], "nextCursor": null}));
    let gate = http.put(PARTNER, json!({"maxRunning": 2})).await.is(200);
    assert_eq!(gate["paused"], Value::Null);
    assert_eq!(http.send("DELETE", PARTNER, &[], "").await.status, 204);
    let again = http.send("DELETE", PARTNER, &[], "").await;
    again.is_problem(404, "not_found", None);
}

#[tokio::test]
async fn gates_come_in_pages() {
    let server = Server::start().await;
    let http = &server.http;
    for queue in ["a", "b", "c"] {
        let path = format!("/api/v1/gates/queue/{queue}");
        http.put(&path, json!({"maxRunning": 1})).await.is(200);
    }
    let first = http.get("/api/v1/gates?limit=2").await.is(200);
    let keys = |list: &Value| -> Vec<Value> {
        let gates = list["gates"].as_array().unwrap();
        gates.iter().map(|gate| gate["key"].clone()).collect()
    };
    assert_eq!(keys(&first), ["a", "b"]);
    let after = first["nextCursor"].as_str().unwrap();
    let after: String = form_urlencoded::byte_serialize(after.as_bytes()).collect();
    let path = format!("/api/v1/gates?limit=2&after={after}");
    let second = http.get(&path).await.is(200);
    assert_eq!(keys(&second), ["c"]);
    assert_eq!(second["nextCursor"], Value::Null);
}

// long: a table
#[tokio::test]
async fn a_bad_gate_is_refused_with_the_field_at_fault() {
    let server = Server::start().await;
    let long = format!("/key/{}", "k".repeat(256));
    for (path, limits, field, says) in [
        (
            "/queue/mail",
            json!({"maxRunning": 0}),
            "maxRunning",
            "set paused to stop all jobs",
        ),
        (
            "/queue/mail",
            json!({"maxRunning": -1}),
            "maxRunning",
            "between 1 and 1000000",
        ),
        (
            "/queue/mail",
            json!({"rate": {"limit": -5, "per": "1s"}}),
            "rate.limit",
            "between 1 and",
        ),
        (
            "/queue/mail",
            json!({"rate": {"limit": 5, "per": "1ms"}}),
            "rate.per",
            "between 1s and",
        ),
        ("/queue/mail", json!({"rate": 5}), "rate", ""),
        ("/queue/mail", json!({"maxRuning": 1}), "maxRuning", ""),
        ("/queue/mail", json!({}), "gate", "must set a limit"),
        (
            "/queue/mail",
            json!({"ordered": true}),
            "ordered",
            "scope key",
        ),
        (
            "/queue/mail",
            json!({"retryShare": 2}),
            "retryShare",
            "between 0 and 1",
        ),
        (
            "/queue/mail",
            json!({"weight": 2}),
            "weight",
            "scope tenant",
        ),
        (
            "/queue/mail",
            json!({"hold": "auto"}),
            "hold",
            "scope destination",
        ),
        (
            "/queue/mail",
            json!({"paused": {"until": "2020-01-01T00:00:00Z"}}),
            "paused.until",
            "in the future",
        ),
        ("/queue/mail", json!({"paused": 3}), "paused", "true, false"),
        ("/queue/two%20words", json!({"maxRunning": 1}), "key", ""),
        (&long, json!({"maxRunning": 1}), "key", "255"),
        (
            "/key/k",
            json!({"ordered": true, "maxRunning": 2}),
            "maxRunning",
            "one at a time",
        ),
        (
            "/tenant/acme",
            json!({"weight": 0}),
            "weight",
            "between 1 and 1000",
        ),
        (
            "/tenant/acme?tenant=acme",
            json!({"weight": 2}),
            "tenant",
            "omitted",
        ),
        (
            "/color/red",
            json!({"maxRunning": 1}),
            "scope",
            "queue, kind, tenant, destination, key",
        ),
        (
            "/destination/api.example.com",
            json!({"maxRunning": 1}),
            "key",
            "an origin",
        ),
        (
            "/destination/https%3A%2F%2Fa.example%2Fpath",
            json!({"maxRunning": 1}),
            "key",
            "an origin",
        ),
        (
            "/destination/https%3A%2F%2Fa.example",
            json!({"health": {"minJobs": 0}}),
            "health.minJobs",
            "between 1 and",
        ),
        (
            "/queue/mail",
            json!({"shareRetryAfter": true}),
            "shareRetryAfter",
            "only destinations",
        ),
    ] {
        let path = format!("/api/v1/gates{path}");
        let reply = server.http.put(&path, limits).await;
        let problem = reply.json();
        assert_eq!(reply.status, 422, "{path}: {problem}");
        assert_eq!(problem["field"], field, "{path}: {problem}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(says), "{path}: {detail}");
    }
    let list = server.http.get("/api/v1/gates").await.is(200);
    assert_eq!(list["gates"], json!([]), "nothing was set on the way");
}

#[tokio::test]
async fn a_tenant_sets_the_gates_of_its_own_jobs_and_no_others() {
    let server = Server::start().await;
    let admin = server.key(Scope::Admin, None).await;
    let acme = server.key(Scope::Tenant, Some("acme")).await;
    let other = server.key(Scope::Tenant, Some("other")).await;
    let reader = server.key(Scope::Read, Some("acme")).await;
    let one = || json!({"maxRunning": 1});
    let gate = acme.put("/api/v1/gates/queue/mail", one()).await.is(200);
    assert_eq!(gate["tenant"], "acme");
    // The same path is another gate for others.
    other
        .get("/api/v1/gates/queue/mail")
        .await
        .is_problem(404, "not_found", None);
    admin
        .get("/api/v1/gates/queue/mail")
        .await
        .is_problem(404, "not_found", None);
    admin
        .get("/api/v1/gates/queue/mail?tenant=acme")
        .await
        .is(200);
    let reply = acme
        .put("/api/v1/gates/queue/mail?tenant=other", one())
        .await;
    reply.is_problem(403, "wrong_scope", Some("tenant"));
    let reply = acme.put("/api/v1/gates/tenant/other", one()).await;
    reply.is_problem(422, "invalid", Some("key"));
    let reply = acme.put("/api/v1/gates/tenant/acme", one()).await;
    reply.is_problem(403, "wrong_scope", Some("scope"));
    let reply = reader.put("/api/v1/gates/queue/mail", one()).await;
    reply.is_problem(403, "wrong_scope", None);
    admin.put("/api/v1/gates/tenant/acme", one()).await.is(200);
    assert_eq!(
        acme.get("/api/v1/gates/tenant/acme").await.is(200)["maxRunning"],
        1
    );
    let count = |list: Value| list["gates"].as_array().unwrap().len();
    assert_eq!(count(acme.get("/api/v1/gates").await.is(200)), 2);
    assert_eq!(count(other.get("/api/v1/gates").await.is(200)), 0);
    // Who paused it is known by the name of the key.
    let pause = json!({"paused": true});
    let gate = acme.patch("/api/v1/gates/kind/resize", pause).await.is(200);
    assert!(
        gate["paused"]["by"]
            .as_str()
            .is_some_and(|by| !by.is_empty())
    );
}

#[tokio::test]
async fn a_job_has_a_destination_and_a_concurrency_key_and_waits_at_its_gate() {
    let server = Server::start().await;
    let http = &server.http;
    let key = "/api/v1/gates/key/customer%207";
    http.put(key, json!({"ordered": true})).await.is(200);
    let job = || {
        json!({
            "kind": "mail", "destination": "HTTPS://api.example.com:443",
            "concurrencyKey": "customer 7"
        })
    };
    let created = http.post("/api/v1/jobs", job()).await.is(201);
    assert_eq!(created["destination"], "https://api.example.com");
    assert_eq!(created["concurrencyKey"], "customer 7");
    let many = json!({"jobs": [job(), job()]});
    let many = http.post("/api/v1/jobs", many).await.is(201);
    assert_eq!(many["jobs"][1]["concurrencyKey"], "customer 7");
    let claim = json!({"worker": "w", "kinds": ["mail"], "max": 3});
    let claimed = http.post("/api/v1/claims", claim.clone()).await.is(200);
    assert_eq!(claimed["claims"].as_array().unwrap().len(), 1);
    let mut of_http = job();
    of_http["kind"] = json!(null);
    of_http["api"] = json!("https://example.com/");
    let refused = http.post("/api/v1/jobs", of_http).await;
    refused.is_problem(422, "invalid", Some("destination"));
    let of_http = json!({"api": "https://example.com/hook", "delay": "1h"});
    let created = http.post("/api/v1/jobs", of_http).await.is(201);
    assert_eq!(created["destination"], "https://example.com");
    let schedule = json!({"name": "s", "every": "1h", "job": job()});
    let schedule = http.post("/api/v1/schedules", schedule).await.is(201);
    assert_eq!(
        schedule["job"]["concurrencyKey"], "customer 7",
        "{schedule}"
    );
}

#[tokio::test]
async fn a_gate_says_how_much_of_it_is_taken() {
    let server = Server::start().await;
    let http = &server.http;
    let path = "/api/v1/gates/kind/mail";
    let limits = json!({"maxRunning": 2, "rate": {"limit": 1, "per": "1h"}});
    let gate = http.put(path, limits).await.is(200);
    assert_eq!(
        (&gate["running"], &gate["nextStart"]),
        (&json!(0), &Value::Null)
    );
    http.create_id(json!({"kind": "mail"})).await;
    assert_eq!(http.claim("mail", "0s").await.len(), 1);
    let gate = http.get(path).await.is(200);
    assert_eq!(gate["running"], 1);
    let next: Timestamp = gate["nextStart"].as_str().unwrap().parse().unwrap();
    assert!(next > server.client().now());
    let list = http.get("/api/v1/gates").await.is(200);
    assert_eq!(list["gates"], json!([gate]));
    // A gate that limits neither has nothing to say.
    let gate = http.put(path, json!({"retryShare": 0.5})).await.is(200);
    assert_eq!(
        (&gate["running"], &gate["nextStart"]),
        (&Value::Null, &Value::Null)
    );
}

#[tokio::test]
async fn a_queue_that_is_paused_for_all_tenants_is_not_resumed_for_one() {
    let server = Server::start().await;
    let admin = server.key(Scope::Admin, None).await;
    let acme = server.key(Scope::Tenant, Some("acme")).await;
    let gate = "/api/v1/gates/queue/mail";
    let pause = json!({"paused": {"reason": "the provider moves"}});
    admin.patch(gate, pause).await.is(200);
    for http in [&admin, &acme] {
        let reply = http.post_empty("/api/v1/queues/mail/resume").await;
        let detail = reply.json()["detail"].as_str().unwrap().to_owned();
        reply.is_problem(409, "paused_for_all", None);
        for says in ["queue mail", "all tenants", "by ", "the provider moves"] {
            assert!(detail.contains(says), "{detail}");
        }
    }
    admin.patch(gate, json!({"paused": false})).await.is(200);
    for verb in ["pause", "resume"] {
        let path = format!("/api/v1/queues/mail/{verb}");
        assert_eq!(acme.post_empty(&path).await.status, 204);
    }
    let queues = admin.get("/api/v1/queues").await.is(200);
    assert_eq!(queues["queues"], json!([]));
}

#[tokio::test]
async fn jobs_beyond_the_limit_of_waiting_jobs_are_refused_whole() {
    let server = Server::start().await;
    let http = &server.http;
    let gate = "/api/v1/gates/queue/mail";
    let limits = json!({"maxWaiting": 2});
    let set = http.put(gate, limits).await.is(200);
    assert_eq!(
        (&set["maxWaiting"], &set["waiting"]),
        (&json!(2), &json!(0))
    );
    let job = || json!({"kind": "welcome", "queue": "mail", "delay": "1h"});
    http.post("/api/v1/jobs", job()).await.is(201);
    let many = json!({"jobs": [job(), job()]});
    let refused = http.post("/api/v1/jobs", many.clone()).await;
    assert_eq!(refused.headers["retry-after"], "5");
    refused.is_problem(429, "too_many_waiting", None);
    assert_eq!(
        refused.json()["detail"],
        "queue mail has 1 waiting job and may have 2 (maxWaiting): 2 new jobs do not fit, and \
         nothing was created"
    );
    let batch = http.post("/api/v1/batches", many).await;
    batch.is_problem(429, "too_many_waiting", None);
    http.post("/api/v1/jobs", job()).await.is(201);
    assert_eq!(http.get(gate).await.is(200)["waiting"], 2);
    let metrics = http.get("/metrics").await.body;
    for line in [
        "steadfast_creates_refused_total{reason=\"too_many_waiting\"} 2",
        "steadfast_gate_waiting{scope=\"queue\",key=\"mail\",tenant=\"\"} 2",
        "steadfast_gate_waiting_max{scope=\"queue\",key=\"mail\",tenant=\"\"} 2",
    ] {
        assert!(metrics.contains(line), "{line} is not in {metrics}");
    }
    let kind = "/api/v1/gates/kind/welcome";
    let refused = http.put(kind, json!({"maxWaiting": 2})).await;
    refused.is_problem(422, "invalid", Some("maxWaiting"));
}
