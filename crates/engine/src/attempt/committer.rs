//! Commits outcomes, many at a time, and holds on to them until the store has them.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt as _;
use steadfast_core::EndedAttempt;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{
    attempt::settle::{AbandonedSettlement, PendingSettlement, Settler},
    limits,
    role::{backoff::StoreBackoff, health::RoleHealth},
};

pub struct Committer {
    pub settler: Arc<Settler>,
    pub ended: mpsc::Receiver<EndedAttempt>,
    pub health: Arc<RoleHealth>,
}

/// However it ends, its health tells.
impl Drop for Committer {
    fn drop(&mut self) {
        self.health.ended();
    }
}

impl Committer {
    /// Ends when every sender is gone and everything is committed, or when `abandon` is
    /// cancelled while the store is away; the leases of what is left then run out.
    ///
    /// It outlives a panic: a node without it would look alive, renew the leases of what has
    /// ended, and write nothing.
    pub async fn run(mut self, abandon: CancellationToken) {
        let mut ended = Vec::with_capacity(limits::COMMIT_BATCH_MAX);
        let mut backoff = StoreBackoff::new(self.health.clone());
        while self
            .ended
            .recv_many(&mut ended, limits::COMMIT_BATCH_MAX)
            .await
            > 0
        {
            self.health.begin();
            let mut batch: Vec<_> = ended
                .drain(..)
                .map(|ended| self.settler.pending(ended))
                .collect();
            let settled = self.settle(&mut batch, &mut backoff, &abandon).await;
            self.settler.stop_renewing(&batch);
            self.health.succeeded();
            if settled.is_err() {
                return;
            }
        }
    }

    /// Settles a batch; after a panic each outcome by itself, so that only the one that causes
    /// it is lost.
    async fn settle(
        &self,
        batch: &mut [PendingSettlement],
        backoff: &mut StoreBackoff,
        abandon: &CancellationToken,
    ) -> Result<(), AbandonedSettlement> {
        let settler = &self.settler;
        let all = settler.settle_until_stored(batch, backoff, abandon);
        if let Ok(settled) = AssertUnwindSafe(all).catch_unwind().await {
            return settled;
        }
        tracing::error!("the committer panicked; settling outcomes one by one");
        for single in batch.chunks_mut(1) {
            let job = single[0].job();
            let one = settler.settle_until_stored(single, backoff, abandon);
            match AssertUnwindSafe(one).catch_unwind().await {
                Ok(Ok(())) => {}
                Ok(Err(abandoned)) => return Err(abandoned),
                Err(_) => {
                    tracing::error!(jobId = %job, "cannot settle the outcome of job {job}; its lease will expire");
                }
            }
        }
        Ok(())
    }
}
