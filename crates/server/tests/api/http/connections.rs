//! Connections that are worth nothing do not keep out those that are.

use serde_json::json;
use steadfast_server::Settings;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::server::{Server, Setup, id_of, until};

const CONNECTIONS: usize = 64;
/// Three quarters of all connections, of which one tenant has seven eighths.
const WAITS: usize = CONNECTIONS / 4 * 3 / 8 * 7;

async fn small_server() -> Server {
    let settings = Settings {
        connections: CONNECTIONS,
        connections_per_address: CONNECTIONS,
        ..Settings::default()
    };
    Server::with(Setup {
        settings,
        ..Setup::default()
    })
    .await
}

/// Connections that send this and then nothing.
async fn stall(server: &Server, text: &str, number: usize) -> Vec<TcpStream> {
    let mut streams = Vec::new();
    for _ in 0..number {
        let mut stream = TcpStream::connect(server.http.address).await.unwrap();
        // The server may have closed it already to make room for another.
        let _closed = stream.write_all(text.as_bytes()).await;
        streams.push(stream);
    }
    streams
}

#[tokio::test]
async fn idle_connections_are_closed_before_active_ones() {
    let server = small_server().await;
    let http = &server.http;
    let wait = json!({"worker": "w", "kinds": ["k"], "wait": "30s"}).to_string();
    let mut poll = http.open("POST", "/api/v1/claims", &wait).await;
    let form = format!(
        "POST /sign-in HTTP/1.1\r\nhost: {}\r\norigin: http://{0}\r\ncontent-length: 99\r\n\r\nkey=",
        http.address
    );
    let mut flood = Vec::new();
    for text in ["", "GET /healthz HTTP/1.1\r\nho", &form] {
        flood.push(stall(&server, text, CONNECTIONS * 2).await);
        http.get("/healthz").await.is(200);
        http.create(json!({"kind": "other"})).await;
    }
    let id = http.create_id(json!({"kind": "k"})).await;
    let mut answer = String::new();
    poll.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains(&id), "the long poll was still there");
}

#[tokio::test]
async fn long_polls_have_a_share_and_leave_room_for_heartbeats_and_settlements() {
    let server = small_server().await;
    let http = &server.http;
    http.create(json!({"kind": "mine"})).await;
    let claims = http.claim("mine", "0s").await;
    let wait = json!({"worker": "w", "kinds": ["k"], "wait": "30s"}).to_string();
    let mut polls = Vec::new();
    for _ in 0..WAITS {
        let poll = http.open("POST", "/api/v1/claims", &wait);
        polls.push(poll.await);
    }
    // They are counted when they are read, which may be a moment later.
    let short = json!({"worker": "w", "kinds": ["k"], "wait": "1ms"});
    let refused = until("all of them to wait", || async {
        let reply = http.post("/api/v1/claims", short.clone()).await;
        (reply.status != 200).then_some(reply)
    })
    .await;
    refused.is_problem(503, "too_many_waiting", None);
    assert_eq!(refused.headers["retry-after"], "1");
    let _flood = stall(&server, "GET / HT", CONNECTIONS).await;
    http.report(&claims[0], "heartbeat", json!({}))
        .await
        .is(200);
    http.report(&claims[0], "succeed", json!({})).await.is(200);
    assert_eq!(http.claim("k", "0s").await.len(), 0, "without waiting");
    drop(polls);
    until("room to wait", || async {
        let reply = http.post("/api/v1/claims", short.clone()).await;
        (reply.status == 200).then_some(())
    })
    .await;
}

#[tokio::test]
async fn heads_and_forms_without_a_key_are_small() {
    let server = small_server().await;
    let http = &server.http;
    let long = "x".repeat(20_000);
    let reply = http.send("GET", "/healthz", &[("x", &long)], "").await;
    assert_eq!(reply.status, 431);
    let own = [("origin", &*format!("http://{}", http.address))];
    let form = format!("key={long}");
    let reply = http.send("POST", "/sign-in", &own, &form).await;
    assert_eq!(reply.status, 413);
    let job = http.create(json!({"kind": "k", "payload": long})).await;
    assert!(id_of(&job).starts_with("job_"));
}
