//! Deletes jobs whose retention is over, a few at a time.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use steadfast_store::{Store, StoreError};

use crate::{
    limits,
    role::{Next, Role},
};

pub struct Pruner {
    pub store: Arc<dyn Store>,
    pub retention: Duration,
    pub every: Duration,
}

impl Pruner {
    /// Deletes one batch and returns how many jobs it was.
    pub async fn prune(&self) -> Result<usize, StoreError> {
        let ended_before = self.store.now().minus(self.retention);
        self.store
            .prune(ended_before, limits::PRUNE_BATCH_MAX)
            .await
    }
}

#[async_trait]
impl Role for Pruner {
    fn name(&self) -> &'static str {
        "pruner"
    }

    async fn tick(&self) -> Result<Next, StoreError> {
        Ok(match self.prune().await? {
            limits::PRUNE_BATCH_MAX.. => Next::After(limits::PRUNE_PAUSE),
            _ => Next::After(self.every),
        })
    }
}
