//! The fields of a job that gates distinguish.

use crate::{
    job::{Job, NewJob},
    values::{ConcurrencyKey, Destination, Kind, Queue, Tenant, hash_number},
};

/// Jobs that are alike to every gate: of one tenant, queue, kind, destination and concurrency key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    /// The tenant.
    pub tenant: Tenant,
    /// Where they wait.
    pub queue: Queue,
    /// The kind.
    pub kind: Kind,
    /// The destination, if it is known.
    pub destination: Option<Destination>,
    /// The concurrency key, if the creator set one.
    pub concurrency_key: Option<ConcurrencyKey>,
}

impl FlowKey {
    /// What tells a flow key from others of the same tenant, queue and kind; 0 without destination
    /// and concurrency key. Every node finds it by itself, so nothing is stored but the jobs.
    pub fn number(
        destination: Option<&Destination>,
        concurrency_key: Option<&ConcurrencyKey>,
    ) -> i64 {
        if destination.is_none() && concurrency_key.is_none() {
            return 0;
        }
        let destination = destination.map_or("", Destination::as_str);
        let key = concurrency_key.map_or("", ConcurrencyKey::as_str);
        // Odd, and so never 0.
        hash_number(&[destination, key]) | 1
    }

    /// The number of a tenant's concurrency key, by which a store finds its jobs in order.
    pub fn key_number(tenant: &Tenant, key: &ConcurrencyKey) -> i64 {
        hash_number(&[tenant.as_str(), key.as_str()])
    }
}

impl From<&Job> for FlowKey {
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

impl From<&NewJob> for FlowKey {
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
