//! The contract of every store: eight small traits, and [`Store`] for all of them together.
//!
//! * [`JobStore`]: the life of a job, from enqueue to retention.
//! * [`QueryStore`]: looking at jobs, attempts and counts; nothing is changed.
//! * [`FailureStore`]: failures grouped by cause.
//! * [`LogStore`]: what attempts logged.
//! * [`ScheduleStore`]: schedules and their ticks.
//! * [`DocumentStore`]: small records beside the jobs, such as endpoints and keys.
//! * [`OperationStore`]: work on many jobs, and who did what.
//! * [`DependencyStore`]: jobs that wait for others.
//! * [`BaseStore`]: the time and the wake-ups that all of them share.
//!
//! Stores write what core decides and decide nothing themselves; [`JobStore::claim`] is the one
//! change a store makes on its own, because it must be atomic over many rows. Verbs take
//! batches, because a commit costs the same for one job as for a thousand. Every sentence of
//! the contracts has a test in `conformance`.

mod batches;
mod documents;
mod failures;
mod forward;
mod gate_settings;
mod job_filter;
mod jobs;
mod lane_minutes;
mod links;
mod logs;
mod operations;
mod queries;
mod schedules;
mod start;

use std::sync::Arc;

use steadfast_core::{Gates, Timestamp};

use crate::wake::{WakeInterest, Wakeups};

pub use crate::claim::{Allowance, ClaimRequest};

pub(crate) use batches::{BatchCallback, added_event, check_batch, requested_batches};
pub use batches::{BatchCreateResult, BatchFilter, BatchRecord};
pub use documents::{
    Document, DocumentKind, DocumentPage, DocumentSaveResult, DocumentStore, DocumentVersions,
    Outbox,
};
pub use failures::{FailureCursor, FailureFilter, FailureStore};
#[cfg(feature = "_testing")]
pub use forward::{LayeredStore, StoreLayer};
pub use gate_settings::GateSettings;
pub use job_filter::{EndedJobs, JobFilter};
pub use jobs::{
    ClaimResult, CounterDifference, EnqueueResult, JobStore, PruneRequest, RenewResult, Renewal,
    SaveStepResult,
};
pub use lane_minutes::{DueMinutes, LaneMinutes, LaneMinutesList, MinuteStats, WaitingMinute};
pub(crate) use lane_minutes::{LaneMinutesSum, WaitingSum};
pub use links::{DependencyStore, JobLinks, ReleasedDependants};
pub use logs::{ClaimLog, LogStore, NewLogLines};
pub use operations::{
    AuditFilter, JobTraces, OperationBatch, OperationChange, OperationFilter, OperationJobFilter,
    OperationRecord, OperationStep, OperationStore,
};
pub use queries::{
    AttemptCursor, AttemptOwner, JobCount, JobDetail, JobPageRequest, LaneStats, Page, PageRequest,
    PoolMetrics, QueryStore, StoreMetrics,
};
pub use schedules::{
    DueSchedule, DueSchedules, FireRequest, FireResult, ScheduleFilter, ScheduleSaveResult,
    ScheduleStore, TickRecord,
};
pub use start::{StartQuery, StartSnapshot};

/// What all parts of a store share: its time, and its wake-ups.
pub trait BaseStore: Send + Sync + 'static {
    /// The store's time, the only one that decides anything.
    fn now(&self) -> Timestamp;

    /// Wakes when a job or schedule may have become due earlier than was known.
    fn wakeups(&self) -> Wakeups {
        self.wakeups_for(WakeInterest::Everything)
    }

    /// Wakes when something of this interest may have become due earlier than was known. Of those
    /// with the same interest as many are woken as there are jobs, and one that leaves wakes
    /// another.
    fn wakeups_for(&self, interest: WakeInterest) -> Wakeups;

    /// Replaces the gates and defaults of the program. Engines that share this handle share them.
    fn set_gate_settings(&self, settings: GateSettings);

    /// The gates as this handle last read them, which may be two seconds ago; `None` before the first
    /// read.
    fn known_gates(&self) -> Option<Arc<Gates>>;

    /// Lets claims decide by other gates, for defects that the simulator plants.
    #[cfg(feature = "_testing")]
    #[doc(hidden)]
    fn distort_gates(&self, gates: Option<Arc<Gates>>);
}

/// A whole store. Whatever implements the contracts is one; engines hold an
/// `Arc<dyn Store>`, which is a store itself.
pub trait Store:
    JobStore
    + QueryStore
    + FailureStore
    + LogStore
    + ScheduleStore
    + DocumentStore
    + OperationStore
    + DependencyStore
{
}

impl<
    S: JobStore
        + QueryStore
        + FailureStore
        + LogStore
        + ScheduleStore
        + DocumentStore
        + OperationStore
        + DependencyStore,
> Store for S
{
}
