//! What workers log: kept with the attempt, read and followed from every node.

use std::sync::Arc;

use serde_json::{Value, json};
use steadfast_server::keys::Scope;
use steadfast_store::MemoryStore;

use crate::{
    server::{Server, Setup, each, id_of},
    status::events::Stream,
};

fn lines(from: u64, texts: &[&str]) -> Value {
    let line = |text: &&str| json!({"at": "2026-11-18T09:00:00Z", "level": "info", "text": text});
    json!({"from": from, "lines": texts.iter().map(line).collect::<Vec<_>>()})
}

async fn log(server: &Server, id: &str, attempt: u32) -> Value {
    let path = format!("/api/v1/jobs/{id}/attempts/{attempt}/logs");
    server.http.get(&path).await.is(200)
}

#[tokio::test]
async fn lines_of_heartbeats_and_settlements_are_kept_once_and_in_order() {
    let server = Server::start().await;
    let http = &server.http;
    let id = http
        .create_id(json!({"kind": "log", "retry": {"maxRetries": 1, "baseDelay": "1ms"}}))
        .await;
    let claim = http.claim("log", "10s").await.remove(0);
    assert_eq!(log(&server, &id, 1).await["lines"], json!([]));
    let beat = json!({"log": lines(0, &["one", "two"])});
    http.report(&claim, "heartbeat", beat.clone()).await.is(200);
    // The answer was lost.
    http.report(&claim, "heartbeat", beat).await.is(200);
    let entry = json!({"id": id, "fence": claim["fence"], "log": lines(2, &["three"])});
    let beats = json!({"worker": "w1", "claims": [entry]});
    let renewed = http.post("/api/v1/claims/heartbeat", beats).await.is(200);
    assert_eq!(each(renewed["claims"].as_array().unwrap(), "ok"), [true]);
    let failure = json!({"failure": {"class": "oops"}, "log": lines(3, &["four"])});
    http.report(&claim, "fail", failure).await.is(200);
    let first = log(&server, &id, 1).await;
    assert_eq!((&first["dropped"], &first["next"]), (&json!(0), &json!(4)));
    let texts = each(first["lines"].as_array().unwrap(), "text");
    assert_eq!(texts, ["one", "two", "three", "four"]);

    let claim = http.claim("log", "10s").await.remove(0);
    let settled = json!({"settlements": [
        {"id": id, "fence": claim["fence"], "outcome": "succeed", "log": lines(7, &["last"])}
    ]});
    http.post("/api/v1/claims/settle", settled).await.is(200);
    let second = log(&server, &id, 2).await;
    assert_eq!(
        (&second["dropped"], &second["next"]),
        (&json!(7), &json!(8))
    );
    assert_eq!(second["lines"][0]["number"], 7);
    let later = http
        .get(&format!("/api/v1/jobs/{id}/attempts/1/logs?from=3"))
        .await;
    assert_eq!(
        each(later.is(200)["lines"].as_array().unwrap(), "text"),
        ["four"]
    );
    // The attempt is over, and its worker has lost the claim.
    let late = json!({"log": lines(8, &["late"])});
    http.report(&claim, "heartbeat", late)
        .await
        .is_problem(409, "stale_fence", Some("fence"));
    assert_eq!(log(&server, &id, 2).await["next"], 8);
    server.stop().await;
}

#[tokio::test]
async fn a_log_is_followed_from_another_node_until_the_attempt_ends() {
    let store = Arc::new(MemoryStore::default());
    let with = |store: &Arc<MemoryStore>| Setup {
        store: Some(store.clone()),
        ..Setup::default()
    };
    let (one, two) = (
        Server::with(with(&store)).await,
        Server::with(with(&store)).await,
    );
    let id = one.http.create_id(json!({"kind": "log"})).await;
    let path = format!("/api/v1/jobs/{id}/attempts/1/logs?follow=true");
    let mut followed = Stream::open(&two.http, &path).await;
    let claim = one.http.claim("log", "10s").await.remove(0);
    for (from, text) in [(0, "begins"), (1, "goes on")] {
        let beat = json!({"log": lines(from, &[text])});
        one.http.report(&claim, "heartbeat", beat).await.is(200);
        let (name, line) = followed.next().await.unwrap();
        assert_eq!((name.as_str(), &line["text"]), ("log", &json!(text)));
    }
    let end = json!({"log": lines(5, &["ends"])});
    one.http.report(&claim, "succeed", end).await.is(200);
    let rest = [
        followed.next().await,
        followed.next().await,
        followed.next().await,
    ];
    let rest = rest.map(|event| event.unwrap());
    assert_eq!(
        rest.each_ref().map(|it| it.0.as_str()),
        ["dropped", "log", "end"]
    );
    assert_eq!(rest[0].1["lines"], 3);
    assert_eq!(rest[1].1["number"], 5);
    assert!(followed.ends_whole().await);
    one.stop().await;
    two.stop().await;
}

#[tokio::test]
async fn logs_are_for_keys_that_see_payloads_and_numbers_are_checked() {
    let server = Server::start().await;
    let id = server.http.create_id(json!({"kind": "log"})).await;
    let path = format!("/api/v1/jobs/{id}/attempts/1/logs");
    let reader = server.key(Scope::Read, None).await;
    reader.get(&path).await.is_problem(403, "wrong_scope", None);
    let writer = server.key(Scope::Admin, None).await;
    assert_eq!(
        id_of(&writer.get(&format!("/api/v1/jobs/{id}")).await.is(200)),
        id
    );
    writer.get(&path).await.is(200);
    let other = server.key(Scope::Tenant, Some("other")).await;
    other.get(&path).await.is_problem(404, "not_found", None);
    let zero = format!("/api/v1/jobs/{id}/attempts/0/logs");
    writer
        .get(&zero)
        .await
        .is_problem(422, "invalid", Some("attempt"));
    server.stop().await;
}
