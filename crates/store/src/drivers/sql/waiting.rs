//! Waiting jobs by label, from counts by the minute of `runAt`.
//!
//! Whether a job is due changes with the time alone, and then nothing is written; so what is
//! stored is how many jobs wait for each minute. All of a minute that is past are due, none of
//! one to come is, and only of the present minute rows are counted, up to a limit.

use std::collections::HashMap;

use steadfast_core::Timestamp;

use crate::{
    lane::LaneId,
    limits::{PRESENT_ROWS_MAX, PRESENT_ROWS_OF_LANE_MAX, PRESENT_ROWS_OF_LANE_MIN},
    minutes::{minute, minute_start},
    store::LaneStats,
};

use super::{
    counters::{LaneCounters, WaitingCount, warn_if_negative},
    values::unsigned,
};

/// The waiting jobs of a lane.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LaneWaiting {
    pub all: WaitingCount,
    /// In minutes before the present one: all of them are due.
    pub before: WaitingCount,
    /// In the present minute.
    pub present: WaitingCount,
}

impl LaneWaiting {
    /// Of lanes by their counters, whatever the minute of their jobs.
    pub(crate) fn of_lanes(lanes: &[(LaneId, LaneCounters)]) -> HashMap<LaneId, Self> {
        let waiting = |counters: &LaneCounters| Self {
            all: counters.waiting,
            ..Self::default()
        };
        lanes
            .iter()
            .map(|(id, lane)| (*id, waiting(lane)))
            .collect()
    }

    /// Whether jobs are due, or may be.
    pub(crate) fn may_be_due(&self) -> bool {
        self.before.waiting > 0 || self.is_in_present()
    }

    /// Whether jobs of the present minute have to be counted.
    pub(crate) fn is_in_present(&self) -> bool {
        self.present != WaitingCount::default()
    }

    /// Puts the counts by label into the stats of the lane. `due` is what is due of the present
    /// minute.
    pub(crate) fn put(&self, due: WaitingCount, stats: &mut LaneStats) {
        let mut ready = self.before;
        ready += due;
        let later = self.all - ready;
        for stored in [self.all, self.before, self.present] {
            warn_if_negative(stored.waiting);
            warn_if_negative(stored.retrying);
        }
        // These may be below zero only because the present minute was not counted to its end.
        stats.ready = unsigned(ready.waiting);
        stats.retrying = unsigned(later.retrying);
        stats.scheduled = unsigned(later.waiting - later.retrying);
    }
}

/// The minute in which the counts are asked for.
#[derive(Clone, Copy)]
pub(crate) struct PresentMinute {
    pub number: i64,
    /// The first moment of it.
    pub start: i64,
    /// The first moment that is not due.
    pub later: i64,
    /// The first moment after it.
    pub end: i64,
}

impl PresentMinute {
    pub(crate) fn at(now: Timestamp) -> Self {
        let number = minute(now);
        Self {
            number,
            start: minute_start(number).as_micros(),
            later: now.as_micros() + 1,
            end: minute_start(number + 1).as_micros(),
        }
    }

    /// How many of the jobs of this minute are due, if so many are not, or so many are; neither
    /// was counted further than `limit`. If both reach it, the minute's jobs are taken for
    /// evenly spread.
    pub(crate) fn due<E>(
        &self,
        all: i64,
        limit: i64,
        later: i64,
        due: impl FnOnce() -> Result<i64, E>,
    ) -> Result<i64, E> {
        if later < limit {
            return Ok((all - later).max(0));
        }
        let due = due()?;
        if due < limit {
            return Ok(due);
        }
        let elapsed = i128::from(self.later - self.start) * i128::from(all);
        let share = elapsed / i128::from((self.end - self.start).max(1));
        let most = (all - later).max(due);
        Ok(i64::try_from(share).unwrap_or(all).clamp(due, most))
    }
}

/// How many rows of the present minute are counted of each lane and side.
pub(crate) fn present_rows_limit(lanes: usize) -> i64 {
    let share = PRESENT_ROWS_MAX / i64::try_from(lanes.max(1)).unwrap_or(i64::MAX);
    share.clamp(PRESENT_ROWS_OF_LANE_MIN, PRESENT_ROWS_OF_LANE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(all: i64, later: i64, due: i64) -> i64 {
        let minute = PresentMinute::at(Timestamp::from_micros(45_000_000 - 1));
        minute.due(all, 100, later, || Ok::<_, ()>(due)).unwrap()
    }

    #[test]
    fn the_smaller_side_of_the_present_minute_is_exact() {
        for (all, later, counted, expected) in [
            (50, 0, 50, 50),
            (1_000, 3, 100, 997),
            (1_000, 100, 7, 7),
            (1_000, 100, 100, 750),
            (180, 100, 100, 100),
            (10, 20, 0, 0),
        ] {
            assert_eq!(
                due(all, later, counted),
                expected,
                "{all} {later} {counted}"
            );
        }
    }
}
