//! The contract of every store, in the order of a job's life.
//!
//! Stores write what core decides and decide nothing themselves; [`Store::claim`] is the one
//! change a store makes on its own, because it must be atomic over many rows. All verbs take
//! batches, because a commit costs the same for one job as for a thousand. Every sentence
//! here has a test in [`conformance`](crate::conformance).

use std::{fmt, str::FromStr, sync::Arc, time::Duration};

use async_trait::async_trait;
pub use steadfast_core::CommitResult;
use steadfast_core::{
    Attempt, Claim, Fence, Job, JobCommand, JobId, Kind, NewJob, Payload, Queue, Schedule,
    ScheduleId, ScheduleProgress, SkippedTicks, StepName, Subscriptions, Tally, Tenant, Timestamp,
    Transition, WorkerName,
};

use crate::{
    CommandError, EnqueueError, JobFilter, JobPageRequest, Page, PageRequest, StoreError, Wakeups,
};

#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// The store's time, the only one that decides anything.
    fn now(&self) -> Timestamp;

    /// Wakes when a job or schedule may have become due earlier than was known.
    fn wakeups(&self) -> Wakeups;

    /// Stores jobs, all or none of the batch, durably before it returns.
    ///
    /// A job whose tenant and idempotency key are known answers with the job that has them,
    /// if it was the same request, and is a conflict if it was not; a key twice in one batch
    /// counts as known the second time. A job whose id is known is not stored again, and
    /// answers as existing. Answers come in the order of the batch, here and everywhere.
    async fn enqueue(&self, jobs: Vec<NewJob>) -> Result<Vec<EnqueueResult>, EnqueueError>;

    /// Claims due jobs, the higher priority first, then the earlier `runAt`.
    ///
    /// Each is claimed as [`Job::claimed`] says, durably before it returns, and by one caller
    /// only. Jobs of paused queues are left alone. The answer says when to look again.
    async fn claim(&self, request: ClaimRequest) -> Result<ClaimResult, StoreError>;

    /// Extends leases whose fence still holds, counted from now, and keeps the notes; a
    /// renewal without a note leaves the last one.
    ///
    /// An expired lease that nobody has settled can still be renewed. The holder learns of a
    /// request to cancel here.
    async fn renew(&self, renewals: Vec<Renewal>) -> Result<Vec<RenewResult>, StoreError>;

    /// What a step of a job's handler left behind, if it ever succeeded.
    async fn step_result(&self, job: JobId, step: StepName) -> Result<Option<Payload>, StoreError>;

    /// Keeps the result of a step, and answers with the one that is kept: the first.
    async fn save_step(
        &self,
        job: JobId,
        step: StepName,
        result: Payload,
    ) -> Result<Payload, StoreError>;

    /// Writes transitions whose guard holds: progress, attempt record, outbox and counters
    /// together or not at all, durably before it returns.
    ///
    /// One transition's stale guard does not hinder the others. An outbox job whose id or key
    /// is known is not stored again, and does not hinder its transition. Repeating a commit
    /// that was written, because its answer was lost, answers `Done` and writes nothing; it is
    /// known by its attempt record or, where it has none, by the job being as it left it.
    async fn commit(&self, transitions: Vec<Transition>) -> Result<Vec<CommitResult>, StoreError>;

    /// Running jobs whose lease has run out, which it has at its very end, as claims that can
    /// be ended; nothing is changed.
    async fn expired_leases(&self, limit: usize) -> Result<Vec<Claim>, StoreError>;

    /// Carries out a command on jobs, one after the other, as [`on_command`] decides, and answers
    /// with the job as it then is. Its outbox is written with it or not at all.
    ///
    /// [`on_command`]: steadfast_core::on_command
    async fn run_command(
        &self,
        jobs: Vec<JobId>,
        command: JobCommand,
        subscriptions: Arc<Subscriptions>,
    ) -> Result<Vec<Result<Job, CommandError>>, StoreError>;

    /// The jobs of these ids, in their order.
    async fn get_jobs(&self, ids: Vec<JobId>) -> Result<Vec<Option<Job>>, StoreError>;

    /// Jobs that match, newest id first. Walking the cursors meets each match once.
    async fn list_jobs(
        &self,
        filter: JobFilter,
        page: JobPageRequest,
    ) -> Result<Page<Job, JobId>, StoreError>;

    /// How many jobs match, counting no further than `most`.
    async fn count_jobs(&self, filter: JobFilter, most: u64) -> Result<u64, StoreError>;

    /// Attempt records of a job, or of all runs of a schedule, newest first.
    async fn list_attempts(
        &self,
        of: AttemptOwner,
        page: PageRequest<AttemptCursor>,
    ) -> Result<Page<Attempt, AttemptCursor>, StoreError>;

    /// Counts by tenant, queue and kind; `recent` counts attempts that ended in the minute of
    /// `since` or later. A lane is there while it holds jobs or has counts.
    async fn lane_stats(&self, since: Timestamp) -> Result<Vec<LaneStats>, StoreError>;

    /// Counts of attempts by the minute in which they ended, of a tenant or of all, from the
    /// minute of `since` on, oldest first; minutes without any are left out.
    async fn minute_stats(
        &self,
        tenant: Option<Tenant>,
        since: Timestamp,
    ) -> Result<Vec<MinuteStats>, StoreError>;

    /// Pauses or resumes claims from a tenant's queue, whether or not it holds jobs yet.
    async fn set_queue_paused(
        &self,
        tenant: Tenant,
        queue: Queue,
        paused: bool,
    ) -> Result<(), StoreError>;

    /// Creates a schedule or replaces it, if its revision is the stored one; the stored
    /// revision then is one higher. A name is unique within its tenant; the revision is
    /// looked at first.
    async fn save_schedule(&self, schedule: Schedule) -> Result<ScheduleSaveResult, StoreError>;

    /// Forgets a schedule and its ticks; its runs stay. Says whether it was there.
    async fn delete_schedule(&self, id: ScheduleId) -> Result<bool, StoreError>;

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

    /// Writes what the ticks of schedules came to: runs, skips and progress together, if the
    /// schedule's revision is still the one that was decided upon; it then is one higher. No
    /// tick fires twice: a run whose tick has fired already is left out. One outdated firing
    /// does not hinder the others, and a run to cancel that has ended does not hinder its
    /// firing.
    async fn fire_schedules(
        &self,
        firings: Vec<FireRequest>,
    ) -> Result<Vec<FireResult>, StoreError>;

    /// What became of a schedule's ticks, newest first.
    async fn list_ticks(
        &self,
        schedule: ScheduleId,
        page: PageRequest<Timestamp>,
    ) -> Result<Page<TickRecord, Timestamp>, StoreError>;

    /// Creates a document or replaces it, if its revision is the stored one (0 if there is
    /// none), and stores jobs with it or not at all; the stored revision then is one higher.
    /// A job whose id or key is known is not stored again.
    async fn save_document(
        &self,
        document: Document,
        outbox: Vec<NewJob>,
    ) -> Result<DocumentSaveResult, StoreError>;

    /// All documents of a space, by id.
    async fn list_documents(&self, space: DocumentKind) -> Result<Vec<Document>, StoreError>;

    /// Forgets a document. Says whether it was there.
    async fn delete_document(&self, space: DocumentKind, id: String) -> Result<bool, StoreError>;

    /// Deletes up to `limit` succeeded, cancelled and discarded jobs that ended before the
    /// time given, with their attempts and steps, and says how many. Dead letters stay.
    /// Jobs with an idempotency key stay at least a day after they were created, and a
    /// discarded job counts as ended when it was discarded, in case somebody thinks again.
    /// Tick records from before the time go as well; the counts of attempts stay.
    async fn prune(&self, ended_before: Timestamp, limit: usize) -> Result<usize, StoreError>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnqueueResult {
    /// It is there from this time on.
    Created(JobId, Timestamp),
    /// There already was such a job; this is its id.
    Existing(JobId),
}

impl EnqueueResult {
    pub fn id(self) -> JobId {
        match self {
            Self::Created(id, _) | Self::Existing(id) => id,
        }
    }
}

/// Who wants which jobs. Empty lists mean any.
#[derive(Clone, Debug)]
pub struct ClaimRequest {
    pub worker: WorkerName,
    pub tenant: Option<Tenant>,
    pub queues: Vec<Queue>,
    pub kinds: Vec<Kind>,
    /// Not these, whatever `kinds` says.
    pub except_kinds: Vec<Kind>,
    pub max: usize,
    /// In place of each job's own lease.
    pub lease: Option<Duration>,
}

#[derive(Debug)]
pub struct ClaimResult {
    pub claims: Vec<Claim>,
    /// When the next of the wanted jobs that are left becomes due; in the past if one is due
    /// already. `None` if none waits; jobs of paused queues do not count.
    pub next_due: Option<Timestamp>,
}

#[derive(Clone, Debug)]
pub struct Renewal {
    pub job: JobId,
    pub fence: Fence,
    pub lease: Duration,
    pub note: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenewResult {
    Held {
        until: Timestamp,
        cancel_requested: bool,
    },
    Lost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptOwner {
    Job(JobId),
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
    pub finished_at: Timestamp,
    pub job: JobId,
    pub fence: Fence,
}

/// The counts of one tenant's jobs of one kind in one queue.
#[derive(Clone, Debug, PartialEq)]
pub struct LaneStats {
    pub tenant: Tenant,
    pub queue: Queue,
    pub kind: Kind,
    pub paused: bool,
    pub scheduled: u64,
    pub ready: u64,
    pub running: u64,
    pub retrying: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub cancelled: u64,
    pub dead_letters: u64,
    /// The `runAt` of the job that has been due longest.
    pub oldest_ready: Option<Timestamp>,
    /// Of all attempts ever.
    pub total: Tally,
    pub recent: Tally,
}

/// Attempts that ended within one minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinuteStats {
    /// When the minute began.
    pub at: Timestamp,
    pub tally: Tally,
}

/// A small thing that is kept beside the jobs: an endpoint, a key, the state of an alert. The
/// store does not look into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    pub space: DocumentKind,
    /// Unique within its space.
    pub id: String,
    pub body: Payload,
    /// Counts changes, so that nobody writes over a change it has not seen. 0 is not stored yet.
    pub revision: u64,
}

steadfast_core::string_enum! {
    /// What a document is.
    DocumentKind, "kind" {
        Endpoint = "endpoint",
        Key = "key",
        Alert = "alert",
        Node = "node",
        Session = "session",
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum DocumentSaveResult {
    Done(Document),
    /// Someone else changed it first: this is the stored one, unless it is gone.
    Outdated(Option<Document>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum ScheduleSaveResult {
    Done(Schedule),
    /// Someone else changed it first, or its name is taken by another; this is the stored one.
    Outdated(Schedule),
    /// The revision says it was stored before, but it is gone.
    Gone,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScheduleFilter {
    pub tenant: Option<Tenant>,
    pub id: Option<ScheduleId>,
    pub name: Option<steadfast_core::ScheduleName>,
}

#[derive(Clone, Debug)]
pub struct DueSchedules {
    pub due: Vec<DueSchedule>,
    /// The earliest tick still to come of any schedule that is not paused.
    pub next_due: Option<Timestamp>,
}

#[derive(Clone, Debug)]
pub struct DueSchedule {
    pub schedule: Schedule,
    /// Its newest run that has not ended.
    pub unfinished: Option<JobId>,
}

/// What a schedule's step came to.
#[derive(Clone, Debug)]
pub struct FireRequest {
    pub schedule: ScheduleId,
    /// The revision that was decided upon.
    pub revision: u64,
    /// Each is the run of a tick.
    pub runs: Vec<NewJob>,
    pub skipped: Vec<SkippedTicks>,
    /// A run to cancel, as by [`JobCommand::Cancel`].
    pub cancel: Option<JobId>,
    /// Who is told of that.
    pub subscriptions: Arc<Subscriptions>,
    pub progress: ScheduleProgress,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FireResult {
    Done,
    /// The schedule was changed meanwhile: nothing written.
    Outdated,
}

/// What became of a tick, or of a stretch of skipped ones.
#[derive(Clone, Debug, PartialEq)]
pub enum TickRecord {
    Fired { tick: Timestamp, job: JobId },
    Skipped(SkippedTicks),
}

impl TickRecord {
    pub fn at(&self) -> Timestamp {
        match self {
            Self::Fired { tick, .. } => *tick,
            Self::Skipped(skip) => skip.from,
        }
    }
}
