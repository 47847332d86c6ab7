//! Gates that limit how many jobs may wait (`maxWaiting`).
//!
//! Only jobs that callers create are counted against the limit: they are stored whole or not at all.
//! What follows from a job by itself is stored whatever waits: retries, ticks of schedules, webhooks,
//! callbacks of batches and jobs on success.

use std::collections::HashSet;

use steadfast_core::{Gates, JobId, NewJob, Queue, Tenant};

use crate::{
    drivers::driver_error::DriverError,
    drivers::transaction::{Lock, Transaction},
    error::EnqueueError,
};

/// Whether new jobs meet a limit.
pub(crate) fn applies<'j>(gates: &Gates, new: impl IntoIterator<Item = &'j NewJob>) -> bool {
    !gates.waiting_requests(lanes(new)).is_empty()
}

/// Refuses new jobs if too many would wait.
pub(crate) async fn check<'j>(
    tx: &mut dyn Transaction,
    gates: &Gates,
    new: impl Iterator<Item = &'j NewJob> + Clone,
) -> Result<Result<(), EnqueueError>, DriverError> {
    let requests = gates.waiting_requests(lanes(new.clone()));
    if requests.is_empty() {
        return Ok(Ok(()));
    }
    let waiting = tx.hold_waiting(&requests).await?;
    let mut counted = requests.iter().zip(&waiting);
    let Some(refusal) = counted.find_map(|(request, waiting)| request.decide(*waiting).err())
    else {
        return Ok(Ok(()));
    };
    // Those of a request whose answer was lost are stored, and need no room.
    let ids: Vec<JobId> = new.clone().map(|job| job.id).collect();
    let stored = tx.stored_jobs(&ids, Lock::None).await?;
    if stored.is_empty() {
        return Ok(Err(refusal.into()));
    }
    let stored: HashSet<JobId> = stored.into_iter().map(|job| job.id).collect();
    let left = gates.waiting_requests(lanes(new.filter(|job| !stored.contains(&job.id))));
    let refusal = left.iter().find_map(|left| {
        let place = requests.iter().position(|it| it.gate == left.gate)?;
        left.decide(waiting[place]).err()
    });
    Ok(refusal.map_or(Ok(()), |refusal| Err(refusal.into())))
}

fn lanes<'j>(
    new: impl IntoIterator<Item = &'j NewJob>,
) -> impl Iterator<Item = (&'j Tenant, &'j Queue)> {
    new.into_iter().map(|job| (&job.tenant, &job.queue))
}
