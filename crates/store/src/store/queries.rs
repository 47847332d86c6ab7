//! Looking at jobs, attempts and counts.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use steadfast_core::{
    Attempt, BatchId, BatchJobFilter, Destination, EndReason, FailureClass, FailureFingerprint,
    Fence, GateId, GateState, Gates, Job, JobId, JobLabel, JobState, Kind, Payload, Queue,
    ScheduleId, Tally, Tenant, Timestamp, explain::whole_second,
};

use super::{BaseStore, DueMinutes, LaneMinutesList, StartQuery, StartSnapshot};
use crate::{damage::DamagedRows, error::StoreError};

/// The verbs that only look.
#[async_trait]
pub trait QueryStore: BaseStore {
    /// The jobs of these ids, in their order. One that cannot be read is an error with its
    /// [`damaged_row`](StoreError::damaged_row) if it alone is asked for, and `None` among others.
    async fn get_jobs(&self, ids: Vec<JobId>) -> Result<Vec<Option<Job>>, StoreError>;

    /// The same as [`list_jobs`](Self::list_jobs) shows them. One that cannot be read is `None`.
    async fn get_listed_jobs(&self, ids: Vec<JobId>) -> Result<Vec<Option<Job>>, StoreError>;

    /// The payloads of these jobs that have at most so many bytes, in the order asked; `None` for the
    /// others, which are not read.
    async fn short_payloads(
        &self,
        ids: Vec<JobId>,
        bytes_max: usize,
    ) -> Result<Vec<Option<Payload>>, StoreError>;

    /// The states of jobs, in the order asked; `None` for those that do not exist. Reads little,
    /// however large their payloads are.
    async fn job_states(&self, ids: Vec<JobId>) -> Result<Vec<Option<JobState>>, StoreError>;

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

    /// Counts by tenant, queue and kind; `recent` counts attempts that ended in the minute of
    /// `since` or later. A lane is listed while it holds jobs or has counts.
    async fn lane_stats(&self, since: Timestamp) -> Result<Vec<LaneStats>, StoreError>;

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

    /// What stands between a job and its start, under these gates or newer ones that a claim was made
    /// with: what a claim would look at, and nothing more. `None` if there is no such job.
    ///
    /// Reads a bounded number of rows: of the jobs before it no more than
    /// [`limits::JOBS_AHEAD_MAX`](crate::limits::JOBS_AHEAD_MAX) are counted.
    async fn explain_start(
        &self,
        of: StartQuery,
        gates: Arc<Gates>,
    ) -> Result<Option<StartSnapshot>, StoreError>;

    /// How many jobs for a destination wait and are due, of one tenant or of all, whatever keeps them
    /// from starting; counts no further than `most`, and looks at no more than
    /// [`limits::DESTINATION_RANGES_MAX`](crate::limits::DESTINATION_RANGES_MAX) places where such
    /// jobs wait. The answer says whether it stopped early.
    async fn count_due(
        &self,
        destination: Destination,
        tenant: Option<Tenant>,
        most: u64,
    ) -> Result<JobCount, StoreError>;

    /// Jobs for a destination that wait, of one tenant or of all, by the minute of their time up to
    /// that of `until`. Counts no further than `most`, in about as many places as
    /// [`QueryStore::count_due`]; the answer says whether it stopped early.
    async fn due_minutes(
        &self,
        destination: Destination,
        tenant: Option<Tenant>,
        until: Timestamp,
        most: u64,
    ) -> Result<DueMinutes, StoreError>;

    /// How gates that are set stand, in the order asked, as a claim under these gates would find
    /// them. Attempts that run are counted at gates that limit how many may.
    async fn gate_states(
        &self,
        of: Vec<GateId>,
        gates: Arc<Gates>,
    ) -> Result<Vec<GateState>, StoreError>;

    /// Those of some destinations for which jobs of a tenant wait, in their order; one whose last job
    /// has just gone may be among them. Of a tenant whose jobs wait in very many places
    /// ([`limits::FLOW_KEYS_LOOKED_MAX`](crate::limits::FLOW_KEYS_LOOKED_MAX)) only some are looked at.
    async fn waiting_destinations(
        &self,
        tenant: Tenant,
        among: Vec<Destination>,
    ) -> Result<Vec<Destination>, StoreError>;

    /// The size of the log beside the data, in bytes, if the store has such a file. It grows
    /// without end while another process holds an old snapshot.
    async fn log_bytes(&self) -> Result<Option<u64>, StoreError>;
}

/// Which jobs are meant. `None` matches all; what is given must all hold.
///
/// Callers build it with `..JobFilter::default()`, so it is not `#[non_exhaustive]`, which
/// forbids that.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
// A field that this version does not know narrows what is meant: it must not be passed over.
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct JobFilter {
    /// Jobs of this tenant.
    pub tenant: Option<Tenant>,
    /// Jobs of this queue.
    pub queue: Option<Queue>,
    /// Jobs of this kind.
    pub kind: Option<Kind>,
    /// Jobs of any kind but this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_kind: Option<Kind>,
    /// Jobs with this label now.
    pub label: Option<JobLabel>,
    /// Runs of this schedule.
    pub schedule: Option<ScheduleId>,
    /// Jobs that call this destination.
    // Left out where it is not given, so that nodes of the version before can read what is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<Destination>,
    /// Jobs that are counted in this batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchId>,
    /// Created at this time or later.
    pub created_from: Option<Timestamp>,
    /// Created before this time.
    pub created_before: Option<Timestamp>,
    /// Ended `failed` at this time or later.
    pub failed_from: Option<Timestamp>,
    /// Ended `failed` before this time.
    pub failed_before: Option<Timestamp>,
    /// Part of the newest failure's message, in upper or lower case.
    pub failure_text: Option<String>,
    /// The class of the newest failure.
    pub failure_class: Option<FailureClass>,
    /// The HTTP status of the newest failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_status: Option<u16>,
    /// The fingerprint of the newest failure.
    pub fingerprint: Option<FailureFingerprint>,
    /// Why the job ended.
    pub reason: Option<EndReason>,
    /// With all of these tags, each written `name:value`.
    pub tags: Vec<String>,
    /// Only dead letters: failed, and not resolved.
    pub dead_letters: bool,
    /// Only jobs that have not ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unfinished: bool,
    /// Only jobs that have ended without success, or that have ended in any way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<EndedJobs>,
}

/// Jobs that have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedJobs {
    /// All of them.
    All,
    /// Failed and cancelled ones.
    WithoutSuccess,
}

impl EndedJobs {
    pub(crate) fn contains(self, state: JobState) -> bool {
        state.is_final() && (self == Self::All || state != JobState::Succeeded)
    }
}

impl JobFilter {
    /// The jobs of a batch that are still stored; those that stand like this, if it is given.
    pub fn of_batch(batch: BatchId, state: Option<BatchJobFilter>) -> Self {
        Self {
            batch: Some(batch),
            label: match state {
                None | Some(BatchJobFilter::Unfinished) => None,
                Some(BatchJobFilter::Succeeded) => Some(JobLabel::Succeeded),
                Some(BatchJobFilter::Failed) => Some(JobLabel::Failed),
                Some(BatchJobFilter::Cancelled) => Some(JobLabel::Cancelled),
            },
            unfinished: state == Some(BatchJobFilter::Unfinished),
            ..Self::default()
        }
    }

    /// All dead letters.
    pub fn dead_letters() -> Self {
        Self {
            dead_letters: true,
            ..Self::default()
        }
    }

    /// Whether only jobs that ended `failed` can match.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn wants_failed(&self) -> bool {
        self.dead_letters
            || self.label == Some(JobLabel::Failed)
            || self.failed_from.is_some()
            || self.failed_before.is_some()
    }

    /// Whether only jobs with a failure can match.
    pub(crate) fn wants_failure(&self) -> bool {
        self.failure_text.is_some()
            || self.failure_class.is_some()
            || self.failure_status.is_some()
            || self.fingerprint.is_some()
    }

    /// Whether the filter's tenant, queue and kind are these, as far as it names any.
    pub fn matches_lane(&self, tenant: &Tenant, queue: &Queue, kind: &Kind) -> bool {
        equal_or_any(&self.tenant, tenant)
            && equal_or_any(&self.queue, queue)
            && equal_or_any(&self.kind, kind)
            && self.not_kind.as_ref() != Some(kind)
    }

    /// The reference meaning of the filter; drivers that can ask an index must agree with it.
    pub fn matches(&self, job: &Job, now: Timestamp) -> bool {
        let failure = job.progress.failure.as_ref();
        self.matches_lane(&job.tenant, &job.queue, &job.kind)
            && equal_or_any(&self.label, &job.label(now))
            && self.schedule.is_none_or(|schedule| {
                job.scheduled_run
                    .is_some_and(|run| run.schedule == schedule)
            })
            && self
                .destination
                .as_ref()
                .is_none_or(|destination| job.destination.as_ref() == Some(destination))
            && self.batch.is_none_or(|batch| job.batch() == Some(batch))
            && self.created_from.is_none_or(|from| job.created_at >= from)
            && self
                .created_before
                .is_none_or(|before| job.created_at < before)
            && self.matches_failed_at(job)
            && self.failure_text.as_ref().is_none_or(|text| {
                failure.is_some_and(|failure| {
                    let message = failure.message.to_lowercase();
                    message.contains(&text.to_lowercase())
                })
            })
            && self
                .failure_class
                .as_ref()
                .is_none_or(|class| failure.is_some_and(|failure| failure.class == *class))
            && self.failure_status.is_none_or(|status| {
                failure.is_some_and(|failure| failure.http_status == Some(status))
            })
            && self.fingerprint.is_none_or(|fingerprint| {
                failure.is_some_and(|failure| failure.fingerprint == Some(fingerprint))
            })
            && self
                .reason
                .is_none_or(|reason| job.progress.reason == Some(reason))
            && self.tags.iter().all(|tag| job.has_tag(tag))
            && (!self.dead_letters || job.is_dead_letter())
            && !(self.unfinished && job.progress.state.is_final())
            && self.ended.is_none_or(|it| it.contains(job.progress.state))
    }

    fn matches_failed_at(&self, job: &Job) -> bool {
        if self.failed_from.is_none() && self.failed_before.is_none() {
            return true;
        }
        let has_failed = job.progress.state == JobState::Failed;
        job.progress
            .finished_at
            .filter(|_| has_failed)
            .is_some_and(|at| {
                self.failed_from.is_none_or(|from| at >= from)
                    && self.failed_before.is_none_or(|before| at < before)
            })
    }
}

/// What is given, in words; `all` if nothing is.
impl fmt::Display for JobFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn named(name: &str, value: Option<&impl fmt::Display>) -> Option<String> {
            value.map(|value| format!("{name} {value}"))
        }
        let time = |name, at: Option<Timestamp>| named(name, at.map(whole_second).as_ref());
        let text = self.failure_text.as_ref();
        let mut parts = vec![
            self.dead_letters.then(|| "dead letters".to_owned()),
            named("label", self.label.as_ref()),
            named("tenant", self.tenant.as_ref()),
            named("queue", self.queue.as_ref()),
            named("kind", self.kind.as_ref()),
            named("not kind", self.not_kind.as_ref()),
            named("schedule", self.schedule.as_ref()),
            named("destination", self.destination.as_ref()),
            named("batch", self.batch.as_ref()),
            named("failure class", self.failure_class.as_ref()),
            text.map(|text| format!("failure contains {text:?}")),
            named("status", self.failure_status.as_ref()),
            named("fingerprint", self.fingerprint.as_ref()),
            named("reason", self.reason.as_ref()),
            time("created from", self.created_from),
            time("created before", self.created_before),
            time("failed from", self.failed_from),
            time("failed before", self.failed_before),
        ];
        parts.extend(self.tags.iter().map(|tag| named("tag", Some(tag))));
        parts.push(self.unfinished.then(|| "unfinished".to_owned()));
        parts.push(self.ended.map(|ended| match ended {
            EndedJobs::All => "ended".to_owned(),
            EndedJobs::WithoutSuccess => "ended without success".to_owned(),
        }));
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        match parts.is_empty() {
            true => f.write_str("all"),
            false => f.write_str(&parts.join(", ")),
        }
    }
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

fn equal_or_any<T: PartialEq>(wanted: &Option<T>, found: &T) -> bool {
    wanted.as_ref().is_none_or(|wanted| wanted == found)
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

/// Attempts that ended within one minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinuteStats {
    /// When the minute began.
    pub at: Timestamp,
    /// The attempts of the minute.
    pub tally: Tally,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_said_in_words_and_leaves_nothing_out() {
        assert_eq!(JobFilter::default().to_string(), "all");
        let at = Timestamp::from_millis(1_767_225_600_123);
        let filter = JobFilter {
            tenant: Tenant::new("acme").ok(),
            queue: Queue::new("mail").ok(),
            kind: Kind::new("receipt").ok(),
            not_kind: Some(Kind::webhook()),
            label: Some(JobLabel::Failed),
            schedule: "sch_00000000000000000000000001".parse().ok(),
            destination: "https://a.example".parse().ok(),
            batch: "bat_00000000000000000000000001".parse().ok(),
            created_from: Some(at),
            created_before: Some(at),
            failed_from: Some(at),
            failed_before: Some(at),
            failure_text: Some("no disk".to_owned()),
            failure_class: Some(FailureClass::TIMEOUT),
            failure_status: Some(503),
            fingerprint: "0000000000000007".parse().ok(),
            reason: Some(EndReason::Exhausted),
            tags: vec!["order:1".to_owned(), "order:2".to_owned()],
            dead_letters: true,
            unfinished: true,
            ended: Some(EndedJobs::All),
        };
        assert_eq!(
            filter.to_string(),
            "dead letters, label failed, tenant acme, queue mail, kind receipt, not kind webhook, \
             schedule sch_00000000000000000000000001, destination https://a.example, \
             batch bat_00000000000000000000000001, \
             failure class timeout, failure contains \"no disk\", status 503, \
             fingerprint 0000000000000007, reason exhausted, created from 2026-01-01T00:00:00Z, \
             created before 2026-01-01T00:00:00Z, failed from 2026-01-01T00:00:00Z, \
             failed before 2026-01-01T00:00:00Z, tag order:1, tag order:2, unfinished, ended"
        );
    }
}
