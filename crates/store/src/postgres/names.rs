//! Numbers for names: rows carry a lane and a policy as integers, and claims parse neither.
//!
//! This is the cache that all connections share; `numbering` fills it.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use steadfast_core::{RetryPolicy, Timestamp};

use super::driver_error::DriverError;
use crate::{
    lane::Lane,
    sql::{name_use::FoundNumber, policies::PolicyCache},
};

pub(super) type LaneId = i32;
pub(super) type PolicyId = i32;

#[derive(Default)]
pub(super) struct Names(Mutex<NameCache>);

#[derive(Default)]
struct NameCache {
    lanes: HashMap<LaneId, Arc<Lane>>,
    lane_ids: HashMap<Arc<Lane>, FoundNumber<LaneId>>,
    policies: PolicyCache<PolicyId>,
}

impl Names {
    pub(super) fn clear(&self) {
        *self.lock() = NameCache::default();
    }

    /// A lane, if its number is in the cache.
    pub(super) fn lane(&self, id: LaneId) -> Option<Arc<Lane>> {
        self.lock().lanes.get(&id).cloned()
    }

    /// The number of a lane, unless it has to be looked up.
    pub(super) fn lane_id(&self, lane: &Lane, now: Timestamp) -> Option<LaneId> {
        self.lock().lane_ids.get(lane)?.at(now)
    }

    pub(super) fn insert_lane(&self, id: LaneId, lane: Arc<Lane>) {
        self.lock().lanes.insert(id, lane);
    }

    pub(super) fn insert_lane_id(&self, lane: Arc<Lane>, found: FoundNumber<LaneId>) {
        let mut cache = self.lock();
        cache.lanes.insert(found.id, Arc::clone(&lane));
        cache.lane_ids.insert(lane, found);
    }

    /// The number of a policy, unless it has to be looked up.
    pub(super) fn recent_policy_id(
        &self,
        policy: &Arc<RetryPolicy>,
        now: Timestamp,
    ) -> Option<PolicyId> {
        self.lock().policies.recent_id(policy, now)
    }

    pub(super) fn insert_recent_policy(
        &self,
        policy: &Arc<RetryPolicy>,
        found: FoundNumber<PolicyId>,
    ) {
        self.lock()
            .policies
            .insert_recent(policy, found.id, found.found_at);
    }

    pub(super) fn insert_policy(&self, id: PolicyId, policy: &Arc<RetryPolicy>) {
        self.lock().policies.insert(id, Arc::clone(policy));
    }

    /// What the cache has of these.
    pub(super) fn resolve(
        &self,
        lanes: &HashSet<LaneId>,
        policies: &HashSet<PolicyId>,
    ) -> ResolvedNames {
        let cache = self.lock();
        ResolvedNames {
            lanes: lanes
                .iter()
                .filter_map(|id| Some((*id, Arc::clone(cache.lanes.get(id)?))))
                .collect(),
            policies: policies
                .iter()
                .filter_map(|id| Some((*id, cache.policies.get(*id)?)))
                .collect(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, NameCache> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The names of some rows. The cache may be cleared at any time; this stays.
#[derive(Default)]
pub(super) struct ResolvedNames {
    pub lanes: HashMap<LaneId, Arc<Lane>>,
    pub policies: HashMap<PolicyId, Arc<RetryPolicy>>,
}

impl ResolvedNames {
    pub(super) fn lane(&self, id: LaneId) -> Result<&Lane, DriverError> {
        let lane = self.lanes.get(&id);
        lane.map(|lane| &**lane)
            .ok_or_else(|| DriverError::unreadable("lane", format!("there is no lane {id}")))
    }

    pub(super) fn policy(&self, id: PolicyId) -> Result<&Arc<RetryPolicy>, DriverError> {
        let policy = self.policies.get(&id);
        policy.ok_or_else(|| DriverError::unreadable("policy", format!("there is no policy {id}")))
    }
}
