//! Settles attempts whose lease ran out, through the one brain. Any node may do it for all,
//! and two at once do no harm.

use std::{sync::Arc, time::Duration};

use steadfast_core::{Outcome, Timestamp};
use steadfast_store::{Store, StoreError};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{limits, random::Random, settle::Settler, store_backoff::StoreBackoff};

pub struct Sweeper {
    pub store: Arc<dyn Store>,
    pub settler: Arc<Settler>,
    pub random: Arc<Random>,
    pub every: Duration,
}

impl Sweeper {
    pub async fn run(&self, stop: &CancellationToken) {
        let mut backoff = StoreBackoff::default();
        let mut watch = JumpWatch::new(self.store.now());
        while !stop.is_cancelled() {
            let wait = if watch.jumped(self.store.now()) {
                // Every lease looks expired now; let its keeper speak first.
                tracing::warn!("the clock jumped ahead; giving leases time to be renewed");
                steadfast_core::limits::LEASE_DEFAULT
            } else {
                match self.tick().await {
                    Ok(limits::SWEEP_BATCH_MAX..) => Duration::ZERO,
                    Ok(_) => {
                        backoff.restore("sweeper");
                        self.every
                    }
                    Err(error) => {
                        backoff.wait("sweeper", &error, &self.random, stop).await;
                        Duration::ZERO
                    }
                }
            };
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Settles one batch of expired leases and says how many there were.
    pub async fn tick(&self) -> Result<usize, StoreError> {
        let expired = self.store.expired_leases(limits::SWEEP_BATCH_MAX).await?;
        let count = expired.len();
        if count > 0 {
            let now = self.store.now();
            let mut batch: Vec<_> = expired
                .into_iter()
                .map(|claim| self.settler.undecided(claim.ended(Outcome::Lost, now)))
                .collect();
            self.settler.settle(&mut batch).await?;
        }
        Ok(count)
    }
}

/// Notices that the store's clock ran ahead of time itself: it was set, or the machine slept.
struct JumpWatch {
    store: Timestamp,
    real: Instant,
}

impl JumpWatch {
    fn new(now: Timestamp) -> Self {
        Self {
            store: now,
            real: Instant::now(),
        }
    }

    fn jumped(&mut self, now: Timestamp) -> bool {
        let before = std::mem::replace(self, Self::new(now));
        let passed = self.real.duration_since(before.real);
        now.since(before.store) > passed + limits::CLOCK_JUMP
    }
}
