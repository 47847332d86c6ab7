//! Lanes and retry policies by their numbers: rows carry integers, and few policies are parsed.
//!
//! A number is a hash of its name, so what is cached is never wrong. Only whether the row of a number
//! is stored can change: [`StoredNumbers`] remembers that for a while.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use steadfast_core::{RetryPolicy, name_number};

use crate::{
    lane::{Lane, LaneId},
    limits::{LANES_CACHED_MAX, POLICIES_CACHED_MAX, POLICIES_RECENT_MAX},
};

/// The number of a retry policy, as rows carry it.
pub(crate) type PolicyId = i64;

/// Two names have the same number, which is as good as impossible.
#[derive(Debug, thiserror::Error)]
#[error("number {0} belongs to another name")]
pub(crate) struct NumberTaken(pub i64);

/// The number of a policy by its JSON.
pub(crate) fn policy_number(body: &str) -> PolicyId {
    name_number(&[body])
}

/// Names by their numbers.
#[derive(Default)]
pub(crate) struct NameCache {
    lanes: HashMap<LaneId, Arc<Lane>>,
    policies: HashMap<PolicyId, Arc<RetryPolicy>>,
    /// The latest policies that were written, the newest first.
    recent_policies: Vec<(Arc<RetryPolicy>, PolicyId)>,
}

impl NameCache {
    pub(crate) fn lane(&self, id: LaneId) -> Option<&Arc<Lane>> {
        self.lanes.get(&id)
    }

    pub(crate) fn insert_lane(&mut self, id: LaneId, lane: Arc<Lane>) {
        if self.lanes.len() >= LANES_CACHED_MAX {
            self.lanes.clear();
        }
        self.lanes.insert(id, lane);
    }

    pub(crate) fn policy(&self, id: PolicyId) -> Option<&Arc<RetryPolicy>> {
        self.policies.get(&id)
    }

    pub(crate) fn insert_policy(&mut self, id: PolicyId, policy: Arc<RetryPolicy>) {
        if self.policies.len() >= POLICIES_CACHED_MAX {
            self.policies.clear();
        }
        self.policies.insert(id, policy);
    }

    /// The number of a policy that was written lately.
    pub(crate) fn recent_policy(&mut self, policy: &Arc<RetryPolicy>) -> Option<PolicyId> {
        let recent = &mut self.recent_policies;
        let is_it = |(known, _): &(Arc<RetryPolicy>, PolicyId)| {
            Arc::ptr_eq(known, policy) || known == policy
        };
        let index = recent.iter().position(is_it)?;
        recent[..=index].rotate_right(1);
        recent.first().map(|(_, id)| *id)
    }

    pub(crate) fn insert_recent_policy(&mut self, policy: &Arc<RetryPolicy>, id: PolicyId) {
        self.recent_policies.truncate(POLICIES_RECENT_MAX - 1);
        self.recent_policies.insert(0, (Arc::clone(policy), id));
    }
}

/// Numbers whose rows are known to be stored, for a limited time: unused rows are deleted.
#[derive(Default)]
pub(crate) struct StoredNumbers {
    numbers: HashSet<i64>,
    #[cfg(feature = "postgres")]
    since: Option<steadfast_core::Timestamp>,
}

impl StoredNumbers {
    /// Forgets everything that was found longer ago than this, or at a later time: the clock was set
    /// back.
    #[cfg(feature = "postgres")]
    pub(crate) fn expire(&mut self, now: steadfast_core::Timestamp, after: std::time::Duration) {
        let is_current =
            |since: steadfast_core::Timestamp| since <= now && now.since(since) < after;
        if !self.since.is_some_and(is_current) {
            self.clear();
            self.since = Some(now);
        }
    }

    pub(crate) fn contains(&self, number: i64) -> bool {
        self.numbers.contains(&number)
    }

    pub(crate) fn insert(&mut self, number: i64) {
        if self.numbers.len() >= LANES_CACHED_MAX {
            self.numbers.clear();
        }
        self.numbers.insert(number);
    }

    pub(crate) fn clear(&mut self) {
        self.numbers.clear();
    }
}
