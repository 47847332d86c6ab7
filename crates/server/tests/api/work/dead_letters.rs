//! Dead letters: found, tried again, put away.

use std::num::NonZeroU32;

use serde_json::{Value, json};

use crate::{
    client::{Http, Reply},
    server::{Server, Setup, each, until},
};

/// Makes jobs that fail for good, and returns their ids.
async fn dead(http: &Http, queue: &str, class: &str, count: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for number in 0..count {
        let tags = json!({"class": class, "number": number.to_string()});
        let body = json!({
            "kind": "mail", "queue": queue, "payload": number, "retry": "once", "tags": tags,
        });
        ids.push(http.create_id(body).await);
        let claim = &http.claim("mail", "20s").await[0];
        let failure = json!({"failure": {"class": class, "message": format!("{class} it is")}});
        http.report(claim, "fail", failure).await.is(200);
    }
    ids
}

async fn count(reply: Reply) -> Value {
    reply.is(200)["count"].clone()
}

#[tokio::test]
async fn dead_letters_are_listed_and_filtered() {
    let server = Server::start().await;
    let a = dead(&server.http, "a", "forbidden", 2).await;
    let b = dead(&server.http, "b", "error", 1).await;
    for (query, found) in [
        ("", vec![&b[0], &a[1], &a[0]]),
        ("?queue=a", vec![&a[1], &a[0]]),
        ("?class=error", vec![&b[0]]),
        ("?reason=non_retryable", vec![&a[1], &a[0]]),
        ("?reason=exhausted", vec![&b[0]]),
        ("?text=FORBIDDEN%20it", vec![&a[1], &a[0]]),
        ("?tenant=other", vec![]),
        ("?tag=number:0", vec![&b[0], &a[0]]),
        ("?tag=number:0&tag=class:error", vec![&b[0]]),
        ("?tag=number:1&tag=class:error", vec![]),
        ("?limit=1", vec![&b[0]]),
    ] {
        let list = server
            .http
            .get(&format!("/api/v1/dlq{query}"))
            .await
            .is(200);
        let ids = each(list["jobs"].as_array().unwrap(), "id");
        assert_eq!(json!(ids), json!(found), "{query}");
    }
    // When a letter failed is not when it was created.
    let at = server.http.read_job(&a[1]).await["finishedAt"].clone();
    let at = at.as_str().unwrap();
    for (query, found) in [
        (format!("failedFrom={at}"), vec![&b[0], &a[1]]),
        (format!("failedBefore={at}"), vec![&a[0]]),
        (format!("failedFrom={at}&queue=a"), vec![&a[1]]),
    ] {
        for list in ["dlq", "jobs"] {
            let path = format!("/api/v1/{list}?{query}");
            let list = server.http.get(&path).await.is(200);
            let ids = each(list["jobs"].as_array().unwrap(), "id");
            assert_eq!(json!(ids), json!(found), "{path}");
        }
    }
    let dry = json!({"failedFrom": at, "dryRun": true});
    let dry = server.http.post("/api/v1/dlq/requeue", dry).await;
    assert_eq!(count(dry).await, 2);
    let stats = server.http.get("/api/v1/stats").await.is(200);
    assert_eq!(stats["dlqSize"], 3);
    assert_eq!(stats["failed"], 3);
}

#[tokio::test]
async fn matching_dead_letters_are_counted_by_a_dry_run_and_then_requeued() {
    let server = Server::start().await;
    let ids = dead(&server.http, "a", "forbidden", 3).await;
    dead(&server.http, "b", "error", 1).await;
    let requeue = "/api/v1/dlq/requeue";
    let dry = json!({"queue": "a", "dryRun": true});
    let dry = server.http.post(requeue, dry).await.is(200);
    assert_eq!(dry, json!({"count": 3, "dryRun": true, "atLeast": false}));
    assert_eq!(server.http.read_job(&ids[0]).await["label"], "failed");
    let done = server.http.post(requeue, json!({"queue": "a"})).await;
    assert_eq!(count(done).await, 3);
    for id in &ids {
        let job = server.http.read_job(id).await;
        assert_eq!(job["label"], "ready");
        assert_eq!(server.http.attempts(id).await.len(), 1, "history stays");
    }
    let left = server.http.get("/api/v1/dlq").await.is(200);
    assert_eq!(left["jobs"].as_array().unwrap().len(), 1);
    // Everything is only meant if it is said.
    let vague = server.http.post(requeue, json!({})).await;
    vague.is_problem(422, "invalid", Some("all"));
    let done = server.http.post(requeue, json!({"all": true})).await;
    assert_eq!(count(done).await, 1);
}

#[tokio::test]
async fn a_requeued_dead_letter_can_get_another_payload() {
    let server = Server::start().await;
    let ids = dead(&server.http, "a", "forbidden", 1).await;
    let body = json!({"ids": ids, "payload": {"to": "right"}});
    let done = server.http.post("/api/v1/dlq/requeue", body).await;
    assert_eq!(count(done).await, 1);
    let claim = &server.http.claim("mail", "20s").await[0];
    assert_eq!(claim["job"]["payload"], json!({"to": "right"}));
    let filter = json!({"queue": "a", "payload": 1});
    let refused = server.http.post("/api/v1/dlq/requeue", filter).await;
    refused.is_problem(422, "invalid", Some("payload"));
}

#[tokio::test]
async fn a_discarded_dead_letter_stays_a_job_and_leaves_the_list() {
    let server = Server::start().await;
    let ids = dead(&server.http, "a", "forbidden", 2).await;
    let discard = "/api/v1/dlq/discard";
    let done = server.http.post(discard, json!({"ids": [ids[0]]})).await;
    assert_eq!(count(done).await, 1);
    let again = server.http.post(discard, json!({"ids": [ids[0]]})).await;
    assert_eq!(count(again).await, 0);
    let job = server.http.read_job(&ids[0]).await;
    assert_eq!(job["label"], "failed");
    assert!(job["resolvedAt"].is_string());
    let left = server.http.get("/api/v1/dlq").await.is(200);
    assert_eq!(
        each(left["jobs"].as_array().unwrap(), "id"),
        [ids[1].clone()]
    );
    let more = dead(&server.http, "b", "forbidden", 2).await;
    let done = server
        .http
        .post(discard, json!({"ids": more}))
        .await
        .is(200);
    assert_eq!(done["count"], 2);
    assert!(done["operation"].is_string(), "several are an operation");
    let both = json!({"ids": [ids[1]], "queue": "a"});
    let both = server.http.post(discard, both).await;
    both.is_problem(422, "invalid", Some("ids"));
}

#[tokio::test]
async fn a_bulk_discard_continues_when_its_client_disconnects() {
    let mut setup = Setup::default();
    // A wait that is longer than this test.
    setup.settings.bulk_rate = NonZeroU32::MIN;
    let server = Server::with(setup).await;
    server.fail_jobs(20).await;
    let http = &server.http;
    let all = json!({"all": true}).to_string();
    let client = http.open("POST", "/api/v1/dlq/discard", &all).await;
    let operations = "/api/v1/operations?open=true";
    let id = until("the operation to be there", || async {
        let list = http.get(operations).await.is(200);
        list["operations"][0]["id"].as_str().map(str::to_owned)
    })
    .await;
    drop(client);
    let worked = async || {
        let path = format!("/api/v1/operations/{id}");
        http.get(&path).await.is(200)["worked"].as_u64().unwrap()
    };
    let before = worked().await;
    until("it to go on", || async {
        (worked().await > before).then_some(())
    })
    .await;
    http.command("operations", &id, "cancel").await.is(200);
}
