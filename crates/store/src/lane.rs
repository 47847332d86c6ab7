//! Lanes: what claims choose between, and what is counted.

use steadfast_core::{Job, Kind, NewJob, Queue, Tenant, name_number};

/// The number of a lane, as rows carry it.
pub(crate) type LaneId = i64;

/// One tenant's jobs of one kind in one queue.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Lane {
    pub tenant: Tenant,
    pub queue: Queue,
    pub kind: Kind,
}

impl Lane {
    /// A hash of its names, so every node computes the same one.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn number(&self) -> LaneId {
        name_number(&[
            self.tenant.as_str(),
            self.queue.as_str(),
            self.kind.as_str(),
        ])
    }
}

#[cfg(feature = "postgres")]
impl From<&steadfast_core::FlowKey> for Lane {
    fn from(flow_key: &steadfast_core::FlowKey) -> Self {
        Self {
            tenant: flow_key.tenant.clone(),
            queue: flow_key.queue.clone(),
            kind: flow_key.kind.clone(),
        }
    }
}

impl From<&Job> for Lane {
    fn from(job: &Job) -> Self {
        Self {
            tenant: job.tenant.clone(),
            queue: job.queue.clone(),
            kind: job.kind.clone(),
        }
    }
}

impl From<&NewJob> for Lane {
    fn from(job: &NewJob) -> Self {
        Self {
            tenant: job.tenant.clone(),
            queue: job.queue.clone(),
            kind: job.kind.clone(),
        }
    }
}
