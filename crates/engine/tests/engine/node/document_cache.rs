//! Documents that a node has read.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use steadfast_core::Payload;
use steadfast_engine::DocumentCache;
use steadfast_store::{
    Document, DocumentKind, DocumentPage, DocumentStore as _, LayeredStore, MemoryStore, Outbox,
    Store, StoreError, StoreLayer,
};
use tokio::sync::Notify;

/// The first caller that reads documents gets them when the test says so.
#[derive(Default)]
struct SlowAnswer {
    memory: MemoryStore,
    is_asked: AtomicBool,
    has_read: Notify,
    may_go_on: Notify,
}

#[async_trait]
impl StoreLayer for SlowAnswer {
    fn inner(&self) -> &dyn Store {
        &self.memory
    }

    async fn list_documents(
        &self,
        kind: DocumentKind,
        page: DocumentPage,
    ) -> Result<Vec<Document>, StoreError> {
        let documents = self.inner().list_documents(kind, page).await;
        if !self.is_asked.swap(true, Ordering::SeqCst) {
            self.has_read.notify_one();
            self.may_go_on.notified().await;
        }
        documents
    }
}

#[tokio::test]
async fn an_older_read_does_not_replace_a_newer_one() {
    let store = Arc::new(LayeredStore(SlowAnswer::default()));
    let count = |documents: Vec<Document>| documents.len();
    let cache = DocumentCache::new(store.clone(), DocumentKind::Key, count);
    let late = async { *cache.refresh_if_changed().await.unwrap() };
    let change = async {
        store.has_read.notified().await;
        let key = Document {
            kind: DocumentKind::Key,
            id: "new".into(),
            body: Payload::default(),
            revision: 0,
        };
        store.save_document(key, Outbox::default()).await.unwrap();
        let known = *cache.refresh().await.unwrap();
        store.may_go_on.notify_one();
        known
    };
    assert_eq!(tokio::join!(late, change), (1, 1));
    assert_eq!(cache.current().as_deref(), Some(&1));
}
