//! The gates as the roles of this node see them. Claims do not use this: a store reads its gates
//! itself.

use std::sync::Arc;

use async_trait::async_trait;
use steadfast_core::{Gate, Gates, Timestamp};
use steadfast_store::{LaneStats, Store, StoreError};
use tokio::sync::watch;

use crate::{
    limits::GATES_REFRESH_EVERY,
    role::{Next, Role},
};

/// The gates as this node knows them, at most two seconds old.
pub struct GateCache {
    store: Arc<dyn Store>,
    /// The gates that callers waiting for jobs were last told of.
    announced: watch::Sender<Arc<Gates>>,
}

impl GateCache {
    pub fn new(store: &Arc<dyn Store>) -> Self {
        Self {
            store: store.clone(),
            announced: watch::Sender::default(),
        }
    }

    /// The gates of single keys as they are set now, without defaults.
    pub async fn set_gates(&self) -> Result<Vec<Gate>, StoreError> {
        Ok(self.refresh_all().await?.own().to_vec())
    }

    /// For a caller that waits after a claim: changes when another claim may find jobs.
    pub fn changes(&self) -> watch::Receiver<Arc<Gates>> {
        self.announced.subscribe()
    }

    /// The gates that hold; the first caller waits until they are read.
    pub async fn get(&self) -> Result<Arc<Gates>, StoreError> {
        match self.store.known_gates() {
            Some(known) => Ok(known),
            None => self.refresh_all().await,
        }
    }

    /// The gates as they are now, for a caller that has changed them, or may have missed changes of
    /// others.
    pub async fn refresh_all(&self) -> Result<Arc<Gates>, StoreError> {
        let gates = self.store.gates().await?;
        self.announced.send_if_modified(|announced| {
            let is_same = Arc::ptr_eq(announced, &gates);
            let is_same = is_same || gates.change_since(announced).is_empty();
            *announced = gates.clone();
            !is_same
        });
        Ok(gates)
    }

    /// Reads the gates again, for a caller that has stored a change. What is stored stays stored: if
    /// they cannot be read just now, those that are known hold until this node reads them, as on other
    /// nodes.
    pub async fn follow_change(&self) {
        if let Err(error) = self.refresh_all().await {
            tracing::warn!(%error, "cannot read changed gates; retrying later");
        }
    }

    /// The gates that were read last; none if that has not happened yet.
    pub fn latest(&self) -> Arc<Gates> {
        self.store.known_gates().unwrap_or_default()
    }
}

/// Sets which lanes are paused by a gate.
pub fn mark_paused(gates: &Gates, lanes: &mut [LaneStats], now: Timestamp) {
    for lane in lanes {
        let pause = gates.queue_pause(&lane.tenant, lane.queue.as_str(), now);
        lane.paused = pause.is_some();
    }
}

#[async_trait]
impl Role for GateCache {
    fn name(&self) -> &'static str {
        "gates"
    }

    async fn tick(&self) -> Result<Next, StoreError> {
        self.refresh_all().await?;
        Ok(Next::After(GATES_REFRESH_EVERY))
    }
}
