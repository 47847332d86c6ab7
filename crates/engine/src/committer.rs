//! Commits outcomes, many at a time, and holds on to them until the store has them.

use std::sync::Arc;

use steadfast_core::EndedAttempt;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{
    limits,
    settle::{PendingSettlement, Settler},
    store_backoff::StoreBackoff,
};

pub struct Committer {
    pub settler: Arc<Settler>,
    pub ended: mpsc::Receiver<EndedAttempt>,
}

impl Committer {
    /// Ends when every sender is gone and everything is committed, or when `abandon` is
    /// cancelled while the store is away; the leases of what is left then run out.
    pub async fn run(mut self, abandon: CancellationToken) {
        let mut ended = Vec::with_capacity(limits::COMMIT_BATCH_MAX);
        let mut backoff = StoreBackoff::new("committer");
        while self
            .ended
            .recv_many(&mut ended, limits::COMMIT_BATCH_MAX)
            .await
            > 0
        {
            let mut batch: Vec<_> = ended
                .drain(..)
                .map(|ended| self.settler.pending(ended))
                .collect();
            while let Err(error) = self.settler.settle(&mut batch).await {
                if !error.is_transient() {
                    self.settle_one_by_one(&mut batch).await;
                    break;
                }
                if abandon.is_cancelled() {
                    tracing::error!(%error, lost = batch.len(), "stopped before the store took all outcomes");
                    return;
                }
                backoff.wait(&error, &abandon).await;
            }
            self.settler.stop_renewing(&batch);
            backoff.reset();
        }
    }

    /// Something in the batch cannot be written, now or ever; the others must not wait for it.
    async fn settle_one_by_one(&self, batch: &mut [PendingSettlement]) {
        for single in batch.chunks_mut(1) {
            if let Err(error) = self.settler.settle(single).await {
                self.settler.give_up(single, &error);
            }
        }
    }
}
