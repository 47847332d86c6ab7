//! Stores made of another store and a difference.

use std::sync::Arc;

use async_trait::async_trait;
use steadfast_core::{
    Attempt, Claim, Command, Hooks, Job, JobId, NewJob, OnceName, Payload, Queue, Schedule,
    ScheduleId, Tenant, Timestamp, Transition,
};
use steadfast_store::{
    AttemptCursor, AttemptsOf, ClaimRequest, Claimed, CommandError, Committed, Document,
    DocumentSaved, DueSchedules, EnqueueError, Enqueued, Fired, Firing, JobFilter, JobPage,
    LaneStats, Listed, Minute, Page, Renewal, Renewed, Saved, ScheduleFilter, Space, Store,
    StoreError, TickRecord, Wakeups,
};

/// Hands the list of verbs to another macro, so that it is written down once.
macro_rules! for_each_verb {
    ($then:ident) => {
        $then! {
            enqueue(jobs: Vec<NewJob>) -> Vec<Enqueued>, EnqueueError;
            claim(request: ClaimRequest) -> Claimed, StoreError;
            renew(renewals: Vec<Renewal>) -> Vec<Renewed>, StoreError;
            recall(job: JobId, step: OnceName) -> Option<Payload>, StoreError;
            remember(job: JobId, step: OnceName, result: Payload) -> Payload, StoreError;
            commit(transitions: Vec<Transition>) -> Vec<Committed>, StoreError;
            expired(limit: usize) -> Vec<Claim>, StoreError;
            command(jobs: Vec<JobId>, command: Command, hooks: Arc<Hooks>) -> Vec<Result<Job, CommandError>>, StoreError;
            jobs(ids: Vec<JobId>) -> Vec<Option<Job>>, StoreError;
            list(filter: JobFilter, page: JobPage) -> Listed<Job, JobId>, StoreError;
            count(filter: JobFilter, most: u64) -> u64, StoreError;
            attempts(of: AttemptsOf, page: Page<AttemptCursor>) -> Listed<Attempt, AttemptCursor>, StoreError;
            stats(since: Timestamp) -> Vec<LaneStats>, StoreError;
            minutes(tenant: Option<Tenant>, since: Timestamp) -> Vec<Minute>, StoreError;
            set_paused(tenant: Tenant, queue: Queue, paused: bool) -> (), StoreError;
            save_schedule(schedule: Schedule) -> Saved, StoreError;
            delete_schedule(id: ScheduleId) -> bool, StoreError;
            schedules(filter: ScheduleFilter, page: Page<ScheduleId>) -> Listed<Schedule, ScheduleId>, StoreError;
            due_schedules(limit: usize) -> DueSchedules, StoreError;
            fire(firings: Vec<Firing>) -> Vec<Fired>, StoreError;
            ticks(schedule: ScheduleId, page: Page<Timestamp>) -> Listed<TickRecord, Timestamp>, StoreError;
            save_document(document: Document, outbox: Vec<NewJob>) -> DocumentSaved, StoreError;
            documents(space: Space) -> Vec<Document>, StoreError;
            delete_document(space: Space, id: String) -> bool, StoreError;
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
