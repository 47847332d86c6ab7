//! Webhooks: signed, the same on every retry, and never about other webhooks.

use serde_json::{Value, json};
use standardwebhooks::Webhook;

use crate::{
    client::Http,
    server::{Server, each, id_of, until},
    target::{ReceivedRequest, Target},
};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Whether a delivery is signed with this key, as the other side would find out.
fn is_signed(seen: &ReceivedRequest, secret: &str) -> bool {
    let mut headers = axum::http::HeaderMap::new();
    for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        headers.insert(name, seen.headers[name].parse().unwrap());
    }
    let verifier = Webhook::new(secret).unwrap();
    verifier.verify(seen.body.as_bytes(), &headers).is_ok()
}

async fn endpoint(http: &Http, body: Value) -> Value {
    http.post("/api/v1/endpoints", body).await.is(201)
}

async fn delivered(target: &Target, count: usize) -> Vec<ReceivedRequest> {
    until(&format!("{count} deliveries"), || async {
        let seen = target.seen();
        (seen.len() >= count).then_some(seen)
    })
    .await
}

#[tokio::test]
async fn the_end_of_a_job_is_delivered_to_its_own_webhook_and_to_endpoints() {
    let server = Server::start().await;
    let (work, own, shared) = (
        Target::always(200).await,
        Target::always(200).await,
        Target::always(204).await,
    );
    let made = endpoint(&server.http, json!({"url": shared.url()})).await;
    let secret = made["secret"].as_str().unwrap();
    let body = json!({
        "api": work.url(), "tags": {"order": "7"},
        "webhook": {"url": own.url(), "secret": SECRET}
    });
    let id = server.http.create_id(body).await;
    for (target, secret) in [(&own, SECRET), (&shared, secret)] {
        let seen = &delivered(target, 1).await[0];
        assert!(is_signed(seen, secret));
        assert!(!is_signed(seen, "whsec_d3JvbmcgcHJhY3RpY2UgbWFrZXM="));
        let event = seen.json();
        assert_eq!(event["type"], "job.succeeded", "{event}");
        let mut job = server.http.read_job(&id).await;
        for field in ["worker", "leaseUntil"] {
            job[field] = event["data"][field].clone();
        }
        assert_eq!(event["data"], job, "the job as the API answers it");
        assert_eq!(event["id"], seen.headers["webhook-id"]);
        assert!(event["timestamp"].is_string());
    }
    let path = "/api/v1/jobs?kind=webhook";
    let deliveries = until("both deliveries to end", || async {
        let list = server.http.get(path).await.is(200);
        let list = list["jobs"].as_array().unwrap().clone();
        list.iter()
            .all(|it| it["label"] == "succeeded")
            .then_some(list)
    })
    .await;
    assert_eq!(deliveries.len(), 2, "a delivery makes no other");
    assert_eq!(each(&deliveries, "maxRetries"), [3, 3]);
    assert_eq!(deliveries[0]["retry"]["delays"], json!(["30s", "1m", "2m"]));
}

#[tokio::test]
async fn a_retried_delivery_keeps_its_id_and_body_and_has_a_new_timestamp() {
    let server = Server::start().await;
    let (work, own) = (Target::always(404).await, Target::failing(2).await);
    let retry = json!({"delays": ["1100ms"], "maxRetries": 3});
    let body = json!({
        "api": work.url(),
        "webhook": {"url": own.url(), "secret": SECRET, "retry": retry}
    });
    server.http.create_id(body).await;
    let seen = delivered(&own, 3).await;
    for one in &seen {
        assert!(is_signed(one, SECRET));
        assert_eq!(one.headers["webhook-id"], seen[0].headers["webhook-id"]);
        assert_eq!(one.body, seen[0].body);
        assert_eq!(
            one.headers["idempotency-key"],
            seen[0].headers["idempotency-key"]
        );
    }
    let stamps: Vec<u64> = seen
        .iter()
        .map(|one| one.headers["webhook-timestamp"].parse().unwrap())
        .collect();
    assert!(stamps[0] < stamps[1] && stamps[1] < stamps[2], "{stamps:?}");
    let event = seen[0].json();
    assert_eq!(event["type"], "job.failed");
    assert_eq!(event["data"]["failure"]["class"], "not_found");
}

#[tokio::test]
async fn only_the_events_of_a_subscription_are_delivered() {
    let server = Server::start().await;
    let (work, own) = (Target::failing(1).await, Target::always(200).await);
    let webhook = json!({"url": own.url(), "events": ["job.retrying", "job.cancelled"]});
    let body = json!({"api": work.url(), "retry": {"baseDelay": 50}, "webhook": webhook});
    let id = server.http.create_id(body).await;
    server.http.wait_for_label(&id, "succeeded").await;
    let body = json!({"kind": "never", "webhook": webhook});
    let other = server.http.create_id(body).await;
    server.http.command("jobs", &other, "cancel").await.is(200);
    let seen = delivered(&own, 2).await;
    let mut events: Vec<Value> = seen.iter().map(|one| one.json()["type"].clone()).collect();
    events.sort_by_key(Value::to_string);
    assert_eq!(events, ["job.cancelled", "job.retrying"]);
    assert!(!seen[0].headers.contains_key("webhook-signature"));
}

#[tokio::test]
async fn while_keys_rotate_both_of_them_sign() {
    let server = Server::start().await;
    let (work, hook) = (Target::always(200).await, Target::always(200).await);
    let made = endpoint(&server.http, json!({"url": hook.url(), "secret": SECRET})).await;
    let path = format!("/api/v1/endpoints/{}/rotate", id_of(&made));
    let rotated = server
        .http
        .post(&path, json!({"overlap": "1h"}))
        .await
        .is(200);
    let new = rotated["secret"].as_str().unwrap();
    assert_ne!(new, SECRET);
    assert_eq!(rotated["liveSecrets"], 2);
    server.http.create_id(json!({"api": work.url()})).await;
    let seen = &delivered(&hook, 1).await[0];
    assert!(is_signed(seen, SECRET) && is_signed(seen, new));

    let rotated = server.http.post(&path, json!({"overlap": 0})).await.is(200);
    let newest = rotated["secret"].as_str().unwrap();
    server.http.create_id(json!({"api": work.url()})).await;
    let seen = &delivered(&hook, 2).await[1];
    assert!(is_signed(seen, newest));
    assert!(!is_signed(seen, new), "without overlap the old key is gone");
}

#[tokio::test]
async fn a_deleted_endpoint_gets_no_more_deliveries() {
    let server = Server::start().await;
    let (work, hook) = (Target::always(200).await, Target::always(503).await);
    let made = endpoint(&server.http, json!({"url": hook.url()})).await;
    server.http.create_id(json!({"api": work.url()})).await;
    delivered(&hook, 1).await;
    let path = format!("/api/v1/endpoints/{}", id_of(&made));
    server.http.delete(&path).await.is(204);
    server
        .http
        .delete(&path)
        .await
        .is_problem(404, "not_found", None);
    let list = server.http.get("/api/v1/jobs?kind=webhook").await.is(200);
    let delivery = id_of(&list["jobs"][0]);
    server
        .http
        .command("jobs", &delivery, "run-now")
        .await
        .is(200);
    server.http.wait_for_label(&delivery, "cancelled").await;
    assert_eq!(hook.seen().len(), 1);
    let endpoints = server.http.get("/api/v1/endpoints").await.is(200);
    assert_eq!(endpoints["endpoints"], json!([]));
}

#[tokio::test]
async fn an_endpoint_limit_reveals_nothing_about_other_tenants() {
    let server = Server::start().await;
    for number in 0..20 {
        let url = format!("https://example.com/{number}");
        endpoint(&server.http, json!({"url": url, "tenant": "alpha"})).await;
    }
    let another = |tenant| json!({"url": "https://example.com/", "tenant": tenant});
    let refused = server
        .http
        .post("/api/v1/endpoints", another("alpha"))
        .await;
    refused.is_problem(409, "too_many", None);
    let detail = "tenant alpha: limit of 20 endpoints reached: delete one first, or ask the \
                  operator to raise endpointsPerTenant";
    assert_eq!(refused.is(409)["detail"], detail);
    endpoint(&server.http, another("beta")).await;
}

#[tokio::test]
async fn endpoints_that_are_created_at_once_do_not_exceed_the_limit() {
    let server = Server::start().await;
    let create = async |number: usize| {
        let body = json!({"url": format!("https://example.com/{number}"), "tenant": "alpha"});
        server.http.post("/api/v1/endpoints", body).await.status
    };
    let all = futures_util::future::join_all((0..30).map(create)).await;
    let list = server.http.get("/api/v1/endpoints?tenant=alpha").await;
    let stored = list.is(200)["endpoints"].as_array().unwrap().len();
    assert_eq!(stored, all.iter().filter(|status| **status == 201).count());
    assert!(stored <= 20, "{all:?}");
}

#[tokio::test]
async fn a_slack_body_repeats_the_id_of_the_event() {
    let server = Server::start().await;
    let (work, hook) = (Target::always(200).await, Target::always(200).await);
    endpoint(&server.http, json!({"url": hook.url(), "format": "slack"})).await;
    server.http.create_id(json!({"api": work.url()})).await;
    let seen = &delivered(&hook, 1).await[0];
    let body = seen.json();
    assert_eq!(body["id"], seen.headers["webhook-id"]);
    assert!(body["text"].is_string());
}
