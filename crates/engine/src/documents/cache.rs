//! Documents that every job needs and that change seldom: endpoints, keys, sessions.
//!
//! The store counts the changes of each kind. A node asks for the counts every other second and
//! reads the documents only if theirs has moved on; so what one node changes, the others know a
//! moment later. Whatever must know at once asks first: [`DocumentCache::refresh_if_changed`].

use std::sync::{
    Arc, PoisonError, RwLock,
    atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use steadfast_store::{Document, DocumentKind, DocumentPage, DocumentVersions, Store, StoreError};
use tokio_util::sync::CancellationToken;

use crate::{
    limits::DOCUMENTS_REFRESH_EVERY,
    role::{self, Next, Role, health::RoleHealth},
};

/// The documents of one kind, read and indexed into a `T`.
pub struct DocumentCache<T> {
    store: Arc<dyn Store>,
    kind: DocumentKind,
    index: Box<dyn Fn(Vec<Document>, u64) -> T + Send + Sync>,
    /// How many reads have begun.
    reads: AtomicU64,
    latest: RwLock<Option<Snapshot<T>>>,
}

/// The documents as they were at a version, or later.
struct Snapshot<T> {
    /// The number of its read, in the order in which reads begin.
    read: u64,
    version: u64,
    /// `None` if what was known is forgotten, also by reads that are under way.
    value: Option<Arc<T>>,
}

impl<T: Send + Sync> DocumentCache<T> {
    /// A cache that is empty until it is first asked or refreshed.
    pub fn new(store: Arc<dyn Store>, kind: DocumentKind, index: fn(Vec<Document>) -> T) -> Self
    where
        T: 'static,
    {
        Self::with_version(store, kind, move |documents, _| index(documents))
    }

    /// The same, for an index that keeps the version of its documents.
    pub(crate) fn with_version(
        store: Arc<dyn Store>,
        kind: DocumentKind,
        index: impl Fn(Vec<Document>, u64) -> T + Send + Sync + 'static,
    ) -> Self {
        Self {
            store,
            kind,
            index: Box::new(index),
            reads: AtomicU64::new(0),
            latest: RwLock::new(None),
        }
    }

    /// The contents that were read last, at most a few seconds old; the first caller waits until
    /// they are read.
    pub async fn get(&self) -> Result<Arc<T>, StoreError> {
        match self.current() {
            Some(current) => Ok(current),
            None => self.refresh().await,
        }
    }

    /// The contents that were read last, if they have been read yet.
    pub fn current(&self) -> Option<Arc<T>> {
        self.latest(|_| true)
    }

    /// The contents as they are now: asks the store whether they have changed, and reads them if
    /// so.
    pub async fn refresh_if_changed(&self) -> Result<Arc<T>, StoreError> {
        let versions = self.store.document_versions().await?;
        self.refresh_if_older(&versions).await
    }

    /// The same for a caller that has asked for the versions.
    pub(crate) async fn refresh_if_older(
        &self,
        versions: &DocumentVersions,
    ) -> Result<Arc<T>, StoreError> {
        let version = versions.of(self.kind);
        match self.latest(|known| known == version) {
            Some(latest) => Ok(latest),
            None => self.read(version).await,
        }
    }

    /// Reads the documents again.
    pub async fn refresh(&self) -> Result<Arc<T>, StoreError> {
        let version = self.store.document_versions().await?.of(self.kind);
        self.read(version).await
    }

    /// Reads the documents again, for a caller that has stored a change. What is stored stays stored:
    /// if they cannot be read just now, what was known is forgotten, and the next caller reads them.
    pub async fn follow_change(&self) {
        if let Err(error) = self.refresh().await {
            tracing::warn!(kind = %self.kind, %error, "cannot read changed documents; retrying later");
            let forgotten = Snapshot {
                read: self.reads.fetch_add(1, Ordering::Relaxed),
                version: 0,
                value: None,
            };
            *self.latest.write().unwrap_or_else(PoisonError::into_inner) = Some(forgotten);
        }
    }

    /// The version was read first, so the documents are at least as new as it.
    async fn read(&self, version: u64) -> Result<Arc<T>, StoreError> {
        let read = self.reads.fetch_add(1, Ordering::Relaxed);
        let documents = self
            .store
            .list_documents(self.kind, DocumentPage::All)
            .await?;
        let value = Arc::new((self.index)(documents, version));
        let mut latest = self.latest.write().unwrap_or_else(PoisonError::into_inner);
        // One that began later and was quicker has what was changed in between. Versions do not tell:
        // they may go back when another server takes over.
        if let Some(later) = latest.as_ref().filter(|latest| latest.read > read) {
            return Ok(later.value.clone().unwrap_or(value));
        }
        *latest = Some(Snapshot {
            read,
            version,
            value: Some(value.clone()),
        });
        Ok(value)
    }

    fn latest(&self, is_good: impl Fn(u64) -> bool) -> Option<Arc<T>> {
        let latest = self.latest.read().unwrap_or_else(PoisonError::into_inner);
        let snapshot = latest.as_ref().filter(|latest| is_good(latest.version));
        snapshot.and_then(|snapshot| snapshot.value.clone())
    }

    /// Looks for changes again and again until `stop`. While the store is away, the last contents
    /// stay.
    pub async fn run(&self, stop: &CancellationToken) {
        let health = Arc::new(RoleHealth::new(self.name()));
        role::run(self, stop, &health).await;
    }
}

#[async_trait]
impl<T: Send + Sync> Role for DocumentCache<T> {
    fn name(&self) -> &'static str {
        "document cache"
    }

    async fn tick(&self) -> Result<Next, StoreError> {
        self.refresh_if_changed().await?;
        Ok(Next::After(DOCUMENTS_REFRESH_EVERY))
    }
}

/// Decodes the bodies of documents. One that cannot be read is logged and left out.
pub fn decode_documents<T: DeserializeOwned>(
    documents: Vec<Document>,
) -> impl Iterator<Item = (Document, T)> {
    documents
        .into_iter()
        .filter_map(|document| document.decode().map(|body| (document, body)))
}
