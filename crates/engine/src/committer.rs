//! Commits outcomes, many at a time, and holds on to them until the store has them.

use std::sync::Arc;

use steadfast_core::EndedAttempt;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{
    limits,
    random::Random,
    settle::{PendingSettlement, Settler},
    store_backoff::StoreBackoff,
};

pub struct Committer {
    pub settler: Arc<Settler>,
    pub random: Arc<Random>,
    pub ended: mpsc::Receiver<EndedAttempt>,
}

impl Committer {
    /// Ends when every sender is gone and everything is committed, or when it is told to
    /// `abandon` what a missing store does not take; leases then tell the rest of the story.
    pub async fn run(mut self, abandon: CancellationToken) {
        let mut ended = Vec::with_capacity(limits::COMMIT_BATCH_MAX);
        let mut backoff = StoreBackoff::default();
        while self
            .ended
            .recv_many(&mut ended, limits::COMMIT_BATCH_MAX)
            .await
            > 0
        {
            let mut batch: Vec<_> = ended
                .drain(..)
                .map(|ended| self.settler.undecided(ended))
                .collect();
            while let Err(error) = self.settler.settle(&mut batch).await {
                if !error.is_transient() {
                    self.one_by_one(&mut batch).await;
                    break;
                }
                if abandon.is_cancelled() {
                    tracing::error!(%error, lost = batch.len(), "stopped before the store took all outcomes");
                    return;
                }
                backoff
                    .wait("committer", &error, &self.random, &abandon)
                    .await;
            }
            self.settler.leave(&batch);
            backoff.restore("committer");
        }
    }

    /// Something in the batch cannot be written, now or ever; the others must not wait for it.
    async fn one_by_one(&self, batch: &mut [PendingSettlement]) {
        for alone in batch.chunks_mut(1) {
            if let Err(error) = self.settler.settle(alone).await {
                self.settler.give_up(alone, &error);
            }
        }
    }
}
