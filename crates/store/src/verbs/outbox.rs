//! Jobs that a transition creates and that run after others, or belong to batches.

use std::collections::{HashMap, HashSet};

use steadfast_core::{
    BatchId, JobId, NewJob, OutboxRefusal, OutboxRefusalReason, Timestamp, Transition,
};

use super::{
    batches,
    dependencies::{self, RequestContext},
    links::NewDependant,
};
use crate::{
    drivers::{
        driver_error::DriverError,
        transaction::{Lock, Transaction},
    },
    error::EnqueueError,
};

/// Whether there is more to write of an outbox than its jobs' own rows.
pub(crate) fn has_links(outbox: &[NewJob]) -> bool {
    let is_linked = |job: &NewJob| job.after().is_some() || job.batch().is_some();
    outbox.iter().any(is_linked)
}

/// What is to be written of an outbox with links.
pub(crate) struct OutboxPlan {
    /// Those that run after others, as they are to be stored, by their index.
    dependants: HashMap<usize, NewDependant>,
    /// The indexes of those that are not stored already.
    new: Vec<usize>,
}

/// Plans the outbox of a transition, or says why it cannot be written. Nothing is written yet.
pub(crate) async fn plan(
    tx: &mut dyn Transaction,
    transition: &Transition,
) -> Result<Result<OutboxPlan, OutboxRefusal>, DriverError> {
    let stored = stored(tx, &transition.outbox).await?;
    let mut new = Vec::with_capacity(transition.outbox.len());
    for (index, job) in transition.outbox.iter().enumerate() {
        let is_taken = match &job.idempotency_key {
            Some(key) => tx.find_key(&job.tenant, key).await?.is_some(),
            None => false,
        };
        if !is_taken && !stored.contains_key(&job.id) {
            new.push((index, job));
        }
    }
    let context = RequestContext {
        outbox_of: Some(transition.job),
        ..RequestContext::default()
    };
    let dependants = match dependencies::plan(tx, &new, &context).await? {
        Ok(dependants) => dependants,
        Err(refused) => return refusal(refused).map(Err),
    };
    if let Err(refused) = batches::check(tx, new.clone(), transition.batch).await? {
        return refusal(refused).map(Err);
    }
    let new = new.into_iter().map(|(index, _)| index).collect();
    Ok(Ok(OutboxPlan { dependants, new }))
}

/// Writes an outbox as it was planned in the same transaction.
pub(crate) async fn save(
    tx: &mut dyn Transaction,
    transition: &Transition,
    plan: &OutboxPlan,
) -> Result<(), DriverError> {
    let jobs = transition.outbox.iter().enumerate();
    let jobs = jobs.map(|(index, job)| plan.dependants.get(&index).map_or(job, |new| &new.job));
    let jobs: Vec<NewJob> = jobs.cloned().collect();
    tx.insert_jobs(&jobs).await?;
    // One whose idempotency key is taken was not stored.
    let stored = stored(tx, &jobs).await?;
    let mut seen = HashSet::new();
    let created = plan.new.iter().filter_map(|index| {
        let job = jobs.get(*index)?;
        let at = stored.get(&job.id).filter(|_| seen.insert(job.id))?;
        Some((*index, job, *at))
    });
    let created: Vec<(usize, &NewJob, Timestamp)> = created.collect();
    let added = created.iter();
    let added = added.filter_map(|(_, job, _)| Some((job.id, job.batch()?)));
    let added: Vec<(JobId, BatchId)> = added.collect();
    batches::add(tx, &added, transition.batch).await?;
    let waiting = created.iter();
    let waiting = waiting.filter_map(|(index, _, at)| Some((plan.dependants.get(index)?, *at)));
    let waiting: Vec<(&NewDependant, Timestamp)> = waiting.collect();
    dependencies::save(tx, &waiting).await
}

/// Which jobs of an outbox are stored, and since when.
async fn stored(
    tx: &mut dyn Transaction,
    outbox: &[NewJob],
) -> Result<HashMap<JobId, Timestamp>, DriverError> {
    let ids: Vec<JobId> = outbox.iter().map(|job| job.id).collect();
    let found = tx.stored_jobs(&ids, Lock::None).await?.into_iter();
    Ok(found.map(|row| (row.id, row.created_at)).collect())
}

fn refusal(refused: EnqueueError) -> Result<OutboxRefusal, DriverError> {
    let (index, reason) = match refused {
        EnqueueError::UnknownPrerequisite { index, job } => {
            (index, OutboxRefusalReason::UnknownPrerequisite(job))
        }
        EnqueueError::UnknownBatch { index, batch } => {
            (index, OutboxRefusalReason::UnknownBatch(batch))
        }
        EnqueueError::BatchRefused {
            index,
            batch,
            reason,
        } => match reason.field.as_str() {
            "batch" => (index, OutboxRefusalReason::BatchClosed(batch)),
            _ => (index, OutboxRefusalReason::BatchFull(batch)),
        },
        // Links are refused for no other reason.
        EnqueueError::Conflict { .. }
        | EnqueueError::NotUnique { .. }
        | EnqueueError::TenantFull { .. }
        | EnqueueError::WaitingFull(_)
        | EnqueueError::Store(_) => return Err(DriverError::NotRun),
    };
    Ok(OutboxRefusal { index, reason })
}
