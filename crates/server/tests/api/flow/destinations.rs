//! Destinations over the API: read, set, held and released.

use std::time::Duration;

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
        (&json!("healthy"), &json!("auto"))
    );
    let list = http.get("/api/v1/destinations").await.is(200);
    assert_eq!(list["destinations"], json!([]));

    let hold = format!("{PARTNER}/hold");
    let held = http
        .post(
            &hold,
            json!({"reason": "they move", "until": "2099-01-01T00:00:00Z"}),
        )
        .await
        .is(200);
    assert_eq!(held["status"], "held");
    assert_eq!(held["heldByHand"]["reason"], "they move");
    assert_eq!(held["heldByHand"]["until"], "2099-01-01T00:00:00Z");
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
        (&json!("auto"), &json!(5))
    );
    assert_eq!(http.get(gate).await.is(200)["maxRunning"], 5);
    for (body, field) in [
        (json!({"hold": "maybe"}), "hold"),
        (json!({"pace": "fast"}), "pace"),
        (json!({"health": {"minJobs": 0}}), "health.minJobs"),
        (json!({"health": {"minJob": 1}}), "health.minJob"),
        (json!({"hold": "auto", "maxRunning": 1}), "maxRunning"),
    ] {
        let replies = [
            http.put(PARTNER, body.clone()).await,
            http.patch(PARTNER, body.clone()).await,
        ];
        for reply in replies {
            let problem = reply.json();
            assert_eq!(reply.status, 422, "{body}: {problem}");
            assert_eq!(problem["field"], field, "{body}: {problem}");
        }
    }
    // A change leaves what it does not name, and null makes one as by default.
    let rules = json!({"hold": "off", "health": {"minJobs": 7}});
    http.patch(PARTNER, rules).await.is(200);
    let share = json!({"shareRetryAfter": false});
    let set = http.patch(PARTNER, share).await.is(200);
    let seen = |set: &Value| {
        let part = |name: &str| set[name].clone();
        json!([
            part("hold"),
            part("retryAfterScope"),
            set["health"]["minJobs"]
        ])
    };
    assert_eq!(seen(&set), json!(["off", "job", 7]));
    let set = http.patch(PARTNER, json!({"hold": null})).await.is(200);
    assert_eq!(seen(&set), json!(["auto", "job", 7]));
    let empty = http.patch(PARTNER, json!({})).await;
    empty.is_problem(422, "invalid", Some("hold"));
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
    assert_eq!(other.get(PARTNER).await.is(200)["hold"], "auto");
    // It may know that its own limits there are not those of others.
    let set = acme.put(PARTNER, json!({"shareRetryAfter": false})).await;
    assert_eq!(set.is(200)["retryAfterScope"], "job");
    let seen = other.get(PARTNER).await.is(200);
    assert_eq!(seen["retryAfterScope"], "tenant");
}

#[tokio::test]
async fn a_tenant_learns_of_the_destinations_that_its_own_jobs_use() {
    let server = Server::start().await;
    let admin = server.key(Scope::Admin, None).await;
    let acme = server.key(Scope::Tenant, Some("acme")).await;
    let other = server.key(Scope::Tenant, Some("other")).await;
    let hold = format!("{PARTNER}/hold");
    let reason = json!({"reason": "they asked us to stop"});
    admin.post(&hold, reason).await.is(200);
    let job = json!({"kind": "mail", "destination": "https://api.example.com"});
    acme.post("/api/v1/jobs", job).await.is(201);
    for (http, status, listed) in [(&acme, "held", 1), (&other, "healthy", 0)] {
        let body = http.get(PARTNER).await.is(200);
        assert_eq!(body["status"], status);
        assert_eq!(body["incident"].is_null(), listed == 0, "{body}");
        let list = http.get("/api/v1/destinations").await.is(200);
        assert_eq!(list["destinations"].as_array().unwrap().len(), listed);
    }
    let list = admin.get("/api/v1/destinations?tenant=other").await.is(200);
    assert_eq!(list["destinations"], json!([]));
}

#[tokio::test]
async fn a_destination_on_watch_is_not_reported_as_held() {
    let server = Server::start().await;
    let http = &server.http;
    let now = server.client().now();
    let health = json!({
        "phase": {"is": "held", "nextProbeAt": now.plus(Duration::from_secs(60))},
        "minutes": [[now.as_micros() / 60_000_000, 25, 24]],
        "incident": {
            "beganAt": now, "failedAttempts": 47, "failedProbes": 2, "tenants": ["acme"],
            "cause": {"is": "failures", "attempts": 25, "failed": 24, "jobs": 9},
        },
    });
    server.save_health("https://api.example.com", &health).await;
    http.put(PARTNER, json!({"hold": "watch"})).await.is(200);
    let body = http.get(PARTNER).await.is(200);
    assert_eq!(
        (&body["status"], &body["holdsJobs"], &body["nextProbeAt"]),
        (&json!("held"), &json!(false), &Value::Null)
    );
    assert_eq!(body["incident"]["avoidableAttempts"], 45);
    let minute = &body["minutes"][0];
    assert_eq!(
        (&minute["attempts"], &minute["failed"]),
        (&json!(25), &json!(24))
    );
    let page = "/destinations?show=https%3A%2F%2Fapi.example.com";
    let watched = http.get(page).await.body;
    for says in [
        "unhealthy",
        "attempts continue according to their policies",
        "holding would have saved 45",
        "24 of 25 attempts of 9 jobs failed",
        "25 attempts: 1 succeeded, 24 failed",
        "value=\"hold\">Hold…<",
    ] {
        assert!(watched.contains(says), "{says}: {watched}");
    }
    for says in [">held<", "next probe", "value=\"release\""] {
        assert!(!watched.contains(says), "{says}: {watched}");
    }
    http.patch(PARTNER, json!({"hold": "auto"})).await.is(200);
    let body = http.get(PARTNER).await.is(200);
    assert_eq!(body["holdsJobs"], true);
    assert!(body["nextProbeAt"].is_string());
    let held = http.get(page).await.body;
    for says in [
        ">held<",
        "next probe",
        "value=\"release\"",
        "value=\"hold\">Hold…<",
    ] {
        assert!(held.contains(says), "{says}: {held}");
    }
    assert!(!held.contains("go on as their policies"), "{held}");
}

#[tokio::test]
async fn gates_and_destinations_of_one_tenant_name_it() {
    let server = Server::start().await;
    let http = &server.http;
    let now = server.client().now();
    let health = json!({
        "phase": {"is": "held", "nextProbeAt": now.plus(Duration::from_secs(60))},
        "incident": {
            "beganAt": now, "failedAttempts": 20, "failedProbes": 0, "tenants": ["acme"],
            "cause": {"is": "failures", "attempts": 20, "failed": 20, "jobs": 9},
        },
    });
    let of_acme = "https://api.example.com acme";
    server.save_health(of_acme, &health).await;
    let for_all = "https://all.example.com";
    server.save_health(for_all, &health).await;
    let list = http.get("/api/v1/destinations").await.is(200);
    let tenants: Vec<&Value> = list["destinations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|destination| &destination["tenant"])
        .collect();
    assert_eq!(tenants, [&Value::Null, &json!("acme")]);
    let page = http.get("/destinations").await.body;
    assert_eq!(page.matches("only for tenant acme").count(), 1);
}

#[tokio::test]
async fn a_pace_is_learned_if_a_destination_says_so() {
    let server = Server::start().await;
    let http = &server.http;
    assert_eq!(http.get(PARTNER).await.is(200)["pace"], "off");
    let set = http.patch(PARTNER, json!({"pace": "learn"})).await.is(200);
    assert_eq!(
        (&set["pace"], &set["hold"]),
        (&json!("learn"), &json!("auto"))
    );
    let gate = "/api/v1/gates/destination/https%3A%2F%2Fapi.example.com";
    assert_eq!(http.get(gate).await.is(200)["pace"], "learn");
    // Nothing is known: four at once, and the fifth says why it waits.
    let mut last = Value::Null;
    for _ in 0..5 {
        let job = json!({"kind": "mail", "destination": "https://api.example.com"});
        last = http.post("/api/v1/jobs", job).await.is(201)["id"].clone();
    }
    let claim = json!({"worker": "w", "kinds": ["mail"], "max": 9});
    let claimed = http.post("/api/v1/claims", claim).await.is(200);
    assert_eq!(claimed["claims"].as_array().unwrap().len(), 4);
    let explain = format!("/api/v1/jobs/{}/explain", last.as_str().unwrap());
    let explained = http.get(&explain).await.is(200);
    let blocker = &explained["blockers"][0];
    assert_eq!(blocker["kind"], "pace");
    assert_eq!(
        blocker["sentence"],
        "Destination https://api.example.com of tenant default: 4 calls at once are allowed while \
         its pace is learned, 4 running."
    );
    let queue = http
        .patch("/api/v1/gates/queue/mail", json!({"pace": "learn"}))
        .await;
    queue.is_problem(422, "invalid", Some("pace"));
    let off = http.patch(PARTNER, json!({"pace": null})).await.is(200);
    assert_eq!(off["pace"], "off");
}
