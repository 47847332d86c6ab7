//! Rows of jobs that wait for others, and of batches.

use std::collections::HashSet;

use async_trait::async_trait;
use steadfast_core::{BatchId, JobId, JobState, Timestamp};

use super::{Lock, StoredRecord};
use crate::drivers::driver_error::DriverError;

/// Rows out.
#[async_trait]
pub(crate) trait DependencyReads: Send {
    /// Those of some jobs that are stored, in the order of their ids.
    async fn stored_jobs(
        &mut self,
        ids: &[JobId],
        lock: Lock,
    ) -> Result<Vec<StoredJob>, DriverError>;

    /// What some jobs were created to wait for, in the order of both ids.
    async fn dependencies(&mut self, jobs: &[JobId]) -> Result<Vec<Dependency>, DriverError>;

    /// Those of some jobs that wait for one that has not ended.
    async fn with_unfinished_prerequisites(
        &mut self,
        jobs: &[JobId],
    ) -> Result<HashSet<JobId>, DriverError>;

    /// The jobs that wait for another, or did, with ids above `after`.
    async fn dependants(
        &mut self,
        job: JobId,
        after: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<JobId>, DriverError>;

    async fn count_dependants(&mut self, job: JobId, limit: usize) -> Result<usize, DriverError>;

    /// What has happened to jobs that others wait for, the oldest first.
    async fn dependency_events(
        &mut self,
        limit: usize,
        lock: Lock,
    ) -> Result<Vec<DependencyEvent>, DriverError>;

    /// The batches of the first `limit` events behind one, the one with the oldest event first.
    async fn batches_with_events(
        &mut self,
        after: i64,
        limit: usize,
    ) -> Result<Vec<BatchEvents>, DriverError>;

    /// What has happened to jobs of some batches behind an event: up to `share` of each, the oldest
    /// first.
    async fn batch_changes(
        &mut self,
        batches: &[BatchId],
        after: i64,
        share: usize,
    ) -> Result<Vec<BatchChange>, DriverError>;

    /// Batches that have ended before a time, have no jobs and no events, the oldest first.
    async fn old_batches(
        &mut self,
        ended_before: Timestamp,
        limit: usize,
    ) -> Result<Vec<StoredRecord>, DriverError>;
}

/// Rows in.
#[async_trait]
pub(crate) trait DependencyWrites: Send {
    async fn add_batch_jobs(&mut self, jobs: &[(JobId, BatchId)]) -> Result<(), DriverError>;

    /// Sets a bit of jobs that others depend on, that depend on others, or that belong to a batch.
    async fn mark_jobs(&mut self, jobs: &[JobId], bit: i16) -> Result<(), DriverError>;

    async fn set_created_at(&mut self, jobs: &[(JobId, Timestamp)]) -> Result<(), DriverError>;

    /// Jobs, what they wait for, and whether that has succeeded.
    async fn add_dependencies(
        &mut self,
        dependencies: &[(JobId, JobId, bool)],
    ) -> Result<(), DriverError>;

    /// What jobs wait for has succeeded.
    async fn end_dependencies(
        &mut self,
        dependencies: &[(JobId, JobId)],
    ) -> Result<(), DriverError>;

    /// Some jobs have to look at those that they wait for.
    async fn add_dependency_events(&mut self, jobs: &[JobId]) -> Result<(), DriverError>;

    /// Moves an event behind all others: dependants up to this one are done.
    async fn postpone_event(&mut self, seq: i64, worked_to: JobId) -> Result<(), DriverError>;

    async fn delete_events(&mut self, events: &[i64]) -> Result<(), DriverError>;

    async fn delete_batch_events(&mut self, batch: &str) -> Result<(), DriverError>;
}

/// The state of a job, as far as it can be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredState {
    pub id: JobId,
    pub state: Option<JobState>,
    /// It is a dead letter that was discarded.
    pub is_resolved: bool,
}

/// A job as others see it that are to wait for it.
#[derive(Clone, Debug)]
pub(crate) struct StoredJob {
    pub id: JobId,
    pub row: StoredState,
    pub tenant: String,
    pub created_at: Timestamp,
}

/// A job that waits for another, or did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dependency {
    pub job: JobId,
    pub prerequisite: JobId,
    /// Whatever its row tells, if that is still there.
    pub has_succeeded: bool,
    pub row: Option<StoredState>,
}

/// Something has happened to a job that others wait for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DependencyEvent {
    pub seq: i64,
    pub job: JobId,
    /// It concerns this one only.
    pub dependant: Option<JobId>,
    /// Dependants up to this one are done.
    pub worked_to: Option<JobId>,
}

/// The events of a batch within a page.
#[derive(Clone, Debug)]
pub(crate) struct BatchEvents {
    pub batch: BatchId,
    /// `None` if it was deleted.
    pub tenant: Option<String>,
    pub first: i64,
    pub last: i64,
    pub count: usize,
}

/// A job of a batch has gone from one state to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchChange {
    pub seq: i64,
    pub batch: BatchId,
    pub from: Option<JobState>,
    pub to: Option<JobState>,
}
