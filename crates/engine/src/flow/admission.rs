//! Creates that are refused because there is no room for more jobs, or because the store is slow.
//!
//! What ends attempts is never refused: settlements, retries, heartbeats and claims go on.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use steadfast_core::Tenant;
use steadfast_store::{EnqueueError, EnqueueResult};

use super::store_meter::{CommitTimer, StoreMeter, StoreSlow};
use crate::limits::COMMIT_TIME_MAX_DEFAULT;

/// Admits creates on one node, and counts those that are refused.
#[derive(Debug)]
pub(crate) struct Admission {
    pub meter: StoreMeter,
    waiting: AtomicU64,
    slow: AtomicU64,
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

    /// Begins a create of a tenant, unless the store is too slow for it.
    pub(crate) fn begin(&self, tenant: &Tenant) -> Result<CommitTimer<'_>, StoreSlow> {
        let begun = self.meter.begin_create(tenant);
        if begun.is_err() {
            self.slow.fetch_add(1, Ordering::Relaxed);
        }
        begun
    }

    /// Ends a create that has begun.
    pub(crate) fn end(
        &self,
        timer: CommitTimer<'_>,
        results: Result<&[EnqueueResult], &EnqueueError>,
    ) {
        let is_new = |result: &EnqueueResult| matches!(result, EnqueueResult::Created(..));
        timer.end(results.is_ok_and(|results| results.iter().any(is_new)));
        if let Err(EnqueueError::WaitingFull(_)) = results {
            self.waiting.fetch_add(1, Ordering::Relaxed);
        }
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
