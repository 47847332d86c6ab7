//! Workers in any language: claim, heartbeat, settle, and what a fence is good for.

use std::time::Duration;

use serde_json::{Value, json};
use steadfast_server::keys::Scope;
use tokio::io::AsyncReadExt as _;

use crate::{
    client::Http,
    server::{Server, each, id_of, millis, time},
};

#[tokio::test]
async fn a_waiting_claim_gets_a_job_as_soon_as_there_is_one() {
    let server = Server::start().await;
    let http = server.http.clone();
    let waiting = tokio::spawn(async move { http.claim("mail", "30s").await });
    // Whichever comes first, the claim finds the job.
    let body = json!({"kind": "mail", "payload": {"to": "a"}});
    let id = server.http.create_id(body).await;
    let claims = waiting.await.unwrap();
    assert_eq!(claims.len(), 1);
    assert_eq!(id_of(&claims[0]), id);
    assert_eq!(claims[0]["job"]["label"], "running");
    assert_eq!(claims[0]["job"]["attempt"], 1);
    assert_eq!(claims[0]["job"]["payload"], json!({"to": "a"}));
    let lease = millis(&claims[0]["job"]["startedAt"], &claims[0]["leaseUntil"]);
    assert_eq!(lease, 20_000);
    assert_eq!(server.http.claim("mail", "0s").await.len(), 0);

    let done = server
        .http
        .report(&claims[0], "succeed", json!({"result": {"sent": 1}}));
    assert_eq!(done.await.is(200)["label"], "succeeded");
    let attempts = server.http.attempts(&id).await;
    assert_eq!(attempts[0]["result"], json!({"sent": 1}));
    assert_eq!(attempts[0]["worker"], "w1");
}

#[tokio::test]
async fn the_result_of_a_worker_is_a_result_even_if_it_looks_like_a_response() {
    let server = Server::start().await;
    let schedule = json!({"name": "s", "schedule": "0 3 * * *", "job": {"kind": "check"}});
    let schedule = server.http.post("/api/v1/schedules", schedule).await;
    let schedule = id_of(&schedule.is(201));
    let run = server.http.command("schedules", &schedule, "run-now").await;
    let id = id_of(&run.is(201));
    let claims = server.http.claim("check", "30s").await;
    let result = json!({"status": 200, "timings": {"totalMs": 3}});
    let body = json!({"result": result});
    let done = server.http.report(&claims[0], "succeed", body).await;
    done.is(200);
    // What the job of a schedule is now does not matter to the runs that it had before.
    let edit = json!({"job": {"api": "https://example.com/"}});
    let path = format!("/api/v1/schedules/{schedule}");
    server.http.patch(&path, edit).await.is(200);
    for owner in [&id, &schedule] {
        let attempts = server.http.attempts(owner).await;
        assert_eq!(attempts[0]["result"], result);
        assert!(attempts[0]["response"].is_null(), "{attempts:?}");
    }
}

#[tokio::test]
async fn claims_come_by_priority_from_the_queues_that_are_named() {
    let server = Server::start().await;
    for (queue, priority) in [("a", 1), ("a", 9), ("b", 5), ("c", 9)] {
        let body = json!({"kind": "k", "queue": queue, "priority": priority});
        server.http.create_id(body).await;
    }
    let body = json!({"worker": "w1", "queues": ["a", "b"], "max": 10});
    let claims = server.http.post("/api/v1/claims", body).await.is(200);
    let jobs = each(claims["claims"].as_array().unwrap(), "job");
    assert_eq!(each(&jobs, "priority"), [9, 5, 1]);
    // Kinds that the node runs by itself are only for workers that name them.
    let body = json!({"api": "http://127.0.0.1:9/", "queue": "d", "retry": "patient"});
    server.http.create_id(body).await;
    let body = json!({"worker": "w1", "queues": ["d"]});
    let none = server.http.post("/api/v1/claims", body).await.is(200);
    assert_eq!(none["claims"], json!([]));
}

#[tokio::test]
async fn a_heartbeat_renews_the_lease_and_tells_of_a_cancel() {
    let server = Server::start().await;
    let id = server.http.create_id(json!({"kind": "long"})).await;
    let claim = &server.http.claim("long", "20s").await[0];
    let body = json!({"lease": "1m", "note": "half way"});
    let lease = server.http.report(claim, "heartbeat", body).await.is(200);
    assert!(time(&lease["leaseUntil"]) > time(&claim["leaseUntil"]));
    assert_eq!(lease["cancelRequested"], false);
    assert_eq!(server.http.read_job(&id).await["note"], "half way");
    server.http.command("jobs", &id, "cancel").await.is(200);
    let lease = server
        .http
        .report(claim, "heartbeat", json!({}))
        .await
        .is(200);
    assert_eq!(lease["cancelRequested"], true);
    let failed = json!({"failure": {"message": "stopped"}});
    let job = server.http.report(claim, "fail", failed).await.is(200);
    assert_eq!(job["label"], "cancelled");
}

#[tokio::test]
async fn the_failure_report_of_a_worker_decides_the_retry() {
    let server = Server::start().await;
    let retry = json!({"maxRetries": 3, "backoff": "fixed", "baseDelay": "5s", "jitter": "none"});
    for (failure, label, class, reason, waits_ms) in [
        (json!({}), "retrying", "error", Value::Null, Some(5_000)),
        (
            json!({"class": "OutOfCheese", "message": "none left", "retryAfter": "30s"}),
            "retrying",
            "OutOfCheese",
            Value::Null,
            Some(30_000),
        ),
        (
            json!({"class": "ValidationError", "message": "no such address"}),
            "failed",
            "validation",
            json!("non_retryable"),
            None,
        ),
        (
            json!({"class": "NotFoundError"}),
            "failed",
            "not_found",
            json!("non_retryable"),
            None,
        ),
    ] {
        let id = server
            .http
            .create_id(json!({"kind": "mail", "retry": retry}))
            .await;
        let claim = &server.http.claim("mail", "20s").await[0];
        let body = json!({"failure": failure});
        let job = server.http.report(claim, "fail", body).await.is(200);
        assert_eq!(job["label"], label, "{failure}");
        assert_eq!(job["failure"]["class"], class, "{failure}");
        assert_eq!(job["reason"], reason, "{failure}");
        let attempt = &server.http.attempts(&id).await[0];
        let waits = attempt["nextRunAt"].as_str().is_some();
        let waits = waits.then(|| millis(&attempt["finishedAt"], &attempt["nextRunAt"]));
        assert_eq!(waits, waits_ms, "{failure}");
    }
}

#[tokio::test]
async fn a_snooze_does_not_count_the_attempt() {
    let server = Server::start().await;
    let id = server.http.create_id(json!({"kind": "later"})).await;
    let claim = &server.http.claim("later", "20s").await[0];
    let job = server
        .http
        .report(claim, "snooze", json!({"delay": "1h"}))
        .await;
    let job = job.is(200);
    assert_eq!(job["attempt"], 0);
    assert_eq!(job["label"], "scheduled");
    let attempts = server.http.attempts(&id).await;
    assert_eq!(attempts[0]["status"], "SNOOZED");
    server.http.command("jobs", &id, "run-now").await.is(200);
    let again = &server.http.claim("later", "20s").await[0];
    assert_eq!(again["job"]["attempt"], 1);
    assert_ne!(again["fence"], claim["fence"]);
}

#[tokio::test]
async fn a_settlement_can_be_repeated_after_a_lost_response() {
    let server = Server::start().await;
    let id = server.http.create_id(json!({"kind": "mail"})).await;
    let claim = &server.http.claim("mail", "20s").await[0];
    for _ in 0..2 {
        let job = server
            .http
            .report(claim, "succeed", json!({}))
            .await
            .is(200);
        assert_eq!(job["label"], "succeeded");
    }
    assert_eq!(server.http.attempts(&id).await.len(), 1);
    // Something else than was said before is one.
    let other = server.http.report(claim, "fail", json!({})).await;
    other.is_problem(409, "stale_fence", Some("fence"));
    let late = server.http.report(claim, "heartbeat", json!({})).await;
    late.is_problem(409, "stale_fence", Some("fence"));
}

#[tokio::test]
async fn an_expired_lease_goes_to_another_worker_and_the_first_one_is_refused() {
    let server = Server::start().await;
    let retry = json!({"backoff": "fixed", "baseDelay": 0, "jitter": "none"});
    let id = server
        .http
        .create_id(json!({"kind": "mail", "retry": retry}))
        .await;
    let body = json!({"worker": "slow", "kinds": ["mail"], "lease": "1s", "wait": "20s"});
    let first = server.http.post("/api/v1/claims", body).await.is(200);
    let first = &first["claims"][0];
    let second = &server.http.claim("mail", "30s").await[0];
    assert_eq!(id_of(second), id);
    assert_eq!(second["job"]["attempt"], 2);

    for (verb, body) in [
        ("succeed", json!({})),
        ("fail", json!({})),
        ("snooze", json!({"delay": "1s"})),
        ("heartbeat", json!({})),
    ] {
        let refused = server.http.report(first, verb, body).await;
        refused.is_problem(409, "stale_fence", Some("fence"));
    }
    server
        .http
        .report(second, "succeed", json!({}))
        .await
        .is(200);
    let attempts = server.http.attempts(&id).await;
    assert_eq!(each(&attempts, "status"), ["LOST", "SUCCESS"]);
    assert_eq!(each(&attempts, "worker"), ["slow", "w1"]);
    assert_eq!(attempts[0]["failure"]["class"], "lost");
}

#[tokio::test]
async fn many_are_settled_at_once_and_each_is_answered() {
    let server = Server::start().await;
    for number in 0..4 {
        server
            .http
            .create_id(json!({"kind": "mail", "priority": 9 - number}))
            .await;
    }
    let claims = server.http.claim("mail", "20s").await;
    let of = |number: usize, outcome: &str, extra: Value| {
        let claim = &claims[number];
        let mut body = json!({"id": claim["id"], "fence": claim["fence"], "outcome": outcome});
        for (name, value) in extra.as_object().unwrap() {
            body[name] = value.clone();
        }
        body
    };
    let failure = json!({"failure": {"class": "forbidden", "message": "not allowed"}});
    let stranger = "job_00000000000000000000000000";
    let settlements = json!({"settlements": [
        of(0, "succeed", json!({"result": 1})),
        of(1, "fail", failure),
        of(2, "snooze", json!({"delay": "1h"})),
        of(3, "succeed", json!({"fence": 77})),
        {"id": stranger, "fence": 1, "outcome": "succeed"},
    ]});
    let reply = server
        .http
        .post("/api/v1/claims/settle", settlements.clone())
        .await;
    let body = reply.is(200);
    let settled = body["settled"].as_array().unwrap();
    assert_eq!(
        each(settled, "ok"),
        [true, true, true, false, false],
        "{body:#}"
    );
    assert_eq!(
        each(settled, "label"),
        [
            json!("succeeded"),
            json!("failed"),
            json!("scheduled"),
            Value::Null,
            Value::Null
        ]
    );
    assert_eq!(settled[3]["code"], "stale_fence");
    assert_eq!(settled[4]["code"], "not_found");
    let again = server.http.post("/api/v1/claims/settle", settlements).await;
    assert_eq!(again.is(200)["settled"][0]["ok"], true);
}

#[tokio::test]
async fn an_invalid_settlement_does_not_affect_the_others() {
    let server = Server::start().await;
    for _ in 0..4 {
        server.http.create_id(json!({"kind": "mail"})).await;
    }
    let claims = server.http.claim("mail", "20s").await;
    let of = |index: usize, outcome: &str, more: Value| {
        let mut settlement = more;
        settlement["id"] = claims[index]["id"].clone();
        settlement["fence"] = claims[index]["fence"].clone();
        settlement["outcome"] = json!(outcome);
        settlement
    };
    let long = "x".repeat(steadfast_core::limits::OUTPUT_BYTES_MAX);
    let mut no_id = of(3, "succeed", json!({}));
    no_id["id"] = json!("3");
    let settlements = json!({"settlements": [
        of(0, "succeed", json!({"result": long})),
        of(1, "succeed", json!({"result": 1})),
        of(2, "succeed", json!({"delay": "1h"})),
        no_id,
        of(3, "succeed", json!({})),
    ]});
    let reply = server.http.post("/api/v1/claims/settle", settlements).await;
    let body = reply.is(200);
    let settled = body["settled"].as_array().unwrap();
    assert_eq!(
        each(settled, "ok"),
        [false, true, false, false, true],
        "{body:#}"
    );
    assert_eq!(settled[0]["code"], "invalid");
    assert_eq!(settled[0]["field"], "result");
    assert_eq!(settled[2]["field"], "delay");
    assert_eq!(settled[3]["id"], "3");
    assert_eq!(settled[1]["label"], "succeeded");
    // The claim of the one that was wrong still holds.
    let right = json!({"settlements": [of(0, "succeed", json!({}))]});
    let reply = server.http.post("/api/v1/claims/settle", right).await;
    assert_eq!(reply.is(200)["settled"][0]["ok"], true);
}

#[tokio::test]
async fn a_failure_that_its_worker_calls_permanent_is_not_retried_and_keeps_its_class() {
    let server = Server::start().await;
    let id = server.http.create_id(json!({"kind": "pay"})).await;
    let claim = &server.http.claim("pay", "20s").await[0];
    let failure = json!({"failure": {
        "class": "CardDeclined", "message": "no", "permanent": true
    }});
    let job = server.http.report(claim, "fail", failure).await.is(200);
    assert_eq!(job["label"], "failed");
    assert_eq!(job["reason"], "non_retryable", "{job:#}");
    let path = format!("/api/v1/jobs/{id}/history");
    let attempts = server.http.get(&path).await.is(200);
    let failure = &attempts["attempts"][0]["failure"];
    assert_eq!(failure["class"], "CardDeclined", "{attempts:#}");
    assert_eq!(failure["permanent"], true);
}

#[tokio::test]
async fn a_status_that_http_does_not_know_is_refused_by_name() {
    let server = Server::start().await;
    server.http.create_id(json!({"kind": "mail"})).await;
    let claim = &server.http.claim("mail", "20s").await[0];
    for status in [0, 99, 600, 65_535] {
        let failure = json!({"failure": {"httpStatus": status}});
        let refused = server.http.report(claim, "fail", failure.clone()).await;
        refused.is_problem(422, "invalid", Some("failure.httpStatus"));
        let mut one = failure;
        one["id"] = claim["id"].clone();
        one["fence"] = claim["fence"].clone();
        one["outcome"] = json!("fail");
        let many = json!({"settlements": [one]});
        let refused = server.http.post("/api/v1/claims/settle", many).await;
        assert_eq!(refused.is(200)["settled"][0]["field"], "failure.httpStatus");
    }
    let failure = json!({"failure": {"httpStatus": 599}});
    server.http.report(claim, "fail", failure).await.is(200);
}

#[tokio::test]
async fn a_worker_of_another_tenant_finds_nothing_to_claim_or_settle() {
    let server = Server::start().await;
    let acme = server.key(Scope::Worker, Some("acme")).await;
    let other = server.key(Scope::Worker, Some("other")).await;
    let admin = server.key(Scope::Admin, None).await;
    let id = admin
        .create_id(json!({"kind": "mail", "tenant": "acme"}))
        .await;
    assert_eq!(other.claim("mail", "0s").await.len(), 0);
    let claim = &acme.claim("mail", "20s").await[0];
    assert_eq!(id_of(claim), id);
    for (verb, body) in [
        ("succeed", json!({})),
        ("fail", json!({})),
        ("snooze", json!({"delay": "1s"})),
        ("heartbeat", json!({})),
    ] {
        let refused = other.report(claim, verb, body).await;
        refused.is_problem(404, "not_found", None);
    }
    let one = json!({"id": id, "fence": claim["fence"], "outcome": "succeed"});
    let body = json!({"settlements": [one]});
    let settled = other.post("/api/v1/claims/settle", body).await.is(200);
    assert_eq!(settled["settled"][0]["code"], "not_found");
    assert_eq!(admin.read_job(&id).await["label"], "running");
    acme.report(claim, "succeed", json!({})).await.is(200);
}

#[tokio::test]
async fn a_stop_does_not_wait_for_claims_that_wait() {
    let server = Server::start().await;
    let claim = json!({"worker": "w1", "wait": "30s"}).to_string();
    let mut waiting = server.http.open("POST", "/api/v1/claims", &claim).await;
    // A worker is listed once its claim has come in.
    while server.http.get("/api/v1/workers").await.is(200)["workers"] == json!([]) {
        tokio::task::yield_now().await;
    }
    server.stop().await;
    // It was answered. One that had to be waited for would have been cut off.
    let mut answer = String::new();
    waiting.read_to_string(&mut answer).await.unwrap();
    assert!(answer.ends_with(r#"{"claims":[]}"#), "{answer}");
}

#[tokio::test]
async fn a_claim_names_a_hundred_queues_and_kinds_at_most() {
    let server = Server::start().await;
    for field in ["queues", "kinds"] {
        let names = |count: usize| -> Vec<String> {
            (0..count).map(|number| format!("name-{number}")).collect()
        };
        let body = json!({"worker": "w1", field: names(101)});
        let refused = server.http.post("/api/v1/claims", body).await;
        refused.is_problem(422, "invalid", Some(field));
        let body = json!({"worker": "w1", field: names(100)});
        server.http.post("/api/v1/claims", body).await.is(200);
    }
    let id = server.http.create_id(json!({"kind": "mail"})).await;
    let body =
        json!({"worker": "w1", "kinds": vec!["mail"; 100], "queues": ["default", "default"]});
    let claims = server.http.post("/api/v1/claims", body).await.is(200);
    assert_eq!(id_of(&claims["claims"][0]), id);
}

#[tokio::test]
async fn a_worker_key_cannot_claim_the_calls_that_nodes_make() {
    let server = Server::start().await;
    let worker = server.key(Scope::Worker, Some("acme")).await;
    let tenant = server.key(Scope::Tenant, Some("acme")).await;
    for kind in ["http", "webhook"] {
        let claim = json!({"worker": "w", "kinds": ["mail", kind]});
        let reply = worker.post("/api/v1/claims", claim.clone()).await;
        reply.is_problem(403, "wrong_scope", Some("kinds"));
        tenant.post("/api/v1/claims", claim).await.is(200);
    }
}

#[tokio::test]
async fn claims_that_wait_for_jobs_take_no_place_of_other_requests() {
    let server = Server::start().await;
    let busy = server.key(Scope::Tenant, Some("busy")).await;
    let other = server.key(Scope::Tenant, Some("other")).await;
    // More than a node handles at a time for one tenant beside another.
    let cores = std::thread::available_parallelism().unwrap().get();
    let wait = |http: Http| tokio::spawn(async move { http.claim("none", "30s").await });
    let waiting: Vec<_> = (0..4 * cores).map(|_| wait(busy.clone())).collect();
    for _ in 0..4 * cores {
        assert!(other.claim("none", "0s").await.is_empty());
        assert!(busy.claim("none", "0s").await.is_empty());
    }
    assert!(waiting.iter().all(|claim| !claim.is_finished()));
    for claim in waiting {
        claim.abort();
    }
}

#[tokio::test]
async fn an_agent_that_calls_a_tool_takes_no_place_of_that_call() {
    let server = Server::start().await;
    let busy = server.key(Scope::Read, Some("busy")).await;
    let other = server.key(Scope::Read, Some("other")).await;
    // A tenant has less while another one is active.
    other.get("/api/v1/queues").await.is(200);
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "list_queues", "arguments": {}},
    });
    let accept = ("accept", "application/json, text/event-stream");
    let version = ("mcp-protocol-version", "2025-06-18");
    let body = call.to_string();
    let headers = [accept, version, ("content-type", "application/json")];
    let called = busy.send("POST", "/mcp", &headers, &body);
    let called = tokio::time::timeout(Duration::from_secs(30), called);
    let answer = called.await.unwrap().is(200);
    assert_eq!(answer["result"]["isError"], json!(false), "{answer}");
}
