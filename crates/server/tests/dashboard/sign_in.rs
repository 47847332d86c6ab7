//! Who may read pages, and who may change things.

mod people;
mod provider;

use std::{sync::Arc, time::Duration};

use steadfast_server::keys::Scope;
use steadfast_store::MemoryStore;

use crate::{
    node::{Response, ShiftedClock, TestNode},
    worker_jobs::{dead_letter, worker_job},
};

async fn sign_in(node: &TestNode, key: &str) -> String {
    let response = node
        .post("/sign-in", &format!("key={key}&next=/jobs"))
        .await;
    assert_eq!(response.status, 303, "{}", response.body);
    assert_eq!(response.header("location"), Some("/jobs"));
    let cookie = response.header("set-cookie").unwrap();
    for attribute in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    cookie.split(';').next().unwrap().to_owned()
}

async fn get_as(node: &TestNode, cookie: &str, path: &str) -> Response {
    node.request("GET", path, &[("cookie", cookie)], "").await
}

async fn act(node: &TestNode, cookie: &str, path: &str, form: &str) -> Response {
    let headers = [("cookie", cookie), ("sec-fetch-site", "same-origin")];
    node.request("POST", path, &headers, form).await
}

/// A node finds a key that was created in the store within seconds; waits until it has.
pub async fn until_keys_are_required(node: &TestNode) {
    while node.get("/").await.status == 200 {
        tokio::time::sleep(Duration::from_millis(50)).await; // sleep: a node reads the keys every other second
    }
}

#[tokio::test]
async fn the_api_accepts_a_session_only_from_pages_of_this_server() {
    let node = TestNode::start().await;
    let reader = node.key(Scope::Read, None).await;
    until_keys_are_required(&node).await;
    let cookie = sign_in(&node, &reader).await;
    let call = async |method, site: Option<&str>| {
        let mut headers = vec![("cookie", &*cookie), ("content-type", "application/json")];
        headers.extend(site.map(|site| ("sec-fetch-site", site)));
        let body = if method == "POST" {
            "{\"kind\":\"k\"}"
        } else {
            ""
        };
        node.request(method, "/api/v1/jobs", &headers, body)
            .await
            .status
    };
    assert_eq!(call("GET", Some("same-origin")).await, 200);
    assert_eq!(call("POST", Some("same-origin")).await, 403, "a read key");
    for method in ["GET", "POST"] {
        assert_eq!(call(method, Some("cross-site")).await, 403);
        assert_eq!(
            call(method, None).await,
            401,
            "no browser says who caused it"
        );
    }
    let done = act(&node, &cookie, "/sign-out", "").await;
    assert_eq!(done.status, 303, "{}", done.body);
    assert_eq!(call("GET", Some("same-origin")).await, 401, "signed out");
    node.stop().await;
}

#[tokio::test]
async fn a_key_for_metrics_opens_no_page() {
    let node = TestNode::start().await;
    let metrics = node.key(Scope::Metrics, None).await;
    until_keys_are_required(&node).await;
    let refused = node
        .post("/sign-in", &format!("key={metrics}&next=/"))
        .await;
    assert_eq!(refused.status, 403, "{}", refused.body);
    assert_eq!(refused.header("set-cookie"), None);
    assert!(refused.body.contains("scope metrics"), "{}", refused.body);
    node.stop().await;
}

#[tokio::test]
async fn with_keys_a_browser_must_sign_in_and_returns_to_the_requested_page() {
    let node = TestNode::start().await;
    let admin = node.key(Scope::Admin, None).await;
    until_keys_are_required(&node).await;
    let response = node.get("/dead-letters?kind=a").await;
    let expected = "/sign-in?next=%2Fdead-letters%3Fkind%3Da";
    assert_eq!(response.header("location"), Some(expected));
    assert_eq!(node.post("/sign-in", "key=sf_wrong").await.status, 401);
    for away in ["//evil.example", "/%09/evil.example", "%5C%5Cevil.example"] {
        let away = format!("key={admin}&next={away}");
        let response = node.post("/sign-in", &away).await;
        assert_eq!(
            response.header("location"),
            Some("/"),
            "only to pages of the dashboard"
        );
    }
    let cookie = sign_in(&node, &admin).await;
    assert_eq!(get_as(&node, &cookie, "/jobs").await.status, 200);
    let out = act(&node, &cookie, "/sign-out", "").await;
    assert_eq!(out.header("location"), Some("/sign-in"));
    assert_eq!(get_as(&node, &cookie, "/jobs").await.status, 303);
    node.stop().await;
}

#[tokio::test]
async fn the_event_stream_of_a_page_ends_with_its_session() {
    let node = TestNode::start().await;
    let admin = node.key(Scope::Admin, None).await;
    until_keys_are_required(&node).await;
    let cookie = sign_in(&node, &admin).await;
    let stream = get_as(&node, &cookie, "/ui/events");
    let signing_out = async {
        // Connections are accepted in order, so after this response the stream is open.
        assert_eq!(get_as(&node, &cookie, "/jobs").await.status, 200);
        act(&node, &cookie, "/sign-out", "").await
    };
    let both = async { tokio::join!(stream, signing_out) };
    let ended = tokio::time::timeout(Duration::from_secs(30), both).await;
    let (stream, _) = ended.unwrap();
    assert_eq!(stream.status, 200);
    node.stop().await;
}

#[tokio::test]
async fn a_tenants_key_sees_and_changes_its_tenant_only() {
    let node = TestNode::start().await;
    let ours = dead_letter(&node, "ours", "no").await.id.to_string();
    let theirs = dead_letter(&node, "theirs", "no").await;
    let key = node.key(Scope::Tenant, Some("ours")).await;
    until_keys_are_required(&node).await;
    let cookie = sign_in(&node, &key).await;
    let list = get_as(&node, &cookie, "/jobs").await.body;
    assert!(list.contains(&ours) && !list.contains(&theirs.id.to_string()));
    let page = format!("/jobs/{}", theirs.id);
    assert_eq!(get_as(&node, &cookie, &page).await.status, 404);
    let foreign = get_as(&node, &cookie, "/jobs?tenant=theirs").await;
    assert_eq!(foreign.status, 403);
    for page in ["/", "/queues", "/dead-letters", "/alerts"] {
        let body = get_as(&node, &cookie, page).await.body;
        assert!(!body.contains("theirs"), "{page}");
    }
    let path = format!("{page}/act");
    let refused = act(&node, &cookie, &path, "action=discard").await;
    assert_eq!(refused.status, 404);
    let selected = format!("scope=selected&action=discard&confirmed=1&id={}", theirs.id);
    act(&node, &cookie, "/jobs/act", &selected).await;
    let all = "scope=all&deadLetters=1&action=discard&confirmed=1";
    let done = act(&node, &cookie, "/jobs/act", all).await;
    assert!(
        done.header("location")
            .unwrap()
            .ends_with("did=discard&n=1")
    );
    let kept = node.client.job(theirs.id).await.unwrap().unwrap();
    assert!(kept.is_dead_letter());
    node.stop().await;
}

#[tokio::test]
async fn every_node_accepts_a_session_that_another_node_started() {
    let clock = ShiftedClock::default();
    let store = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
    let one = TestNode::on(store.clone(), clock.clone()).await;
    let other = TestNode::on(store, clock).await;
    let key = one.key(Scope::Admin, None).await;
    until_keys_are_required(&one).await;
    until_keys_are_required(&other).await;
    let cookie = sign_in(&one, &key).await;
    assert_eq!(get_as(&other, &cookie, "/jobs").await.status, 200);
    one.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn revoking_a_key_ends_its_sessions_and_a_read_key_changes_nothing() {
    let node = TestNode::start().await;
    let created = node
        .post("/keys/act", "action=create&scope=admin&name=first")
        .await;
    assert_eq!(created.status, 200, "{}", created.body);
    assert!(created.body.contains("keeps only its hash"));
    let token = created.body.split("sf_").nth(1).unwrap();
    let token = format!("sf_{}", token.split('<').next().unwrap());
    let admin = sign_in(&node, &token).await;
    let headers = [
        ("cookie", admin.as_str()),
        ("sec-fetch-site", "same-origin"),
    ];
    let created = node
        .request(
            "POST",
            "/keys/act",
            &headers,
            "action=create&scope=read&name=r",
        )
        .await;
    let reader = created
        .body
        .split("sf_")
        .nth(1)
        .unwrap()
        .split('<')
        .next()
        .unwrap();
    let reader = sign_in(&node, &format!("sf_{reader}")).await;
    assert_eq!(get_as(&node, &reader, "/jobs").await.status, 200);
    let own = [
        ("cookie", reader.as_str()),
        ("sec-fetch-site", "same-origin"),
    ];
    let refused = node
        .request("POST", "/queues/act", &own, "queue=default&action=pause")
        .await;
    assert_eq!(refused.status, 403);
    let id = created
        .body
        .split("key_")
        .last()
        .unwrap()
        .split(['"', '<'])
        .next()
        .unwrap();
    let form = format!("action=delete&id=key_{id}");
    let asked = node.request("POST", "/keys/act", &headers, &form).await;
    assert_eq!(asked.status, 200, "{}", asked.body);
    assert!(asked.body.contains("Revoke key") && asked.body.contains("class=\"danger\""));
    let form = format!("{form}&confirmed=1");
    let deleted = node.request("POST", "/keys/act", &headers, &form).await;
    assert_eq!(deleted.status, 303, "{}", deleted.body);
    assert_eq!(
        get_as(&node, &reader, "/jobs").await.status,
        303,
        "the session is over"
    );
    node.stop().await;
}

#[tokio::test]
async fn a_tenant_sees_its_own_part_of_gates_and_destinations() {
    let node = TestNode::start().await;
    let partner = "https://api.example.com".parse().unwrap();
    let reason = Some("they asked us to stop");
    let held = node.client.hold_destination(&partner, None, reason, None);
    held.await.unwrap();
    let job = worker_job("ours").destination("https://api.example.com");
    node.client.enqueue(job).await.unwrap();
    let (ours, theirs) = (
        node.key(Scope::Tenant, Some("ours")).await,
        node.key(Scope::Tenant, Some("theirs")).await,
    );
    until_keys_are_required(&node).await;
    let ours = sign_in(&node, &ours).await;
    let theirs = sign_in(&node, &theirs).await;
    let show = "/destinations?show=https%3A%2F%2Fapi.example.com";
    let page = get_as(&node, &ours, show).await.body;
    assert!(page.contains("they asked us to stop"), "{page}");
    assert!(!page.contains("value=\"release\""), "it is for operators");
    let other = get_as(&node, &theirs, show).await.body;
    assert!(!other.contains("they asked us to stop"), "{other}");
    // The link from a destination leads to the tenant's own gate.
    let form = "action=set&scope=destination&key=https%3A%2F%2Fapi.example.com&maxRunning=3";
    assert_eq!(act(&node, &ours, "/gates/act", form).await.status, 303);
    let link = page.split("href=\"/gates?edit=").nth(1).unwrap();
    let link = link.split(['"', '#']).next().unwrap().replace("&amp;", "&");
    let page = get_as(&node, &ours, &format!("/gates?edit={link}"))
        .await
        .body;
    assert!(page.contains("Save gate"), "{link}: {page}");
    assert!(page.contains("name=\"maxRunning\" inputmode=\"numeric\" value=\"3\""));
    node.stop().await;
}
