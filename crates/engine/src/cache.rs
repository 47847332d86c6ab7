//! What is looked up for every job and changes seldom.
//!
//! A node reads it again every other second, and at once after a change of its own; so what
//! one node changes, the others know a moment later.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use steadfast_store::{Document, DocumentKind, Store, StoreError};
use tokio_util::sync::CancellationToken;

/// How long another node's change may go unnoticed.
const EVERY: Duration = Duration::from_secs(2);

/// The documents of a space, as something of use.
pub struct Cache<T> {
    store: Arc<dyn Store>,
    space: DocumentKind,
    read: fn(Vec<Document>) -> T,
    known: RwLock<Option<Arc<T>>>,
}

impl<T> Cache<T> {
    pub fn new(store: Arc<dyn Store>, space: DocumentKind, read: fn(Vec<Document>) -> T) -> Self {
        Self {
            store,
            space,
            read,
            known: RwLock::new(None),
        }
    }

    /// What is known; the first to ask waits for it to be read.
    pub async fn get(&self) -> Result<Arc<T>, StoreError> {
        let known = self
            .known
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        match known {
            Some(known) => Ok(known),
            None => self.refresh().await,
        }
    }

    pub async fn refresh(&self) -> Result<Arc<T>, StoreError> {
        let documents = self.store.list_documents(self.space).await?;
        let known = Arc::new((self.read)(documents));
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Some(known.clone());
        Ok(known)
    }

    pub async fn run(&self, stop: &CancellationToken) {
        while !stop.is_cancelled() {
            // What is known stays true enough while the store is away.
            if let Err(error) = self.refresh().await {
                tracing::debug!(space = %self.space, %error, "cannot look for changes");
            }
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(EVERY) => {}
            }
        }
    }
}

/// The bodies of documents; one that cannot be read is told of and left out.
pub fn bodies<T: serde::de::DeserializeOwned>(
    documents: Vec<Document>,
) -> impl Iterator<Item = (Document, T)> {
    documents.into_iter().filter_map(|document| {
        match document.body.decode() {
            Ok(body) => Some((document, body)),
            Err(error) => {
                let Document { kind, id, .. } = document;
                tracing::error!(%kind, id, %error, "a document is passed over, because it cannot be read");
                None
            }
        }
    })
}
