//! Counts, gathered in memory over a transaction and written once for each lane in it.

use std::collections::HashMap;

use rusqlite::{Connection, params};
use steadfast_core::{JobProgress, JobState, Tally, Timestamp};

use super::{fault::Fault, names::LaneId, rows::state_number};
pub(super) use crate::columns::minute;

#[derive(Default)]
pub(super) struct Counts {
    lanes: HashMap<LaneId, LaneChange>,
    minutes: HashMap<(i64, LaneId), Tally>,
}

#[derive(Default)]
struct LaneChange {
    by_state: [i64; 5],
    dead_letters: i64,
    tally: Tally,
}

/// Where a job is counted.
#[derive(Clone, Copy)]
pub(super) struct Place {
    state: JobState,
    dead_letter: bool,
}

impl Place {
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
            dead_letter: progress.state == JobState::Failed && progress.resolved_at.is_none(),
        }
    }

    /// The place of a job that retention deletes, which is never a dead letter.
    pub(super) const fn prunable(state: JobState) -> Self {
        Self::of_state(state)
    }
}

impl Counts {
    pub(super) fn moved(&mut self, lane: LaneId, from: Option<Place>, to: Option<Place>) {
        let change = self.lanes.entry(lane).or_default();
        for (place, by) in [(from, -1), (to, 1)] {
            let Some(Place { state, dead_letter }) = place else {
                continue;
            };
            let number = usize::try_from(state_number(state)).unwrap_or_default();
            change.by_state[number] += by;
            change.dead_letters += by * i64::from(dead_letter);
        }
    }

    pub(super) fn ended(&mut self, lane: LaneId, at: Timestamp, tally: Tally) {
        self.lanes.entry(lane).or_default().tally += tally;
        *self.minutes.entry((minute(at), lane)).or_default() += tally;
    }

    pub(super) fn clear(&mut self) {
        self.lanes.clear();
        self.minutes.clear();
    }

    /// Writes what was gathered, in the transaction that it belongs to.
    pub(super) fn write(&mut self, conn: &Connection) -> Result<(), Fault> {
        for (lane, change) in self.lanes.drain() {
            let LaneChange {
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
            ] = columns(tally);
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
            ] = columns(tally);
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

fn columns(tally: Tally) -> [i64; 6] {
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
