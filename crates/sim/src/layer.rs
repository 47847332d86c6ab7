//! Stores made of another store and a difference.

use std::sync::Arc;

use async_trait::async_trait;
use steadfast_core::{
    Attempt, Claim, Job, JobCommand, JobId, NewJob, Payload, Queue, Schedule, ScheduleId, StepName,
    Subscriptions, Tenant, Timestamp, Transition,
};
use steadfast_store::{
    AttemptCursor, AttemptOwner, ClaimRequest, ClaimResult, CommandError, CommitResult, Document,
    DocumentKind, DocumentSaveResult, DueSchedules, EnqueueError, EnqueueResult, FireRequest,
    FireResult, JobFilter, JobPageRequest, LaneStats, MinuteStats, Page, PageRequest, RenewResult,
    Renewal, ScheduleFilter, ScheduleSaveResult, Store, StoreError, TickRecord, Wakeups,
};

/// Hands the list of verbs to another macro, so that it is written down once.
macro_rules! for_each_verb {
    ($then:ident) => {
        $then! {
            enqueue(jobs: Vec<NewJob>) -> Vec<EnqueueResult>, EnqueueError;
            claim(request: ClaimRequest) -> ClaimResult, StoreError;
            renew(renewals: Vec<Renewal>) -> Vec<RenewResult>, StoreError;
            step_result(job: JobId, step: StepName) -> Option<Payload>, StoreError;
            save_step(job: JobId, step: StepName, result: Payload) -> Payload, StoreError;
            commit(transitions: Vec<Transition>) -> Vec<CommitResult>, StoreError;
            expired_leases(limit: usize) -> Vec<Claim>, StoreError;
            run_command(jobs: Vec<JobId>, command: JobCommand, subscriptions: Arc<Subscriptions>) -> Vec<Result<Job, CommandError>>, StoreError;
            get_jobs(ids: Vec<JobId>) -> Vec<Option<Job>>, StoreError;
            list_jobs(filter: JobFilter, page: JobPageRequest) -> Page<Job, JobId>, StoreError;
            count_jobs(filter: JobFilter, most: u64) -> u64, StoreError;
            list_attempts(of: AttemptOwner, page: PageRequest<AttemptCursor>) -> Page<Attempt, AttemptCursor>, StoreError;
            lane_stats(since: Timestamp) -> Vec<LaneStats>, StoreError;
            minute_stats(tenant: Option<Tenant>, since: Timestamp) -> Vec<MinuteStats>, StoreError;
            set_queue_paused(tenant: Tenant, queue: Queue, paused: bool) -> (), StoreError;
            save_schedule(schedule: Schedule) -> ScheduleSaveResult, StoreError;
            delete_schedule(id: ScheduleId) -> bool, StoreError;
            list_schedules(filter: ScheduleFilter, page: PageRequest<ScheduleId>) -> Page<Schedule, ScheduleId>, StoreError;
            due_schedules(limit: usize) -> DueSchedules, StoreError;
            fire_schedules(firings: Vec<FireRequest>) -> Vec<FireResult>, StoreError;
            list_ticks(schedule: ScheduleId, page: PageRequest<Timestamp>) -> Page<TickRecord, Timestamp>, StoreError;
            save_document(document: Document, outbox: Vec<NewJob>) -> DocumentSaveResult, StoreError;
            list_documents(space: DocumentKind) -> Vec<Document>, StoreError;
            delete_document(space: DocumentKind, id: String) -> bool, StoreError;
            prune(ended_before: Timestamp, limit: usize) -> usize, StoreError;
        }
    };
}

macro_rules! layer {
    ($($verb:ident($($name:ident: $type:ty),*) -> $answer:ty, $error:ty;)+) => {
        /// A store that does most things as another does them.
        #[async_trait]
        pub trait Layer: Send + Sync + 'static {
            fn inner(&self) -> &dyn Store;

            $(async fn $verb(&self, $($name: $type),*) -> Result<$answer, $error> {
                self.inner().$verb($($name),*).await
            })+
        }

        #[async_trait]
        impl<L: Layer> Store for Over<L> {
            fn now(&self) -> Timestamp {
                self.0.inner().now()
            }

            fn wakeups(&self) -> Wakeups {
                self.0.inner().wakeups()
            }

            $(async fn $verb(&self, $($name: $type),*) -> Result<$answer, $error> {
                Layer::$verb(&self.0, $($name),*).await
            })+
        }
    };
}

/// A layer as a store.
pub struct Over<L>(pub L);

for_each_verb!(layer);

macro_rules! faulty {
    ($($verb:ident($($name:ident: $type:ty),*) -> $answer:ty, $error:ty;)+) => {
        #[async_trait]
        impl Store for crate::FaultyStore {
            fn now(&self) -> Timestamp {
                self.inner().now()
            }

            fn wakeups(&self) -> Wakeups {
                self.inner().wakeups()
            }

            $(async fn $verb(&self, $($name: $type),*) -> Result<$answer, $error> {
                self.before(stringify!($verb)).await?;
                let answer = crate::tasks::at_once(self.inner().$verb($($name),*));
                self.after(stringify!($verb)).await?;
                answer
            })+
        }
    };
}

for_each_verb!(faulty);
