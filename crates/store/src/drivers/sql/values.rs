//! Values to columns and back.

use std::time::Duration;

use serde::Serialize;
use steadfast_core::{JobLabel, JobState};

use crate::drivers::driver_error::DriverError;
pub(crate) use crate::drivers::driver_error::UnreadableValue;

/// How many states there are, for counts by [`state_number`].
pub(crate) const STATES: usize = 5; // not a limit: the variants of `JobState`

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

/// The state of a row.
pub(crate) fn read_state(number: i64) -> Result<JobState, DriverError> {
    let known = i16::try_from(number).ok().and_then(state);
    known.ok_or_else(|| DriverError::unreadable("state", number.to_string()))
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

/// A count, which no column has an unsigned type for.
pub(crate) fn unsigned(stored: i64) -> u64 {
    u64::try_from(stored).unwrap_or(0)
}

/// Free text is stored as JSON, because PostgreSQL stores no NUL.
pub(crate) fn to_json<T: Serialize + ?Sized>(value: &T) -> Result<String, DriverError> {
    serde_json::to_string(value).map_err(|error| DriverError::unreadable("value", error))
}
