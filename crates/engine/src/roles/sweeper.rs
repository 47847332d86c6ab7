//! Settles attempts whose lease ran out, through the one brain. Any node may do it for all,
//! and two at once do no harm.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use steadfast_core::{Outcome, Timestamp, limits::LEASE_DEFAULT};
use steadfast_store::{Store, StoreError};
use tokio::time::Instant;

use crate::{
    attempt::settle::Settler,
    limits,
    role::{Next, Role},
};

pub struct Sweeper {
    store: Arc<dyn Store>,
    settler: Arc<Settler>,
    every: Duration,
    last_look: Mutex<ClockReading>,
}

impl Sweeper {
    pub fn new(store: Arc<dyn Store>, settler: Arc<Settler>, every: Duration) -> Self {
        let last_look = Mutex::new(ClockReading::new(store.now()));
        Self {
            store,
            settler,
            every,
            last_look,
        }
    }

    /// Settles one batch of expired leases and returns how many there were.
    pub async fn sweep(&self) -> Result<usize, StoreError> {
        let expired = self.store.expired_leases(limits::SWEEP_BATCH_MAX).await?;
        let count = expired.len();
        if count > 0 {
            let now = self.store.now();
            let mut batch: Vec<_> = expired
                .into_iter()
                .map(|claim| self.settler.pending(claim.end(Outcome::Lost, now)))
                .collect();
            self.settler.settle(&mut batch).await?;
        }
        Ok(count)
    }

    fn clock_jumped(&self) -> bool {
        let mut last = self
            .last_look
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let reading = ClockReading::new(self.store.now());
        std::mem::replace(&mut *last, reading).is_far_behind(reading)
    }
}

#[async_trait]
impl Role for Sweeper {
    fn name(&self) -> &'static str {
        "sweeper"
    }

    async fn tick(&self) -> Result<Next, StoreError> {
        if self.clock_jumped() {
            // Every lease looks expired now; the keepers get the time to renew theirs first.
            tracing::warn!("the clock jumped ahead; waiting for lease renewals");
            return Ok(Next::After(LEASE_DEFAULT));
        }
        Ok(match self.sweep().await? {
            limits::SWEEP_BATCH_MAX.. => Next::AtOnce,
            _ => Next::After(self.every),
        })
    }
}

/// The store's clock and this process's own, read at the same moment.
#[derive(Clone, Copy)]
struct ClockReading {
    store: Timestamp,
    process: Instant,
}

impl ClockReading {
    fn new(now: Timestamp) -> Self {
        Self {
            store: now,
            process: Instant::now(),
        }
    }

    /// Whether the store's clock ran ahead of time itself since this reading: it was set, or the
    /// machine slept.
    fn is_far_behind(self, later: Self) -> bool {
        let passed = later.process.duration_since(self.process);
        later.store.since(self.store) > passed + limits::CLOCK_JUMP
    }
}
