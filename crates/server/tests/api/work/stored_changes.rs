//! A stored change is a success, even if the node cannot read it back at once.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use serde_json::{Value, json};
use steadfast_core::AuditRecord;
use steadfast_store::{
    Document, DocumentKind, DocumentPage, DocumentSaveResult, LayeredStore, MemoryStore, Outbox,
    Store, StoreError, StoreLayer,
};

use crate::{
    client::{Http, Reply},
    server::{Server, Setup, id_of},
};

/// A store that cannot list documents after a command has written one, until it is mended.
#[derive(Clone, Default)]
struct UnreadableLayer {
    memory: Arc<MemoryStore>,
    is_unreadable: Arc<AtomicBool>,
}

impl UnreadableLayer {
    fn note_write(&self, kind: DocumentKind) {
        // Nodes write others by themselves.
        let is_of_command = matches!(
            kind,
            DocumentKind::Key
                | DocumentKind::Endpoint
                | DocumentKind::Gate
                | DocumentKind::Destination
        );
        self.is_unreadable.fetch_or(is_of_command, Ordering::SeqCst);
    }

    /// Whether a document was written since this was called last.
    fn mend(&self) -> bool {
        self.is_unreadable.swap(false, Ordering::SeqCst)
    }
}

#[async_trait]
impl StoreLayer for UnreadableLayer {
    fn inner(&self) -> &dyn Store {
        &*self.memory
    }

    async fn save_document(
        &self,
        document: Document,
        outbox: Outbox,
    ) -> Result<DocumentSaveResult, StoreError> {
        // That a key was used is no command.
        let is_use = document.kind == DocumentKind::Key && document.revision > 0;
        let kind = document.kind;
        let saved = self.inner().save_document(document, outbox).await;
        if !is_use {
            self.note_write(kind);
        }
        saved
    }

    async fn delete_document(
        &self,
        kind: DocumentKind,
        id: String,
        revision: Option<u64>,
        audit: Option<AuditRecord>,
    ) -> Result<bool, StoreError> {
        let deleted = self
            .inner()
            .delete_document(kind, id, revision, audit)
            .await;
        self.note_write(kind);
        deleted
    }

    async fn list_documents(
        &self,
        kind: DocumentKind,
        page: DocumentPage,
    ) -> Result<Vec<Document>, StoreError> {
        match self.is_unreadable.load(Ordering::SeqCst) {
            true => Err(StoreError::unavailable("list_documents", "for the test")),
            false => self.inner().list_documents(kind, page).await,
        }
    }
}

struct Unreadable {
    layer: UnreadableLayer,
    server: Server,
}

impl Unreadable {
    async fn start() -> Self {
        let layer = UnreadableLayer::default();
        let setup = Setup {
            store: Some(Arc::new(LayeredStore(layer.clone()))),
            ..Setup::default()
        };
        let server = Server::with(setup).await;
        Self { layer, server }
    }

    fn http(&self) -> &Http {
        &self.server.http
    }

    /// What a command answers, which must have stored something.
    fn stored(&self, response: &Reply, status: u16) -> Value {
        assert!(self.layer.mend(), "nothing was written");
        response.is(status)
    }
}

#[tokio::test]
async fn a_stored_key_returns_its_token_and_a_revoked_one_is_refused() {
    let it = Unreadable::start().await;
    let body = json!({"name": "first", "scope": "admin"});
    let created = it.http().post("/api/v1/keys", body).await;
    let token = it.stored(&created, 201)["token"].clone();
    let admin = it.http().with_key(token.as_str().unwrap());
    let body = json!({"name": "second", "scope": "admin"});
    let second = it.stored(&admin.post("/api/v1/keys", body).await, 201);
    let other = it.http().with_key(second["token"].as_str().unwrap());
    other.get("/api/v1/jobs").await.is(200);
    let revoked = admin
        .delete(&format!("/api/v1/keys/{}", id_of(&second)))
        .await;
    it.stored(&revoked, 204);
    other
        .get("/api/v1/jobs")
        .await
        .is_problem(401, "unknown_key", None);
}

#[tokio::test]
async fn stored_endpoints_gates_and_holds_return_success() {
    let it = Unreadable::start().await;
    let http = it.http();
    let body = json!({"url": "https://example.org/hook", "events": ["job.failed"]});
    let created = it.stored(&http.post("/api/v1/endpoints", body).await, 201);
    assert!(created["secret"].is_string());
    let endpoint = format!("/api/v1/endpoints/{}", id_of(&created));
    let edited = http
        .patch(&endpoint, json!({"description": "orders"}))
        .await;
    it.stored(&edited, 200);
    it.stored(&http.delete(&endpoint).await, 204);

    let paused = http.command("queues", "mail", "pause").await;
    it.stored(&paused, 204);
    let host = "/api/v1/destinations/https%3A%2F%2Fapi.example.com";
    let held = http.post_empty(&format!("{host}/hold")).await;
    assert_eq!(it.stored(&held, 200)["status"], "held");
    let released = http.post_empty(&format!("{host}/release")).await;
    assert_ne!(it.stored(&released, 200)["status"], "held");
}
