//! Deletes jobs, batches, operations and audit records whose retention is over, a few at a time, and names
//! that no job has.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use steadfast_core::Timestamp;
use steadfast_store::{PruneRequest, Store, StoreError};

use crate::{
    limits,
    role::{Next, Role},
};

pub struct Pruner {
    pub store: Arc<dyn Store>,
    pub retention: Duration,
    pub operation_retention: Duration,
    pub audit_retention: Duration,
    pub every: Duration,
    /// When unused names were looked for last.
    pub names_pruned: Mutex<Option<Timestamp>>,
}

impl Pruner {
    /// Deletes one batch and returns how many jobs it was.
    pub async fn prune(&self) -> Result<usize, StoreError> {
        let ended_before = self.store.now().minus(self.retention);
        let limit = limits::PRUNE_BATCH_MAX;
        let request = PruneRequest::Jobs {
            ended_before,
            limit,
        };
        self.store.prune(request).await
    }

    /// Deletes batches, operations and audit records whose retention is over.
    async fn prune_records(&self) -> Result<(), StoreError> {
        let now = self.store.now();
        let limit = limits::PRUNE_BATCH_MAX;
        let requests = [
            PruneRequest::Operations {
                ended_before: now.minus(self.operation_retention),
                limit,
            },
            PruneRequest::Batches {
                ended_before: now.minus(self.retention),
                limit,
            },
            PruneRequest::Audit {
                before: now.minus(self.audit_retention),
                limit,
            },
        ];
        for request in requests {
            for _ in 0..limits::PRUNE_ROUNDS_MAX {
                if self.store.prune(request).await? < limit {
                    break;
                }
            }
        }
        Ok(())
    }

    /// The store looks once a day, however many nodes ask; it need not be asked all the time.
    async fn prune_names(&self) -> Result<(), StoreError> {
        let now = self.store.now();
        let is_due = |last: Timestamp| last > now || now.since(last) >= limits::PRUNE_NAMES_EVERY;
        if !self.lock().is_none_or(is_due) {
            return Ok(());
        }
        let keep = limits::NAMES_KEPT;
        let deleted = self.store.prune(PruneRequest::Names { keep }).await?;
        if deleted > 0 {
            tracing::info!(deleted, "deleted unused lanes and policies");
        }
        *self.lock() = Some(now);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Timestamp>> {
        self.names_pruned
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Role for Pruner {
    fn name(&self) -> &'static str {
        "pruner"
    }

    async fn tick(&self) -> Result<Next, StoreError> {
        if self.prune().await? >= limits::PRUNE_BATCH_MAX {
            return Ok(Next::After(limits::PRUNE_PAUSE));
        }
        self.prune_records().await?;
        self.prune_names().await?;
        Ok(Next::After(self.every))
    }
}
