//! What libraries for workers use: many heartbeats, steps, giving back, traces.

use serde_json::{Value, json};
use steadfast_server::keys::Scope;

use crate::server::{Server, each, id_of, millis, time};

#[tokio::test]
async fn many_heartbeats_renew_what_holds_and_say_what_does_not() {
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
    assert_eq!(
        job["failure"],
        json!({"class": "KeyError", "message": "no"})
    );
    let attempts = server.http.attempts(&id).await;
    assert_eq!(attempts[0]["failure"]["trace"], trace);
    let page = server.http.get(&format!("/jobs/{id}")).await;
    assert!(page.body.contains(trace), "{}", page.body);
}
