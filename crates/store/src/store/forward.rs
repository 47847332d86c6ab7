//! Stores made of other stores: `Arc<S>`, and for tests and the simulator a store with a difference.
//!
//! The table of verbs is written down here once, and compared with the contracts by the
//! compiler. `Arc<S>` passes the futures of the inner store on as they are, so that forwarding
//! allocates nothing.

#[cfg(feature = "_testing")]
use std::ops::Deref;
use std::{pin::Pin, sync::Arc};

#[cfg(feature = "_testing")]
use async_trait::async_trait;
use steadfast_core::{
    Attempt, AuditId, AuditRecord, BatchId, Claim, CommitResult, Destination, FailureGroup,
    FailureKey, FailureMark, Fence, GateId, GateState, Gates, Job, JobCommand, JobId, KeyRotation,
    NewBatch, NewJob, OperationId, OperationJob, Payload, Schedule, ScheduleId, StepName,
    Subscriptions, Tenant, Timestamp, Transition, WorkerName,
};

#[cfg(feature = "_testing")]
use super::Store;
use super::{
    AttemptCursor, AttemptOwner, AuditFilter, BaseStore, BatchCreateResult, BatchFilter,
    BatchRecord, ClaimLog, ClaimRequest, ClaimResult, CounterDifference, DependencyStore, Document,
    DocumentKind, DocumentPage, DocumentSaveResult, DocumentStore, DocumentVersions, DueMinutes,
    DueSchedules, EnqueueResult, FailureCursor, FailureFilter, FailureStore, FireRequest,
    FireResult, GateSettings, JobCount, JobDetail, JobFilter, JobLinks, JobPageRequest, JobStore,
    LaneMinutesList, LaneStats, LogStore, MinuteStats, NewLogLines, OperationChange,
    OperationFilter, OperationJobFilter, OperationRecord, OperationStep, OperationStore, Outbox,
    Page, PageRequest, PruneRequest, QueryStore, ReleasedDependants, RenewResult, Renewal,
    SaveStepResult, ScheduleFilter, ScheduleSaveResult, ScheduleStore, StartQuery, StartSnapshot,
    StoreMetrics, TickRecord,
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
                enqueue(jobs: Vec<NewJob>, audit: Option<AuditRecord>) -> Result<Vec<EnqueueResult>, EnqueueError>;
                claim(request: ClaimRequest) -> Result<ClaimResult, StoreError>;
                renew(renewals: Vec<Renewal>) -> Result<Vec<RenewResult>, StoreError>;
                cancel_requests(worker: WorkerName, limit: usize) -> Result<Vec<(JobId, Fence)>, StoreError>;
                list_steps(job: JobId, only: Option<StepName>, limit: usize) -> Result<Vec<(StepName, Payload)>, StoreError>;
                save_step(job: JobId, fence: Option<Fence>, step: StepName, result: Payload) -> Result<SaveStepResult, StoreError>;
                commit(transitions: Vec<Transition>) -> Result<Vec<CommitResult>, StoreError>;
                expired_leases(limit: usize) -> Result<Vec<Claim>, StoreError>;
                expired_starts(limit: usize) -> Result<Vec<JobId>, StoreError>;
                run_command(jobs: Vec<JobId>, command: JobCommand, subscriptions: Arc<Subscriptions>, audit: Option<AuditRecord>) -> Result<Vec<Result<Job, CommandError>>, StoreError>;
                prune(request: PruneRequest) -> Result<usize, StoreError>;
                recount(repair: bool) -> Result<Vec<CounterDifference>, StoreError>;
                check_writable() -> Result<(), StoreError>;
            }
            QueryStore {
                get_jobs(ids: Vec<JobId>, detail: JobDetail) -> Result<Vec<Option<Job>>, StoreError>;
                list_jobs(filter: JobFilter, page: JobPageRequest) -> Result<Page<Job, JobId>, StoreError>;
                count_jobs(filter: JobFilter, most: u64) -> Result<JobCount, StoreError>;
                list_attempts(of: AttemptOwner, page: PageRequest<AttemptCursor>) -> Result<Page<Attempt, AttemptCursor>, StoreError>;
                attempts_of_jobs(jobs: Vec<JobId>, limit: usize) -> Result<Page<Attempt, JobId>, StoreError>;
                lane_stats(tenant: Option<Tenant>, since: Timestamp) -> Result<Vec<LaneStats>, StoreError>;
                minute_stats(tenant: Option<Tenant>, since: Timestamp) -> Result<Vec<MinuteStats>, StoreError>;
                lane_minutes(tenant: Option<Tenant>, since: Timestamp, until: Timestamp) -> Result<LaneMinutesList, StoreError>;
                list_damaged() -> Result<DamagedRows, StoreError>;
                explain_start(of: StartQuery) -> Result<Option<StartSnapshot>, StoreError>;
                due_minutes(destination: Destination, tenant: Option<Tenant>, until: Timestamp, most: u64) -> Result<DueMinutes, StoreError>;
                gate_states(of: Vec<GateId>) -> Result<Vec<GateState>, StoreError>;
                waiting_destinations(tenant: Tenant, among: Vec<Destination>) -> Result<Vec<Destination>, StoreError>;
                metrics() -> Result<StoreMetrics, StoreError>;
            }
            ScheduleStore {
                save_schedule(schedule: Schedule, fingerprint: Option<[u8; 16]>, audit: Option<AuditRecord>) -> Result<ScheduleSaveResult, StoreError>;
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
                list_documents(kind: DocumentKind, page: DocumentPage) -> Result<Vec<Document>, StoreError>;
                document_versions() -> Result<DocumentVersions, StoreError>;
                delete_document(kind: DocumentKind, id: String, revision: Option<u64>, audit: Option<AuditRecord>) -> Result<bool, StoreError>;
                gates() -> Result<Arc<Gates>, StoreError>;
            }
            LogStore {
                append_logs(lines: Vec<NewLogLines>) -> Result<Vec<bool>, StoreError>;
                attempt_logs(job: JobId, attempt: u32, line: u64) -> Result<Vec<ClaimLog>, StoreError>;
            }
            OperationStore {
                create_operation(operation: OperationRecord, jobs: Vec<JobId>, open_max: usize, audit: AuditRecord) -> Result<bool, StoreError>;
                list_operations(filter: OperationFilter, page: PageRequest<OperationId>) -> Result<Page<OperationRecord, OperationId>, StoreError>;
                change_operation(id: OperationId, step: OperationStep) -> Result<OperationChange, StoreError>;
                new_rotation() -> Result<Option<KeyRotation>, StoreError>;
                list_operation_jobs(id: OperationId, filter: OperationJobFilter, page: PageRequest<JobId>) -> Result<Page<OperationJob, JobId>, StoreError>;
                list_audit(filter: AuditFilter, page: PageRequest<AuditId>) -> Result<Page<AuditRecord, AuditId>, StoreError>;
            }
            DependencyStore {
                release_dependants(limit: usize, subscriptions: Arc<Subscriptions>) -> Result<ReleasedDependants, StoreError>;
                job_links(job: JobId, dependants_max: u64) -> Result<JobLinks, StoreError>;
                create_batch(batch: NewBatch, unfinished_max: usize) -> Result<BatchCreateResult, EnqueueError>;
                close_batch(id: BatchId, audit: Option<AuditRecord>) -> Result<Option<BatchRecord>, StoreError>;
                list_batches(filter: BatchFilter, page: PageRequest<BatchId>) -> Result<Page<BatchRecord, BatchId>, StoreError>;
            }
        }
    };
}

impl<S: BaseStore + ?Sized> BaseStore for Arc<S> {
    fn now(&self) -> Timestamp {
        (**self).now()
    }

    fn wakeups_for(&self, interest: WakeInterest) -> Wakeups {
        (**self).wakeups_for(interest)
    }

    fn set_gate_settings(&self, settings: GateSettings) {
        (**self).set_gate_settings(settings);
    }

    fn known_gates(&self) -> Option<Arc<Gates>> {
        (**self).known_gates()
    }

    #[cfg(feature = "_testing")]
    fn distort_gates(&self, gates: Option<Arc<Gates>>) {
        (**self).distort_gates(gates);
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

/// A layer as a store.
#[cfg(feature = "_testing")]
#[derive(Clone, Debug, Default)]
pub struct LayeredStore<L>(pub L);

#[cfg(feature = "_testing")]
impl<L> Deref for LayeredStore<L> {
    type Target = L;

    fn deref(&self) -> &L {
        &self.0
    }
}

#[cfg(feature = "_testing")]
impl<L: StoreLayer> BaseStore for LayeredStore<L> {
    fn now(&self) -> Timestamp {
        StoreLayer::now(&self.0)
    }

    fn wakeups_for(&self, interest: WakeInterest) -> Wakeups {
        self.0.inner().wakeups_for(interest)
    }

    fn set_gate_settings(&self, settings: GateSettings) {
        self.0.inner().set_gate_settings(settings);
    }

    fn known_gates(&self) -> Option<Arc<Gates>> {
        StoreLayer::known_gates(&self.0)
    }

    fn distort_gates(&self, gates: Option<Arc<Gates>>) {
        self.0.inner().distort_gates(gates);
    }
}

#[cfg(feature = "_testing")]
macro_rules! layer {
    ($($contract:ident {
        $($verb:ident($($name:ident: $type:ty),*) -> $answer:ty;)+
    })+) => {
        /// Does everything as an inner store does it, but for the methods that are overridden.
        /// [`LayeredStore`] makes a store of it.
        #[async_trait]
        pub trait StoreLayer: Send + Sync + 'static {
            /// The store below.
            fn inner(&self) -> &dyn Store;

            /// The time of the store, as this layer sees it.
            fn now(&self) -> Timestamp {
                self.inner().now()
            }

            /// The gates, as this layer sees them.
            fn known_gates(&self) -> Option<Arc<Gates>> {
                self.inner().known_gates()
            }

            /// Every call passes through here, by the name of its verb; an override can refuse
            /// it, delay it or lose its answer.
            async fn around<T: Send, E: From<StoreError> + Send>(
                &self,
                verb: &'static str,
                call: impl Future<Output = Result<T, E>> + Send,
            ) -> Result<T, E> {
                let _ = verb;
                call.await
            }

            $($(
                #[doc = concat!("[`", stringify!($contract), "::", stringify!($verb), "`]")]
                async fn $verb(&self, $($name: $type),*) -> $answer {
                    self.inner().$verb($($name),*).await
                }
            )+)+
        }

        $(#[async_trait]
        impl<L: StoreLayer> $contract for LayeredStore<L> {
            $(async fn $verb(&self, $($name: $type),*) -> $answer {
                let call = StoreLayer::$verb(&self.0, $($name),*);
                self.0.around(stringify!($verb), call).await
            })+
        })+
    };
}

#[cfg(feature = "_testing")]
for_each_verb!(layer);
