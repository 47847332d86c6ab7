//! Documents that every job needs and that change seldom: endpoints, keys, sessions.
//!
//! A node reads them again every other second, and at once after a change of its own; so what
//! one node changes, the others know a moment later.

use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use steadfast_store::{Document, DocumentKind, Store, StoreError};
use tokio_util::sync::CancellationToken;

use crate::{
    limits::DOCUMENTS_REFRESH_EVERY,
    role::{self, Next, Role},
    role_health::RoleHealth,
};

/// The documents of one kind, read and indexed into a `T`.
pub struct DocumentCache<T> {
    store: Arc<dyn Store>,
    kind: DocumentKind,
    index: fn(Vec<Document>) -> T,
    current: RwLock<Option<Arc<T>>>,
}

impl<T: Send + Sync> DocumentCache<T> {
    /// A cache that is empty until it is first asked or refreshed.
    pub fn new(store: Arc<dyn Store>, kind: DocumentKind, index: fn(Vec<Document>) -> T) -> Self {
        Self {
            store,
            kind,
            index,
            current: RwLock::new(None),
        }
    }

    /// The current contents; the first caller waits until they are read.
    pub async fn get(&self) -> Result<Arc<T>, StoreError> {
        match self.current() {
            Some(current) => Ok(current),
            None => self.refresh().await,
        }
    }

    /// The current contents, if they have been read yet.
    pub fn current(&self) -> Option<Arc<T>> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        current.clone()
    }

    /// Reads the documents again.
    pub async fn refresh(&self) -> Result<Arc<T>, StoreError> {
        let documents = self.store.list_documents(self.kind).await?;
        let current = Arc::new((self.index)(documents));
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Some(current.clone());
        Ok(current)
    }

    /// Refreshes again and again until `stop`. While the store is away, the last contents stay.
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
        self.refresh().await?;
        Ok(Next::After(DOCUMENTS_REFRESH_EVERY))
    }
}

/// Decodes the bodies of documents. One that cannot be read is logged and left out.
pub fn decode_documents<T: DeserializeOwned>(
    documents: Vec<Document>,
) -> impl Iterator<Item = (Document, T)> {
    documents.into_iter().filter_map(|document| {
        match document.body.decode() {
            Ok(body) => Some((document, body)),
            Err(error) => {
                let Document { kind, id, .. } = document;
                tracing::error!(%kind, id, %error, "a document is left out, because it cannot be read");
                None
            }
        }
    })
}
