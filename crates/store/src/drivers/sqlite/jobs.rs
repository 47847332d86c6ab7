//! The contract of a job's life. Its verbs are in the files beside this one.

pub(crate) mod change;
pub(crate) mod commit;
pub(crate) mod enqueue;
pub(crate) mod insert;
pub(crate) mod prune;
pub(crate) mod row_inserts;
pub(crate) mod unique;

use std::sync::Arc;

use async_trait::async_trait;
use steadfast_core::{
    AuditRecord, Claim, CommitResult, Fence, Job, JobCommand, JobId, NewJob, Payload, StepName,
    Subscriptions, Transition, WorkerName,
};

use super::{SqliteStore, claim, each, get, readers::Reader, writer::EnqueueRequest};
use crate::{
    error::{CommandError, EnqueueError, StoreError},
    store::{
        BaseStore as _, ClaimRequest, ClaimResult, CounterDifference, EnqueueResult, JobStore,
        PruneRequest, RenewResult, Renewal, SaveStepResult,
    },
    verbs::{self, audit, gates},
};

#[async_trait]
impl JobStore for SqliteStore {
    async fn enqueue(
        &self,
        jobs: Vec<NewJob>,
        audit: Option<AuditRecord>,
    ) -> Result<Vec<EnqueueResult>, EnqueueError> {
        gates::refresh(self).await?;
        if let Some(audit) = audit {
            return audit::enqueue(self, jobs, audit).await;
        }
        let rows = jobs.len();
        let request = |caller| EnqueueRequest {
            jobs,
            answer: None,
            caller,
        };
        self.ask_writer("enqueue", rows, request).await?
    }

    async fn claim(&self, request: ClaimRequest) -> Result<ClaimResult, StoreError> {
        gates::refresh(self).await?;
        let rows = request.max;
        let peeked = request.clone();
        self.peek_or_write(
            "claim",
            rows,
            move |session| claim::peek(session, &peeked),
            move |session| claim::claim(session, &request),
        )
        .await
    }

    async fn renew(&self, renewals: Vec<Renewal>) -> Result<Vec<RenewResult>, StoreError> {
        self.write("renew", renewals.len(), move |session| {
            each(&renewals, |renewal| change::renew(session, renewal))
        })
        .await
    }

    async fn cancel_requests(
        &self,
        worker: WorkerName,
        limit: usize,
    ) -> Result<Vec<(JobId, Fence)>, StoreError> {
        self.read("cancel_requests", move |reader| {
            get::cancel_requests(&reader.conn, &worker, limit)
        })
        .await
    }

    async fn list_steps(
        &self,
        job: JobId,
        only: Option<StepName>,
        limit: usize,
    ) -> Result<Vec<(StepName, Payload)>, StoreError> {
        let is_one = only.is_some();
        let read = move |reader: &mut Reader| {
            let Reader { conn, names } = reader;
            get::steps(conn, names.cipher(), job, only.as_ref(), limit)
        };
        match is_one {
            // A handler waits for it.
            true => self.read_for_node("list_steps", read).await,
            false => self.read("list_steps", read).await,
        }
    }

    async fn save_step(
        &self,
        job: JobId,
        fence: Option<Fence>,
        step: StepName,
        result: Payload,
    ) -> Result<SaveStepResult, StoreError> {
        self.write("save_step", 1, move |session| {
            change::save_step(session, job, fence, &step, &result)
        })
        .await
    }

    async fn commit(&self, transitions: Vec<Transition>) -> Result<Vec<CommitResult>, StoreError> {
        let outboxes = transitions.iter().map(|transition| transition.outbox.len());
        let rows = transitions.len() + outboxes.sum::<usize>();
        self.write("commit", rows, move |session| {
            commit::commit_all(session, &transitions)
        })
        .await
    }

    async fn expired_leases(&self, limit: usize) -> Result<Vec<Claim>, StoreError> {
        let now = self.now();
        self.read_for_node("expired_leases", move |reader| {
            get::expired_leases(reader, now, limit)
        })
        .await
    }

    async fn expired_starts(&self, limit: usize) -> Result<Vec<JobId>, StoreError> {
        let now = self.now();
        self.read_for_node("expired_starts", move |reader| {
            get::expired_starts(&reader.conn, now, limit)
        })
        .await
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
        self.write_page("run_command", jobs.len(), move |session| {
            each(&jobs, |job| {
                change::run_command(session, *job, &command, &subscriptions)
            })
        })
        .await
    }

    async fn prune(&self, request: PruneRequest) -> Result<usize, StoreError> {
        verbs::prune::prune(self, request).await
    }

    async fn recount(&self, repair: bool) -> Result<Vec<CounterDifference>, StoreError> {
        self.recount_lanes(repair).await
    }

    async fn check_writable(&self) -> Result<(), StoreError> {
        self.write("check_writable", 1, |session| {
            let sql = include_str!("jobs/check_writable.sql");
            session.conn.prepare_cached(sql)?.execute([])?;
            Ok(())
        })
        .await
    }
}
