//! Which rows a list of jobs reads.

use steadfast_core::{BatchId, BatchJobFilter, FailureKey, JobLabel, JobState, Timestamp};

use super::{
    counters::LaneCounters,
    values::{state, state_number},
};
use crate::{
    lane::Lane,
    limits::{LANES_MERGED_MAX, ROWS_EXAMINED_MAX},
    store::{JobFilter, LaneStats},
};

/// The rows that a list walks: the fewest that an index finds in the order of ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListSource<LaneId> {
    /// Jobs of a batch; only those in this state, if the filter wants no others.
    Batch(BatchId, Option<BatchJobFilter>),
    /// Jobs with one of the tags of the filter: the one of this index.
    Tagged(usize),
    /// The runs of a schedule.
    Runs,
    /// Jobs whose newest failure belongs to the group with this number.
    FailureGroup(i64),
    /// Failed jobs.
    Failed,
    /// Running jobs. They are few.
    Running,
    /// All jobs.
    All,
    /// A part of the jobs of some lanes, whose ranges are merged.
    Lanes(LanePart, Vec<LaneId>),
    /// The waiting jobs of some lanes, if they are few: their index has another order, so all
    /// are read and sorted.
    Waiting(Vec<LaneId>),
}

/// Which jobs of a lane have a range of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LanePart {
    All,
    Failed,
    Cancelled,
}

impl<LaneId> ListSource<LaneId> {
    /// The source that needs no look at the lanes; `None` if they tell a better one.
    pub(crate) fn without_lanes(filter: &JobFilter) -> Option<Self> {
        if let Some(batch) = filter.batch {
            return Some(Self::Batch(batch, batch_part(filter)));
        }
        // The driver looks which of several tags has the fewest jobs.
        if !filter.tags.is_empty() {
            return Some(Self::Tagged(0));
        }
        if filter.schedule.is_some() {
            return Some(Self::Runs);
        }
        if let (Some(tenant), Some(fingerprint)) = (&filter.tenant, filter.fingerprint) {
            let key = FailureKey::new(tenant.clone(), fingerprint);
            return Some(Self::FailureGroup(key.number()));
        }
        let names_lanes =
            filter.tenant.is_some() || filter.queue.is_some() || filter.kind.is_some();
        match filter.label {
            Some(JobLabel::Running) if !filter.wants_failed() => Some(Self::Running),
            _ if names_lanes => None,
            _ if filter.wants_failed() => Some(Self::Failed),
            None | Some(JobLabel::Running | JobLabel::Succeeded | JobLabel::Failed) => {
                Some(Self::All)
            }
            Some(
                JobLabel::Cancelled | JobLabel::Scheduled | JobLabel::Ready | JobLabel::Retrying,
            ) => None,
        }
    }

    /// The best source, by what the lanes that match hold.
    pub(crate) fn best_for(
        filter: &JobFilter,
        lanes: impl IntoIterator<Item = (LaneId, LaneCounters)>,
    ) -> Self {
        let is_waiting = matches!(
            filter.label,
            Some(JobLabel::Scheduled | JobLabel::Ready | JobLabel::Retrying)
        );
        let part = match filter.label {
            _ if filter.wants_failed() => LanePart::Failed,
            Some(JobLabel::Cancelled) => LanePart::Cancelled,
            _ => LanePart::All,
        };
        let (mut some, mut waiting) = (Vec::new(), 0_u64);
        for (id, lane) in lanes {
            let LaneStats {
                tenant,
                queue,
                kind,
                ..
            } = &lane.stats;
            let count = lane.count(filter);
            if count > 0 && filter.matches_lane(tenant, queue, kind) {
                some.push(id);
                waiting += lane.waiting();
            }
        }
        if is_waiting && waiting <= ROWS_EXAMINED_MAX as u64 {
            return Self::Waiting(some);
        }
        if some.len() <= LANES_MERGED_MAX {
            return Self::Lanes(part, some);
        }
        match part {
            LanePart::Failed => Self::Failed,
            LanePart::All | LanePart::Cancelled => Self::All,
        }
    }
}

/// The jobs of a batch that a filter wants, if they are found apart.
fn batch_part(filter: &JobFilter) -> Option<BatchJobFilter> {
    match filter.label {
        _ if filter.wants_failed() => Some(BatchJobFilter::Failed),
        None if filter.unfinished => Some(BatchJobFilter::Unfinished),
        None => None,
        Some(label) => Some(BatchJobFilter::of(super::values::stored_state(label))),
    }
}

/// The columns that rule out most rows, before a row is read as a job.
pub(crate) struct JobSummary<'r> {
    pub state: i16,
    pub run_at: Timestamp,
    pub is_retry: bool,
    pub created_at: Timestamp,
    pub reason: Option<&'r str>,
    pub has_failure: bool,
    /// `None` if its name has to be looked up.
    pub lane: Option<&'r Lane>,
}

impl JobSummary<'_> {
    /// Whether the job may match; [`JobFilter::matches`] decides.
    pub(crate) fn may_match(&self, filter: &JobFilter, now: Timestamp) -> bool {
        filter.label.is_none_or(|label| self.has_label(label, now))
            && (!filter.wants_failed() || self.has_label(JobLabel::Failed, now))
            && (!filter.wants_failure() || self.has_failure)
            && !(filter.unfinished && state(self.state).is_some_and(JobState::is_final))
            && filter
                .ended
                .is_none_or(|ended| state(self.state).is_none_or(|state| ended.contains(state)))
            && filter
                .created_from
                .is_none_or(|from| self.created_at >= from)
            && filter
                .created_before
                .is_none_or(|before| self.created_at < before)
            && filter
                .reason
                .is_none_or(|reason| self.reason == Some(reason.as_str()))
            && self
                .lane
                .is_none_or(|lane| filter.matches_lane(&lane.tenant, &lane.queue, &lane.kind))
    }

    fn has_label(&self, label: JobLabel, now: Timestamp) -> bool {
        let is_due = self.run_at <= now;
        state_number(super::values::stored_state(label)) == self.state
            && match label {
                JobLabel::Ready => is_due,
                JobLabel::Retrying => !is_due && self.is_retry,
                JobLabel::Scheduled => !is_due && !self.is_retry,
                _ => true,
            }
    }
}

/// The state that jobs of a batch are found by: those that have not ended have that of one that waits.
pub(crate) fn batch_filter_number(filter: BatchJobFilter) -> i16 {
    match filter {
        BatchJobFilter::Unfinished => 0,
        BatchJobFilter::Succeeded => 2,
        BatchJobFilter::Failed => 3,
        BatchJobFilter::Cancelled => 4,
    }
}

#[cfg(test)]
mod tests {
    use steadfast_core::{Kind, Queue, Tenant};

    use super::*;
    use crate::drivers::sql::counters::WaitingCount;

    fn lane(waiting: i64, retrying: i64) -> LaneCounters {
        let kind = Kind::new("mail").unwrap();
        LaneCounters {
            waiting: WaitingCount { waiting, retrying },
            stats: LaneStats::empty(Tenant::default(), Queue::default(), kind),
        }
    }

    #[test]
    fn lanes_without_retries_are_not_searched_for_them() {
        let many = i64::try_from(ROWS_EXAMINED_MAX).unwrap() + 1;
        let source = |label, lanes: [(i64, i64); 2]| {
            let filter = JobFilter {
                label: Some(label),
                ..JobFilter::default()
            };
            let lanes = lanes.map(|(waiting, retrying)| lane(waiting, retrying));
            ListSource::best_for(&filter, (1..).zip(lanes))
        };
        let none = source(JobLabel::Retrying, [(many, 0), (many, 0)]);
        assert_eq!(none, ListSource::Waiting(Vec::new()));
        // All that wait in a lane are read, or none: so all of them count.
        let one = source(JobLabel::Retrying, [(many, 0), (many, 1)]);
        assert_eq!(one, ListSource::Lanes(LanePart::All, vec![2]));
        let few = source(JobLabel::Retrying, [(many, 0), (7, 1)]);
        assert_eq!(few, ListSource::Waiting(vec![2]));
        let ready = source(JobLabel::Ready, [(many, 0), (7, 1)]);
        assert_eq!(ready, ListSource::Lanes(LanePart::All, vec![1, 2]));
    }
}
