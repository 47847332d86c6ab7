//! Jobs that wait for others, and jobs that are counted together.

use std::sync::Arc;

use async_trait::async_trait;
use steadfast_core::{
    AuditRecord, BatchId, Job, JobId, NewBatch, PrerequisiteState, Subscriptions, Timestamp,
};

use super::{BaseStore, BatchCreateResult, BatchFilter, BatchRecord, JobCount, Page, PageRequest};
use crate::error::{EnqueueError, StoreError};

/// The verbs of jobs that have to do with others.
///
/// What happens to a job that others wait for, or that is of a batch, is noted in the transaction that
/// writes it.
#[async_trait]
pub trait LinkStore: BaseStore {
    /// Does what follows from what has happened to jobs that others wait for, as
    /// [`OnFailure::decide`](steadfast_core::OnFailure::decide) says, for up to `limit` dependants.
    /// Batches count up to as many ends of their jobs, as
    /// [`BatchCounts::step`](steadfast_core::BatchCounts::step) says, and make the jobs that follow.
    /// What is done and that it was noted go in one transaction, so any number of callers may do it.
    async fn follow_links(
        &self,
        limit: usize,
        subscriptions: Arc<Subscriptions>,
    ) -> Result<FollowedLinks, StoreError>;

    /// The jobs that a job was created to wait for, and how many wait for it, or did.
    async fn job_links(&self, job: JobId, dependants_max: u64) -> Result<JobLinks, StoreError>;

    /// The jobs that wait for a job, or did, in the order of their ids, up to `limit`.
    async fn list_dependants(&self, job: JobId, limit: usize) -> Result<Vec<JobId>, StoreError>;

    /// Stores a batch with its jobs, all or nothing, unless the tenant has `unfinished_max` batches
    /// that have not ended. One that is stored already, by its id or its idempotency key, stays as it
    /// is. Jobs that exist by keys of their own are not counted in it.
    ///
    /// Jobs are added to an open one with [`enqueue`](super::JobStore::enqueue).
    async fn create_batch(
        &self,
        batch: NewBatch,
        unfinished_max: usize,
    ) -> Result<BatchCreateResult, EnqueueError>;

    /// Lets no more jobs be added to a batch, and makes the jobs that follow. Answers with the batch
    /// as it then is, or `None` if there is none; to close it again changes nothing. The audit record
    /// is stored if it was open, in the same transaction.
    async fn close_batch(
        &self,
        id: BatchId,
        audit: Option<AuditRecord>,
    ) -> Result<Option<BatchRecord>, StoreError>;

    /// One batch, if it is stored.
    async fn get_batch(&self, id: BatchId) -> Result<Option<BatchRecord>, StoreError>;

    /// Batches that match, newest first.
    async fn list_batches(
        &self,
        filter: BatchFilter,
        page: PageRequest<BatchId>,
    ) -> Result<Page<BatchRecord, BatchId>, StoreError>;

    /// Deletes up to `limit` batches that have ended before a time and whose jobs are all deleted, and
    /// answers how many. As of a job, an idempotency key lives for
    /// [a while](steadfast_core::limits::IDEMPOTENCY_KEY_RETENTION_MIN) at least.
    async fn prune_batches(
        &self,
        ended_before: Timestamp,
        limit: usize,
    ) -> Result<usize, StoreError>;
}

/// What was done about jobs that wait for others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FollowedLinks {
    /// Jobs that were released or have ended, as they are now.
    pub changed: Vec<Job>,
    /// There is more to do.
    pub has_more: bool,
}

/// What a job has to do with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobLinks {
    /// The jobs that it was created to wait for, in the order of their ids.
    pub after: Vec<(JobId, PrerequisiteState)>,
    /// How many jobs wait for it, or did.
    pub dependants: JobCount,
}
