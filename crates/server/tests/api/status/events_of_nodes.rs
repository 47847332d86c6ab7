//! What one node shows of others, on one PostgreSQL database.
//!
//! Logs that are followed are in `worker/logs.rs`: they are read from the store, from any node.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use serde_json::{Value, json};
use steadfast_server::keys::Scope;
use steadfast_store::{
    Clock as _, DocumentKind, DocumentPage, ManualClock, PostgresOptions, PostgresStore, Store,
    testing,
};
use tokio::runtime::Runtime;

use crate::{
    client::Http,
    server::{Server, Setup, id_of, until},
    status::events::Stream,
};

/// A store that nodes open for themselves.
struct Database {
    options: PostgresOptions,
}

impl Database {
    fn new() -> Self {
        let schema = testing::Server::shared().fresh_schema();
        let options = PostgresOptions::default().schema(&schema).connections(4);
        Self { options }
    }

    async fn open(&self) -> Arc<dyn Store> {
        let url = testing::Server::shared().url();
        let store = PostgresStore::open(&url, self.options.clone()).await;
        Arc::new(store.unwrap())
    }

    async fn node(&self) -> Server {
        Server::with(Setup {
            store: Some(self.open().await),
            ..Setup::default()
        })
        .await
    }
}

/// Creates a job, claims it and ends it, all at one node.
async fn run_job(http: &Http, tenant: &str) -> String {
    let id = http
        .create_id(json!({"kind": "work", "tenant": tenant}))
        .await;
    let claim = http.claim("work", "20s").await.remove(0);
    assert_eq!(id_of(&claim), id);
    http.report(&claim, "succeed", json!({})).await.is(200);
    id
}

/// Runs jobs at one node until a stream of another shows one. Answers their ids.
async fn connect(stream: &mut Stream, http: &Http, tenant: &str) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    let seen = stream.next();
    tokio::pin!(seen);
    loop {
        ids.insert(run_job(http, tenant).await);
        tokio::select! {
            biased;
            event = &mut seen => {
                assert!(event.is_some(), "the stream ended");
                return ids;
            }
            () = std::future::ready(()) => {}
        }
    }
}

/// The next events that are not about these jobs.
async fn next_but(
    stream: &mut Stream,
    ids: &BTreeSet<String>,
    count: usize,
) -> Vec<(String, Value)> {
    let mut events = Vec::new();
    while events.len() < count {
        let (name, data) = stream.next().await.unwrap();
        let id = data["jobId"].as_str().or(data["job"].as_str()).unwrap();
        if !ids.contains(id) {
            events.push((name, data));
        }
    }
    events
}

async fn bodies(store: &dyn Store, kind: DocumentKind) -> Vec<Value> {
    let documents = store.list_documents(kind, DocumentPage::All).await.unwrap();
    let bodies = documents.iter().map(|document| document.body.decode());
    bodies.map(|body| body.unwrap()).collect()
}

#[tokio::test]
async fn a_stream_of_one_node_shows_the_jobs_of_another() {
    let database = Database::new();
    let (a, b) = (database.node().await, database.node().await);
    let store = database.open().await;
    let before = run_job(&b.http, "default").await;
    let mut stream = Stream::open(&a.http, "/api/v1/events").await;
    let mut page = Stream::open(&a.http, "/ui/events").await;
    let probes = connect(&mut stream, &b.http, "default").await;
    // Nothing was kept for other nodes before one wanted it.
    for feed in bodies(&*store, DocumentKind::Feed).await {
        assert!(!feed.to_string().contains(&before), "{feed}");
    }
    let id = run_job(&b.http, "default").await;
    let events = next_but(&mut stream, &probes, 2).await;
    for ((name, data), expected) in events.iter().zip(["job.started", "job.succeeded"]) {
        assert_eq!(name, expected);
        assert_eq!(data["jobId"], id);
        assert_eq!(data["attempt"], 1);
    }
    assert_eq!(events[1].1["status"], "SUCCESS");
    let shown = next_but(&mut page, &probes, 1).await;
    assert_eq!(shown[0].1["job"], id);

    // The other way, at the same time.
    let mut other = Stream::open(&b.http, "/api/v1/events").await;
    let probes = connect(&mut other, &a.http, "default").await;
    let id = run_job(&a.http, "default").await;
    let events = next_but(&mut other, &probes, 2).await;
    assert!(events.iter().all(|(_, data)| data["jobId"] == id));
    a.stop().await;
    b.stop().await;
}

#[tokio::test]
async fn a_tenant_sees_only_its_own_jobs_of_other_nodes() {
    let database = Database::new();
    let (a, b) = (database.node().await, database.node().await);
    let worker = b.key(Scope::Admin, None).await;
    let acme = a.key(Scope::Read, Some("acme")).await;
    let admin = a.key(Scope::Admin, None).await;
    let mut of_acme = Stream::open(&acme, "/api/v1/events").await;
    let mut of_all = Stream::open(&admin, "/api/v1/events").await;
    let mut probes = connect(&mut of_acme, &worker, "acme").await;
    let other = run_job(&worker, "other").await;
    let own = run_job(&worker, "acme").await;
    let events = next_but(&mut of_acme, &probes, 2).await;
    for (_, data) in &events {
        assert_eq!(
            (&data["tenant"], &data["jobId"]),
            (&json!("acme"), &json!(own))
        );
    }
    probes.insert(own);
    let events = next_but(&mut of_all, &probes, 2).await;
    assert!(events.iter().all(|(_, data)| data["jobId"] == other));
}

#[tokio::test]
async fn a_request_waits_at_one_node_for_a_job_that_another_ends() {
    let database = Database::new();
    let (a, b) = (database.node().await, database.node().await);
    let id = b.http.create_id(json!({"kind": "work"})).await;
    let (http, wait) = (a.http.clone(), format!("/api/v1/jobs/{id}?wait=60s"));
    let waiting = tokio::spawn(async move { http.get(&wait).await });
    let claim = b.http.claim("work", "20s").await.remove(0);
    let body = json!({"result": 7});
    b.http.report(&claim, "succeed", body).await.is(200);
    let job = waiting.await.unwrap().is(200);
    assert_eq!(
        (&job["label"], &job["result"]),
        (&json!("succeeded"), &json!(7))
    );
    // It reads the store, so no node has stored events for it.
    let store = database.open().await;
    assert!(bodies(&*store, DocumentKind::Watch).await.is_empty());
}

/// Its runtime is dropped with all tasks, as a process that is killed.
#[test]
fn what_a_killed_node_has_stored_for_others_is_deleted() {
    let clock = ManualClock::default();
    let mut database = Database::new();
    database.options = database.options.clock(clock.clone());
    let runtime = Runtime::new().unwrap();
    let a = runtime.block_on(database.node());
    let killed = Runtime::new().unwrap();
    let b = killed.block_on(database.node());
    let store = runtime.block_on(database.open());
    let streams = runtime.block_on(async {
        let mut stream = Stream::open(&a.http, "/api/v1/events").await;
        connect(&mut stream, &b.http, "default").await;
        let mut other = Stream::open(&b.http, "/api/v1/events").await;
        connect(&mut other, &a.http, "default").await;
        (stream, other)
    });
    killed.shutdown_background();
    drop(streams);
    runtime.block_on(async {
        assert_eq!(bodies(&*store, DocumentKind::Watch).await.len(), 2);
        until("the documents to be deleted", || async {
            clock.set(clock.now().plus(Duration::from_secs(1)));
            let watches = bodies(&*store, DocumentKind::Watch).await;
            let feeds = bodies(&*store, DocumentKind::Feed).await;
            (watches.is_empty() && feeds.is_empty()).then_some(())
        })
        .await;
    });
    drop(b);
    runtime.block_on(a.stop());
}
