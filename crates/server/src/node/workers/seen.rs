//! The workers that a node has seen, in memory, and how many there may be.

use std::collections::HashMap;

use steadfast_core::{Tenant, Timestamp};

use super::record::WorkerState;
use crate::limits;

/// By tenant, and then by the id of the document.
#[derive(Default)]
pub(super) struct SeenWorkers(pub(super) HashMap<Option<Tenant>, HashMap<String, SeenWorker>>);

pub(super) struct SeenWorker {
    pub(super) state: WorkerState,
    /// The revision of its document; 0 if this node has not written it yet.
    pub(super) revision: u64,
    pub(super) is_noted: bool,
    /// Only its name is known here: another node, or this one before it was started anew, has seen
    /// it claim.
    pub(super) is_name_only: bool,
}

impl SeenWorkers {
    pub(super) fn get(&self, tenant: Option<&Tenant>, id: &str) -> Option<&SeenWorker> {
        self.0.get(&tenant.cloned())?.get(id)
    }

    /// Whether there is room for one more of this tenant. Those that are gone make room.
    pub(super) fn has_room(&mut self, tenant: Option<&Tenant>, now: Timestamp) -> bool {
        if self.count() >= limits::WORKERS_MAX {
            for workers in self.0.values_mut() {
                workers.retain(|_, worker| worker.state.is_alive(now));
            }
            self.0.retain(|_, workers| !workers.is_empty());
        }
        let workers = self.0.entry(tenant.cloned()).or_default();
        if workers.len() >= limits::WORKERS_PER_TENANT_MAX {
            workers.retain(|_, worker| worker.state.is_alive(now));
        }
        workers.len() < limits::WORKERS_PER_TENANT_MAX && self.count() < limits::WORKERS_MAX
    }

    pub(super) fn count(&self) -> usize {
        self.0.values().map(HashMap::len).sum()
    }
}
