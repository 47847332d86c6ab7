//! What a caller claims.

use std::{fmt, sync::Arc, time::Duration};

use steadfast_core::{CallOwner, Kind, Queue, Tenant, WorkerName};

/// Which jobs a worker claims. Empty lists mean any.
///
/// Exhaustive, so that a fetcher that lists its fields decides about each of them.
#[derive(Clone, Debug)]
pub struct ClaimRequest {
    /// The worker that will run them.
    pub worker: WorkerName,
    /// Only jobs of this tenant.
    pub tenant: Option<Tenant>,
    /// Only jobs of these queues.
    pub queues: Vec<Queue>,
    /// Only jobs of these kinds.
    pub kinds: Vec<Kind>,
    /// Not jobs of these kinds, whatever `kinds` says.
    pub except_kinds: Vec<Kind>,
    /// How many jobs at most.
    pub max: usize,
    /// In place of each job's own lease.
    pub lease: Option<Duration>,
    /// Leases end with their job's timeout at the latest, as [`Claim::within_timeout`](steadfast_core::Claim::within_timeout) says: for
    /// a worker that only its lease can cut off.
    pub within_timeout: bool,
    /// How many jobs of each tenant, kind and destination the caller takes; any number by default.
    pub allowance: Option<Allowance>,
    /// The caller does not wait for jobs: a store that remembers where jobs are due reads its rows before
    /// it answers that none is, unless they are in very many places.
    pub is_thorough: bool,
}

impl ClaimRequest {
    /// A request for up to `max` jobs of any tenant, queue and kind.
    pub fn new(worker: WorkerName, max: usize) -> Self {
        Self {
            worker,
            tenant: None,
            queues: Vec::new(),
            kinds: Vec::new(),
            except_kinds: Vec::new(),
            max,
            lease: None,
            within_timeout: false,
            allowance: None,
            is_thorough: false,
        }
    }

    /// Whether jobs of this tenant, queue and kind are asked for. Drivers that ask an index
    /// must agree with it.
    pub fn wants(&self, tenant: &Tenant, queue: &Queue, kind: &Kind) -> bool {
        self.tenant.as_ref().is_none_or(|wanted| wanted == tenant)
            && (self.queues.is_empty() || self.queues.contains(queue))
            && (self.kinds.is_empty() || self.kinds.contains(kind))
            && !self.except_kinds.contains(kind)
    }
}

/// How many more jobs of a tenant, of a kind and for a destination a caller takes at the moment.
#[derive(Clone)]
pub struct Allowance(Arc<dyn Fn(&CallOwner) -> usize + Send + Sync>);

impl Allowance {
    /// As the function says.
    pub fn new(of: impl Fn(&CallOwner) -> usize + Send + Sync + 'static) -> Self {
        Self(Arc::new(of))
    }

    /// How many more for this one.
    pub fn of(&self, owner: &CallOwner) -> usize {
        (self.0)(owner)
    }
}

impl fmt::Debug for Allowance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Allowance").finish_non_exhaustive()
    }
}
