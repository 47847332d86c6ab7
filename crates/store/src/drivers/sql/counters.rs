//! Counts that are stored for every lane, and which questions they answer.

use std::{
    ops::{AddAssign, Sub},
    sync::{Mutex, PoisonError},
    time::Instant,
};

use steadfast_core::{JobLabel, Tally};

use super::{
    columns::{CounterColumns, TallyColumns},
    rows::RowValues,
    values::unsigned,
};
use crate::{
    drivers::driver_error::DriverError,
    lane::Lane,
    limits::COUNTERS_WARN_EVERY,
    store::{EndedJobs, JobFilter, LaneStats},
};

/// When this process last warned of a counter.
static WARNED_AT: Mutex<Option<Instant>> = Mutex::new(None);

/// What is shown for a stored counter. One that is negative has drifted, and is shown as 0.
pub(crate) fn shown(stored: i64) -> u64 {
    warn_if_negative(stored);
    unsigned(stored)
}

/// Logs, now and then, that a stored counter is negative.
pub(crate) fn warn_if_negative(stored: i64) {
    if stored < 0 && is_time_to_warn(&WARNED_AT, Instant::now()) {
        tracing::warn!(
            counted = stored,
            "a job counter is negative and shown as 0; repair it with `steadfast doctor --recount`"
        );
    }
}

/// Whether the last warning is long enough ago; this one is then the last.
fn is_time_to_warn(warned_at: &Mutex<Option<Instant>>, now: Instant) -> bool {
    let mut warned_at = warned_at.lock().unwrap_or_else(PoisonError::into_inner);
    let is_time = warned_at.is_none_or(|at| now.duration_since(at) >= COUNTERS_WARN_EVERY);
    if is_time {
        *warned_at = Some(now);
    }
    is_time
}

/// How many jobs wait, and how many of them for a retry. A part of a sum may be negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WaitingCount {
    pub waiting: i64,
    pub retrying: i64,
}

impl AddAssign for WaitingCount {
    fn add_assign(&mut self, other: Self) {
        self.waiting += other.waiting;
        self.retrying += other.retrying;
    }
}

impl Sub for WaitingCount {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            waiting: self.waiting - other.waiting,
            retrying: self.retrying - other.retrying,
        }
    }
}

/// The stored counters of a lane. Labels that depend on the time are not among them.
pub(crate) struct LaneCounters {
    /// Scheduled, ready and retrying jobs together.
    pub waiting: WaitingCount,
    pub stats: LaneStats,
}

impl LaneCounters {
    pub(crate) fn read<R: RowValues>(
        row: &R,
        lane: &Lane,
        columns: &CounterColumns,
        tally_columns: &TallyColumns,
    ) -> Result<Self, DriverError> {
        let count = |column| Ok::<_, DriverError>(shown(row.int(column)?));
        let mut stats = LaneStats::of_lane(lane);
        stats.running = count(columns.running)?;
        stats.succeeded = count(columns.succeeded)?;
        stats.failed = count(columns.failed)?;
        stats.cancelled = count(columns.cancelled)?;
        stats.dead_letters = count(columns.dead_letters)?;
        stats.total = tally(row, tally_columns)?;
        let waiting = WaitingCount {
            waiting: row.int(columns.waiting)?,
            retrying: row.int(columns.retrying)?,
        };
        Ok(Self { waiting, stats })
    }

    /// Lanes are never deleted, but one without jobs and attempts is not worth listing.
    pub(crate) fn is_empty(&self) -> bool {
        self.all() == 0 && self.stats.total == Tally::default()
    }

    fn all(&self) -> u64 {
        let LaneStats {
            running,
            succeeded,
            failed,
            cancelled,
            ..
        } = self.stats;
        self.waiting() + running + succeeded + failed + cancelled
    }

    /// Scheduled, ready and retrying jobs together.
    pub(crate) fn waiting(&self) -> u64 {
        shown(self.waiting.waiting)
    }

    /// How many of its jobs have the label that a filter wants, and are dead letters or unfinished if
    /// it wants those. Of jobs that wait, all.
    pub(crate) fn count(&self, filter: &JobFilter) -> u64 {
        let stats = &self.stats;
        match (filter.label, filter.dead_letters) {
            (None, false) if filter.unfinished => self.waiting() + stats.running,
            (None, false) if filter.ended.is_some() => {
                let succeeded = match filter.ended {
                    Some(EndedJobs::All) => stats.succeeded,
                    _ => 0,
                };
                succeeded + stats.failed + stats.cancelled
            }
            (None | Some(JobLabel::Failed), true) => stats.dead_letters,
            (Some(_), true) => 0,
            (None, false) => self.all(),
            (Some(JobLabel::Running), false) => stats.running,
            (Some(JobLabel::Succeeded), false) => stats.succeeded,
            (Some(JobLabel::Failed), false) => stats.failed,
            (Some(JobLabel::Cancelled), false) => stats.cancelled,
            (Some(JobLabel::Scheduled | JobLabel::Ready), false) => self.waiting(),
            (Some(JobLabel::Retrying), false) => shown(self.waiting.retrying),
        }
    }
}

/// The tally of a row.
pub(crate) fn tally<R: RowValues>(row: &R, columns: &TallyColumns) -> Result<Tally, DriverError> {
    let count = |column| Ok::<_, DriverError>(shown(row.int(column)?));
    Ok(Tally {
        attempts: count(columns.attempts)?,
        successes: count(columns.successes)?,
        failures: count(columns.failures)?,
        retries: count(columns.retries)?,
        successful_retries: count(columns.successful_retries)?,
        exhausted: count(columns.exhausted)?,
    })
}

/// Whether the counters alone tell how many jobs match.
pub(crate) fn can_count(filter: &JobFilter) -> bool {
    let by_counters = JobFilter {
        tenant: filter.tenant.clone(),
        queue: filter.queue.clone(),
        kind: filter.kind.clone(),
        not_kind: filter.not_kind.clone(),
        label: filter.label,
        dead_letters: filter.dead_letters,
        unfinished: filter.unfinished,
        ended: filter.ended,
        ..JobFilter::default()
    };
    let depends_on_time = matches!(
        filter.label,
        Some(JobLabel::Scheduled | JobLabel::Ready | JobLabel::Retrying)
    );
    let is_special = filter.unfinished || filter.ended.is_some();
    let is_plain = !is_special || filter.label.is_none() && !filter.dead_letters;
    *filter == by_counters && is_plain && (!depends_on_time || filter.dead_letters)
}

/// How many jobs match a filter that the counters can answer.
pub(crate) fn count(filter: &JobFilter, lanes: impl IntoIterator<Item = LaneCounters>) -> u64 {
    lanes
        .into_iter()
        .filter(|lane| {
            let LaneStats {
                tenant,
                queue,
                kind,
                ..
            } = &lane.stats;
            filter.matches_lane(tenant, queue, kind)
        })
        .map(|lane| lane.count(filter))
        .sum()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_counter_that_drifted_is_shown_as_nothing_and_told_now_and_then() {
        assert_eq!((shown(7), shown(-7)), (7, 0));
        let warned_at = WARNED_AT.lock().unwrap().unwrap();
        assert_eq!(shown(-8), 0);
        assert_eq!(*WARNED_AT.lock().unwrap(), Some(warned_at), "only once");

        let (last, begin) = (Mutex::new(None), Instant::now());
        let told = [0, 1, 299, 300, 301, 600]
            .map(|second| is_time_to_warn(&last, begin + Duration::from_secs(second)));
        assert_eq!(told, [true, false, false, true, false, true]);
    }
}
