//! Settles attempts whose lease ran out, through the one brain. Any node may do it for all,
//! and two at once do no harm.
//!
//! A lease also runs out while there is no node or no store to renew it, though its holder is well
//! and keeps the outcome to report. So after such a time the holders of these leases come first.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use steadfast_core::{Claim, Outcome, Timestamp, limits::LEASE_DEFAULT};
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
    store_reach: Mutex<StoreReach>,
}

/// Since when leases can be renewed here.
struct StoreReach {
    /// The start of the node, or the first look after a time without the store.
    since: ClockReading,
    last_success: Instant,
}

impl Sweeper {
    pub fn new(store: Arc<dyn Store>, settler: Arc<Settler>, every: Duration) -> Self {
        let now = ClockReading::new(store.now());
        let store_reach = StoreReach {
            since: now,
            last_success: now.process,
        };
        Self {
            store,
            settler,
            every,
            last_look: Mutex::new(now),
            store_reach: Mutex::new(store_reach),
        }
    }

    /// Settles one batch of expired leases and returns how many there were.
    pub async fn sweep(&self) -> Result<usize, StoreError> {
        let expired = self.store.expired_leases(limits::SWEEP_BATCH_MAX).await?;
        let count = expired.len();
        self.settle(expired).await?;
        Ok(count)
    }

    async fn settle(&self, expired: Vec<Claim>) -> Result<(), StoreError> {
        if expired.is_empty() {
            return Ok(());
        }
        let now = self.store.now();
        let mut batch: Vec<_> = expired
            .into_iter()
            .map(|claim| self.settler.pending(claim.end(Outcome::Lost, now)))
            .collect();
        self.settler.settle(&mut batch).await?;
        Ok(())
    }

    /// Since when leases could be renewed, if their holders may not have come back since then.
    fn holders_return_since(&self) -> Option<Timestamp> {
        let mut reach = self
            .store_reach
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let now = ClockReading::new(self.store.now());
        let usual = self.every + limits::STORE_BACKOFF_MAX;
        if now.process.duration_since(reach.last_success) > usual {
            reach.since = now;
        }
        reach.last_success = now.process;
        let passed = now.process.duration_since(reach.since.process);
        (passed < limits::HOLDERS_RETURN).then_some(reach.since.store)
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
        let mut expired = self.store.expired_leases(limits::SWEEP_BATCH_MAX).await?;
        let found = expired.len();
        if let Some(since) = self.holders_return_since() {
            expired.retain(|claim| claim.job().progress.lease_until >= Some(since));
        }
        let settled = expired.len();
        self.settle(expired).await?;
        Ok(match (found, settled) {
            (limits::SWEEP_BATCH_MAX.., 1..) => Next::AtOnce,
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
