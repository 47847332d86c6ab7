//! What columns hold, in every driver that has columns.

use std::time::Duration;

use steadfast_core::{Kind, Label, Queue, State, Tenant, Timestamp};

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

pub(crate) fn state(number: i16) -> Option<State> {
    Some(match number {
        0 => State::Waiting,
        1 => State::Running,
        2 => State::Succeeded,
        3 => State::Failed,
        4 => State::Cancelled,
        _ => return None,
    })
}

pub(crate) fn state_number(state: State) -> i16 {
    match state {
        State::Waiting => 0,
        State::Running => 1,
        State::Succeeded => 2,
        State::Failed => 3,
        State::Cancelled => 4,
    }
}

/// The state that a label is shown for.
pub(crate) fn stored_state(label: Label) -> State {
    match label {
        Label::Scheduled | Label::Ready | Label::Retrying => State::Waiting,
        Label::Running => State::Running,
        Label::Succeeded => State::Succeeded,
        Label::Failed => State::Failed,
        Label::Cancelled => State::Cancelled,
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
