//! Two nodes and more on one store, one round at a time.

use std::time::Duration;

use steadfast_core::{JobId, Kind, Queue, Tenant, WorkerName};
use steadfast_store::{BaseStore as _, LayeredStore, ManualClock, MemoryStore, StoreLayer};
use tokio::sync::broadcast::error::TryRecvError;

use super::*;
use crate::{
    limits::NODE_SILENT_AFTER,
    notice::{JobEvent, Notice, Notices},
};

/// Nodes on one store, whose clock the test moves.
struct Cluster {
    clock: ManualClock,
    store: Arc<dyn Store>,
}

impl Cluster {
    fn new() -> Self {
        let clock = ManualClock::default();
        let store = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
        Self { clock, store }
    }

    /// A node with a heartbeat.
    async fn node(&self, name: &str) -> EventFeed {
        self.node_ahead(name, Duration::ZERO).await
    }

    /// The same with a clock that is ahead.
    async fn node_ahead(&self, name: &str, ahead: Duration) -> EventFeed {
        let store = Arc::new(LayeredStore(OtherClock {
            store: self.store.clone(),
            ahead,
        }));
        self.beat_at(name, store.now()).await;
        let announcer = Arc::new(Announcer::new(None));
        EventFeed::new(store, announcer, name.to_owned())
    }

    async fn beat(&self, name: &str) {
        self.beat_at(name, self.store.now()).await;
    }

    async fn beat_at(&self, name: &str, now: Timestamp) {
        let state = NodeState {
            name: WorkerName::new(name).unwrap(),
            version: String::new(),
            queues: Vec::new(),
            kinds: None,
            concurrency: 1,
            in_flight: 0,
            full_for: Vec::new(),
            certificate_problem: None,
            correction: None,
            store_problem: None,
            encryption_key: None,
            started_at: now,
            last_seen: now,
        };
        let (kind, id) = (DocumentKind::Node, name.to_owned());
        let stored = self.store.get_document(kind, id.clone()).await.unwrap();
        let document = Document {
            kind,
            id,
            body: Payload::encode(&state).unwrap(),
            revision: stored.map_or(0, |stored| stored.revision),
        };
        let saved = self.store.save_document(document, Outbox::default()).await;
        assert!(matches!(saved, Ok(DocumentSaveResult::Done(_))));
    }

    /// The nodes that have a document of this kind.
    async fn documents(&self, kind: DocumentKind) -> Vec<String> {
        let documents = self.store.list_documents(kind, DocumentPage::All).await;
        let ids = documents.unwrap().into_iter().map(|document| document.id);
        ids.collect()
    }

    async fn pass(&self, time: Duration) {
        self.clock.advance(time);
        tokio::time::advance(time).await;
    }
}

/// A store as a node with another clock sees it.
struct OtherClock {
    store: Arc<dyn Store>,
    ahead: Duration,
}

impl StoreLayer for OtherClock {
    fn inner(&self) -> &dyn Store {
        &self.store
    }

    fn now(&self) -> Timestamp {
        self.store.now().plus(self.ahead)
    }
}

fn announce(node: &EventFeed, attempt: u32) {
    node.announcer.announce(|| Notice {
        job: JobId::from_bits(7),
        tenant: Tenant::default(),
        queue: Queue::default(),
        kind: Kind::new("mail").unwrap(),
        attempt,
        ended: None,
        event: JobEvent::Succeeded,
    });
}

/// One round of each node.
async fn tick(nodes: &[&EventFeed]) {
    for node in nodes {
        node.tick().await.unwrap();
    }
}

/// The attempts of the notices that have arrived.
fn heard(notices: &mut Notices) -> Vec<u32> {
    let elsewhere = notices.elsewhere.as_mut().unwrap();
    let mut attempts = Vec::new();
    loop {
        match elsewhere.try_recv() {
            Ok(notice) => attempts.push(notice.attempt),
            Err(TryRecvError::Lagged(_)) => {}
            Err(_) => return attempts,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_subscriber_hears_of_other_nodes_once_and_in_order() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.node("a").await, cluster.node("b").await);
    let mut notices = a.announcer.subscribe_to_all_nodes();
    tick(&[&a, &b]).await;
    announce(&b, 1);
    announce(&b, 2);
    tick(&[&b, &a, &a]).await;
    assert_eq!(heard(&mut notices), [1, 2]);
    announce(&b, 3);
    tick(&[&b, &b, &a]).await;
    assert_eq!(heard(&mut notices), [3]);
    // What is old is deleted, and numbers go on.
    cluster.pass(FEED_KEPT + Duration::from_secs(1)).await;
    tick(&[&b, &a]).await;
    assert!(cluster.documents(DocumentKind::Feed).await.is_empty());
    announce(&b, 4);
    tick(&[&b, &a]).await;
    assert_eq!(heard(&mut notices), [4]);
}

#[tokio::test(start_paused = true)]
async fn what_happened_before_a_subscriber_came_is_not_news() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.node("a").await, cluster.node("b").await);
    let mut first = a.announcer.subscribe_to_all_nodes();
    tick(&[&a, &b]).await;
    announce(&b, 1);
    tick(&[&b]).await;
    let c = cluster.node("c").await;
    let mut second = c.announcer.subscribe_to_all_nodes();
    tick(&[&c, &a]).await;
    announce(&b, 2);
    tick(&[&b, &c, &a]).await;
    assert_eq!(heard(&mut first), [1, 2]);
    assert_eq!(heard(&mut second), [2]);
    // The same holds for one that was gone.
    drop(second);
    tick(&[&c]).await;
    announce(&b, 3);
    tick(&[&b]).await;
    let mut third = c.announcer.subscribe_to_all_nodes();
    tick(&[&c]).await;
    announce(&b, 4);
    tick(&[&b, &c]).await;
    assert_eq!(heard(&mut third), [4]);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_without_subscribers_or_without_other_nodes() {
    let cluster = Cluster::new();
    let a = cluster.node("a").await;
    let subscriber = a.announcer.subscribe_to_all_nodes();
    tick(&[&a]).await;
    announce(&a, 1);
    tick(&[&a]).await;
    assert!(cluster.documents(DocumentKind::Watch).await.is_empty());
    assert!(cluster.documents(DocumentKind::Feed).await.is_empty());
    drop(subscriber);
    let b = cluster.node("b").await;
    let _own_only = b.announcer.subscribe();
    for attempt in 0..3 {
        announce(&b, attempt);
        tick(&[&a, &b]).await;
    }
    assert!(cluster.documents(DocumentKind::Watch).await.is_empty());
    assert!(cluster.documents(DocumentKind::Feed).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_watch_is_renewed_and_ends_after_the_last_subscriber() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.node("a").await, cluster.node("b").await);
    let subscriber = a.announcer.subscribe_to_all_nodes();
    for _ in 0..10 {
        cluster.beat("b").await;
        tick(&[&a, &b]).await;
        assert!(b.announcer.feed.is_open());
        cluster.pass(Duration::from_secs(9)).await;
    }
    drop(subscriber);
    announce(&b, 1);
    tick(&[&a, &b]).await;
    assert_eq!(cluster.documents(DocumentKind::Feed).await, ["b"]);
    cluster.pass(WATCH_TTL).await;
    tick(&[&a, &b]).await;
    assert!(!b.announcer.feed.is_open());
    assert!(cluster.documents(DocumentKind::Watch).await.is_empty());
    assert!(cluster.documents(DocumentKind::Feed).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn documents_of_nodes_that_died_are_deleted_by_the_others() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.node("a").await, cluster.node("b").await);
    let _subscribers = [&a, &b].map(|node| node.announcer.subscribe_to_all_nodes());
    tick(&[&a, &b, &a]).await;
    announce(&a, 1);
    announce(&b, 1);
    tick(&[&a, &b]).await;
    for kind in [DocumentKind::Watch, DocumentKind::Feed] {
        assert_eq!(cluster.documents(kind).await, ["a", "b"]);
    }
    // Both are killed. No subscriber comes to the one that remains.
    drop((a, b));
    let c = cluster.node("c").await;
    tick(&[&c]).await;
    cluster
        .pass(FEED_CLEANED_EVERY.max(NODE_SILENT_AFTER))
        .await;
    tick(&[&c]).await;
    for kind in [DocumentKind::Watch, DocumentKind::Feed] {
        assert!(cluster.documents(kind).await.is_empty(), "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_of_the_same_name_begins_anew() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.node("a").await, cluster.node("b").await);
    let mut notices = a.announcer.subscribe_to_all_nodes();
    tick(&[&a, &b]).await;
    announce(&b, 1);
    announce(&b, 2);
    tick(&[&b, &a]).await;
    assert_eq!(heard(&mut notices), [1, 2]);
    drop(b);
    cluster.pass(Duration::from_secs(1)).await;
    let b = cluster.node("b").await;
    tick(&[&b]).await;
    announce(&b, 3);
    tick(&[&b, &a]).await;
    assert_eq!(heard(&mut notices), [3]);
}

#[tokio::test(start_paused = true)]
async fn a_stored_document_is_bounded_and_a_late_reader_goes_on_with_the_oldest_event() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.node("a").await, cluster.node("b").await);
    let mut notices = a.announcer.subscribe_to_all_nodes();
    tick(&[&a, &b]).await;
    announce(&b, 0);
    tick(&[&b, &a]).await;
    assert_eq!(heard(&mut notices), [0]);
    let mut attempt = 1;
    for _ in 0..6 {
        for _ in 0..10_000 {
            announce(&b, attempt);
            attempt += 1;
        }
        tick(&[&b]).await;
    }
    let document = cluster
        .store
        .get_document(DocumentKind::Feed, "b".to_owned());
    let bytes = document.await.unwrap().unwrap().body.as_str().len();
    assert!(bytes < FEED_BYTES_MAX + 10_000, "{bytes}");
    tick(&[&a]).await;
    let heard = heard(&mut notices);
    assert!(heard.is_sorted() && heard[0] > 1, "{heard:?}");
}

#[tokio::test(start_paused = true)]
async fn the_last_events_of_a_stop_are_stored_and_its_watch_is_deleted() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.node("a").await, cluster.node("b").await);
    let mut notices = a.announcer.subscribe_to_all_nodes();
    let _other = b.announcer.subscribe_to_all_nodes();
    tick(&[&a, &b]).await;
    announce(&b, 1);
    b.shut_down().await;
    assert_eq!(cluster.documents(DocumentKind::Watch).await, ["a"]);
    tick(&[&a]).await;
    assert_eq!(heard(&mut notices), [1]);
}

#[tokio::test(start_paused = true)]
async fn clocks_of_nodes_may_differ_by_some_seconds() {
    let ahead = Duration::from_secs(14);
    for (of_reader, of_writer) in [(ahead, Duration::ZERO), (Duration::ZERO, ahead)] {
        let cluster = Cluster::new();
        let reader = cluster.node_ahead("reader", of_reader).await;
        let writer = cluster.node_ahead("writer", of_writer).await;
        let mut notices = reader.announcer.subscribe_to_all_nodes();
        tick(&[&reader, &writer]).await;
        for attempt in 0..60 {
            let beat = cluster.store.now().plus(of_writer);
            cluster.beat_at("writer", beat).await;
            announce(&writer, attempt);
            tick(&[&writer, &reader]).await;
            assert_eq!(heard(&mut notices), [attempt]);
            cluster.pass(Duration::from_secs(1)).await;
        }
    }
}
