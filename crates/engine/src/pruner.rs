//! Forgets jobs whose retention is over, a few at a time.

use std::{sync::Arc, time::Duration};

use steadfast_store::{Store, StoreError};
use tokio_util::sync::CancellationToken;

use crate::{limits, random::Random, store_backoff::StoreBackoff};

pub struct Pruner {
    pub store: Arc<dyn Store>,
    pub random: Arc<Random>,
    pub retention: Duration,
    pub every: Duration,
}

impl Pruner {
    pub async fn run(&self, stop: &CancellationToken) {
        let mut backoff = StoreBackoff::default();
        while !stop.is_cancelled() {
            let wait = match self.tick().await {
                // More to do, but let claims and commits go first.
                Ok(limits::PRUNE_BATCH_MAX..) => Duration::from_millis(20),
                Ok(_) => {
                    backoff.restore("pruner");
                    self.every
                }
                Err(error) => {
                    backoff.wait("pruner", &error, &self.random, stop).await;
                    Duration::ZERO
                }
            };
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    pub async fn tick(&self) -> Result<usize, StoreError> {
        let ended_before = self.store.now().minus(self.retention);
        self.store
            .prune(ended_before, limits::PRUNE_BATCH_MAX)
            .await
    }
}
