//! Creates that are refused because there is no room for more jobs.

use std::sync::atomic::{AtomicU64, Ordering};

use steadfast_store::EnqueueError;

/// Counts the refusals of one node.
#[derive(Debug, Default)]
pub(crate) struct Admission {
    waiting: AtomicU64,
}

/// Creates that this node refused because there was no room for more jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefusedCreates {
    /// Too many jobs of a queue or tenant waited (`maxWaiting`).
    pub too_many_waiting: u64,
}

impl Admission {
    /// Counts a create that the store has refused.
    pub(crate) fn note<T>(&self, created: &Result<T, EnqueueError>) {
        if matches!(created, Err(EnqueueError::WaitingFull(_))) {
            self.waiting.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn refused(&self) -> RefusedCreates {
        RefusedCreates {
            too_many_waiting: self.waiting.load(Ordering::Relaxed),
        }
    }
}
