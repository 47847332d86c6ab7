//! Schedules and their ticks.

use std::sync::Arc;

use async_trait::async_trait;
use steadfast_core::{
    AuditRecord, JobId, NewJob, Schedule, ScheduleId, ScheduleName, ScheduleProgress, SkippedTicks,
    Subscriptions, Tenant, Timestamp,
};

use super::{BaseStore, Page, PageRequest};
use crate::error::StoreError;

/// The verbs of schedules.
#[async_trait]
pub trait ScheduleStore: BaseStore {
    /// Creates a schedule or replaces it, if its revision is the stored one; the stored
    /// revision then is one higher. A name is unique within its tenant; the revision is
    /// checked first.
    ///
    /// With a fingerprint, creates it once for the idempotency key of its template. Jobs and
    /// schedules of a tenant share their keys; a key of a schedule lives as long as the schedule. The
    /// fingerprint tells whether a key that is stored was used for the same request.
    ///
    /// The idempotency key of a stored schedule's template stays as it is. The audit record is
    /// stored with the schedule or not at all.
    async fn save_schedule(
        &self,
        schedule: Schedule,
        fingerprint: Option<[u8; 16]>,
        audit: Option<AuditRecord>,
    ) -> Result<ScheduleSaveResult, StoreError>;

    /// Deletes a schedule, its ticks and its key, and stores an audit record with that; its runs
    /// stay. Answers whether there was one; if not, nothing is stored.
    async fn delete_schedule(
        &self,
        id: ScheduleId,
        audit: Option<AuditRecord>,
    ) -> Result<bool, StoreError>;

    /// Schedules of a tenant, or of all, newest id first.
    async fn list_schedules(
        &self,
        filter: ScheduleFilter,
        page: PageRequest<ScheduleId>,
    ) -> Result<Page<Schedule, ScheduleId>, StoreError>;

    /// Schedules that are not paused and have something to decide, the longest due first: a
    /// tick has come, or there is a queued tick and no unfinished run. Also when the next tick
    /// of any comes.
    async fn due_schedules(&self, limit: usize) -> Result<DueSchedules, StoreError>;

    /// Writes what was decided about the ticks of schedules: runs, skips and progress together,
    /// if the schedule's revision is still the one that was decided upon; it then is one higher.
    ///
    /// No tick fires twice: a run whose tick has fired already is left out. One outdated request,
    /// or one that cannot be written, does not hinder the others, and a run to cancel that has ended does not hinder its
    /// request.
    async fn fire_schedules(
        &self,
        firings: Vec<FireRequest>,
    ) -> Result<Vec<FireResult>, StoreError>;

    /// The records of a schedule's ticks, newest first.
    async fn list_ticks(
        &self,
        schedule: ScheduleId,
        page: PageRequest<Timestamp>,
    ) -> Result<Page<TickRecord, Timestamp>, StoreError>;
}

/// The answer to a [`save_schedule`](ScheduleStore::save_schedule).
#[derive(Clone, Debug, PartialEq)]
pub enum ScheduleSaveResult {
    /// It is stored like this.
    Done(Schedule),
    /// The same request created it before; it may have been changed since.
    Existing(Schedule),
    /// The key was used for another request.
    KeyTaken,
    /// Another caller changed it first, or another schedule has its name; this is the stored
    /// one.
    Outdated(Schedule),
    /// The revision says it was stored before, but it was deleted.
    Gone,
    /// It would be new, and the tenant has
    /// [`limits::SCHEDULES_PER_TENANT_MAX`](crate::limits::SCHEDULES_PER_TENANT_MAX).
    Full,
}

impl ScheduleSaveResult {
    /// Why a schedule cannot be saved over the stored one, if its revision is not the stored
    /// one.
    pub(crate) fn refusal(schedule: &Schedule, stored: Option<&Schedule>) -> Option<Self> {
        match stored {
            None if schedule.revision > 0 => Some(Self::Gone),
            Some(stored) if stored.revision != schedule.revision => {
                Some(Self::Outdated(stored.clone()))
            }
            None | Some(_) => None,
        }
    }
}

/// Which schedules are listed. `None` matches all; what is given must all hold.
///
/// Callers build it with `..ScheduleFilter::default()`, so it is not `#[non_exhaustive]`, which
/// forbids that.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScheduleFilter {
    /// Only schedules of this tenant.
    pub tenant: Option<Tenant>,
    /// Only the schedule of this id.
    pub id: Option<ScheduleId>,
    /// Only schedules of this name.
    pub name: Option<ScheduleName>,
}

/// The answer to [`due_schedules`](ScheduleStore::due_schedules).
#[derive(Clone, Debug)]
pub struct DueSchedules {
    /// The schedules that have something to decide.
    pub due: Vec<DueSchedule>,
    /// The earliest tick still to come of any schedule that is not paused.
    pub next_due: Option<Timestamp>,
}

/// A schedule that has something to decide.
#[derive(Clone, Debug)]
pub struct DueSchedule {
    /// The schedule as it is stored.
    pub schedule: Schedule,
    /// Its newest run that has not ended.
    pub unfinished: Option<JobId>,
}

/// What was decided about the due ticks of one schedule.
#[derive(Clone, Debug)]
pub struct FireRequest {
    /// The schedule.
    pub schedule: ScheduleId,
    /// The revision that was decided upon.
    pub revision: u64,
    /// New jobs, each the run of a tick.
    pub runs: Vec<NewJob>,
    /// Ticks that get no run, and why.
    pub skipped: Vec<SkippedTicks>,
    /// A run to cancel, as by [`JobCommand::Cancel`](steadfast_core::JobCommand::Cancel).
    pub cancel: Option<JobId>,
    /// Which endpoints get a webhook about that.
    pub subscriptions: Arc<Subscriptions>,
    /// The schedule's progress from now on.
    pub progress: ScheduleProgress,
    /// Who asked for it, if a person did; stored with it.
    pub audit: Option<AuditRecord>,
}

/// The answer to a [`FireRequest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FireResult {
    /// It was written.
    Done,
    /// The schedule was changed meanwhile, or is being changed: nothing written.
    Outdated,
    /// It cannot be written, which is logged: nothing written.
    Failed,
}

impl FireResult {
    /// The answer to a request that cannot be written, which is logged.
    pub(crate) fn failed(request: &FireRequest, error: &StoreError) -> Self {
        let schedule = request.schedule;
        tracing::error!(scheduleId = %schedule, %error, "schedule {schedule} cannot fire");
        Self::Failed
    }
}

/// What became of a tick, or of a range of skipped ones.
#[derive(Clone, Debug, PartialEq)]
pub enum TickRecord {
    /// The tick made a run.
    Fired {
        /// The time of the tick.
        tick: Timestamp,
        /// The run.
        job: JobId,
    },
    /// The ticks made no run.
    Skipped(SkippedTicks),
}

impl TickRecord {
    /// The time of the tick, or of the first that was skipped.
    pub fn at(&self) -> Timestamp {
        match self {
            Self::Fired { tick, .. } => *tick,
            Self::Skipped(skip) => skip.from,
        }
    }
}
