//! What a node has written of the limits.

use std::sync::{Mutex, PoisonError};

use steadfast_core::GateId;

/// The limits that are in the table for programs that store jobs by SQL, if that is known.
#[derive(Default)]
pub(in crate::drivers::postgres) struct SharedLimits(Mutex<Option<Vec<(GateId, u32)>>>);

impl SharedLimits {
    pub(in crate::drivers::postgres) fn is_shared(&self, limits: &[(GateId, u32)]) -> bool {
        let shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shared.as_deref() == Some(limits)
    }

    /// Another server may answer from now on.
    pub(in crate::drivers::postgres) fn forget(&self) {
        self.set_shared(Vec::new(), false);
    }

    pub(in crate::drivers::postgres) fn set_shared(
        &self,
        limits: Vec<(GateId, u32)>,
        is_known: bool,
    ) {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *shared = is_known.then_some(limits);
    }
}
