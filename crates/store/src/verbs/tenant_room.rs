//! How many lanes and flow keys tenants may have.
//!
//! Counts are made of lanes, and nodes keep flow keys in memory, so there is an end to both: for jobs
//! that callers create. What follows from a job by itself is stored whatever there is.

#[cfg(any(feature = "postgres", feature = "sqlite"))]
use std::collections::{BTreeMap, BTreeSet};

use steadfast_core::Tenant;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
use steadfast_core::{FlowKey, NewJob, Timestamp};

#[cfg(any(feature = "postgres", feature = "sqlite"))]
use crate::{
    claim::{DueIndex, FlowKeyId},
    lane::{Lane, LaneId},
    limits::FLOW_KEYS_PER_TENANT_MAX,
};
use crate::{error::EnqueueError, limits::LANES_PER_TENANT_MAX};

/// The lanes of jobs that are not known to be stored, by tenant.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) fn new_lanes<'j>(
    jobs: impl IntoIterator<Item = &'j NewJob>,
    is_stored: impl Fn(LaneId) -> bool,
) -> BTreeMap<&'j Tenant, BTreeSet<LaneId>> {
    let mut lanes: BTreeMap<&Tenant, BTreeSet<LaneId>> = BTreeMap::new();
    let mut last: Option<&NewJob> = None;
    for job in jobs {
        let names = |job: &'j NewJob| (&job.tenant, &job.queue, &job.kind);
        if last.is_none_or(|last| names(last) != names(job)) {
            let lane = Lane::from(job).number();
            if !is_stored(lane) {
                lanes.entry(&job.tenant).or_default().insert(lane);
            }
        }
        last = Some(job);
    }
    lanes
}

/// Refuses new lanes of a tenant that has `stored` ones.
pub(crate) fn check_lanes(tenant: &Tenant, stored: usize, new: usize) -> Result<(), EnqueueError> {
    let most = LANES_PER_TENANT_MAX;
    match new == 0 || stored + new <= most {
        true => Ok(()),
        false => Err(EnqueueError::TenantFull {
            tenant: tenant.clone(),
            what: "different pairs of queue and kind",
            most,
        }),
    }
}

/// Refuses a job that waits in another flow key than those of its tenant, if these are all it may have.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) fn check_flow_keys(
    jobs: &[NewJob],
    index: &mut DueIndex,
    now: Timestamp,
) -> Result<(), EnqueueError> {
    let mut has_room: Option<&Tenant> = None;
    for job in jobs {
        if has_room == Some(&job.tenant) {
            continue;
        }
        if !index.is_full_for(&job.tenant, now) {
            has_room = Some(&job.tenant);
            continue;
        }
        let (destination, key) = (job.destination.as_ref(), job.concurrency_key.as_ref());
        let flow_key = FlowKeyId {
            lane: Lane::from(job).number(),
            number: FlowKey::number(destination, key),
        };
        if !index.knows(flow_key) {
            return Err(EnqueueError::TenantFull {
                tenant: job.tenant.clone(),
                what: "queues, destinations and concurrency keys with unfinished jobs",
                most: FLOW_KEYS_PER_TENANT_MAX,
            });
        }
    }
    Ok(())
}
