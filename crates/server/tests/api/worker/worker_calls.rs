//! Calls of worker libraries: bulk heartbeats, steps, releases, traces.

use serde_json::{Value, json};
use steadfast_server::keys::Scope;

use crate::{
    server::{Server, each, id_of, millis, time, until},
    target::{Target, ok},
};

#[tokio::test]
async fn many_heartbeats_renew_valid_claims_and_report_expired_ones() {
    let server = Server::start().await;
    let mut claims = Vec::new();
    for number in 0..3 {
        let body = json!({"kind": "long", "timeout": "1h", "payload": number});
        server.http.create_id(body).await;
        claims.push(server.http.claim("long", "20s").await.remove(0));
    }
    let (first, second, third) = (id_of(&claims[0]), id_of(&claims[1]), id_of(&claims[2]));
    server.http.command("jobs", &second, "cancel").await.is(200);
    let body = json!({"worker": "w1", "claims": [
        {"id": first, "fence": 1, "lease": "1m", "note": "page 3", "progress": 40},
        {"id": "job_06f00000000000000000000000", "fence": 1},
        {"id": second, "fence": 1},
        {"id": third, "fence": 9},
        {"id": "nonsense", "fence": 1},
        {"id": third, "fence": 1, "lease": "1ms"},
        {"id": third, "fence": 1, "progress": 101},
        {"id": third, "fence": 1},
    ]});
    let reply = server.http.post("/api/v1/claims/heartbeat", body).await;
    let results = reply.is(200)["claims"].as_array().unwrap().clone();
    assert_eq!(results[0]["id"], first);
    assert_eq!(
        each(&results, "ok"),
        [true, false, true, false, false, false, false, true]
    );
    assert_eq!(
        each(&results, "code"),
        [
            Value::Null,
            json!("not_found"),
            Value::Null,
            json!("stale_fence"),
            json!("not_found"),
            json!("invalid"),
            json!("invalid"),
            Value::Null
        ]
    );
    assert!(time(&results[0]["leaseUntil"]) > time(&claims[0]["leaseUntil"]));
    assert_eq!(results[0]["cancelRequested"], false);
    assert_eq!(results[0]["timedOut"], false);
    assert_eq!(
        millis(&claims[0]["job"]["startedAt"], &results[0]["deadline"]),
        3_600_000
    );
    assert_eq!(results[2]["cancelRequested"], true);
    let bad = json!({"worker": "w1", "claims": []});
    let reply = server.http.post("/api/v1/claims/heartbeat", bad).await;
    reply.is_problem(422, "invalid", Some("claims"));
}

#[tokio::test]
async fn progress_and_note_stay_until_a_heartbeat_says_otherwise() {
    let server = Server::start().await;
    let id = server.http.create_id(json!({"kind": "long"})).await;
    let claim = server.http.claim("long", "20s").await.remove(0);
    assert!(claim["job"]["progress"].is_null());
    for (body, note, progress) in [
        (json!({"note": "page 3", "progress": 40}), "page 3", 40),
        (json!({"progress": 60}), "page 3", 60),
        (json!({"note": "page 7"}), "page 7", 60),
        (json!({}), "page 7", 60),
    ] {
        server.http.report(&claim, "heartbeat", body).await.is(200);
        let job = server.http.read_job(&id).await;
        assert_eq!(job["note"], note);
        assert_eq!(job["progress"], progress);
    }
    let bad = server
        .http
        .report(&claim, "heartbeat", json!({"progress": 101}));
    bad.await.is_problem(422, "invalid", Some("progress"));
    server
        .http
        .report(&claim, "succeed", json!({}))
        .await
        .is(200);
    let attempt = &server.http.attempts(&id).await[0];
    assert_eq!(attempt["note"], "page 7");
    assert_eq!(attempt["progress"], 60);
}

#[tokio::test]
async fn a_heartbeat_of_another_tenant_finds_nothing() {
    let server = Server::start().await;
    let body = json!({"kind": "long", "tenant": "a"});
    let id = server.http.create_id(body).await;
    let claim = server.http.claim("long", "20s").await.remove(0);
    let other = server.key(Scope::Worker, Some("b")).await;
    let body = json!({"worker": "w1", "claims": [{"id": id, "fence": claim["fence"]}]});
    let reply = other.post("/api/v1/claims/heartbeat", body).await;
    assert_eq!(reply.is(200)["claims"][0]["code"], "not_found");
    let path = format!("/api/v1/claims/{id}/steps/charge");
    let reply = other.put(&path, json!({"fence": 1, "result": 1})).await;
    reply.is_problem(404, "not_found", None);
    let reply = other.get(&format!("{path}?fence=1")).await;
    reply.is_problem(404, "not_found", None);
}

#[tokio::test]
async fn a_job_that_is_given_back_is_due_at_once_and_uncounted() {
    let server = Server::start().await;
    let id = server.http.create_id(json!({"kind": "long"})).await;
    let claim = server.http.claim("long", "20s").await.remove(0);
    for _ in 0..2 {
        let job = server
            .http
            .report(&claim, "release", json!({}))
            .await
            .is(200);
        assert_eq!(job["label"], "ready");
        assert_eq!(job["attempt"], 0);
    }
    let claim = server.http.claim("long", "20s").await.remove(0);
    assert_eq!(claim["job"]["attempt"], 1);
    let settlement = json!({"id": id, "fence": claim["fence"], "outcome": "release"});
    let body = json!({"settlements": [settlement]});
    let reply = server.http.post("/api/v1/claims/settle", body).await;
    assert_eq!(reply.is(200)["settled"][0]["label"], "ready");
    let attempts = server.http.attempts(&id).await;
    assert_eq!(each(&attempts, "status"), ["RELEASED", "RELEASED"]);

    let body = json!({"kind": "once", "type": "AT_MOST_ONCE"});
    server.http.create_id(body).await;
    let claim = server.http.claim("once", "20s").await.remove(0);
    let job = server
        .http
        .report(&claim, "release", json!({}))
        .await
        .is(200);
    assert_eq!(
        (&job["label"], &job["reason"]),
        (&json!("failed"), &json!("outcome_unknown"))
    );
}

#[tokio::test]
async fn a_step_is_stored_once_under_the_fence() {
    let server = Server::start().await;
    let retry = json!({"maxRetries": 3, "backoff": "fixed", "baseDelay": 0});
    let id = server
        .http
        .create_id(json!({"kind": "pay", "retry": retry}))
        .await;
    let claim = server.http.claim("pay", "20s").await.remove(0);
    let path = format!("/api/v1/claims/{id}/steps/card%2Fcharge");
    let save = async |fence: u64, result: Value| {
        let body = json!({"fence": fence, "result": result});
        server.http.put(&path, body).await
    };
    let none = server.http.get(&format!("{path}?fence=1")).await;
    none.is_problem(404, "step_not_found", None);
    let stored = json!({"name": "card/charge", "result": {"receipt": 1}});
    assert_eq!(save(1, json!({"receipt": 1})).await.is(200), stored);
    assert_eq!(save(1, json!(2)).await.is(200), stored);
    save(2, json!(2))
        .await
        .is_problem(409, "stale_fence", Some("fence"));
    server.http.report(&claim, "fail", json!({})).await.is(200);
    save(1, json!(2))
        .await
        .is_problem(409, "stale_fence", Some("fence"));
    let stale = server.http.get(&format!("{path}?fence=1")).await;
    stale.is_problem(409, "stale_fence", Some("fence"));
    // Another attempt finds what the first one did.
    assert_eq!(server.http.claim("pay", "20s").await[0]["fence"], 2);
    let found = server.http.get(&format!("{path}?fence=2")).await;
    assert_eq!(found.is(200), stored);
    assert_eq!(save(2, json!(3)).await.is(200), stored);
    let large = json!("x".repeat(64 * 1024));
    save(2, large)
        .await
        .is_problem(422, "invalid", Some("result"));
    let bad = server
        .http
        .get(&format!("/api/v1/claims/{id}/steps/a%20b?fence=2"))
        .await;
    bad.is_problem(422, "invalid", Some("name"));
    let unfenced = server.http.get(&path).await;
    unfenced.is_problem(422, "missing_field", Some("fence"));
}

#[tokio::test]
async fn a_trace_is_kept_with_the_attempt_and_not_with_the_job() {
    let server = Server::start().await;
    let id = server.http.create_id(json!({"kind": "mail"})).await;
    let claim = server.http.claim("mail", "20s").await.remove(0);
    let trace = "Traceback:\n  at a\n  at b";
    let body = json!({"failure": {"class": "KeyError", "message": "no", "trace": trace}});
    let job = server.http.report(&claim, "fail", body).await.is(200);
    assert_eq!(job["failure"]["class"], "KeyError");
    assert_eq!(job["failure"]["trace"], Value::Null);
    let attempts = server.http.attempts(&id).await;
    assert_eq!(attempts[0]["failure"]["trace"], trace);
    let page = server.http.get(&format!("/jobs/{id}")).await;
    for line in trace.lines() {
        assert!(
            page.body.contains(&format!("<li>{line}</li>")),
            "{}",
            page.body
        );
    }
}

#[tokio::test]
async fn jobs_of_a_success_are_created_with_it_and_once() {
    let server = Server::start().await;
    let http = &server.http;
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let body = json!({"kind": "order", "tenant": "shop", "traceparent": trace});
    http.create_id(body).await;
    let claim = http.claim("order", "20s").await.remove(0);
    let next = |kind: &str| json!({"kind": kind, "payload": {"n": 1}, "delay": "1h"});
    let bad = json!({"onSuccess": [next("mail"), next("mail"), {"kind": "mail", "priority": 10}]});
    let refused = http.report(&claim, "succeed", bad).await;
    refused.is_problem(422, "invalid", Some("onSuccess[2].priority"));
    let recurring = json!({"onSuccess": [{"kind": "mail", "schedule": "@hourly"}]});
    let refused = http.report(&claim, "succeed", recurring).await;
    refused.is_problem(422, "invalid", Some("onSuccess[0].schedule"));
    let keyed = json!({"onSuccess": [{"kind": "mail", "idempotencyKey": "k"}]});
    let refused = http.report(&claim, "succeed", keyed).await;
    refused.is_problem(422, "invalid", Some("onSuccess[0].idempotencyKey"));
    let foreign = json!({"onSuccess": [{"kind": "mail", "tenant": "other"}]});
    let refused = http.report(&claim, "succeed", foreign).await;
    refused.is_problem(422, "invalid", Some("onSuccess[0].tenant"));
    let many = json!({"onSuccess": vec![next("mail"); 101]});
    let refused = http.report(&claim, "succeed", many).await;
    refused.is_problem(422, "invalid", Some("onSuccess"));
    let list = async |kind: &str| {
        let path = format!("/api/v1/jobs?kind={kind}");
        http.get(&path).await.is(200)["jobs"]
            .as_array()
            .unwrap()
            .clone()
    };
    // Nothing of it was settled or created.
    assert_eq!(list("mail").await.len(), 0);
    for _ in 0..2 {
        let body = json!({"onSuccess": [next("mail"), next("mail"), next("bill")]});
        let job = http.report(&claim, "succeed", body).await.is(200);
        assert_eq!(job["label"], "succeeded");
    }
    let mails = list("mail").await;
    assert_eq!(each(&mails, "tenant"), ["shop", "shop"]);
    assert_eq!(each(&mails, "traceparent"), [trace, trace]);
    assert_eq!(list("bill").await.len(), 1);
}

#[tokio::test]
async fn only_a_success_creates_its_jobs_in_a_batch() {
    let server = Server::start().await;
    server
        .http
        .create_id(json!({"kind": "order", "tenant": "shop"}))
        .await;
    let worker = server.key(Scope::Worker, Some("shop")).await;
    let claim = worker.claim("order", "20s").await.remove(0);
    let settle = async |outcome: &str, kind: &str| {
        let settlement = json!({"id": id_of(&claim), "fence": 1, "outcome": outcome,
            "onSuccess": [{"kind": kind}]});
        let body = json!({"settlements": [settlement]});
        worker.post("/api/v1/claims/settle", body).await
    };
    let refused = settle("fail", "mail").await;
    assert_eq!(refused.is(200)["settled"][0]["field"], "onSuccess");
    let creating = json!({"id": id_of(&claim), "fence": 1, "outcome": "succeed",
        "onSuccess": vec![json!({"kind": "mail"}); 100]});
    let too_many = json!({"settlements": vec![creating; 11]});
    let refused = worker.post("/api/v1/claims/settle", too_many).await;
    refused.is_problem(422, "invalid", Some("settlements"));
    let refused = settle("succeed", "no such kind").await;
    assert_eq!(refused.is(200)["settled"][0]["field"], "onSuccess[0].kind");
    assert_eq!(
        settle("succeed", "mail").await.is(200)["settled"][0]["ok"],
        true
    );
    let jobs = worker.get("/api/v1/jobs?kind=mail").await.is(200);
    assert_eq!(jobs["jobs"][0]["tenant"], "shop");
}

#[tokio::test]
async fn a_request_waits_for_the_end_of_a_job_and_has_its_result() {
    let server = Server::start().await;
    let id = server.http.create_id(json!({"kind": "sum"})).await;
    let path = format!("/api/v1/jobs/{id}");
    let still = server.http.get(&format!("{path}?wait=1ms")).await.is(200);
    assert_eq!(still["label"], "ready");
    assert!(still["result"].is_null());
    let (http, wait) = (server.http.clone(), format!("{path}?wait=60s"));
    let waiting = tokio::spawn(async move { http.get(&wait).await });
    let claim = server.http.claim("sum", "20s").await.remove(0);
    let body = json!({"result": {"sum": 7}});
    server.http.report(&claim, "succeed", body).await.is(200);
    let job = waiting.await.unwrap().is(200);
    assert_eq!(job["label"], "succeeded");
    assert_eq!(job["result"], json!({"sum": 7}));
    assert_eq!(
        server.http.get(&path).await.is(200)["result"],
        json!({"sum": 7})
    );
    let bad = server.http.get(&format!("{path}?wait=soon")).await;
    bad.is_problem(422, "invalid", Some("wait"));
    let none = "/api/v1/jobs/job_06f00000000000000000000000?wait=60s";
    server
        .http
        .get(none)
        .await
        .is_problem(404, "not_found", None);
}

#[tokio::test]
async fn a_waiting_request_returns_when_its_job_is_cancelled() {
    let server = Server::start().await;
    let id = server.http.create_id(json!({"kind": "sum"})).await;
    let (http, wait) = (server.http.clone(), format!("/api/v1/jobs/{id}?wait=60s"));
    let waiting = tokio::spawn(async move { http.get(&wait).await });
    server.http.command("jobs", &id, "cancel").await.is(200);
    assert_eq!(waiting.await.unwrap().is(200)["label"], "cancelled");
}

#[tokio::test]
async fn a_trace_is_passed_on_to_targets_and_webhooks() {
    let server = Server::start().await;
    let target = Target::start(|_| ok("{}")).await;
    let url = format!("http://{}/", target.address);
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let body = json!({"api": url, "webhook": {"url": url}, "tags": {"a": "b"}}).to_string();
    let headers = [("content-type", "application/json"), ("traceparent", trace)];
    let send = server.http.send("POST", "/api/v1/jobs", &headers, &body);
    let job = send.await.is(201);
    assert_eq!(job["traceparent"], trace);
    assert_eq!(job["tags"], json!({"a": "b"}));
    let seen = until("the request and its webhook", || async {
        let seen = target.seen();
        (seen.len() == 2).then_some(seen)
    })
    .await;
    for request in seen {
        assert_eq!(request.headers["traceparent"], trace);
    }
    // The body comes before the header; a header that is wrong is none, a field is refused.
    let other = trace.replace("-01", "-00");
    let body = json!({"kind": "k", "traceparent": other}).to_string();
    let send = server.http.send("POST", "/api/v1/jobs", &headers, &body);
    assert_eq!(send.await.is(201)["traceparent"], other);
    let wrong = [("content-type", "application/json"), ("traceparent", "no")];
    let send = server
        .http
        .send("POST", "/api/v1/jobs", &wrong, r#"{"kind": "k"}"#);
    assert!(send.await.is(201)["traceparent"].is_null());
    let body = json!({"kind": "k", "traceparent": "no"});
    let refused = server.http.post("/api/v1/jobs", body).await;
    refused.is_problem(422, "invalid", Some("traceparent"));
    // Runs of a schedule are not part of the trace of its creator.
    let job = json!({"kind": "k", "traceparent": trace});
    let body = json!({"name": "s", "schedule": "0 3 * * *", "job": job});
    server.http.post("/api/v1/schedules", body).await.is(201);
    let run = server
        .http
        .command("schedules", "s", "run-now")
        .await
        .is(201);
    assert!(run["traceparent"].is_null());
}
