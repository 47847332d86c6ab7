//! Counts, collected in memory over a transaction and written once for each lane in it.

use std::collections::HashMap;

use rusqlite::{Connection, params};
use steadfast_core::{JobProgress, JobState, Tally, Timestamp};

use super::{driver_error::DriverError, names::LaneId, values::state_number};
use crate::{minutes::minute, sql::values::STATES};

#[derive(Default)]
pub(super) struct Counts {
    lanes: HashMap<LaneId, LaneCounts>,
    minutes: HashMap<(i64, LaneId), Tally>,
}

#[derive(Default)]
struct LaneCounts {
    by_state: [i64; STATES],
    dead_letters: i64,
    tally: Tally,
}

/// What a job is counted as.
#[derive(Clone, Copy)]
pub(super) struct Bucket {
    state: JobState,
    dead_letter: bool,
}

impl Bucket {
    pub(super) const WAITING: Self = Self::of_state(JobState::Waiting);
    pub(super) const RUNNING: Self = Self::of_state(JobState::Running);

    const fn of_state(state: JobState) -> Self {
        Self {
            state,
            dead_letter: false,
        }
    }

    pub(super) fn of(progress: &JobProgress) -> Self {
        Self {
            state: progress.state,
            dead_letter: progress.is_dead_letter(),
        }
    }

    /// The bucket of a job that retention deletes, which is never a dead letter.
    pub(super) const fn prunable(state: JobState) -> Self {
        Self::of_state(state)
    }
}

impl Counts {
    pub(super) fn move_job(&mut self, lane: LaneId, from: Option<Bucket>, to: Option<Bucket>) {
        let change = self.lanes.entry(lane).or_default();
        for (bucket, by) in [(from, -1), (to, 1)] {
            let Some(Bucket { state, dead_letter }) = bucket else {
                continue;
            };
            let number = usize::try_from(state_number(state)).unwrap_or_default();
            change.by_state[number] += by;
            change.dead_letters += by * i64::from(dead_letter);
        }
    }

    pub(super) fn add_attempt(&mut self, lane: LaneId, at: Timestamp, tally: Tally) {
        self.lanes.entry(lane).or_default().tally += tally;
        *self.minutes.entry((minute(at), lane)).or_default() += tally;
    }

    pub(super) fn clear(&mut self) {
        self.lanes.clear();
        self.minutes.clear();
    }

    /// Writes what was collected, in the transaction that it belongs to.
    pub(super) fn write(&mut self, conn: &Connection) -> Result<(), DriverError> {
        for (lane, change) in self.lanes.drain() {
            let LaneCounts {
                by_state: [waiting, running, succeeded, failed, cancelled],
                dead_letters,
                tally,
            } = change;
            let [
                attempts,
                successes,
                failures,
                retries,
                successful_retries,
                exhausted,
            ] = tally_columns(tally);
            conn.prepare_cached(include_str!("sql/lane_count.sql"))?
                .execute(params![
                    lane,
                    waiting,
                    running,
                    succeeded,
                    failed,
                    cancelled,
                    dead_letters,
                    attempts,
                    successes,
                    failures,
                    retries,
                    successful_retries,
                    exhausted,
                ])?;
        }
        for ((minute, lane), tally) in self.minutes.drain() {
            let [
                attempts,
                successes,
                failures,
                retries,
                successful_retries,
                exhausted,
            ] = tally_columns(tally);
            conn.prepare_cached(include_str!("sql/minute_count.sql"))?
                .execute(params![
                    minute,
                    lane,
                    attempts,
                    successes,
                    failures,
                    retries,
                    successful_retries,
                    exhausted,
                ])?;
        }
        Ok(())
    }
}

fn tally_columns(tally: Tally) -> [i64; 6] {
    [
        tally.attempts,
        tally.successes,
        tally.failures,
        tally.retries,
        tally.successful_retries,
        tally.exhausted,
    ]
    .map(|count| i64::try_from(count).unwrap_or(i64::MAX))
}
