//! What a key of scope `read` does not see, in the API and on any page.

use serde_json::{Value, json};
use steadfast_server::keys::Scope;

use crate::{node::TestNode, sign_in::until_keys_are_required};

/// In each place where a person's data may be.
const SECRET: &str = "Jane-Roe-diagnosis";

// long: one story, whose parts look for the same text
#[tokio::test]
async fn a_key_that_may_only_read_sees_no_payload_and_no_result() {
    let node = TestNode::start().await;
    let create = async |path: &str, body: Value| {
        let created = node.api("POST", path, body).await;
        created["id"].as_str().unwrap().to_owned()
    };
    let payload = json!({"patient": SECRET});
    let waiting = json!({"kind": "k", "payload": payload, "delay": "1h"});
    let waiting = create("/jobs", waiting).await;
    let http = json!({"url": "https://example.com/", "body": payload,
        "headers": {"x-note": SECRET}});
    let call = json!({"http": http, "delay": "1h"});
    let call = create("/jobs", call).await;
    let schedule = json!({"name": "nightly", "schedule": "@daily",
        "job": {"kind": "k", "payload": payload}});
    let schedule = create("/schedules", schedule).await;
    let done = create("/jobs", json!({"kind": "done", "payload": payload})).await;
    let after = json!({"kind": "k", "payload": payload, "after": [done]});
    create("/jobs", after).await;
    let batch = json!({"jobs": [{"kind": "k", "payload": payload, "delay": "1h"}]});
    let batch = create("/batches", batch).await;
    let claim = json!({"worker": "w", "kinds": ["done"]});
    node.api("POST", "/claims", claim).await;
    let step = json!({"fence": 1, "result": payload});
    let path = format!("/claims/{done}/steps/charge");
    node.api("PUT", &path, step).await;
    let report = json!({"fence": 1, "result": payload});
    let path = format!("/claims/{done}/succeed");
    node.api("POST", &path, report).await;

    let paths = [
        "/jobs".to_owned(),
        "/jobs?kind=k".to_owned(),
        format!("/jobs/{waiting}"),
        format!("/jobs/{call}"),
        format!("/jobs/{done}"),
        "/schedules".to_owned(),
        format!("/schedules/{schedule}"),
        format!("/batches/{batch}"),
        "/dlq".to_owned(),
        "/queues".to_owned(),
        "/audit".to_owned(),
    ];
    let histories = [
        format!("/jobs/{done}/history"),
        "/schedules/nightly".to_owned(),
    ];
    let key = node.key(Scope::Read, None).await;
    let writer = node.key(Scope::Tenant, Some("default")).await;
    until_keys_are_required(&node).await;
    let sign_in = node.post("/sign-in", &format!("key={key}")).await;
    let cookie = sign_in.header("set-cookie").unwrap();
    let cookie = [("cookie", cookie.split(';').next().unwrap())];
    let bearer = format!("Bearer {key}");
    let reader = [("authorization", bearer.as_str())];
    for path in paths.iter().chain(&histories) {
        let api = format!("/api/v1{path}");
        let answer = node.request("GET", &api, &reader, "").await;
        assert_eq!(answer.status, 200, "{api}: {}", answer.body);
        assert!(!answer.body.contains(SECRET), "{api}: {}", answer.body);
    }
    for path in &paths {
        let path = &path.replace("/dlq", "/dead-letters");
        let page = node.request("GET", path, &cookie, "").await;
        assert_eq!(page.status, 200, "{path}: {}", page.body);
        assert!(!page.body.contains(SECRET), "{path}: {}", page.body);
    }
    // The target of a call is no payload.
    let path = format!("/api/v1/jobs/{call}");
    let answer = node.request("GET", &path, &reader, "").await;
    assert!(
        answer.body.contains("https://example.com/"),
        "{}",
        answer.body
    );
    let bearer = format!("Bearer {writer}");
    let writer = [("authorization", bearer.as_str())];
    for id in [&waiting, &done] {
        let path = format!("/api/v1/jobs/{id}");
        let answer = node.request("GET", &path, &writer, "").await;
        assert!(answer.body.contains(SECRET), "{}", answer.body);
    }
    node.stop().await;
}
