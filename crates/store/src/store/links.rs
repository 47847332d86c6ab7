//! Jobs that wait for others, and jobs that are counted together.

use std::sync::Arc;

use async_trait::async_trait;
use steadfast_core::{
    AuditRecord, BatchId, Job, JobId, NewBatch, PrerequisiteState, Subscriptions,
};

use super::{BaseStore, BatchCreateResult, BatchFilter, BatchRecord, JobCount, Page, PageRequest};
use crate::error::{EnqueueError, StoreError};

/// The verbs of jobs that have to do with others.
///
/// What happens to a job that others wait for, or that is of a batch, is noted in the transaction that
/// writes it.
#[async_trait]
pub trait DependencyStore: BaseStore {
    /// Does what follows from what has happened to jobs that others wait for, as
    /// [`OnFailure::decide`](steadfast_core::OnFailure::decide) says, for up to `limit` dependants.
    /// Batches count up to as many ends of their jobs, as
    /// [`BatchCounts::step`](steadfast_core::BatchCounts::step) says, and make the jobs that follow.
    /// What is done and that it was noted go in one transaction, so any number of callers may do it.
    async fn release_dependants(
        &self,
        limit: usize,
        subscriptions: Arc<Subscriptions>,
    ) -> Result<ReleasedDependants, StoreError>;

    /// The jobs that a job was created to wait for, and those that wait for it, or did, counted up to
    /// `dependants_max`.
    async fn job_links(&self, job: JobId, dependants_max: u64) -> Result<JobLinks, StoreError>;

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

    /// One batch, if it is stored: a list of the one with this id.
    async fn get_batch(&self, id: BatchId) -> Result<Option<BatchRecord>, StoreError> {
        let filter = BatchFilter {
            id: Some(id),
            ..BatchFilter::default()
        };
        let found = self.list_batches(filter, PageRequest::first(1)).await?;
        Ok(found.items.into_iter().next())
    }

    /// Batches that match, newest first. One that cannot be read is left out, unless it is asked for by
    /// its id.
    async fn list_batches(
        &self,
        filter: BatchFilter,
        page: PageRequest<BatchId>,
    ) -> Result<Page<BatchRecord, BatchId>, StoreError>;
}

/// What was done about jobs that wait for others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReleasedDependants {
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
    /// The first of them in the order of their ids: no more than
    /// [`limits::FIRST_DEPENDANTS_MAX`](crate::limits::FIRST_DEPENDANTS_MAX), and none if none are
    /// counted.
    pub first_dependants: Vec<JobId>,
}
