//! What a node remembers of the names behind numbers.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use steadfast_core::RetryPolicy;

use crate::{
    drivers::driver_error::DriverError,
    drivers::sql::numbers::{NameCache, PolicyId, StoredNumbers},
    lane::{Lane, LaneId},
};

/// What all connections share.
#[derive(Default)]
pub(crate) struct Names(Mutex<State>);

#[derive(Default)]
pub(super) struct State {
    pub(super) cache: NameCache,
    pub(super) stored: StoredNumbers,
}

impl Names {
    /// Rows may be missing that were stored before.
    pub(crate) fn forget_stored(&self) {
        self.lock().stored.clear();
    }

    /// A lane, if it is in the cache.
    pub(crate) fn lane(&self, id: LaneId) -> Option<Arc<Lane>> {
        self.lock().cache.lane(id).cloned()
    }

    pub(super) fn insert_lane(&self, id: LaneId, lane: &Arc<Lane>) {
        self.lock().cache.insert_lane(id, Arc::clone(lane));
    }

    /// What the cache has of these.
    pub(super) fn resolve(
        &self,
        lanes: &HashSet<LaneId>,
        policies: &HashSet<PolicyId>,
    ) -> ResolvedNames {
        let State { cache, .. } = &*self.lock();
        let lane = |id: &LaneId| Some((*id, Arc::clone(cache.lane(*id)?)));
        let policy = |id: &PolicyId| Some((*id, Arc::clone(cache.policy(*id)?)));
        ResolvedNames {
            lanes: lanes.iter().filter_map(lane).collect(),
            policies: policies.iter().filter_map(policy).collect(),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The names of some rows.
#[derive(Default)]
pub(crate) struct ResolvedNames {
    pub(super) lanes: HashMap<LaneId, Arc<Lane>>,
    pub(super) policies: HashMap<PolicyId, Arc<RetryPolicy>>,
}

impl ResolvedNames {
    pub(crate) fn lane(&self, id: LaneId) -> Result<&Lane, DriverError> {
        let lane = self.lanes.get(&id);
        lane.map(|lane| &**lane)
            .ok_or_else(|| DriverError::unreadable("lane", format!("there is no lane {id}")))
    }

    pub(crate) fn policy(&self, id: PolicyId) -> Result<&Arc<RetryPolicy>, DriverError> {
        let policy = self.policies.get(&id);
        policy.ok_or_else(|| DriverError::unreadable("policy", format!("there is no policy {id}")))
    }
}
