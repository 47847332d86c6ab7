//! Unique jobs, and jobs with a start deadline.

use serde_json::{Value, json};

use crate::{
    client::{Http, Reply},
    server::{Server, Setup},
};

async fn create(http: &Http, body: Value) -> Reply {
    http.post("/api/v1/jobs", body).await
}

fn report(payload: u32, on_conflict: &str) -> Value {
    let unique = json!({"key": "report:7", "onConflict": on_conflict});
    json!({"kind": "report", "payload": payload, "unique": unique})
}

#[tokio::test]
async fn a_second_unique_job_is_kept_replaced_or_refused_with_the_first() {
    let server = Server::start().await;
    let http = &server.http;
    let first = create(http, report(1, "keep")).await.is(201);
    let (id, key) = (first["id"].clone(), first["unique"].clone());
    let expected = json!({"key": "report:7", "while": "unfinished", "onConflict": "keep"});
    assert_eq!(key, expected);
    assert_eq!(first["uniqueResult"], Value::Null);
    let kept = create(http, report(2, "keep")).await.is(200);
    assert_eq!((&kept["id"], &kept["uniqueResult"]), (&id, &json!("kept")));
    assert_eq!(kept["payload"], 1);
    let replaced = create(http, report(3, "replace")).await.is(200);
    assert_eq!(replaced["uniqueResult"], "replaced");
    assert_eq!((&replaced["id"], &replaced["payload"]), (&id, &json!(3)));
    let refused = create(http, report(4, "reject")).await;
    refused.is_problem(409, "unique_conflict", Some("unique"));
    let problem = refused.json();
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains(id.as_str().unwrap()), "{detail}");
    let mut other = report(4, "replace");
    other["queue"] = json!("slow");
    let refused = create(http, other).await;
    refused.is_problem(409, "unique_conflict", Some("unique"));
    let detail = refused.json()["detail"].to_string();
    assert!(
        detail.contains(
            "in queue default, and cannot be replaced by one of kind report in queue slow"
        ),
        "{detail}"
    );
    // In a list, each has its own answer.
    let list = json!({"jobs": [report(5, "keep"), {"kind": "report"}]});
    let list = create(http, list).await.is(201);
    assert_eq!(list["jobs"][0]["uniqueResult"], "kept");
    assert_eq!(list["jobs"][1]["uniqueResult"], Value::Null);
}

#[tokio::test]
async fn a_dead_letter_whose_key_is_taken_waits_for_it() {
    let server = Server::start().await;
    let http = &server.http;
    let id = http.create_id(report(1, "keep")).await;
    let claim = &http.claim("report", "20s").await[0];
    let failure = json!({"failure": {"class": "forbidden", "message": "no"}});
    http.report(claim, "fail", failure).await.is(200);
    let second = http.create_id(report(2, "keep")).await;
    let retry = format!("/api/v1/jobs/{id}/retry");
    let refused = http.post(&retry, json!({})).await;
    refused.is_problem(409, "refused", None);
    let problem = refused.json();
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("unique key"), "{detail}");
    // The list of dead letters says so as well.
    let refused = http
        .post("/api/v1/dlq/requeue", json!({"ids": [&id]}))
        .await;
    refused.is_problem(409, "refused", None);
    let cancel = format!("/api/v1/jobs/{second}/cancel");
    http.post(&cancel, json!({})).await.is(200);
    assert_eq!(http.post(&retry, json!({})).await.is(200)["label"], "ready");
}

#[tokio::test]
async fn requests_that_follow_each_other_make_one_job_later() {
    let server = Server::start().await;
    let http = &server.http;
    let body = json!({
        "kind": "index", "unique": {"key": "doc:1", "while": "waiting"},
        "debounce": "1h", "debounceMax": "90m",
    });
    let first = create(http, body.clone()).await.is(201);
    assert_eq!(first["label"], "scheduled");
    let again = create(http, body.clone()).await.is(200);
    assert_eq!(again["uniqueResult"], "moved");
    assert_eq!(again["id"], first["id"]);
    assert!(again["runAt"].as_str() >= first["runAt"].as_str());
    for (field, value) in [("delay", "2h"), ("runAt", "2999-01-01T00:00:00Z")] {
        let mut timed = body.clone();
        timed[field] = json!(value);
        let refused = create(http, timed).await;
        refused.is_problem(422, "invalid", Some(field));
    }
}

#[tokio::test]
async fn a_job_that_does_not_start_in_time_ends_and_is_not_started() {
    let server = Server::with(Setup {
        manual_clock: true,
        ..Setup::default()
    })
    .await;
    let http = &server.http;
    let late = json!({"kind": "push", "startBefore": "10m"});
    let late = create(http, late).await.is(201);
    assert_eq!(late["onExpiry"], "fail");
    let dropped = json!({"kind": "push", "startBefore": "10m", "onExpiry": "cancel"});
    let dropped = http.create_id(dropped).await;
    let body = json!({"by": "11m"});
    http.post("/api/v1/test/advance", body).await.is(200);
    assert_eq!(http.claim("push", "1ms").await, Vec::<Value>::new());
    let job = http.read_job(late["id"].as_str().unwrap()).await;
    assert_eq!(job["label"], "failed");
    assert_eq!(job["reason"], "expired_unstarted");
    assert_eq!(job["explanation"], "start deadline missed");
    let job = http.read_job(&dropped).await;
    assert_eq!(job["label"], "cancelled");
    let letters = http
        .get("/api/v1/dlq?reason=expired_unstarted")
        .await
        .is(200);
    assert_eq!(letters["jobs"].as_array().unwrap().len(), 1);
}
