//! The API of QStash. Its own clients test the rest of it (`sdk/qstash`).

use serde_json::{Value, json};
use steadfast_server::Settings;

use crate::{
    server::{Server, Setup, until},
    target::Target,
};

#[tokio::test]
async fn a_full_queue_refuses_messages_and_no_callbacks() {
    let server = Server::with(Setup {
        settings: Settings {
            qstash: true,
            ..Settings::default()
        },
        ..Setup::default()
    })
    .await;
    let (http, target, caller) = (
        &server.http,
        Target::always(500).await,
        Target::always(200).await,
    );
    let publish = async || {
        let url = caller.url();
        let headers = [
            ("upstash-retries", "0"),
            ("upstash-callback", url.as_str()),
            ("upstash-failure-callback", url.as_str()),
        ];
        let path = format!("/qstash/v2/publish/{}", target.url());
        http.send("POST", &path, &headers, "hello").await
    };
    let gate = "/api/v1/gates/tenant/default";
    http.put(gate, json!({"paused": true})).await.is(200);
    http.create(json!({"kind": "welcome", "delay": "1h"})).await;
    publish().await.is(200);
    http.put(gate, json!({"maxWaiting": 1})).await.is(200);
    let refused = publish().await;
    assert_eq!(refused.headers["retry-after"], "5");
    let detail = refused.is(429)["error"].clone();
    assert!(detail.as_str().unwrap().contains("maxWaiting"), "{detail}");

    let told = until("both callbacks", || async {
        let seen = caller.seen();
        (seen.len() > 1).then_some(seen)
    });
    let told: Vec<Value> = told.await.iter().map(|it| it.json()).collect();
    assert_eq!(told.len(), 2);
    for callback in &told {
        assert_eq!(callback["status"], 500, "{callback}");
    }
    // None of them is there twice, and the refused message was not sent.
    assert_eq!(target.seen().len(), 1);
    let waiting = http.get(gate).await.is(200)["waiting"].clone();
    assert_eq!(waiting, 1, "only the job of the next hour");
}
