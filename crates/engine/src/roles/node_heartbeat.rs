//! Records that this node is alive, and deletes the records of nodes that have long been silent.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use steadfast_core::{Kind, Payload, Queue, Timestamp, WorkerName};
use steadfast_store::{
    Document, DocumentKind, DocumentPage, DocumentSaveResult, Outbox, Store, StoreError,
};
use tokio::sync::OnceCell;

use crate::{
    documents::node_state::NodeState,
    flow::call_slots::CallSlots,
    inflight::Inflight,
    limits::{HEARTBEAT_EVERY, NODE_FORGOTTEN_AFTER, NODES_CHECKED_EVERY},
    role::{Next, Role, health::NodeHealth},
};

pub struct NodeHeartbeat {
    pub store: Arc<dyn Store>,
    pub inflight: Arc<Inflight>,
    pub calls: Arc<CallSlots>,
    pub health: Arc<NodeHealth>,
    pub name: WorkerName,
    pub queues: Vec<Queue>,
    pub kinds: Vec<Kind>,
    pub concurrency: usize,
    pub started_at: Timestamp,
    /// The revision of this node's document after its last heartbeat.
    pub written: AtomicU64,
    pub heartbeats: AtomicU64,
    pub encryption_key: OnceCell<Option<String>>,
}

#[async_trait]
impl Role for NodeHeartbeat {
    fn name(&self) -> &'static str {
        "heartbeat"
    }

    async fn tick(&self) -> Result<Next, StoreError> {
        self.save(self.store.now()).await?;
        let heartbeats = self.heartbeats.fetch_add(1, Ordering::Relaxed);
        if heartbeats.is_multiple_of(NODES_CHECKED_EVERY) {
            self.forget_silent_nodes().await?;
        }
        Ok(Next::After(HEARTBEAT_EVERY))
    }

    /// A node that stops in order need not be missed first.
    async fn shut_down(&self) {
        let name = self.name.to_string();
        let deleted = self
            .store
            .delete_document(DocumentKind::Node, name, None, None)
            .await;
        if let Err(error) = deleted {
            tracing::debug!(%error, "cannot record that this node has stopped");
        }
    }
}

impl NodeHeartbeat {
    /// Every node looks, but seldom: a thousand nodes that read a thousand records at every
    /// heartbeat would keep a database busy with nothing else.
    async fn forget_silent_nodes(&self) -> Result<(), StoreError> {
        let now = self.store.now();
        let documents = self
            .store
            .list_documents(DocumentKind::Node, DocumentPage::All)
            .await?;
        for Document { id, body, .. } in documents {
            // One that cannot be read tells nothing. If its node is alive, it is written again.
            let is_silent = match body.decode::<NodeState>() {
                Ok(state) => now.since(state.last_seen) > NODE_FORGOTTEN_AFTER,
                Err(_) => true,
            };
            if is_silent {
                self.store
                    .delete_document(DocumentKind::Node, id, None, None)
                    .await?;
            }
        }
        Ok(())
    }

    /// A process has one key from its start to its end.
    async fn encryption_key(&self) -> Result<Option<String>, StoreError> {
        let read = || async {
            let rotation = self.store.new_rotation().await?;
            Ok(rotation.map(|rotation| rotation.key))
        };
        self.encryption_key.get_or_try_init(read).await.cloned()
    }

    async fn save(&self, now: Timestamp) -> Result<(), StoreError> {
        let state = NodeState {
            name: self.name.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            queues: self.queues.clone(),
            kinds: Some(self.kinds.clone()),
            concurrency: self.concurrency,
            in_flight: self.inflight.len(),
            full_for: self.calls.tenants_without_slot(),
            certificate_problem: self.health.certificate_problem(),
            correction: self.health.correction(),
            store_problem: self.health.store_problem().map(|slow| slow.to_string()),
            encryption_key: self.encryption_key().await?,
            started_at: self.started_at,
            last_seen: now,
        };
        let body = match Payload::encode(&state) {
            Ok(body) => body,
            Err(error) => {
                tracing::error!(%error, "cannot store the heartbeat of this node");
                return Ok(());
            }
        };
        let mut document = Document {
            kind: DocumentKind::Node,
            id: self.name.to_string(),
            body,
            revision: self.written.load(Ordering::Relaxed),
        };
        let timer = self.health.admission.meter.begin();
        let mut result = self
            .store
            .save_document(document.clone(), Outbox::default())
            .await?;
        timer.end(matches!(result, DocumentSaveResult::Done(_)));
        // An earlier process of this name may have left a document, or another node may have
        // deleted this one's.
        if let DocumentSaveResult::Outdated(stored) = result {
            document.revision = stored.map_or(0, |stored| stored.revision);
            result = self
                .store
                .save_document(document, Outbox::default())
                .await?;
        }
        if let DocumentSaveResult::Done(document) = result {
            self.written.store(document.revision, Ordering::Relaxed);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use steadfast_store::{ManualClock, MemoryStore};

    use super::*;

    #[tokio::test]
    async fn a_node_that_is_silent_for_an_hour_is_forgotten_by_the_others() {
        let clock = ManualClock::new(Timestamp::EPOCH);
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
        let node = |name: &str| NodeHeartbeat {
            store: store.clone(),
            inflight: Arc::default(),
            calls: CallSlots::new(1),
            health: Arc::default(),
            name: WorkerName::new(name).unwrap(),
            queues: Vec::new(),
            kinds: Vec::new(),
            concurrency: 1,
            started_at: Timestamp::EPOCH,
            written: AtomicU64::new(0),
            heartbeats: AtomicU64::new(0),
            encryption_key: OnceCell::new(),
        };
        let names = async || {
            let documents = store
                .list_documents(DocumentKind::Node, DocumentPage::All)
                .await
                .unwrap();
            let names = documents.into_iter().map(|document| document.id);
            names.collect::<Vec<_>>()
        };
        let damaged = Document {
            kind: DocumentKind::Node,
            id: "damaged".to_owned(),
            body: Payload::default(),
            revision: 0,
        };
        store
            .save_document(damaged, Outbox::default())
            .await
            .unwrap();
        node("silent").tick().await.unwrap();
        assert_eq!(names().await, ["silent"], "what cannot be read is deleted");
        clock.advance(NODE_FORGOTTEN_AFTER);
        node("other").tick().await.unwrap();
        assert_eq!(names().await, ["other", "silent"]);
        clock.advance(Duration::from_micros(1));
        node("other").tick().await.unwrap();
        assert_eq!(names().await, ["other"]);
    }
}
