//! A shared store is a store: `Arc<S>` forwards every verb.
//!
//! The table of verbs is written down here once, and compared with the contracts by the
//! compiler. The futures of the inner store are passed on as they are, so that forwarding
//! allocates nothing.

use std::{pin::Pin, sync::Arc};

use steadfast_core::{
    Attempt, AuditId, AuditRecord, BatchId, Claim, CommitResult, Destination, FailureGroup,
    FailureKey, FailureMark, Fence, GateId, GateState, Gates, Job, JobCommand, JobId, JobState,
    NewBatch, NewJob, OperationEvent, OperationId, OperationJob, OperationOutcome, Payload,
    Schedule, ScheduleId, StepName, Subscriptions, Tenant, Timestamp, Transition, WorkerName,
};

use super::{
    AttemptCursor, AttemptOwner, AuditFilter, BaseStore, BatchCreateResult, BatchFilter,
    BatchRecord, ClaimRequest, ClaimResult, CounterDifference, Document, DocumentKind,
    DocumentSaveResult, DocumentStore, DocumentVersions, DueMinutes, DueSchedules, EnqueueResult,
    FailureCursor, FailureFilter, FailureStore, FireRequest, FireResult, FollowedLinks, JobCount,
    JobFilter, JobLinks, JobPageRequest, JobStore, LaneMinutesList, LaneStats, LinkStore,
    MinuteStats, OperationBatch, OperationChange, OperationFilter, OperationJobFilter,
    OperationRecord, OperationStore, Outbox, Page, PageRequest, QueryStore, RenewResult, Renewal,
    SaveStepResult, ScheduleCreateResult, ScheduleFilter, ScheduleSaveResult, ScheduleStore,
    StartQuery, StartReading, TickRecord,
};
use crate::{
    damage::DamagedRows,
    error::{CommandError, EnqueueError, StoreError},
    wake::{WakeInterest, Wakeups},
};

/// Hands the table of verbs to another macro.
macro_rules! for_each_verb {
    ($then:ident) => {
        $then! {
            JobStore {
                enqueue(jobs: Vec<NewJob>) -> Result<Vec<EnqueueResult>, EnqueueError>;
                claim(request: ClaimRequest) -> Result<ClaimResult, StoreError>;
                renew(renewals: Vec<Renewal>) -> Result<Vec<RenewResult>, StoreError>;
                cancel_requests(worker: WorkerName, limit: usize) -> Result<Vec<(JobId, Fence)>, StoreError>;
                step_result(job: JobId, step: StepName) -> Result<Option<Payload>, StoreError>;
                list_steps(job: JobId, limit: usize) -> Result<Vec<(StepName, Payload)>, StoreError>;
                save_step(job: JobId, step: StepName, result: Payload) -> Result<Payload, StoreError>;
                save_claimed_step(job: JobId, fence: Fence, step: StepName, result: Payload) -> Result<SaveStepResult, StoreError>;
                commit(transitions: Vec<Transition>) -> Result<Vec<CommitResult>, StoreError>;
                expired_leases(limit: usize) -> Result<Vec<Claim>, StoreError>;
                expired_starts(limit: usize) -> Result<Vec<JobId>, StoreError>;
                run_command(jobs: Vec<JobId>, command: JobCommand, subscriptions: Arc<Subscriptions>) -> Result<Vec<Result<Job, CommandError>>, StoreError>;
                prune(ended_before: Timestamp, limit: usize) -> Result<usize, StoreError>;
                prune_names(keep: usize) -> Result<usize, StoreError>;
                recount(repair: bool) -> Result<Vec<CounterDifference>, StoreError>;
                check_writable() -> Result<(), StoreError>;
            }
            QueryStore {
                get_jobs(ids: Vec<JobId>) -> Result<Vec<Option<Job>>, StoreError>;
                get_listed_jobs(ids: Vec<JobId>) -> Result<Vec<Option<Job>>, StoreError>;
                short_payloads(ids: Vec<JobId>, bytes_max: usize) -> Result<Vec<Option<Payload>>, StoreError>;
                job_states(ids: Vec<JobId>) -> Result<Vec<Option<JobState>>, StoreError>;
                list_jobs(filter: JobFilter, page: JobPageRequest) -> Result<Page<Job, JobId>, StoreError>;
                count_jobs(filter: JobFilter, most: u64) -> Result<JobCount, StoreError>;
                list_attempts(of: AttemptOwner, page: PageRequest<AttemptCursor>) -> Result<Page<Attempt, AttemptCursor>, StoreError>;
                attempts_of_jobs(jobs: Vec<JobId>, limit: usize) -> Result<Page<Attempt, JobId>, StoreError>;
                lane_stats(since: Timestamp) -> Result<Vec<LaneStats>, StoreError>;
                minute_stats(tenant: Option<Tenant>, since: Timestamp) -> Result<Vec<MinuteStats>, StoreError>;
                lane_minutes(tenant: Option<Tenant>, since: Timestamp, until: Timestamp) -> Result<LaneMinutesList, StoreError>;
                list_damaged() -> Result<DamagedRows, StoreError>;
                read_start(of: StartQuery, gates: Arc<Gates>) -> Result<Option<StartReading>, StoreError>;
                count_due(destination: Destination, tenant: Option<Tenant>, most: u64) -> Result<JobCount, StoreError>;
                due_minutes(destination: Destination, tenant: Option<Tenant>, until: Timestamp, most: u64) -> Result<DueMinutes, StoreError>;
                gate_states(of: Vec<GateId>, gates: Arc<Gates>) -> Result<Vec<GateState>, StoreError>;
                waiting_destinations(tenant: Tenant, among: Vec<Destination>) -> Result<Vec<Destination>, StoreError>;
                log_bytes() -> Result<Option<u64>, StoreError>;
            }
            ScheduleStore {
                save_schedule(schedule: Schedule, audit: Option<AuditRecord>) -> Result<ScheduleSaveResult, StoreError>;
                create_schedule(schedule: Schedule, fingerprint: [u8; 16], audit: Option<AuditRecord>) -> Result<ScheduleCreateResult, StoreError>;
                delete_schedule(id: ScheduleId, audit: Option<AuditRecord>) -> Result<bool, StoreError>;
                list_schedules(filter: ScheduleFilter, page: PageRequest<ScheduleId>) -> Result<Page<Schedule, ScheduleId>, StoreError>;
                due_schedules(limit: usize) -> Result<DueSchedules, StoreError>;
                fire_schedules(firings: Vec<FireRequest>) -> Result<Vec<FireResult>, StoreError>;
                list_ticks(schedule: ScheduleId, page: PageRequest<Timestamp>) -> Result<Page<TickRecord, Timestamp>, StoreError>;
            }
            FailureStore {
                list_failures(filter: FailureFilter, page: PageRequest<FailureCursor>) -> Result<Page<FailureGroup, FailureCursor>, StoreError>;
                new_failures(limit: usize) -> Result<Vec<FailureGroup>, StoreError>;
                mark_failure(key: FailureKey, mark: FailureMark, by: Option<String>, audit: Option<AuditRecord>) -> Result<Option<FailureGroup>, StoreError>;
            }
            DocumentStore {
                save_document(document: Document, outbox: Outbox) -> Result<DocumentSaveResult, StoreError>;
                list_documents(kind: DocumentKind) -> Result<Vec<Document>, StoreError>;
                page_documents(kind: DocumentKind, prefix: String, after: Option<String>, limit: usize) -> Result<Vec<Document>, StoreError>;
                get_document(kind: DocumentKind, id: String) -> Result<Option<Document>, StoreError>;
                document_versions() -> Result<DocumentVersions, StoreError>;
                delete_document(kind: DocumentKind, id: String, revision: Option<u64>, audit: Option<AuditRecord>) -> Result<bool, StoreError>;
            }
            OperationStore {
                create_operation(operation: OperationRecord, jobs: Vec<JobId>, open_max: usize, audit: AuditRecord) -> Result<bool, StoreError>;
                get_operation(id: OperationId) -> Result<Option<OperationRecord>, StoreError>;
                list_operations(filter: OperationFilter, page: PageRequest<OperationId>) -> Result<Page<OperationRecord, OperationId>, StoreError>;
                change_operation(id: OperationId, event: OperationEvent, audit: Option<AuditRecord>) -> Result<OperationChange, StoreError>;
                work_operation(id: OperationId, revision: u64, batch: OperationBatch, subscriptions: Arc<Subscriptions>) -> Result<OperationChange, StoreError>;
                save_outcomes(id: OperationId, outcomes: Vec<(JobId, OperationOutcome)>) -> Result<OperationChange, StoreError>;
                list_operation_jobs(id: OperationId, filter: OperationJobFilter, page: PageRequest<JobId>) -> Result<Page<OperationJob, JobId>, StoreError>;
                operations_of_job(job: JobId, limit: usize) -> Result<Vec<OperationRecord>, StoreError>;
                prune_operations(ended_before: Timestamp, limit: usize) -> Result<usize, StoreError>;
                enqueue_audited(jobs: Vec<NewJob>, audit: AuditRecord) -> Result<Vec<EnqueueResult>, EnqueueError>;
                run_audited_command(jobs: Vec<JobId>, command: JobCommand, subscriptions: Arc<Subscriptions>, audit: AuditRecord) -> Result<Vec<Result<Job, CommandError>>, StoreError>;
                list_audit(filter: AuditFilter, page: PageRequest<AuditId>) -> Result<Page<AuditRecord, AuditId>, StoreError>;
                prune_audit(before: Timestamp, limit: usize) -> Result<usize, StoreError>;
            }
            LinkStore {
                follow_links(limit: usize, subscriptions: Arc<Subscriptions>) -> Result<FollowedLinks, StoreError>;
                job_links(job: JobId, dependants_max: u64) -> Result<JobLinks, StoreError>;
                list_dependants(job: JobId, limit: usize) -> Result<Vec<JobId>, StoreError>;
                create_batch(batch: NewBatch, unfinished_max: usize) -> Result<BatchCreateResult, EnqueueError>;
                close_batch(id: BatchId, audit: Option<AuditRecord>) -> Result<Option<BatchRecord>, StoreError>;
                get_batch(id: BatchId) -> Result<Option<BatchRecord>, StoreError>;
                list_batches(filter: BatchFilter, page: PageRequest<BatchId>) -> Result<Page<BatchRecord, BatchId>, StoreError>;
                prune_batches(ended_before: Timestamp, limit: usize) -> Result<usize, StoreError>;
            }
        }
    };
}
#[cfg(feature = "_testing")]
pub(super) use for_each_verb;

impl<S: BaseStore + ?Sized> BaseStore for Arc<S> {
    fn now(&self) -> Timestamp {
        (**self).now()
    }

    fn wakeups_for(&self, interest: WakeInterest) -> Wakeups {
        (**self).wakeups_for(interest)
    }
}

macro_rules! forward {
    ($($contract:ident {
        $($verb:ident($($name:ident: $type:ty),*) -> $answer:ty;)+
    })+) => {
        $(impl<S: $contract + ?Sized> $contract for Arc<S> {
            $(fn $verb<'life0, 'async_trait>(
                &'life0 self,
                $($name: $type),*
            ) -> Pin<Box<dyn Future<Output = $answer> + Send + 'async_trait>>
            where
                'life0: 'async_trait,
                Self: 'async_trait,
            {
                (**self).$verb($($name),*)
            })+
        })+
    };
}

for_each_verb!(forward);
