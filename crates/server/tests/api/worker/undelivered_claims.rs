//! Claims whose response never reaches its worker go back, as if they had never been made.

use std::{collections::HashSet, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::server::{Server, Setup, id_of};

/// How many polls are broken off, each a little later than the one before.
const POLLS: u64 = 60;

/// Sends a poll on a connection of its own.
async fn poll(server: &Server) -> TcpStream {
    let body = json!({"worker": "w1", "kinds": ["once"], "wait": "20s"}).to_string();
    let mut stream = TcpStream::connect(server.http.address).await.unwrap();
    let (length, host) = (body.len(), server.http.address);
    let head = format!(
        "POST /api/v1/claims HTTP/1.1\r\nhost: {host}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all((head + &body).as_bytes()).await.unwrap();
    stream
}

/// Closes the sending end, which tells the server that the client has gone, and reads what had
/// been sent by then: the ids of the claims that the worker really has.
async fn break_off(mut stream: TcpStream) -> Vec<Value> {
    stream.shutdown().await.unwrap();
    let mut heard = String::new();
    stream.read_to_string(&mut heard).await.unwrap_or_default();
    let Some((_, body)) = heard.split_once("\r\n\r\n") else {
        return Vec::new();
    };
    let body: Value = serde_json::from_str(body).unwrap();
    body["claims"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_poll_loses_no_at_most_once_job() {
    let server = Server::start().await;
    let (mut ids, mut run) = (Vec::new(), HashSet::new());
    for number in 0..POLLS {
        let stream = poll(&server).await;
        let job = json!({"kind": "once", "type": "AT_MOST_ONCE", "lease": "1m"});
        let created = server.http.post("/api/v1/jobs", job);
        // sleep: the moment at which the client leaves is what the test varies
        let leave = tokio::time::sleep(Duration::from_micros(150 * number));
        let (created, claims) = tokio::join!(created, async {
            leave.await;
            break_off(stream).await
        });
        ids.push(id_of(&created.is(201)));
        for claim in claims {
            let done = server.http.report(&claim, "succeed", json!({})).await;
            done.is(200);
            run.insert(id_of(&claim));
        }
    }
    // Whatever no worker got is there for the next one.
    while run.len() < ids.len() {
        let claims = server.http.claim("once", "20s").await;
        assert!(
            !claims.is_empty(),
            "{} of {} are lost",
            ids.len() - run.len(),
            ids.len()
        );
        for claim in claims {
            assert_eq!(claim["job"]["attempt"], 1);
            server
                .http
                .report(&claim, "succeed", json!({}))
                .await
                .is(200);
            assert!(run.insert(id_of(&claim)), "a job ran twice");
        }
    }
    for id in ids {
        let job = server.http.get(&format!("/api/v1/jobs/{id}")).await.is(200);
        assert_eq!(job["label"], "succeeded", "{job}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_disconnected_client_claims_no_job() {
    let server = Server::start().await;
    let stream = poll(&server).await;
    drop(stream);
    let id = server
        .http
        .create_id(json!({"kind": "once", "type": "AT_MOST_ONCE"}))
        .await;
    let claims = server.http.claim("once", "20s").await;
    assert_eq!(id_of(&claims[0]), id);
    assert_eq!(claims[0]["job"]["attempt"], 1);
    server.stop().await;
}

#[tokio::test]
async fn a_node_that_stops_refuses_claims_and_takes_jobs() {
    let server = Server::start().await;
    let id = server.http.create_id(json!({"kind": "once"})).await;
    server
        .stop_asking(async |http| {
            let body = json!({"worker": "w1", "kinds": ["once"]});
            let refused = http.post("/api/v1/claims", body).await;
            assert_eq!(refused.headers["retry-after"], "1");
            assert_eq!(refused.is(503)["code"], "stopping");
            let job = http.get(&format!("/api/v1/jobs/{id}")).await.is(200);
            assert_eq!(job["label"], "ready");
            // A job that is stored is safe; who runs it does not matter.
            http.create(json!({"kind": "once"})).await;
        })
        .await;
}

#[tokio::test]
async fn a_worker_is_held_to_the_timeout_of_its_job() {
    let server = Server::with(Setup {
        manual_clock: true,
        ..Setup::default()
    })
    .await;
    let http = &server.http;
    let job = json!({"kind": "slow", "timeout": "10s", "retry": {"maxRetries": 0}});
    let id = http.create_id(job).await;
    let claim = http.claim("slow", "20s").await.remove(0);
    let heartbeat = || http.report(&claim, "heartbeat", json!({"lease": "20s"}));
    for by in ["9s", "1s"] {
        let lease = heartbeat().await.is(200);
        assert_eq!(lease["deadline"], claim["leaseUntil"]);
        assert_eq!(lease["leaseUntil"], claim["leaseUntil"]);
        let advance = http.post("/api/v1/test/advance", json!({"by": by}));
        advance.await.is(200);
    }
    assert_eq!(heartbeat().await.status, 409);
    let failed = http.read_job(&id).await;
    assert_eq!(failed["label"], "failed");
    assert_eq!(failed["failure"]["class"], "timeout");
    let attempts = http.attempts(&id).await;
    assert_eq!(attempts[0]["status"], "FAILED");
    server.stop().await;
}
