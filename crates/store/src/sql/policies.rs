//! Retry policies by their numbers: rows carry a policy as an integer, and few are parsed.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use steadfast_core::RetryPolicy;

use crate::limits::{POLICIES_CACHED_MAX, POLICIES_RECENT_MAX};

pub(crate) struct PolicyCache<Id> {
    by_id: HashMap<Id, Arc<RetryPolicy>>,
    /// The latest that were written, the newest first.
    recent: Vec<(Arc<RetryPolicy>, Id)>,
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
    pub(crate) fn recent_id(&mut self, policy: &Arc<RetryPolicy>) -> Option<Id> {
        let index = self
            .recent
            .iter()
            .position(|(known, _)| Arc::ptr_eq(known, policy) || known == policy)?;
        self.recent[..=index].rotate_right(1);
        Some(self.recent[0].1)
    }

    pub(crate) fn insert_recent(&mut self, policy: &Arc<RetryPolicy>, id: Id) {
        self.recent.truncate(POLICIES_RECENT_MAX - 1);
        self.recent.insert(0, (Arc::clone(policy), id));
    }
}
