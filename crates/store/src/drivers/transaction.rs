//! What a driver gives to the verbs: rows in and out of one transaction. No rule lives behind it.

mod dependencies;
mod failures;
mod logs;

use std::collections::HashMap;

use async_trait::async_trait;
use steadfast_core::{
    AuditId, AuditRecord, IdempotencyKey, Job, JobCommand, JobId, NewJob, OperationId,
    OperationJob, OperationOutcome, ScheduleId, SkippedTicks, Subscriptions, Tenant, Timestamp,
    WaitingRequest,
};

#[cfg(any(feature = "postgres", feature = "sqlite"))]
use crate::drivers::sql::session::SqlSession;
use crate::{
    damage::DamageLog,
    drivers::driver_error::DriverError,
    error::{CommandError, EnqueueError},
    store::{
        AuditFilter, DocumentKind, DocumentVersions, EnqueueResult, OperationJobFilter, TickRecord,
    },
};

pub(crate) use dependencies::{
    BatchChange, BatchEvents, Dependency, DependencyEvent, DependencyReads, DependencyWrites,
    StoredJob, StoredState,
};
pub(crate) use failures::{FailureReads, FailureRow, FailureWrites};
pub(crate) use logs::{LogReads, LogWrites, StoredLog};

/// Rows out: of one moment, or of the transaction.
#[async_trait]
pub(crate) trait Reads: DependencyReads + FailureReads + LogReads {
    /// The time of the transaction.
    fn now(&self) -> Timestamp;

    /// Where rows that cannot be read are reported.
    fn damage(&self) -> &DamageLog;

    /// The connection, if this store runs statements.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    fn sql(&mut self) -> Option<&mut dyn SqlSession> {
        None
    }

    async fn record(
        &mut self,
        kind: RecordKind,
        id: &str,
        lock: Lock,
    ) -> Result<Option<StoredRecord>, DriverError>;

    async fn records(&mut self, query: &RecordQuery<'_>) -> Result<Vec<StoredRecord>, DriverError>;

    /// How many records of a tenant are in a state, counted up to `limit`.
    async fn count_records(
        &mut self,
        kind: RecordKind,
        tenant: &str,
        state: RecordState,
        limit: usize,
    ) -> Result<usize, DriverError>;

    async fn document_versions(&mut self) -> Result<DocumentVersions, DriverError>;

    /// Audit records that match, newest first, with ids below `after`.
    async fn audit_records(
        &mut self,
        filter: &AuditFilter,
        after: Option<AuditId>,
        limit: usize,
    ) -> Result<Vec<AuditRecord>, DriverError>;

    /// Jobs of an operation, newest first, with ids below `after`.
    async fn operation_jobs(
        &mut self,
        operation: OperationId,
        filter: OperationJobFilter,
        after: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<OperationJob>, DriverError>;

    /// The operations that have a job, newest first, with ids below `after`.
    async fn operations_of(
        &mut self,
        job: JobId,
        after: Option<OperationId>,
        limit: usize,
    ) -> Result<Vec<OperationId>, DriverError>;

    /// Records by their ids, without those that another transaction is changing. No other may
    /// change them until this one ends.
    async fn free_records(
        &mut self,
        kind: RecordKind,
        ids: &[String],
    ) -> Result<Vec<StoredRecord>, DriverError>;

    /// The ids of all records in a state.
    async fn record_ids(
        &mut self,
        kind: RecordKind,
        state: RecordState,
    ) -> Result<Vec<String>, DriverError>;

    /// The earliest time after another of the records in a state.
    async fn next_record_time(
        &mut self,
        kind: RecordKind,
        state: RecordState,
        after: Timestamp,
    ) -> Result<Option<Timestamp>, DriverError>;

    /// The newest unfinished run of each schedule that has one.
    async fn unfinished_runs(
        &mut self,
        schedules: &[ScheduleId],
    ) -> Result<HashMap<ScheduleId, JobId>, DriverError>;

    /// Ticks of a schedule before another, newest first, each with its record or why that cannot be
    /// read.
    async fn ticks(
        &mut self,
        schedule: ScheduleId,
        before: Option<Timestamp>,
        limit: usize,
    ) -> Result<Vec<StoredTick>, DriverError>;

    async fn find_key(
        &mut self,
        tenant: &Tenant,
        key: &IdempotencyKey,
    ) -> Result<Option<StoredKey>, DriverError>;

    /// Those of some jobs that are stored and can be read.
    async fn readable_jobs(&mut self, ids: &[JobId]) -> Result<Vec<Job>, DriverError>;
}

/// Rows in: all of them, or none if the verb ends with an error.
#[async_trait]
pub(crate) trait Transaction: Reads + DependencyWrites + FailureWrites + LogWrites {
    /// Lets one transaction at a time go on with a name, so that what it counts stays so. Transactions
    /// that lock several name them in the same order.
    async fn lock_names(&mut self, names: &[String]) -> Result<(), DriverError>;

    /// How many jobs wait at each of some gates, which come in the order of their numbers. No other
    /// transaction adds to them until this one ends, or only as many as there is room for anyway.
    async fn hold_waiting(&mut self, requests: &[WaitingRequest]) -> Result<Vec<u64>, DriverError>;

    /// Writes a record, if the one that it replaces is stored. Answers whether it is.
    async fn save_record(&mut self, record: &Record<'_>) -> Result<bool, DriverError>;

    /// Deletes a record, if it has this revision or none is asked for. Answers whether it did.
    async fn delete_record(
        &mut self,
        kind: RecordKind,
        id: &str,
        revision: Option<u64>,
    ) -> Result<bool, DriverError>;

    /// Stores jobs, except those whose id or key is stored already.
    async fn insert_jobs(&mut self, jobs: &[NewJob]) -> Result<(), DriverError>;

    /// Stores jobs, all or none.
    async fn enqueue(
        &mut self,
        jobs: &[NewJob],
    ) -> Result<Result<Vec<EnqueueResult>, EnqueueError>, DriverError>;

    /// Carries out a command on jobs. One that does not meet the condition counts as not found.
    async fn run_command(
        &mut self,
        jobs: &[JobId],
        command: &JobCommand,
        subscriptions: &Subscriptions,
        condition: &JobCondition<'_>,
    ) -> Result<Vec<Result<Job, CommandError>>, DriverError>;

    /// Deletes jobs that have ended and are no dead letters, with their payload, attempts, steps, logs,
    /// tags and idempotency key.
    async fn delete_jobs(&mut self, jobs: &[JobId]) -> Result<(), DriverError>;

    /// Stores an audit record, unless it is stored already.
    async fn save_audit(&mut self, record: &AuditRecord) -> Result<(), DriverError>;

    async fn delete_audit(&mut self, before: Timestamp, limit: usize)
    -> Result<usize, DriverError>;

    /// Stores jobs of an operation, each with what it waits for.
    async fn save_operation_jobs(
        &mut self,
        operation: OperationId,
        jobs: &[(OperationJob, PendingStep)],
    ) -> Result<(), DriverError>;

    /// Stores the outcome of a job of an operation, if one is waited for. Answers whether it was.
    async fn save_operation_outcome(
        &mut self,
        operation: OperationId,
        job: JobId,
        outcome: OperationOutcome,
    ) -> Result<bool, DriverError>;

    async fn delete_operation_jobs(
        &mut self,
        operation: OperationId,
        limit: usize,
    ) -> Result<usize, DriverError>;

    /// Writes records in place of those that this transaction has locked.
    async fn replace_records(&mut self, records: &[Record<'_>]) -> Result<(), DriverError>;

    /// Stores the runs of different ticks. Answers with those whose tick has not fired already.
    async fn save_fired_ticks(
        &mut self,
        ticks: &[(ScheduleId, Timestamp, JobId)],
    ) -> Result<Vec<JobId>, DriverError>;

    /// Stores skipped ticks under the first of each range, unless there is a record.
    async fn save_skipped_ticks(
        &mut self,
        skipped: &[(ScheduleId, SkippedTicks)],
    ) -> Result<(), DriverError>;

    async fn delete_ticks(&mut self, schedule: ScheduleId) -> Result<(), DriverError>;

    /// Stores an idempotency key, unless it is taken. Answers whether it did.
    async fn save_key(
        &mut self,
        tenant: &Tenant,
        key: &IdempotencyKey,
        stored: StoredKey,
    ) -> Result<bool, DriverError>;

    /// Deletes an idempotency key, if this job or schedule has it.
    async fn delete_key(
        &mut self,
        tenant: &Tenant,
        key: &IdempotencyKey,
        owner: u128,
    ) -> Result<(), DriverError>;

    /// Callers that wait are woken after the commit.
    fn wake(&mut self, reason: WakeReason);
}

/// Which jobs a command is for.
pub(crate) type JobCondition<'c> = dyn Fn(&Job) -> bool + Send + Sync + 'c;

/// Whether a row is locked until the transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lock {
    None,
    Update,
    /// Rows that another transaction has locked are left out.
    SkipLocked,
}

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RecordKind {
    Document(DocumentKind),
    Operation,
    Schedule,
    Batch,
    /// A job that a batch is to make.
    Callback,
    /// A key that values are encrypted with, so that another one is not taken for it.
    EncryptionKey,
}

impl RecordKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Document(kind) => kind.as_str(),
            Self::Operation => "operation",
            Self::Schedule => "schedule",
            Self::Batch => "batch",
            Self::Callback => "callback",
            Self::EncryptionKey => "encryption_key",
        }
    }

    /// Whether its bodies are encrypted, if the store encrypts. Nodes and workers write theirs every
    /// few seconds, and say nothing of jobs.
    pub(crate) fn is_sealed(self) -> bool {
        let is_heartbeat = |kind| matches!(kind, DocumentKind::Node | DocumentKind::Worker);
        !matches!(self, Self::Document(kind) if is_heartbeat(kind))
    }
}

/// What lists and roles find records by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordState {
    Open,
    Ended,
    /// A schedule that fires at its ticks.
    Active,
    /// The same with a tick that waits for the unfinished run to end.
    Queued,
    Paused,
}

impl RecordState {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Ended => "ended",
            Self::Active => "active",
            Self::Queued => "queued",
            Self::Paused => "paused",
        }
    }
}

/// A record to write. The columns repeat what records are found by; the body has everything.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'r> {
    pub kind: RecordKind,
    /// Unique within the kind.
    pub id: &'r str,
    /// Empty if it belongs to no tenant.
    pub tenant: &'r str,
    /// Unique within the kind and tenant, if it has one.
    pub name: Option<&'r str>,
    pub state: RecordState,
    /// When it ended, or when something is to be done about it.
    pub at: Option<Timestamp>,
    pub revision: u64,
    /// The revision that must be stored; `None` if no such record may be stored.
    pub replaces: Option<u64>,
    pub body: &'r str,
}

/// A record as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredRecord {
    pub id: String,
    pub revision: u64,
    /// Its body, or why that cannot be read.
    pub text: Result<String, String>,
}

impl StoredRecord {
    pub(crate) fn body(&self, what: &'static str) -> Result<&str, DriverError> {
        let text = self.text.as_deref();
        text.map_err(|reason| DriverError::unreadable(what, reason.as_str()))
    }
}

/// Which records of a kind are read, and in which order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordQuery<'q> {
    pub kind: RecordKind,
    pub order: RecordOrder<'q>,
    pub limit: usize,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum RecordOrder<'q> {
    /// Ids that begin with a prefix and come after another, the lowest first.
    Ascending { prefix: &'q str, after: &'q str },
    /// Ids below another, the highest first.
    Newest {
        tenant: Option<&'q str>,
        state: Option<RecordState>,
        before: Option<&'q str>,
    },
    /// Those that have a name and whose ids are below another, the highest first.
    Named {
        name: &'q str,
        tenant: Option<&'q str>,
        before: Option<&'q str>,
    },
    /// Those of a state whose time is before another, the earliest first, without those that
    /// another transaction is changing.
    Earliest {
        state: RecordState,
        before: Timestamp,
    },
}

/// What has an idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredKey {
    /// The id of a job or of a schedule.
    pub owner: u128,
    /// Of the request that created it.
    pub fingerprint: [u8; 16],
}

/// A tick, and its record or why that cannot be read.
pub(crate) type StoredTick = (Timestamp, Result<TickRecord, DriverError>);

/// What a job of an operation waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PendingStep {
    Nothing,
    Command,
    Outcome,
}

impl PendingStep {
    pub(crate) fn number(self) -> i64 {
        match self {
            Self::Nothing => 0,
            Self::Command => 1,
            Self::Outcome => 2,
        }
    }
}

/// What waiting callers are woken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WakeReason {
    Dependencies,
    Schedules,
}
