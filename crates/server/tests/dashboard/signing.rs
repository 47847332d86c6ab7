//! Who may look at pages, and who may change things.

use std::{sync::Arc, time::Duration};

use steadfast_server::keys::Scope;
use steadfast_store::MemoryStore;

use crate::{
    node::{Answer, ShiftedClock, TestNode},
    plain::dead_letter,
};

async fn sign_in(node: &TestNode, key: &str) -> String {
    let answer = node
        .post("/sign-in", &format!("key={key}&next=/jobs"))
        .await;
    assert_eq!(answer.status, 303, "{}", answer.body);
    assert_eq!(answer.header("location"), Some("/jobs"));
    let cookie = answer.header("set-cookie").unwrap();
    for wanted in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"] {
        assert!(cookie.contains(wanted), "{cookie}");
    }
    cookie.split(';').next().unwrap().to_owned()
}

async fn with(node: &TestNode, cookie: &str, path: &str) -> Answer {
    node.ask("GET", path, &[("cookie", cookie)], "").await
}

async fn act(node: &TestNode, cookie: &str, path: &str, form: &str) -> Answer {
    let headers = [("cookie", cookie), ("sec-fetch-site", "same-origin")];
    node.ask("POST", path, &headers, form).await
}

/// A node hears of a key made behind its back within seconds; asks until it has.
pub async fn until_closed(node: &TestNode) {
    while node.get("/").await.status == 200 {
        tokio::time::sleep(Duration::from_millis(50)).await; // sleep: keys are looked up every other second
    }
}

#[tokio::test]
async fn with_keys_one_has_to_sign_in_first_and_is_led_back() {
    let node = TestNode::start().await;
    let admin = node.key(Scope::Admin, None).await;
    until_closed(&node).await;
    let answer = node.get("/dead-letters?kind=a").await;
    let expected = "/sign-in?next=%2Fdead-letters%3Fkind%3Da";
    assert_eq!(answer.header("location"), Some(expected));
    assert_eq!(node.post("/sign-in", "key=sf_wrong").await.status, 401);
    let away = format!("key={admin}&next=//evil.example");
    let answer = node.post("/sign-in", &away).await;
    assert_eq!(
        answer.header("location"),
        Some("/"),
        "only to our own pages"
    );
    let cookie = sign_in(&node, &admin).await;
    assert_eq!(with(&node, &cookie, "/jobs").await.status, 200);
    let out = act(&node, &cookie, "/sign-out", "").await;
    assert_eq!(out.header("location"), Some("/sign-in"));
    assert_eq!(with(&node, &cookie, "/jobs").await.status, 303);
    node.stop().await;
}

#[tokio::test]
async fn an_open_page_hears_nothing_more_after_its_session_has_ended() {
    let node = TestNode::start().await;
    let admin = node.key(Scope::Admin, None).await;
    until_closed(&node).await;
    let cookie = sign_in(&node, &admin).await;
    let listening = with(&node, &cookie, "/ui/events");
    let signing_out = async {
        // Connections are taken in order, so this answer means that the other is listening.
        assert_eq!(with(&node, &cookie, "/jobs").await.status, 200);
        act(&node, &cookie, "/sign-out", "").await
    };
    let both = async { tokio::join!(listening, signing_out) };
    let ended = tokio::time::timeout(Duration::from_secs(30), both).await;
    let (heard, _) = ended.unwrap();
    assert_eq!(heard.status, 200);
    node.stop().await;
}

#[tokio::test]
async fn a_tenants_key_sees_and_changes_its_tenant_only() {
    let node = TestNode::start().await;
    let ours = dead_letter(&node, "ours", "no").await.id.to_string();
    let theirs = dead_letter(&node, "theirs", "no").await;
    let key = node.key(Scope::Tenant, Some("ours")).await;
    until_closed(&node).await;
    let cookie = sign_in(&node, &key).await;
    let list = with(&node, &cookie, "/jobs").await.body;
    assert!(list.contains(&ours) && !list.contains(&theirs.id.to_string()));
    let page = format!("/jobs/{}", theirs.id);
    assert_eq!(with(&node, &cookie, &page).await.status, 404);
    let asked = with(&node, &cookie, "/jobs?tenant=theirs").await;
    assert_eq!(asked.status, 403);
    for page in ["/", "/queues", "/dead-letters", "/alerts"] {
        let body = with(&node, &cookie, page).await.body;
        assert!(!body.contains("theirs"), "{page}");
    }
    let path = format!("{page}/act");
    let refused = act(&node, &cookie, &path, "action=discard").await;
    assert_eq!(refused.status, 404);
    let selected = format!("scope=selected&action=discard&id={}", theirs.id);
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
async fn every_node_honours_a_session_that_another_one_started() {
    let clock = ShiftedClock::default();
    let store = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
    let one = TestNode::on(store.clone(), clock.clone()).await;
    let other = TestNode::on(store, clock).await;
    let key = one.key(Scope::Admin, None).await;
    until_closed(&one).await;
    until_closed(&other).await;
    let cookie = sign_in(&one, &key).await;
    assert_eq!(with(&other, &cookie, "/jobs").await.status, 200);
    one.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn a_key_that_is_taken_back_ends_its_sessions_and_a_reader_changes_nothing() {
    let node = TestNode::start().await;
    let made = node
        .post("/keys/act", "action=create&scope=admin&name=first")
        .await;
    assert_eq!(made.status, 200, "{}", made.body);
    let token = made.body.split("sf_").nth(1).unwrap();
    let token = format!("sf_{}", token.split('<').next().unwrap());
    let admin = sign_in(&node, &token).await;
    let headers = [
        ("cookie", admin.as_str()),
        ("sec-fetch-site", "same-origin"),
    ];
    let made = node
        .ask(
            "POST",
            "/keys/act",
            &headers,
            "action=create&scope=read&name=r",
        )
        .await;
    let reader = made
        .body
        .split("sf_")
        .nth(1)
        .unwrap()
        .split('<')
        .next()
        .unwrap();
    let reader = sign_in(&node, &format!("sf_{reader}")).await;
    assert_eq!(with(&node, &reader, "/jobs").await.status, 200);
    let own = [
        ("cookie", reader.as_str()),
        ("sec-fetch-site", "same-origin"),
    ];
    let refused = node
        .ask("POST", "/queues/act", &own, "queue=default&action=pause")
        .await;
    assert_eq!(refused.status, 403);
    let id = made
        .body
        .split("key_")
        .last()
        .unwrap()
        .split(['"', '<'])
        .next()
        .unwrap();
    let form = format!("action=delete&id=key_{id}");
    let deleted = node.ask("POST", "/keys/act", &headers, &form).await;
    assert_eq!(deleted.status, 303, "{}", deleted.body);
    assert_eq!(
        with(&node, &reader, "/jobs").await.status,
        303,
        "the session is over"
    );
    node.stop().await;
}
