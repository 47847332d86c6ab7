//! Looking at jobs, attempts and counts.

use async_trait::async_trait;
use steadfast_core::{
    Attempt, Destination, Fence, GateId, GateState, Job, JobId, Kind, Queue, ScheduleId, Tally,
    Tenant, Timestamp,
};

use super::{
    BaseStore, DueMinutes, JobFilter, LaneMinutesList, MinuteStats, StartQuery, StartSnapshot,
};
use crate::{damage::DamagedRows, error::StoreError, lane::Lane};

/// The verbs that only look.
#[async_trait]
pub trait QueryStore: BaseStore {
    /// The jobs of these ids, in their order. One that cannot be read is `None`; if it is the only one
    /// that is asked for, and the whole of it, it is an error with its
    /// [`damaged_row`](StoreError::damaged_row).
    async fn get_jobs(
        &self,
        ids: Vec<JobId>,
        detail: JobDetail,
    ) -> Result<Vec<Option<Job>>, StoreError>;

    /// Jobs that match, newest id first. Walking the cursors meets each match once.
    ///
    /// They come without their payloads: in place of one is `null`, or for the kind `http` an
    /// object of its `url` and `method`.
    async fn list_jobs(
        &self,
        filter: JobFilter,
        page: JobPageRequest,
    ) -> Result<Page<Job, JobId>, StoreError>;

    /// How many jobs match, counting no further than `most`, nor longer than a second or so if
    /// the jobs have to be looked at one by one; the answer says whether it stopped early.
    async fn count_jobs(&self, filter: JobFilter, most: u64) -> Result<JobCount, StoreError>;

    /// Attempt records of a job, or of all runs of a schedule, newest first.
    async fn list_attempts(
        &self,
        of: AttemptOwner,
        page: PageRequest<AttemptCursor>,
    ) -> Result<Page<Attempt, AttemptCursor>, StoreError>;

    /// Attempt records of several jobs, without their outputs and notes: in the order of the jobs,
    /// those of a job in the order of its claims. A page holds at most `limit` and ends between two
    /// jobs, and `next` is the job that the next one begins with; of a job with more than `limit`
    /// attempts it holds the first.
    async fn attempts_of_jobs(
        &self,
        jobs: Vec<JobId>,
        limit: usize,
    ) -> Result<Page<Attempt, JobId>, StoreError>;

    /// Counts by tenant, queue and kind, of a tenant or of all; `recent` counts attempts that ended
    /// in the minute of `since` or later. A lane is listed while it holds jobs or has counts.
    async fn lane_stats(
        &self,
        tenant: Option<Tenant>,
        since: Timestamp,
    ) -> Result<Vec<LaneStats>, StoreError>;

    /// Counts of attempts by the minute in which they ended, of a tenant or of all, from the
    /// minute of `since` on, oldest first; minutes without any are left out.
    async fn minute_stats(
        &self,
        tenant: Option<Tenant>,
        since: Timestamp,
    ) -> Result<Vec<MinuteStats>, StoreError>;

    /// Jobs that wait, of a tenant or of all, by the minute of their time up to that of `until`, and
    /// attempts by the minute in which they ended, from that of `since` on; by lane.
    ///
    /// Reads counters and no jobs, and no more than
    /// [`limits::LANE_MINUTES_MAX`](crate::limits::LANE_MINUTES_MAX) of each: the answer says whether
    /// it stopped early.
    async fn lane_minutes(
        &self,
        tenant: Option<Tenant>,
        since: Timestamp,
        until: Timestamp,
    ) -> Result<LaneMinutesList, StoreError>;

    /// Rows that cannot be read and were passed over, as far as this process has met them, and
    /// jobs that any process has set aside for it. What was mended or deleted is left out; of rows
    /// other than jobs and schedules, that is noticed when the process starts anew.
    async fn list_damaged(&self) -> Result<DamagedRows, StoreError>;

    /// What stands between a job and its start: what a claim would look at, by the same gates, and
    /// nothing more. `None` if there is no such job.
    ///
    /// Reads a bounded number of rows: of the jobs before it no more than
    /// [`limits::JOBS_AHEAD_MAX`](crate::limits::JOBS_AHEAD_MAX) are counted.
    async fn explain_start(&self, of: StartQuery) -> Result<Option<StartSnapshot>, StoreError>;

    /// Jobs for a destination that wait for a time up to `until`, of one tenant or of all, whatever
    /// keeps them from starting, by the minute of their time. Counts no further than `most`, and
    /// examines no more than
    /// [`limits::DESTINATION_RANGES_MAX`](crate::limits::DESTINATION_RANGES_MAX) places where such
    /// jobs wait. The answer says whether it stopped early.
    async fn due_minutes(
        &self,
        destination: Destination,
        tenant: Option<Tenant>,
        until: Timestamp,
        most: u64,
    ) -> Result<DueMinutes, StoreError>;

    /// The states of gates that are set, in the order asked, as a claim would find them. Attempts that
    /// run are counted at gates that limit how many may.
    async fn gate_states(&self, of: Vec<GateId>) -> Result<Vec<GateState>, StoreError>;

    /// Those of some destinations for which jobs of a tenant wait, in their order; one whose last job
    /// has just gone may be among them. Of a tenant whose jobs wait in very many places
    /// ([`limits::FLOW_KEYS_LOOKED_MAX`](crate::limits::FLOW_KEYS_LOOKED_MAX)) only some are looked at.
    async fn waiting_destinations(
        &self,
        tenant: Tenant,
        among: Vec<Destination>,
    ) -> Result<Vec<Destination>, StoreError>;

    /// Metrics for operators.
    async fn metrics(&self) -> Result<StoreMetrics, StoreError>;
}

/// How much of a job is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobDetail {
    /// The whole job.
    Full,
    /// The job as [`list_jobs`](QueryStore::list_jobs) shows it.
    Listed,
    /// The same, but with its payload if that is short.
    ShortPayload {
        /// Longer payloads are not read.
        bytes_max: usize,
    },
}

/// Metrics of a store, for operators. What a store does not have is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreMetrics {
    /// The size of the log beside the data, in bytes. It grows without end while another process
    /// holds an old snapshot.
    pub log_bytes: Option<u64>,
    /// The connections of this process.
    pub pool: Option<PoolMetrics>,
}

/// The connections to a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolMetrics {
    /// The most that may be open.
    pub most: usize,
    /// Those that are open.
    pub open: usize,
    /// Those of them that are not in use.
    pub idle: usize,
    /// Callers that wait for one.
    pub waiting: usize,
}

/// How many jobs match a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobCount {
    /// How many were counted.
    pub count: u64,
    /// There are so many or more: the count stopped early.
    pub at_least: bool,
}

impl JobCount {
    /// A count that goes no further than `most`.
    pub fn up_to(count: u64, most: u64) -> Self {
        Self {
            count: count.min(most),
            at_least: count > most,
        }
    }

    /// A count that was given up early.
    pub fn at_least(count: u64) -> Self {
        Self {
            count,
            at_least: true,
        }
    }
}

/// Which part of a list is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRequest<Cursor> {
    /// How many items at most.
    pub limit: usize,
    /// The `next` of the page before this one.
    pub after: Option<Cursor>,
}

/// Which part of a list of jobs is asked for.
pub type JobPageRequest = PageRequest<JobId>;

impl<Cursor> PageRequest<Cursor> {
    /// The beginning of a list.
    pub fn first(limit: usize) -> Self {
        Self { limit, after: None }
    }
}

/// A part of a list. A store may stop early to bound its work, so only the absence of `next`
/// says that the list is at its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<Item, Cursor> {
    /// The items.
    pub items: Vec<Item>,
    /// Where the next page begins, for [`PageRequest::after`].
    pub next: Option<Cursor>,
}

/// Whose attempts are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptOwner {
    /// Those of one job.
    Job(JobId),
    /// Those of all runs of a schedule.
    Schedule(ScheduleId),
}

impl From<JobId> for AttemptOwner {
    fn from(id: JobId) -> Self {
        Self::Job(id)
    }
}

impl From<ScheduleId> for AttemptOwner {
    fn from(id: ScheduleId) -> Self {
        Self::Schedule(id)
    }
}

/// Attempts are listed by when they ended; job and fence tell apart those that ended together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AttemptCursor {
    /// When the attempt ended.
    pub finished_at: Timestamp,
    /// The attempt's job.
    pub job: JobId,
    /// The attempt's fence.
    pub fence: Fence,
}

impl AttemptCursor {
    /// After every attempt that can be stored: where a list begins.
    pub const LAST: Self = Self {
        finished_at: Timestamp::MAX,
        job: JobId::from_bits(u128::MAX),
        fence: Fence(u32::MAX),
    };

    /// Where an attempt stands in the list.
    pub fn of(attempt: &Attempt) -> Self {
        Self {
            finished_at: attempt.finished_at,
            job: attempt.job,
            fence: attempt.fence,
        }
    }
}

/// The counts of one lane: one tenant's jobs of one kind in one queue.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LaneStats {
    /// The tenant of the lane.
    pub tenant: Tenant,
    /// The queue of the lane.
    pub queue: Queue,
    /// The kind of the lane's jobs.
    pub kind: Kind,
    /// A gate pauses the queue. A store leaves this to callers, who know the gates.
    pub paused: bool,
    /// Jobs that wait for a time to come.
    pub scheduled: u64,
    /// Jobs that are due.
    pub ready: u64,
    /// Jobs that run.
    pub running: u64,
    /// Jobs that wait for a retry.
    pub retrying: u64,
    /// Jobs that have succeeded and are still stored.
    pub succeeded: u64,
    /// Jobs that have failed and are still stored.
    pub failed: u64,
    /// Jobs that were cancelled and are still stored.
    pub cancelled: u64,
    /// Failed jobs that are not resolved.
    pub dead_letters: u64,
    /// The `runAt` of the job that has been due longest.
    pub oldest_ready: Option<Timestamp>,
    /// Of all attempts ever.
    pub total: Tally,
    /// Of the attempts since the time that was asked for.
    pub recent: Tally,
}

impl LaneStats {
    pub(crate) fn of_lane(lane: &Lane) -> Self {
        Self::empty(lane.tenant.clone(), lane.queue.clone(), lane.kind.clone())
    }

    /// A lane without jobs and attempts, for a store to fill in.
    pub fn empty(tenant: Tenant, queue: Queue, kind: Kind) -> Self {
        Self {
            tenant,
            queue,
            kind,
            paused: false,
            scheduled: 0,
            ready: 0,
            running: 0,
            retrying: 0,
            succeeded: 0,
            failed: 0,
            cancelled: 0,
            dead_letters: 0,
            oldest_ready: None,
            total: Tally::default(),
            recent: Tally::default(),
        }
    }
}
