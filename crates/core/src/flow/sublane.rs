//! What gates tell apart.

use crate::{
    job::{Job, NewJob},
    name::{ConcurrencyKey, Kind, Queue, Tenant},
};

use super::destination::Destination;

/// Jobs that are alike to every gate: of one tenant, queue, kind, destination and concurrency key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sublane {
    /// Whose jobs they are.
    pub tenant: Tenant,
    /// Where they wait.
    pub queue: Queue,
    /// Which handler they are for.
    pub kind: Kind,
    /// Which system they call, if that is known.
    pub destination: Option<Destination>,
    /// What their creator wants to be limited together.
    pub concurrency_key: Option<ConcurrencyKey>,
}

impl From<&Job> for Sublane {
    fn from(job: &Job) -> Self {
        Self {
            tenant: job.tenant.clone(),
            queue: job.queue.clone(),
            kind: job.kind.clone(),
            destination: job.destination.clone(),
            concurrency_key: job.concurrency_key.clone(),
        }
    }
}

impl From<&NewJob> for Sublane {
    fn from(job: &NewJob) -> Self {
        Self {
            tenant: job.tenant.clone(),
            queue: job.queue.clone(),
            kind: job.kind.clone(),
            destination: job.destination.clone(),
            concurrency_key: job.concurrency_key.clone(),
        }
    }
}
