//! Events as they happen.

use std::time::Duration;

use serde_json::{Value, json};
use steadfast_server::keys::Scope;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines},
    net::TcpStream,
    time::timeout,
};

use crate::{
    client::Http,
    server::{Server, id_of},
    target::Target,
};

pub struct Stream(Lines<BufReader<TcpStream>>);

impl Stream {
    /// Listens; returns when the server has begun to answer, so that nothing is missed.
    pub async fn open(http: &Http, path: &str) -> Self {
        let stream = http.open("GET", path, "").await;
        let mut lines = BufReader::new(stream).lines();
        let status = lines.next_line().await.unwrap().unwrap();
        assert!(status.contains(" 200 "), "{status}");
        let mut media = String::new();
        loop {
            let line = lines.next_line().await.unwrap().unwrap();
            if line.is_empty() {
                break;
            }
            if line.starts_with("content-type") {
                media = line;
            }
        }
        assert!(media.ends_with("text/event-stream"), "{media}");
        Self(lines)
    }

    /// Whether nothing but the end follows, and the server marks it with the last, empty chunk.
    pub async fn ends_whole(mut self) -> bool {
        let mut lines = Vec::new();
        while let Ok(Some(line)) = self.0.next_line().await {
            lines.push(line);
        }
        lines.ends_with(&["0".to_owned(), String::new()])
    }

    /// The next event: its name and its data. None at the end of the stream.
    pub async fn next(&mut self) -> Option<(String, Value)> {
        let mut name = String::new();
        loop {
            let line = timeout(Duration::from_secs(30), self.0.next_line()).await;
            let line = line.unwrap().unwrap()?;
            if let Some(event) = line.strip_prefix("event: ") {
                name = event.to_owned();
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return Some((name, serde_json::from_str(data).unwrap()));
            }
        }
    }
}

#[tokio::test]
async fn a_stream_tells_of_each_attempt() {
    let server = Server::start().await;
    let mut stream = Stream::open(&server.http, "/api/v1/events").await;
    let target = Target::failing(1).await;
    let body = json!({"api": target.url(), "retry": {"baseDelay": 50}});
    let id = server.http.create_id(body).await;
    for (name, attempt) in [
        ("job.started", 1),
        ("job.retrying", 1),
        ("job.started", 2),
        ("job.succeeded", 2),
    ] {
        let (event, data) = stream.next().await.unwrap();
        assert_eq!(event, name);
        assert_eq!(data["jobId"], id);
        assert_eq!(data["attempt"], attempt);
        assert_eq!(data["tenant"], "default");
        if name == "job.retrying" {
            assert_eq!(data["failure"]["httpStatus"], 503);
            assert!(data["nextRunAt"].is_string());
        }
    }
}

#[tokio::test]
async fn a_tenant_hears_only_of_its_own_jobs() {
    let server = Server::start().await;
    let admin = server.key(Scope::Admin, None).await;
    let acme = server.key(Scope::Read, Some("acme")).await;
    let target = Target::always(200).await;
    let mut theirs = Stream::open(&acme, "/api/v1/events").await;
    let mut chosen = Stream::open(&admin, "/api/v1/events?tenant=acme").await;
    for tenant in ["other", "acme"] {
        let body = json!({"api": target.url(), "tenant": tenant});
        let id = admin.create_id(body).await;
        admin.wait_for_label(&id, "succeeded").await;
    }
    for stream in [&mut theirs, &mut chosen] {
        for name in ["job.started", "job.succeeded"] {
            let (event, data) = stream.next().await.unwrap();
            assert_eq!(event, name);
            assert_eq!(data["tenant"], "acme");
        }
    }
    let refused = acme.get("/api/v1/events?tenant=other").await;
    refused.is_problem(403, "wrong_scope", Some("tenant"));
}

#[tokio::test]
async fn a_stream_ends_when_its_key_is_revoked() {
    let server = Server::start().await;
    let mut anonymous = Stream::open(&server.http, "/api/v1/events").await;
    let admin = server.key(Scope::Admin, None).await;
    // From the first key on, a stream needs one.
    assert!(anonymous.next().await.is_none());
    let body = json!({"scope": "read"});
    let made = admin.post("/api/v1/keys", body).await.is(201);
    let theirs = server.http.with_key(made["token"].as_str().unwrap());
    let mut revoked = Stream::open(&theirs, "/api/v1/events").await;
    let mut kept = Stream::open(&admin, "/api/v1/events").await;
    let path = format!("/api/v1/keys/{}", id_of(&made));
    admin.delete(&path).await.is(204);
    assert!(revoked.next().await.is_none());
    let target = Target::always(200).await;
    admin.create_id(json!({"api": target.url()})).await;
    let (event, _) = kept.next().await.unwrap();
    assert_eq!(event, "job.started");
}

#[tokio::test]
async fn open_streams_end_with_the_node_and_do_not_hold_it_up() {
    let server = Server::start().await;
    let mut streams = Vec::new();
    for _ in 0..3 {
        streams.push(Stream::open(&server.http, "/api/v1/events").await);
    }
    server.stop().await;
    for stream in streams {
        assert!(stream.ends_whole().await, "it was waited for and cut off");
    }
}
