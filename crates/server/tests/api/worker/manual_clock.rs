//! A server whose clock is moved by hand, for tests of workers.

use serde_json::{Value, json};

use crate::{
    client::Http,
    server::{Server, Setup, each, millis, until},
    target::{Target, ok, says},
};

async fn start() -> Server {
    Server::with(Setup {
        manual_clock: true,
        ..Setup::default()
    })
    .await
}

async fn advance(http: &Http, by: &str) -> Value {
    let reply = http.post("/api/v1/test/advance", json!({"by": by})).await;
    reply.is(200)["now"].clone()
}

async fn run_until_idle(http: &Http, timeout: &str) -> (u64, u64) {
    let body = json!({"timeout": timeout});
    let reply = http.post("/api/v1/test/run-until-idle", body).await.is(200);
    (
        reply["running"].as_u64().unwrap(),
        reply["due"].as_u64().unwrap(),
    )
}

#[tokio::test]
async fn a_job_that_fails_twice_succeeds_after_its_delays_without_anybody_waiting() {
    let server = start().await;
    let http = &server.http;
    let target = Target::start(|number| match number {
        0 | 1 => says(503),
        _ => ok("{}"),
    })
    .await;
    let retry = json!({"backoff": "fixed", "baseDelay": "1h", "jitter": "none"});
    let body = json!({"api": format!("http://{}/", target.address), "retry": retry});
    let id = http.create_id(body).await;
    for _ in 0..2 {
        assert_eq!(run_until_idle(http, "30s").await, (0, 0));
        assert_eq!(http.read_job(&id).await["label"], "retrying");
        // Not yet.
        advance(http, "59m").await;
        assert_eq!(run_until_idle(http, "30s").await, (0, 0));
        assert_eq!(http.read_job(&id).await["label"], "retrying");
        advance(http, "1m").await;
    }
    assert_eq!(run_until_idle(http, "30s").await, (0, 0));
    let job = http.read_job(&id).await;
    assert_eq!(job["label"], "succeeded");
    let attempts = http.attempts(&id).await;
    assert_eq!(each(&attempts, "status"), ["FAILED", "FAILED", "SUCCESS"]);
    assert_eq!(millis(&job["createdAt"], &job["finishedAt"]), 7_200_000);
}

#[tokio::test]
async fn a_waiting_worker_gets_a_job_when_the_clock_reaches_it() {
    let server = start().await;
    let body = json!({"kind": "mail", "delay": "1h"});
    let id = server.http.create_id(body).await;
    let http = server.http.clone();
    let waiting = tokio::spawn(async move { http.claim("mail", "30s").await });
    let now = advance(&server.http, "1h").await;
    // What only workers can take is waited for.
    let idle = run_until_idle(&server.http, "1ms").await;
    assert_eq!(idle.0 + idle.1, 1);
    let claim = waiting.await.unwrap().remove(0);
    assert_eq!(claim["job"]["startedAt"], now);
    // A lease that has run out is settled by the advance.
    advance(&server.http, "1m").await;
    let late = server.http.report(&claim, "succeed", json!({})).await;
    late.is_problem(409, "stale_fence", Some("fence"));
    assert_eq!(server.http.attempts(&id).await[0]["status"], "LOST");
}

#[tokio::test]
async fn schedules_fire_when_the_clock_reaches_their_ticks() {
    let server = start().await;
    let http = &server.http;
    let job = json!({"kind": "mail"});
    let body = json!({"name": "s", "every": "1h", "overlap": "allow", "job": job});
    http.post("/api/v1/schedules", body).await.is(201);
    assert_eq!(run_until_idle(http, "30s").await, (0, 0));
    for runs in 1..=2 {
        advance(http, "1h").await;
        // A schedule that is due and a job that is due are both counted.
        until("the run of the tick", || async {
            assert_eq!(run_until_idle(http, "1ms").await, (0, runs));
            let jobs = http.get("/api/v1/jobs?kind=mail").await.is(200);
            (jobs["jobs"].as_array().unwrap().len() as u64 == runs).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn the_clock_of_any_other_server_cannot_be_moved() {
    let server = Server::start().await;
    for path in ["/api/v1/test/advance", "/api/v1/test/run-until-idle"] {
        let reply = server.http.post(path, json!({"by": "1s"})).await;
        match path.ends_with("advance") {
            true => reply.is_problem(404, "not_found", None),
            false => reply.is_problem(422, "unknown_field", Some("by")),
        }
    }
    let reply = server.http.post("/api/v1/test/run-until-idle", json!({}));
    let reply = reply.await;
    reply.is_problem(404, "not_found", None);
    assert!(reply.body.contains("--clock manual"), "{}", reply.body);
}
