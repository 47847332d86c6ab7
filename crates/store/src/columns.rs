//! What columns hold, in every driver that has columns.

use std::time::Duration;

use steadfast_core::{JobLabel, JobState, Kind, Queue, Tenant, Timestamp};

use crate::JobFilter;

/// One tenant's jobs of one kind in one queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LaneName {
    pub tenant: Tenant,
    pub queue: Queue,
    pub kind: Kind,
}

impl LaneName {
    /// Whether a filter's names are these, as far as it names any.
    pub(crate) fn is_meant_by(&self, filter: &JobFilter) -> bool {
        fn same<T: PartialEq>(wanted: &Option<T>, found: &T) -> bool {
            wanted.as_ref().is_none_or(|wanted| wanted == found)
        }
        same(&filter.tenant, &self.tenant)
            && same(&filter.queue, &self.queue)
            && same(&filter.kind, &self.kind)
    }
}

pub(crate) fn state(number: i16) -> Option<JobState> {
    Some(match number {
        0 => JobState::Waiting,
        1 => JobState::Running,
        2 => JobState::Succeeded,
        3 => JobState::Failed,
        4 => JobState::Cancelled,
        _ => return None,
    })
}

pub(crate) fn state_number(state: JobState) -> i16 {
    match state {
        JobState::Waiting => 0,
        JobState::Running => 1,
        JobState::Succeeded => 2,
        JobState::Failed => 3,
        JobState::Cancelled => 4,
    }
}

/// The state that a label is shown for.
pub(crate) fn stored_state(label: JobLabel) -> JobState {
    match label {
        JobLabel::Scheduled | JobLabel::Ready | JobLabel::Retrying => JobState::Waiting,
        JobLabel::Running => JobState::Running,
        JobLabel::Succeeded => JobState::Succeeded,
        JobLabel::Failed => JobState::Failed,
        JobLabel::Cancelled => JobState::Cancelled,
    }
}

/// Nanoseconds, so that a jittered delay reads back as it was.
pub(crate) fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

pub(crate) fn duration(nanos: i64) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
}

/// The minute in which attempts are counted.
pub(crate) fn minute(time: Timestamp) -> i64 {
    time.as_millis() / 60_000
}
