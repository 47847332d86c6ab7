//! What a caller learns when an operation fails.

use std::{
    error::Error as _,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use steadfast_client::{
    BuildError, Client, ErrorKind, JobKind,
    api::{CreateJobRequest, JobQuery, PageQuery, TenantPageQuery, TenantQuery},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use crate::server::Server;

/// A server that gives every connection the same bytes, and reads nothing but the request.
async fn answering(response: &'static str) -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = [0; 4_096];
                let _read = connection.read(&mut request).await;
                let _written = connection.write_all(response.as_bytes()).await;
                if response.is_empty() {
                    std::future::pending::<()>().await;
                }
            });
        }
    });
    // Only a server that never responds is given up on.
    let timeout = match response.is_empty() {
        true => Duration::from_millis(200),
        false => Duration::from_secs(30),
    };
    Client::builder(url).timeout(timeout).build().unwrap()
}

#[tokio::test]
async fn a_refusal_names_operation_status_code_and_field() {
    let server = Server::start().await;
    let wrong = CreateJobRequest {
        kind: Some("a".to_owned()),
        priority: Some(99),
        ..CreateJobRequest::default()
    };
    let error = server.client().create_job(&wrong).await.unwrap_err();
    assert_eq!(error.operation(), "createJob");
    assert_eq!(error.status(), Some(422));
    assert_eq!(error.code(), Some("invalid"));
    assert_eq!(error.field(), Some("priority"));
    assert!(!error.is_transient());
    assert!(error.to_string().starts_with("createJob: "), "{error}");
}

#[tokio::test]
async fn a_name_with_a_slash_is_one_name() {
    let server = Server::start().await;
    let error = server.client().get_job("../keys").await.unwrap_err();
    assert_eq!(error.code(), Some("not_found"));
    let (client, all) = (server.client(), TenantQuery::default());
    let job = CreateJobRequest {
        kind: Some("k".to_owned()),
        queue: Some("a/b".to_owned()),
        ..CreateJobRequest::default()
    };
    client.create_job(&job).await.unwrap();
    client.pause_queue("a/b", &all).await.unwrap();
    assert!(
        client
            .list_queues(&TenantPageQuery::default())
            .await
            .unwrap()
            .queues[0]
            .paused
    );
}

#[tokio::test]
async fn a_server_that_is_not_there_is_transient_and_has_a_cause() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let client = Client::builder(url).build().unwrap();
    let error = client.list_nodes(&PageQuery::default()).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Connect(_)), "{error:?}");
    assert!(error.is_transient() && error.source().is_some());
}

#[tokio::test]
async fn a_server_that_never_responds_is_a_timeout() {
    let client = answering("").await;
    let error = client.list_nodes(&PageQuery::default()).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Timeout(_)), "{error:?}");
    let error = client
        .stream_events(&TenantQuery::default())
        .await
        .unwrap_err();
    assert!(error.is_transient(), "{error:?}");
}

#[tokio::test]
async fn other_servers_are_recognised() {
    let page = "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 6\r\n\r\n<html>";
    let error = answering(page)
        .await
        .list_nodes(&PageQuery::default())
        .await
        .unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::NotSteadfast(_)),
        "{error:?}"
    );
    assert_eq!((error.status(), error.is_transient()), (Some(502), true));

    let text = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";
    let error = answering(text)
        .await
        .list_nodes(&PageQuery::default())
        .await
        .unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Decode(_)), "{error:?}");
    assert!(!error.is_transient() && error.source().is_some());

    let cut = "HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{\"jobs\"";
    let query = JobQuery::default();
    let error = answering(cut).await.list_jobs(&query).await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Interrupted(_)),
        "{error:?}"
    );
}

#[test]
fn settings_that_cannot_work_are_refused_before_any_request() {
    for url in ["nonsense", "ftp://host/", "", "http://", "http://host/?a=b"] {
        let error = Client::builder(url).build().unwrap_err();
        assert!(matches!(error, BuildError::InvalidUrl { .. }), "{url}");
    }
    let key = Client::builder("http://host")
        .api_key("line\nbreak")
        .build();
    assert!(matches!(key.unwrap_err(), BuildError::InvalidKey));
    let file = Client::builder("https://host").ca_file("none.pem").build();
    assert!(matches!(file.unwrap_err(), BuildError::Certificates { .. }));
}

#[derive(Serialize, Deserialize)]
struct Order {
    number: u32,
}

impl JobKind for Order {
    const KIND: &'static str = "order";
}

#[tokio::test]
async fn an_enqueue_is_repeated_with_the_same_key() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let requests = seen.clone();
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let mut request = vec![0; 4_096];
            let read = connection.read(&mut request).await.unwrap();
            request.truncate(read);
            let text = String::from_utf8(request).unwrap();
            let (_, body) = text.split_once("\r\n\r\n").unwrap();
            requests.lock().unwrap().push(body.to_owned());
            let response = "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 6\r\n\r\n<html>";
            connection.write_all(response.as_bytes()).await.unwrap();
        }
    });
    let client = Client::builder(url).build().unwrap();
    let error = client.enqueue(&Order { number: 7 }).await.unwrap_err();
    assert_eq!(error.status(), Some(502));
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 4);
    assert!(seen[0].contains("idempotencyKey"), "{}", seen[0]);
    assert!(seen.iter().all(|body| *body == seen[0]), "{seen:?}");
}
