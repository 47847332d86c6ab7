//! Jobs as they are made, changed, found and listed.

use serde_json::{Value, json};

use crate::{
    server::{Server, each, id_of, millis},
    target::Target,
};

#[tokio::test]
async fn a_job_response_has_every_field_of_the_request() {
    let server = Server::start().await;
    let body = json!({
        "kind": "resize", "payload": {"file": "a.png"}, "queue": "images", "priority": 7,
        "delay": "1h", "timeout": "10s", "lease": "1m", "tags": {"team": "media"},
        "retry": {"maxRetries": 2, "backoff": "linear", "baseDelay": "10s"},
        "webhook": {"url": "https://example.com/hook", "events": ["job.failed"]}
    });
    let job = server.http.create(body).await;
    for (field, value) in [
        ("tenant", json!("default")),
        ("queue", json!("images")),
        ("kind", json!("resize")),
        ("label", json!("scheduled")),
        ("type", json!("AT_LEAST_ONCE")),
        ("priority", json!(7)),
        ("attempt", json!(0)),
        ("retryCount", json!(0)),
        ("maxRetries", json!(2)),
        ("payload", json!({"file": "a.png"})),
        ("timeoutMs", json!(10_000)),
        ("leaseMs", json!(60_000)),
        ("tags", json!({"team": "media"})),
        ("failure", Value::Null),
        ("startedAt", Value::Null),
        ("scheduleId", Value::Null),
    ] {
        assert_eq!(job[field], value, "{field}");
    }
    assert_eq!(job["webhook"]["events"], json!(["job.failed"]));
    assert_eq!(millis(&job["createdAt"], &job["runAt"]), 3_600_000);
    assert_eq!(server.http.read_job(&id_of(&job)).await, job);
}

#[tokio::test]
async fn a_waiting_job_can_be_changed_and_a_finished_one_cannot() {
    let server = Server::start().await;
    let target = Target::always(200).await;
    let id = server
        .http
        .create_id(json!({"kind": "k", "delay": "1h"}))
        .await;
    let path = format!("/api/v1/jobs/{id}");
    let change = json!({
        "payload": {"n": 2}, "priority": 1, "runAt": "2099-01-01T00:00:00Z",
        "retry": {"maxRetries": 9}
    });
    let job = server.http.patch(&path, change).await.is(200);
    assert_eq!(job["payload"], json!({"n": 2}));
    assert_eq!(job["priority"], 1);
    assert_eq!(job["runAt"], "2099-01-01T00:00:00Z");
    assert_eq!(job["maxRetries"], 9);
    assert_eq!(job["retry"]["baseDelay"], "500ms", "the rest stays");
    let bad = server.http.patch(&path, json!({"queue": "q"})).await;
    bad.is_problem(422, "unknown_field", Some("queue"));
    let bad = server.http.patch(&path, json!({"priority": 10})).await;
    bad.is_problem(422, "invalid", Some("priority"));

    let done = server.http.create_id(json!({"api": target.url()})).await;
    server.http.wait_for_label(&done, "succeeded").await;
    let path = format!("/api/v1/jobs/{done}");
    let late = server.http.patch(&path, json!({"priority": 1})).await;
    late.is_problem(409, "refused", None);
}

#[tokio::test]
async fn jobs_are_found_by_every_filter() {
    let server = Server::start().await;
    let target = Target::always(422).await;
    let failed = json!({"api": target.url(), "queue": "q1", "tenant": "acme"});
    let failed = server.http.create_id(failed).await;
    let waiting = json!({"kind": "mail", "queue": "q2", "delay": "1h"});
    let waiting = server.http.create_id(waiting).await;
    server.http.wait_for_label(&failed, "failed").await;
    for (query, found) in [
        ("label=failed", vec![&failed]),
        ("label=scheduled", vec![&waiting]),
        ("label=running", vec![]),
        ("queue=q1", vec![&failed]),
        ("kind=mail", vec![&waiting]),
        ("notKind=mail", vec![&failed]),
        ("status=422", vec![&failed]),
        ("status=500", vec![]),
        ("tenant=acme", vec![&failed]),
        ("tenant=unknown", vec![]),
        ("text=422", vec![&failed]),
        ("text=no%20such%20words", vec![]),
        ("class=validation", vec![&failed]),
        ("class=timeout", vec![]),
        ("reason=non_retryable", vec![&failed]),
        ("from=2020-01-01T00:00:00Z", vec![&waiting, &failed]),
        ("from=2099-01-01T00:00:00Z", vec![]),
        ("before=2020-01-01T00:00:00Z", vec![]),
        ("before=2099-01-01T00:00:00Z&queue=q2", vec![&waiting]),
    ] {
        let list = server.http.get(&format!("/api/v1/jobs?{query}")).await;
        let list = list.is(200);
        let ids = each(list["jobs"].as_array().unwrap(), "id");
        assert_eq!(json!(ids), json!(found), "{query}");
    }
}

#[tokio::test]
async fn history_comes_newest_first_in_pages() {
    let server = Server::start().await;
    let target = Target::always(503).await;
    let retry = json!({"maxRetries": 4, "backoff": "fixed", "baseDelay": 0});
    let body = json!({"api": target.url(), "retry": retry});
    let id = server.http.create_id(body).await;
    server.http.wait_for_label(&id, "failed").await;
    let path = format!("/api/v1/jobs/{id}/history?limit=2");
    let page = server.http.get(&path).await.is(200);
    assert_eq!(
        each(page["attempts"].as_array().unwrap(), "attempt"),
        [5, 4]
    );
    let cursor = page["nextCursor"].as_str().unwrap();
    let next = server.http.get(&format!("{path}&after={cursor}")).await;
    let next = next.is(200);
    assert_eq!(
        each(next["attempts"].as_array().unwrap(), "attempt"),
        [3, 2]
    );
    let whole = server.http.attempts(&id).await;
    assert_eq!(each(&whole, "attempt"), [1, 2, 3, 4, 5]);
    assert!(whole[0]["durationMs"].is_u64());
    assert!(whole[0]["worker"].is_string());
}
