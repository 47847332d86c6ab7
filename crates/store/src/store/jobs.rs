//! The life of a job.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use steadfast_core::{
    AuditRecord, Claim, CommitResult, Fence, Job, JobCommand, JobId, Kind, NewJob, Payload, Queue,
    StepName, Subscriptions, Tenant, Timestamp, Transition, UniqueResult, WorkerName,
};

use super::BaseStore;
use crate::{
    claim::ClaimRequest,
    error::{CommandError, EnqueueError, StoreError},
};

/// The verbs of a job's life, in its order. Answers come in the order of the batch.
#[async_trait]
pub trait JobStore: BaseStore {
    /// Stores jobs, all or none of the batch, durably before it returns.
    ///
    /// A job whose tenant and idempotency key are stored already answers with the job that has
    /// them, if it was the same request, and is a conflict if it was not; a key twice in one
    /// batch counts as stored the second time. A job whose id is stored already is not stored
    /// again, and answers as existing.
    ///
    /// What becomes of a unique job is decided as [`Unique::decide`](steadfast_core::Unique::decide)
    /// says, in the transaction that stores it; of callers at once, one comes first.
    ///
    /// The audit record is stored in the same transaction if the jobs are not refused; one that is
    /// stored already stays as it is.
    async fn enqueue(
        &self,
        jobs: Vec<NewJob>,
        audit: Option<AuditRecord>,
    ) -> Result<Vec<EnqueueResult>, EnqueueError>;

    /// Claims due jobs, each as [`Job::claim`] says, durably before it returns, and by one caller
    /// only. The answer says when to ask again.
    ///
    /// Tenants get fair shares: the next job is one of the tenant that was served least, by its
    /// weight. Within a tenant the higher priority comes first, then the earlier `runAt`; a
    /// tenant's high priority does not pass other tenants.
    ///
    /// No job starts while one of its [gates](super::DocumentStore::gates) is closed, and a gate counts
    /// the starts of all callers. A gate that was changed through this store holds for its next claim,
    /// and one that was changed elsewhere within two seconds.
    /// A job that is due does not stay behind while all its gates have room, unless the caller has
    /// as many jobs as it asked for. Of an ordered concurrency key, only the oldest unfinished job
    /// starts, by the time and then the id with which the jobs were created.
    async fn claim(&self, request: ClaimRequest) -> Result<ClaimResult, StoreError>;

    /// Extends leases whose fence still holds, counted from now, and stores the notes; a
    /// renewal without a note leaves the last one.
    ///
    /// An expired lease can still be renewed until its attempt is settled. The holder learns of
    /// a request to cancel here, or from [`cancel_requests`](JobStore::cancel_requests).
    async fn renew(&self, renewals: Vec<Renewal>) -> Result<Vec<RenewResult>, StoreError>;

    /// Running jobs of a worker that should be cancelled, with the fences of their claims: at
    /// most `limit`, in the order of their ids.
    async fn cancel_requests(
        &self,
        worker: WorkerName,
        limit: usize,
    ) -> Result<Vec<(JobId, Fence)>, StoreError>;

    /// The finished steps of a job's handler with their results, in the order of their names, up to
    /// `limit`: all of them, or only one.
    async fn list_steps(
        &self,
        job: JobId,
        only: Option<StepName>,
        limit: usize,
    ) -> Result<Vec<(StepName, Payload)>, StoreError>;

    /// Stores the result of a step, and answers with the one that is stored: the first.
    ///
    /// With a fence, its claim must hold when it is written, and at most
    /// [`limits::STEPS_MAX`](steadfast_core::limits::STEPS_MAX) steps of a job are stored. Without
    /// one, nothing is stored for a job that was deleted, and the answer is the given result.
    async fn save_step(
        &self,
        job: JobId,
        fence: Option<Fence>,
        step: StepName,
        result: Payload,
    ) -> Result<SaveStepResult, StoreError>;

    /// Writes transitions whose guard holds: progress, attempt record, outbox and counters
    /// together or not at all, durably before it returns.
    ///
    /// One transition's stale guard does not hinder the others; but if one was decided with
    /// another version of the endpoints than the stored one, others of its batch may be sent back
    /// with it. An outbox job whose id or key
    /// is stored already is not stored again, and does not hinder its transition. Repeating a
    /// commit that was written, because its answer was lost, answers `Done` and writes nothing;
    /// it is recognised by its attempt record or, without one, by the job being as it left it.
    async fn commit(&self, transitions: Vec<Transition>) -> Result<Vec<CommitResult>, StoreError>;

    /// Running jobs whose lease has expired, which it has at its very end, as claims that can
    /// be ended; nothing is changed.
    async fn expired_leases(&self, limit: usize) -> Result<Vec<Claim>, StoreError>;

    /// Waiting jobs that never started and whose time to start has passed, the longest late first;
    /// nothing is changed. A claim takes none of them.
    async fn expired_starts(&self, limit: usize) -> Result<Vec<JobId>, StoreError>;

    /// Carries out a command on jobs, one after the other, as [`on_command`] decides, and answers
    /// with the job as it then is. Its outbox is written with it or not at all. A job whose unique
    /// key another one has meanwhile is not retried. The audit record is stored if any job was
    /// changed, with all of them or not at all.
    ///
    /// [`on_command`]: steadfast_core::on_command
    async fn run_command(
        &self,
        jobs: Vec<JobId>,
        command: JobCommand,
        subscriptions: Arc<Subscriptions>,
        audit: Option<AuditRecord>,
    ) -> Result<Vec<Result<Job, CommandError>>, StoreError>;

    /// Deletes rows that are no longer kept, and returns how many.
    async fn prune(&self, request: PruneRequest) -> Result<usize, StoreError>;

    /// Counts all jobs, and answers which of the stored counters tell otherwise; with `repair`,
    /// what differs is added to them. Reads everything, and nothing waits for it.
    async fn recount(&self, repair: bool) -> Result<Vec<CounterDifference>, StoreError>;

    /// Writes durably, and changes nothing that can be seen: a store that answers can be written
    /// to at this moment. The caller bounds the wait; a store that is stuck does not answer.
    async fn check_writable(&self) -> Result<(), StoreError>;
}

/// The rows that a call to [`JobStore::prune`] deletes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PruneRequest {
    /// Jobs that [`Job::may_be_pruned`], with their attempts and steps. Tick records from before the
    /// time are deleted as well; the counts of attempts stay. A store may delete together what was
    /// created on one day: if the time is at least two days ago, what ended before it may stay up to
    /// 25 hours longer, and more than the limit may go at once.
    Jobs {
        /// They ended before this time.
        ended_before: Timestamp,
        /// Maximum number of jobs.
        limit: usize,
    },
    /// Operations. One with many jobs is deleted in several calls.
    Operations {
        /// They ended before this time.
        ended_before: Timestamp,
        /// Maximum number of rows of operations and their jobs.
        limit: usize,
    },
    /// Batches whose jobs are all deleted. As of a job, the idempotency key of a batch lives for
    /// [a while](steadfast_core::limits::IDEMPOTENCY_KEY_RETENTION_MIN) at least.
    Batches {
        /// They ended before this time.
        ended_before: Timestamp,
        /// Maximum number of batches.
        limit: usize,
    },
    /// Audit records.
    Audit {
        /// They are from before this time.
        before: Timestamp,
        /// Maximum number of records.
        limit: usize,
    },
    /// Names of tenants, queues, kinds and retry policies that no job has: none, unless there are
    /// more than `keep` of a sort, and unless the last call that searched for them is a day past.
    ///
    /// A name is deleted if it was not used for a day before that last call, and none of its attempts
    /// is still counted by the minute; its counters are deleted with it. If it is used again, it is
    /// a new name.
    Names {
        /// Number of names of each sort that are always kept.
        keep: usize,
    },
}

/// A stored counter that is not what the jobs add up to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CounterDifference {
    /// The tenant of the jobs that are counted.
    pub tenant: Tenant,
    /// Their queue.
    pub queue: Queue,
    /// Their kind.
    pub kind: Kind,
    /// The name of the counter.
    pub counter: String,
    /// What it says, which may be negative.
    pub counted: i64,
    /// How many jobs there are.
    pub found: i64,
}

/// The answer for one job of an [`enqueue`](JobStore::enqueue).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnqueueResult {
    /// The job was stored, at this time.
    Created(JobId, Timestamp),
    /// There already was such a job; this is its id.
    Existing(JobId),
    /// There already was a job with its unique key: its id, and what became of it.
    Unique(JobId, UniqueResult),
}

impl EnqueueResult {
    /// The id of the stored job.
    pub fn id(self) -> JobId {
        match self {
            Self::Created(id, _) | Self::Existing(id) | Self::Unique(id, _) => id,
        }
    }
}

/// The answer to a [`claim`](JobStore::claim).
#[derive(Debug)]
pub struct ClaimResult {
    /// The claimed jobs, the most urgent first.
    pub claims: Vec<Claim>,
    /// When the next of the requested jobs that are left becomes due; in the past if one is due
    /// already. `None` if none waits; jobs of paused queues do not count. A store that cannot look
    /// right now may answer an earlier time, never a later one.
    pub next_due: Option<Timestamp>,
}

/// A request to extend one lease.
#[derive(Clone, Debug)]
pub struct Renewal {
    /// The job that is running.
    pub job: JobId,
    /// The fence of the claim that holds it.
    pub fence: Fence,
    /// How long the lease lasts from now on.
    pub lease: Duration,
    /// A note on the attempt's progress, in place of the last one.
    pub note: Option<String>,
    /// The lease ends with the job's timeout at the latest, though that be in the past.
    pub within_timeout: bool,
}

/// The answer to a [`save_step`](JobStore::save_step).
#[derive(Clone, Debug, PartialEq)]
pub enum SaveStepResult {
    /// What is stored: the result that came first.
    Stored(Payload),
    /// The claim does not hold any more: nothing is written.
    Stale,
    /// The job has as many steps as it may have: nothing is written.
    Full,
}

impl SaveStepResult {
    /// The stored result, unless it was refused.
    pub fn stored(self) -> Option<Payload> {
        match self {
            Self::Stored(result) => Some(result),
            Self::Stale | Self::Full => None,
        }
    }
}

/// The answer to a [`Renewal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenewResult {
    /// The claim still holds.
    Held {
        /// When the lease ends now.
        until: Timestamp,
        /// A request to cancel the job is stored.
        cancel_requested: bool,
    },
    /// The claim does not hold any more: the job has ended or another worker has it.
    Lost,
}
