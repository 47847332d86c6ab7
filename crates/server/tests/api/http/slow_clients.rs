//! Clients that never finish their request are disconnected.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::{Instant, timeout},
};

use crate::server::Server;

/// What a client that stops after this hears until it is hung up on, and how long that takes.
async fn stall(server: &Server, text: &str) -> (String, Duration) {
    let mut stream = TcpStream::connect(server.http.address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let begun = Instant::now();
    let mut heard = String::new();
    let limit = Duration::from_secs(60);
    let ended = timeout(limit, stream.read_to_string(&mut heard)).await;
    assert!(ended.is_ok(), "the connection was left open");
    (heard, begun.elapsed())
}

#[tokio::test]
async fn incomplete_and_idle_requests_are_disconnected() {
    let server = Server::start().await;
    let start = format!(
        "POST /api/v1/jobs HTTP/1.1\r\nhost: {}\r\n",
        server.http.address
    );
    let half_head = format!("{start}content-ty");
    let half_body =
        format!("{start}content-type: application/json\r\ncontent-length: 100\r\n\r\n{{\"kind\"");
    let (head, body, nothing) = tokio::join!(
        stall(&server, &half_head),
        stall(&server, &half_body),
        stall(&server, ""),
    );
    for (heard, took) in [&head, &body, &nothing] {
        assert!(*took >= Duration::from_secs(25), "{took:?}: {heard}");
    }
    assert!(body.0.starts_with("HTTP/1.1 408"), "{}", body.0);
    assert!(body.0.contains("too_slow"), "{}", body.0);
    let jobs = server.http.get("/api/v1/jobs").await.is(200);
    assert_eq!(jobs["jobs"], serde_json::json!([]));
}

#[tokio::test]
async fn a_client_that_never_reads_its_response_is_disconnected() {
    let server = Server::start().await;
    let mut stream = TcpStream::connect(server.http.address).await.unwrap();
    let begun = Instant::now();
    let host = server.http.address;
    let ask = format!("GET /api/v1/openapi.json HTTP/1.1\r\nhost: {host}\r\n\r\n").repeat(100);
    // Sends requests and reads nothing, until its writes find no room and then no reader.
    let hung_up = async { while stream.write_all(ask.as_bytes()).await.is_ok() {} };
    let ended = timeout(Duration::from_secs(60), hung_up).await;
    assert!(ended.is_ok(), "the connection was left open");
    assert!(begun.elapsed() >= Duration::from_secs(25));
}
