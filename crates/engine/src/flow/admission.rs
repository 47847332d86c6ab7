//! Creates that are refused because there is no room for more jobs, or because the store is slow.
//!
//! What ends attempts is never refused: settlements, retries, heartbeats and claims go on.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use steadfast_core::{duration, explain::brief};
use steadfast_store::EnqueueError;

use super::store_meter::StoreMeter;
use crate::limits::COMMIT_TIME_MAX_DEFAULT;

/// Admits creates on one node, and counts those that are refused.
#[derive(Debug)]
pub(crate) struct Admission {
    pub meter: StoreMeter,
    waiting: AtomicU64,
    slow: AtomicU64,
}

/// Commits have taken longer than they may for some seconds, so nothing is created until the store has
/// recovered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the store is slow: commits have taken longer than {} for {}, and nothing is created until one is \
     faster",
    duration::format(*limit), brief(*slow_for)
)]
#[non_exhaustive]
pub struct StoreSlow {
    /// How long a commit may take.
    pub limit: Duration,
    /// For how long they have taken longer.
    pub slow_for: Duration,
}

/// Requests to create jobs that this node refused because there was no room for more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefusedCreates {
    /// Too many jobs of a queue or tenant waited (`maxWaiting`).
    pub too_many_waiting: u64,
    /// Commits took too long.
    pub store_slow: u64,
}

impl Admission {
    pub(crate) fn new(commit_time_max: Duration) -> Self {
        Self {
            meter: StoreMeter::new(commit_time_max),
            waiting: AtomicU64::new(0),
            slow: AtomicU64::new(0),
        }
    }

    /// Creates jobs, unless commits have taken too long for some seconds.
    pub(crate) async fn create<T>(
        &self,
        create: impl Future<Output = Result<T, EnqueueError>>,
    ) -> Result<Result<T, EnqueueError>, StoreSlow> {
        if let Some(slow_for) = self.meter.refuses() {
            self.slow.fetch_add(1, Ordering::Relaxed);
            let limit = self.meter.limit();
            return Err(StoreSlow { limit, slow_for });
        }
        let timer = self.meter.begin();
        let created = create.await;
        if !matches!(created, Err(EnqueueError::Store(_))) {
            timer.done();
        }
        if matches!(created, Err(EnqueueError::WaitingFull(_))) {
            self.waiting.fetch_add(1, Ordering::Relaxed);
        }
        Ok(created)
    }

    /// How slow the store is, if creates are refused for it.
    pub(crate) fn problem(&self) -> Option<String> {
        let slow_for = self.meter.slow_for()?;
        let limit = self.meter.limit();
        Some(StoreSlow { limit, slow_for }.to_string())
    }

    pub(crate) fn refused(&self) -> RefusedCreates {
        RefusedCreates {
            too_many_waiting: self.waiting.load(Ordering::Relaxed),
            store_slow: self.slow.load(Ordering::Relaxed),
        }
    }
}

impl Default for Admission {
    fn default() -> Self {
        Self::new(COMMIT_TIME_MAX_DEFAULT)
    }
}
