//! Jobs that are counted together.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use steadfast_core::{
    BatchCounts, BatchEvent, BatchId, BatchName, IdempotencyKey, Invalid, JobId, NewBatch, NewJob,
    Tenant, Timestamp,
};

use super::EnqueueResult;
use crate::error::EnqueueError;

/// A stored batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchRecord {
    /// Its id.
    pub id: BatchId,
    /// Whose batch it is.
    pub tenant: Tenant,
    /// What people call it.
    pub name: Option<BatchName>,
    /// When it was created.
    pub created_at: Timestamp,
    /// Since when all of its jobs have ended; `None` again if one is requeued.
    pub finished_at: Option<Timestamp>,
    /// How many jobs it has, and how they stand.
    pub counts: BatchCounts,
    /// The job that is made when all have ended.
    pub on_end: Option<JobId>,
    /// The job that is made when all have succeeded.
    pub on_success: Option<JobId>,
    /// The key of the request that made it.
    pub(crate) idempotency_key: Option<IdempotencyKey>,
    /// Tells requests with its key apart.
    pub(crate) fingerprint: [u8; 16],
}

impl BatchRecord {
    /// As it is stored at `now`, before its first jobs are added.
    pub(crate) fn new(batch: &NewBatch, now: Timestamp) -> Self {
        Self {
            id: batch.id,
            tenant: batch.tenant.clone(),
            name: batch.name.clone(),
            created_at: now,
            finished_at: None,
            counts: BatchCounts::default(),
            on_end: batch.on_end.as_ref().map(|job| job.id),
            on_success: batch.on_success.as_ref().map(|job| job.id),
            idempotency_key: batch.idempotency_key.clone(),
            fingerprint: batch.fingerprint(),
        }
    }

    /// Does what events make of it, and answers with the callbacks that are to be made.
    pub(crate) fn apply(
        &mut self,
        events: impl IntoIterator<Item = BatchEvent>,
        now: Timestamp,
    ) -> Result<Vec<BatchCallback>, Invalid> {
        let mut due = Vec::new();
        for event in events {
            let step = self.counts.step(event)?;
            self.counts = step.counts;
            if step.creates_end && self.on_end.is_some() {
                due.push(BatchCallback::End);
            }
            if step.creates_success && self.on_success.is_some() {
                due.push(BatchCallback::Success);
            }
        }
        self.finished_at = match self.counts.has_ended() {
            true => Some(self.finished_at.unwrap_or(now)),
            false => None,
        };
        Ok(due)
    }
}

/// Which job a batch makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BatchCallback {
    End,
    Success,
}

/// The answer to a request for a batch.
#[derive(Clone, Debug, PartialEq)]
pub enum BatchCreateResult {
    /// It is stored, with what became of each of its jobs.
    Created(BatchRecord, Vec<EnqueueResult>),
    /// The same request has stored it before.
    Existing(BatchRecord),
    /// Another request with its idempotency key has made this batch: nothing is stored.
    KeyTaken(BatchId),
    /// All of its jobs, of which this is the first, exist already by their idempotency keys. It would
    /// hold none and end at once: nothing is stored.
    JobsExist(JobId),
    /// The tenant has as many unfinished batches as it may have: nothing is stored.
    TooMany,
}

impl BatchCreateResult {
    /// The refusal of a batch for whose jobs these are the answers, if there is none to count.
    pub(crate) fn refusal(answers: &[EnqueueResult]) -> Option<Self> {
        let is_new = |answer: &EnqueueResult| matches!(answer, EnqueueResult::Created(..));
        let first = answers.first().filter(|_| !answers.iter().any(is_new));
        first.map(|first| Self::JobsExist(first.id()))
    }
}

/// Which batches to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchFilter {
    /// Only the one with this id.
    pub id: Option<BatchId>,
    /// Only those of this tenant.
    pub tenant: Option<Tenant>,
    /// Only those whose jobs have not all ended.
    pub is_unfinished: bool,
}

impl BatchFilter {
    /// Whether a batch is asked for. Drivers that ask an index must agree with it.
    pub fn matches(&self, batch: &BatchRecord) -> bool {
        let is_own = self
            .tenant
            .as_ref()
            .is_none_or(|tenant| *tenant == batch.tenant);
        let is_asked = self.id.is_none_or(|id| id == batch.id);
        is_asked && is_own && !(self.is_unfinished && batch.finished_at.is_some())
    }
}

/// The jobs of a request by the batch that they are to be added to, each with its index.
pub(crate) fn requested_batches<'j>(
    jobs: impl IntoIterator<Item = (usize, &'j NewJob)>,
) -> BTreeMap<BatchId, Vec<(usize, &'j NewJob)>> {
    let mut batches: BTreeMap<BatchId, Vec<(usize, &NewJob)>> = BTreeMap::new();
    for (index, job) in jobs {
        if let Some(batch) = job.batch() {
            batches.entry(batch).or_default().push((index, job));
        }
    }
    batches
}

/// Adds jobs to a batch. One that is added by the success of a job of `member_of` is added to its own
/// batch by that.
pub(crate) fn added_event(batch: BatchId, count: u64, member_of: Option<BatchId>) -> BatchEvent {
    match member_of == Some(batch) {
        true => BatchEvent::AddedByMember(count),
        false => BatchEvent::Added(count),
    }
}

/// Whether a batch takes these new jobs, of which there is at least one.
pub(crate) fn check_batch(
    id: BatchId,
    stored: Option<&BatchRecord>,
    jobs: &[(usize, &NewJob)],
    member_of: Option<BatchId>,
) -> Result<(), EnqueueError> {
    let foreign = |job: &NewJob| stored.is_none_or(|stored| stored.tenant != job.tenant);
    if let Some((index, _)) = jobs.iter().find(|(_, job)| foreign(job)) {
        let (index, batch) = (*index, id);
        return Err(EnqueueError::UnknownBatch { index, batch });
    }
    let counts = stored.map(|stored| stored.counts).unwrap_or_default();
    let added = counts.step(added_event(id, jobs.len() as u64, member_of));
    let index = jobs.first().map_or(0, |(index, _)| *index);
    match added {
        Ok(_) => Ok(()),
        Err(reason) => Err(EnqueueError::BatchRefused {
            index,
            batch: id,
            reason,
        }),
    }
}
