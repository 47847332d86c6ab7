//! Jobs that wait for others.

use std::sync::Arc;

use async_trait::async_trait;
use steadfast_core::{Job, JobId, PrerequisiteState, Subscriptions};

use super::{BaseStore, JobCount};
use crate::error::StoreError;

/// The verbs of jobs that have to do with others.
///
/// What happens to a job that others wait for is noted in the transaction that writes it.
#[async_trait]
pub trait LinkStore: BaseStore {
    /// Does what follows from what has happened to jobs that others wait for, as
    /// [`OnFailure::decide`](steadfast_core::OnFailure::decide) says, for up to `limit` dependants.
    /// What is done and that it was noted go in one transaction, so any number of callers may do it.
    async fn follow_links(
        &self,
        limit: usize,
        subscriptions: Arc<Subscriptions>,
    ) -> Result<FollowedLinks, StoreError>;

    /// The jobs that a job was created to wait for, and how many wait for it, or did.
    async fn job_links(&self, job: JobId, dependants_max: u64) -> Result<JobLinks, StoreError>;
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
