//! Schedules in columns, and the order in which they are due.

use steadfast_core::{Schedule, ScheduleProgress, Timestamp};

/// Sorts by how long something has been due, and leaves the first.
pub(crate) fn keep_longest_due(schedules: &mut Vec<Schedule>, now: Timestamp, limit: usize) {
    schedules.sort_by_key(|schedule| {
        let ScheduleProgress {
            next_tick,
            queued_tick,
            ..
        } = schedule.progress;
        next_tick.filter(|tick| *tick <= now).or(queued_tick)
    });
    schedules.truncate(limit);
}

/// `next_tick`, `last_tick`, `runs`, `queued_tick`.
pub(crate) fn progress_columns(progress: &ScheduleProgress) -> [Option<i64>; 4] {
    [
        progress.next_tick.map(Timestamp::as_micros),
        progress.last_tick.map(Timestamp::as_micros),
        Some(i64::try_from(progress.runs).unwrap_or(i64::MAX)),
        progress.queued_tick.map(Timestamp::as_micros),
    ]
}
