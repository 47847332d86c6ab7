//! Tells the others that this node is there, and forgets those that have long been silent.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use steadfast_core::{Payload, Queue, Timestamp, WorkerName};
use steadfast_store::{Document, DocumentKind, Store, StoreError};
use tokio_util::sync::CancellationToken;

use crate::{Client, ClientError, cache::bodies, inflight::Inflight};

/// How often a node says that it is there.
const EVERY: Duration = Duration::from_secs(5);
/// A node that has been silent for this long may have died.
const SILENT: Duration = Duration::from_secs(20);
/// Long enough for somebody to see that it is gone.
const FORGOTTEN: Duration = Duration::from_secs(60 * 60);

/// A node, as it says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeState {
    pub name: WorkerName,
    pub version: String,
    /// Which queues it serves; none means all.
    pub queues: Vec<Queue>,
    pub concurrency: usize,
    pub in_flight: usize,
    pub started_at: Timestamp,
    pub last_seen: Timestamp,
}

impl NodeState {
    /// Whether it said so lately.
    pub fn is_alive(&self, now: Timestamp) -> bool {
        now.since(self.last_seen) < SILENT
    }
}

pub struct NodeHeartbeat {
    pub store: Arc<dyn Store>,
    pub inflight: Arc<Inflight>,
    pub name: WorkerName,
    pub queues: Vec<Queue>,
    pub concurrency: usize,
}

impl NodeHeartbeat {
    pub async fn run(&self, stop: &CancellationToken) {
        let started_at = self.store.now();
        while !stop.is_cancelled() {
            if let Err(error) = self.tick(started_at).await {
                tracing::debug!(%error, "cannot say that this node is there");
            }
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(EVERY) => {}
            }
        }
        let gone = self
            .store
            .delete_document(DocumentKind::Node, self.name.to_string());
        if let Err(error) = gone.await {
            tracing::debug!(%error, "cannot say that this node is gone");
        }
    }

    pub async fn tick(&self, started_at: Timestamp) -> Result<(), StoreError> {
        let now = self.store.now();
        let documents = self.store.list_documents(DocumentKind::Node).await?;
        let known = documents
            .iter()
            .find(|known| known.id == self.name.as_str());
        let revision = known.map_or(0, |known| known.revision);
        let state = NodeState {
            name: self.name.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            queues: self.queues.clone(),
            concurrency: self.concurrency,
            in_flight: self.inflight.len(),
            started_at,
            last_seen: now,
        };
        let body =
            Payload::encode(&state).map_err(|error| StoreError::broken("save_document", error))?;
        let document = Document {
            kind: DocumentKind::Node,
            id: self.name.to_string(),
            body,
            revision,
        };
        self.store.save_document(document, Vec::new()).await?;
        for (document, state) in bodies::<NodeState>(documents) {
            if now.since(state.last_seen) > FORGOTTEN {
                self.store
                    .delete_document(DocumentKind::Node, document.id)
                    .await?;
            }
        }
        Ok(())
    }
}

impl Client {
    /// The nodes that serve this store, by name, those included that have just gone silent.
    pub async fn nodes(&self) -> Result<Vec<NodeState>, ClientError> {
        let documents = self.store().list_documents(DocumentKind::Node).await?;
        Ok(bodies(documents).map(|(_, state)| state).collect())
    }
}
