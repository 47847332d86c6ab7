//! The contract of a job's life. Its verbs are in the files beside this one.

pub(crate) mod change;
pub(crate) mod commit;
pub(crate) mod days;
pub(crate) mod enqueue;
pub(crate) mod failures;
pub(crate) mod insert;
pub(crate) mod prune;
pub(crate) mod unique;

use std::sync::Arc;

use async_trait::async_trait;
use steadfast_core::{
    AuditRecord, Claim, CommitResult, Fence, Job, JobCommand, JobId, NewJob, Payload, StepName,
    Subscriptions, Transition, WorkerName,
};

use super::{
    PostgresStore, claim, get,
    inner::{on_connection, with_wake_hints},
    recount, upkeep,
};
use crate::{
    error::{CommandError, EnqueueError, StoreError},
    store::{
        BaseStore as _, ClaimRequest, ClaimResult, CounterDifference, EnqueueResult, JobStore,
        PruneRequest, RenewResult, Renewal, SaveStepResult,
    },
    verbs::{self, audit, gates},
};

#[async_trait]
impl JobStore for PostgresStore {
    async fn enqueue(
        &self,
        jobs: Vec<NewJob>,
        audit: Option<AuditRecord>,
    ) -> Result<Vec<EnqueueResult>, EnqueueError> {
        gates::refresh(self).await?;
        if let Some(audit) = audit {
            return audit::enqueue(self, jobs, audit).await;
        }
        with_wake_hints!(self, "enqueue", |conn, hints| enqueue::enqueue(
            conn, &jobs, hints
        ))?
    }

    async fn claim(&self, request: ClaimRequest) -> Result<ClaimResult, StoreError> {
        gates::refresh(self).await?;
        on_connection!(self, "claim", |conn| claim::claim_thoroughly(
            conn, &request
        ))
    }

    async fn renew(&self, renewals: Vec<Renewal>) -> Result<Vec<RenewResult>, StoreError> {
        on_connection!(self, "renew", |conn| change::renew(
            &conn.session(),
            &renewals
        ))
    }

    async fn cancel_requests(
        &self,
        worker: WorkerName,
        limit: usize,
    ) -> Result<Vec<(JobId, Fence)>, StoreError> {
        on_connection!(self, "cancel_requests", |conn| get::cancel_requests(
            &conn.session(),
            &worker,
            limit
        ))
    }

    async fn list_steps(
        &self,
        job: JobId,
        only: Option<StepName>,
        limit: usize,
    ) -> Result<Vec<(StepName, Payload)>, StoreError> {
        on_connection!(self, "list_steps", |conn| get::steps(
            &conn.session(),
            job,
            only.as_ref(),
            limit
        ))
    }

    async fn save_step(
        &self,
        job: JobId,
        fence: Option<Fence>,
        step: StepName,
        result: Payload,
    ) -> Result<SaveStepResult, StoreError> {
        on_connection!(self, "save_step", |conn| change::save_step(
            &conn.session(),
            job,
            fence,
            &step,
            &result
        ))
    }

    async fn commit(&self, transitions: Vec<Transition>) -> Result<Vec<CommitResult>, StoreError> {
        with_wake_hints!(self, "commit", |conn, hints| commit::commit(
            conn,
            &transitions,
            hints
        ))
    }

    async fn expired_leases(&self, limit: usize) -> Result<Vec<Claim>, StoreError> {
        let now = self.now();
        on_connection!(self, "expired_leases", |conn| get::expired_leases(
            &conn.session(),
            now,
            limit
        ))
    }

    async fn expired_starts(&self, limit: usize) -> Result<Vec<JobId>, StoreError> {
        on_connection!(self, "expired_starts", |conn| get::expired_starts(
            &conn.session(),
            limit
        ))
    }

    async fn run_command(
        &self,
        jobs: Vec<JobId>,
        command: JobCommand,
        subscriptions: Arc<Subscriptions>,
        audit: Option<AuditRecord>,
    ) -> Result<Vec<Result<Job, CommandError>>, StoreError> {
        if let Some(audit) = audit {
            return audit::run_command(self, jobs, command, subscriptions, audit).await;
        }
        with_wake_hints!(self, "run_command", |conn, hints| change::run_command(
            conn,
            &jobs,
            &command,
            &subscriptions,
            hints
        ))
    }

    async fn prune(&self, request: PruneRequest) -> Result<usize, StoreError> {
        verbs::prune::prune(self, request).await
    }

    async fn recount(&self, repair: bool) -> Result<Vec<CounterDifference>, StoreError> {
        on_connection!(self, "recount", |conn| recount::recount(conn, repair))
    }

    async fn check_writable(&self) -> Result<(), StoreError> {
        on_connection!(self, "check_writable", |conn| upkeep::check_writable(
            &conn.session()
        ))
    }
}
