//! Jobs that ask whether an attempt took effect before it is repeated.

use serde_json::{Value, json};

use crate::{
    client::Http,
    server::{Server, Setup, each, id_of},
    target::{Target, answer, hangs_up, ok},
};

async fn create(http: &Http, body: Value) -> crate::client::Reply {
    http.post("/api/v1/jobs", body).await
}

/// A server whose clock only the test moves.
async fn server() -> Server {
    Server::with(Setup {
        manual_clock: true,
        ..Setup::default()
    })
    .await
}

async fn advance(http: &Http, by: &str) {
    let body = json!({"by": by});
    http.post("/api/v1/test/advance", body).await.is(200);
}

/// A claim of a worker that answers questions of these kinds.
async fn claim(http: &Http, confirms: &[&str]) -> Vec<Value> {
    let body = json!({"worker": "w1", "kinds": ["charge"], "confirms": confirms});
    let list = http.post("/api/v1/claims", body).await.is(200);
    list["claims"].as_array().unwrap().clone()
}

async fn settle(http: &Http, claim: &Value, mut fields: Value) -> Value {
    fields["id"] = claim["id"].clone();
    fields["fence"] = claim["fence"].clone();
    let body = json!({"settlements": [fields]});
    let settled = http.post("/api/v1/claims/settle", body).await.is(200);
    settled["settled"][0].clone()
}

const TIMED_OUT: fn() -> Value =
    || json!({"outcome": "fail", "failure": {"class": "timeout", "message": "no answer"}});

#[tokio::test]
async fn a_worker_answers_the_question_and_the_job_is_not_run_again() {
    let server = server().await;
    let http = &server.http;
    let body = json!({"kind": "charge", "type": "AT_MOST_ONCE", "confirm": {}});
    let job = create(http, body).await.is(201);
    let id = id_of(&job);
    assert_eq!(
        (&job["confirm"], &job["questions"]),
        (&json!({}), &Value::Null)
    );
    let run = &claim(http, &["charge"]).await[0];
    assert_eq!(run["job"]["questions"], Value::Null);
    assert_eq!(settle(http, run, TIMED_OUT()).await["label"], "retrying");
    assert_eq!(http.read_job(&id).await["questions"], 0);

    advance(http, "1m").await;
    let asked = &claim(http, &["charge"]).await[0];
    assert_eq!(
        (&asked["job"]["questions"], &asked["job"]["attempt"]),
        (&json!(0), &json!(1))
    );
    let unknown = json!({"outcome": "answer", "answer": "unknown",
        "failure": {"class": "BankAway", "message": "try later"}});
    assert_eq!(settle(http, asked, unknown).await["label"], "retrying");
    assert_eq!(http.read_job(&id).await["questions"], 1);

    advance(http, "1m").await;
    let asked = &claim(http, &["charge"]).await[0];
    let done = json!({"outcome": "answer", "answer": "done", "result": {"charge": 7},
        "onSuccess": [{"kind": "receipt"}]});
    assert_eq!(settle(http, asked, done).await["label"], "succeeded");
    let job = http.read_job(&id).await;
    assert_eq!(
        (&job["attempt"], &job["result"]),
        (&json!(1), &json!({"charge": 7}))
    );
    let attempts = http.attempts(&id).await;
    assert_eq!(each(&attempts, "status"), ["FAILED", "ASKED", "ASKED"]);
    assert_eq!(each(&attempts, "attempt"), [1, 1, 1]);
    let answers = each(&attempts, "answer");
    assert_eq!(answers, [Value::Null, json!("unknown"), json!("done")]);
    let why = "It is still unknown whether the attempt took effect (BankAway: try later).";
    let explained = attempts[1]["explanation"].as_str().unwrap();
    assert!(explained.starts_with(why), "{explained}");
    assert_eq!(http.claim("receipt", "0s").await.len(), 1);
}

#[tokio::test]
async fn a_worker_without_a_confirm_function_never_gets_a_question() {
    let server = server().await;
    let http = &server.http;
    let body = json!({"kind": "charge", "confirm": {}, "maxRetries": 1});
    let id = id_of(&create(http, body).await.is(201));
    let run = &claim(http, &[]).await[0];
    settle(http, run, TIMED_OUT()).await;
    for asked in [1, 2] {
        advance(http, "1m").await;
        assert_eq!(claim(http, &["other"]).await, Vec::<Value>::new());
        let attempts = http.attempts(&id).await;
        assert_eq!(attempts.len(), 1 + asked);
        let explained = attempts[asked]["explanation"].as_str().unwrap();
        let expected = "the worker has no confirm function for kind charge";
        assert!(explained.contains(expected), "{explained}");
    }
    let job = http.read_job(&id).await;
    assert_eq!(job["reason"], "outcome_unknown");
    assert_eq!(job["attempt"], 1);
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_refused_with_its_field() {
    let server = server().await;
    let http = &server.http;
    let body = json!({"kind": "charge", "confirm": {}});
    create(http, body).await.is(201);
    let run = &claim(http, &["charge"]).await[0];
    for (field, fields) in [
        ("answer", json!({"outcome": "answer"})),
        ("answer", json!({"outcome": "succeed", "answer": "done"})),
        (
            "result",
            json!({"outcome": "answer", "answer": "not_done", "result": 1}),
        ),
        (
            "failure",
            json!({"outcome": "answer", "answer": "done", "failure": {}}),
        ),
        (
            "onSuccess",
            json!({"outcome": "answer", "answer": "unknown", "onSuccess": [{"kind": "k"}]}),
        ),
    ] {
        let refused = settle(http, run, fields).await;
        assert_eq!(
            (&refused["ok"], &refused["field"]),
            (&json!(false), &json!(field))
        );
    }
    // An answer to no question does nothing but fail the attempt.
    let answer = json!({"outcome": "answer", "answer": "done"});
    assert_eq!(settle(http, run, answer).await["label"], "failed");
    let attempts = http.attempts(&id_of(run)).await;
    let message = "the attempt was no question, but was reported as answered";
    assert_eq!(attempts[0]["failure"]["message"], message);
}

#[tokio::test]
async fn an_http_job_asks_and_shows_no_headers() {
    let target = Target::start(|number| match number {
        0 => hangs_up(),
        1 => answer("503 Service Unavailable", "", "busy"),
        _ => ok(r#"{"charge": 7}"#),
    })
    .await;
    let server = Server::start().await;
    let http = &server.http;
    let confirm = json!({
        "url": format!("http://{}/charges/{{jobId}}", target.address),
        "headers": {"authorization": "Bearer hidden-token"}, "timeout": "5s",
        "notDone": {"status": [404, 410]},
    });
    let body = json!({"api": target.url(), "confirm": confirm,
        "retry": {"baseDelay": "1ms", "jitter": "none"}, "tags": {"a": "b"}});
    let job = create(http, body).await.is(201);
    let shown = &job["confirm"];
    assert_eq!(shown["url"], confirm["url"]);
    assert_eq!(shown["headers"], Value::Null);
    assert_eq!(shown["timeout"], "5s");
    assert!(!job.to_string().contains("hidden-token"));
    let id = id_of(&job);
    let done = http.wait_for_label(&id, "succeeded").await;
    assert_eq!(done["attempt"], 1);
    let seen = target.seen();
    assert_eq!(seen.len(), 3);
    assert_eq!(seen[2].headers["authorization"], "Bearer hidden-token");
    assert_eq!(seen[2].line, format!("GET /charges/{id} HTTP/1.1"));
    let attempts = http.attempts(&id).await;
    assert_eq!(attempts[2]["response"]["status"], 200);
    assert!(!json!(attempts).to_string().contains("hidden-token"));
    // A copy asks at the same address, with the same headers.
    let copy = create(http, json!({"like": id})).await.is(201);
    assert_eq!(copy["confirm"], *shown);
}

#[tokio::test]
async fn the_runs_of_a_schedule_and_jobs_of_a_batch_ask_too() {
    let server = Server::start().await;
    let http = &server.http;
    let job = json!({"api": "http://127.0.0.1:9/", "queue": "q",
        "confirm": {"url": "http://127.0.0.1:9/{jobId}"}});
    let schedule = json!({"name": "s", "schedule": "0 3 * * *", "job": job});
    let schedule = http.post("/api/v1/schedules", schedule).await.is(201);
    let run = http
        .command("schedules", &id_of(&schedule), "run-now")
        .await
        .is(201);
    assert_eq!(run["confirm"]["url"], "http://127.0.0.1:9/{jobId}");
    let keyed = json!({"api": "http://127.0.0.1:9/",
        "confirm": {"url": "http://127.0.0.1:9/{idempotencyKey}"}});
    let schedule = json!({"name": "t", "schedule": "0 3 * * *", "job": keyed});
    let refused = http.post("/api/v1/schedules", schedule).await;
    refused.is_problem(422, "invalid", Some("job.confirm.url"));
    let batch = json!({"name": "b", "jobs": [{"kind": "charge", "confirm": {}}]});
    http.post("/api/v1/batches", batch).await.is(201);
    let run = &claim(http, &[]).await[0];
    assert_eq!(run["job"]["confirm"], json!({}));
}
