//! Retry policies by their numbers: rows carry a policy as an integer, and few are parsed.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use steadfast_core::{RetryPolicy, Timestamp};

use super::name_use::FoundNumber;
use crate::limits::{POLICIES_CACHED_MAX, POLICIES_RECENT_MAX};

pub(crate) struct PolicyCache<Id> {
    by_id: HashMap<Id, Arc<RetryPolicy>>,
    /// The latest that were written, the newest first.
    recent: Vec<(Arc<RetryPolicy>, FoundNumber<Id>)>,
}

impl<Id> Default for PolicyCache<Id> {
    fn default() -> Self {
        Self {
            by_id: HashMap::new(),
            recent: Vec::new(),
        }
    }
}

impl<Id: Copy + Eq + Hash> PolicyCache<Id> {
    pub(crate) fn get(&self, id: Id) -> Option<Arc<RetryPolicy>> {
        self.by_id.get(&id).cloned()
    }

    pub(crate) fn insert(&mut self, id: Id, policy: Arc<RetryPolicy>) {
        if self.by_id.len() >= POLICIES_CACHED_MAX {
            self.by_id.clear();
        }
        self.by_id.insert(id, policy);
    }

    /// The number of a policy that was written lately.
    pub(crate) fn recent_id(&mut self, policy: &Arc<RetryPolicy>, now: Timestamp) -> Option<Id> {
        let index = self
            .recent
            .iter()
            .position(|(known, _)| Arc::ptr_eq(known, policy) || known == policy)?;
        self.recent[..=index].rotate_right(1);
        self.recent[0].1.at(now)
    }

    pub(crate) fn insert_recent(&mut self, policy: &Arc<RetryPolicy>, id: Id, now: Timestamp) {
        let number = FoundNumber { id, found_at: now };
        match self.recent.first_mut() {
            // It was there, and had to be looked up again.
            Some((known, found)) if known == policy => *found = number,
            _ => {
                self.recent.truncate(POLICIES_RECENT_MAX - 1);
                self.recent.insert(0, (Arc::clone(policy), number));
            }
        }
    }

    /// Policies were deleted, and the numbers that are remembered may be theirs.
    #[cfg(feature = "sqlite")]
    pub(crate) fn forget_recent(&mut self) {
        self.recent.clear();
    }
}
