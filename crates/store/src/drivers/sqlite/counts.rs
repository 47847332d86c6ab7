//! Counts, collected in memory over a transaction and written once for each lane in it.

pub(crate) mod recount;
pub(crate) mod waiting_at_gate;

use std::{collections::HashMap, hash::Hash};

use rusqlite::{Connection, params};
use steadfast_core::{JobProgress, JobState, Tally, Timestamp};

use super::{driver_error::DriverError, values::state_number};
use crate::{
    drivers::sql::{counters::WaitingCount, values::STATES},
    lane::LaneId,
    limits::WAITING_MINUTES_KEPT,
    minutes::minute,
};

#[derive(Default)]
pub(super) struct Counts {
    lanes: Sums<LaneId, LaneCounts>,
    minutes: Sums<(i64, LaneId), Tally>,
    /// By the minute of `runAt`.
    waiting: Sums<(i64, LaneId), WaitingCount>,
}

/// Sums by key. Most changes concern the same key as the one before, which is kept at hand: the
/// search of a map would take most of the time.
struct Sums<K, V> {
    latest: Option<(K, V)>,
    others: HashMap<K, V>,
}

impl<K, V> Default for Sums<K, V> {
    fn default() -> Self {
        Self {
            latest: None,
            others: HashMap::new(),
        }
    }
}

impl<K: Copy + Eq + Hash + Ord, V: Default> Sums<K, V> {
    fn of(&mut self, key: K) -> &mut V {
        if self
            .latest
            .as_ref()
            .is_none_or(|(latest, _)| *latest != key)
        {
            self.others.extend(self.latest.take());
            let sum = self.others.remove(&key).unwrap_or_default();
            self.latest = Some((key, sum));
        }
        let latest = self.latest.get_or_insert_with(|| (key, V::default()));
        &mut latest.1
    }

    fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        let latest = self.latest.iter().map(|(key, sum)| (*key, sum));
        latest.chain(self.others.iter().map(|(key, sum)| (*key, sum)))
    }

    /// In the order of their keys, which is that of the pages that they are on.
    fn drain(&mut self) -> Vec<(K, V)> {
        let latest = self.latest.take().into_iter();
        let mut all: Vec<(K, V)> = latest.chain(self.others.drain()).collect();
        all.sort_unstable_by_key(|(key, _)| *key);
        all
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

#[derive(Default)]
struct LaneCounts {
    by_state: [i64; STATES],
    dead_letters: i64,
    retrying: i64,
    tally: Tally,
}

/// What a job is counted as.
#[derive(Clone, Copy)]
pub(super) struct Bucket {
    state: JobState,
    dead_letter: bool,
    /// Of a waiting job.
    minute: i64,
    is_retry: bool,
}

impl Bucket {
    pub(super) const RUNNING: Self = Self::of_state(JobState::Running);

    const fn of_state(state: JobState) -> Self {
        Self {
            state,
            dead_letter: false,
            minute: 0,
            is_retry: false,
        }
    }

    pub(super) fn waiting(run_at: Timestamp, is_retry: bool) -> Self {
        Self {
            minute: minute(run_at),
            is_retry,
            ..Self::of_state(JobState::Waiting)
        }
    }

    pub(super) fn of(progress: &JobProgress) -> Self {
        Self {
            state: progress.state,
            dead_letter: progress.is_dead_letter(),
            minute: minute(progress.run_at),
            is_retry: progress.attempt > progress.attempts_before,
        }
    }

    /// The bucket of a job that retention deletes, which is never a dead letter.
    pub(super) const fn prunable(state: JobState) -> Self {
        Self::of_state(state)
    }
}

impl Counts {
    pub(super) fn move_job(&mut self, lane: LaneId, from: Option<Bucket>, to: Option<Bucket>) {
        let change = self.lanes.of(lane);
        for (bucket, by) in [(from, -1), (to, 1)] {
            let Some(bucket) = bucket else {
                continue;
            };
            let number = usize::try_from(state_number(bucket.state)).unwrap_or_default();
            change.by_state[number] += by;
            change.dead_letters += by * i64::from(bucket.dead_letter);
            if bucket.state == JobState::Waiting {
                let retrying = by * i64::from(bucket.is_retry);
                change.retrying += retrying;
                *self.waiting.of((bucket.minute, lane)) += WaitingCount {
                    waiting: by,
                    retrying,
                };
            }
        }
    }

    pub(super) fn add_attempt(&mut self, lane: LaneId, at: Timestamp, tally: Tally) {
        self.lanes.of(lane).tally += tally;
        *self.minutes.of((minute(at), lane)) += tally;
    }

    pub(super) fn clear(&mut self) {
        self.lanes.clear();
        self.minutes.clear();
        self.waiting.clear();
    }

    /// Writes what was collected, in the transaction that it belongs to.
    pub(super) fn write(&mut self, conn: &Connection) -> Result<(), DriverError> {
        let lanes = self.lanes.drain();
        if lanes.is_empty() {
            return Ok(());
        }
        // Finding a statement hashes its text, so that is not done for each lane.
        let mut lane_count = conn.prepare_cached(include_str!("counts/lane_count.sql"))?;
        for (lane, change) in lanes {
            let LaneCounts {
                by_state: [waiting, running, succeeded, failed, cancelled],
                dead_letters,
                retrying,
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
            lane_count.execute(params![
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
                retrying,
            ])?;
        }
        self.write_waiting(conn)?;
        self.write_minutes(conn)
    }

    fn write_waiting(&mut self, conn: &Connection) -> Result<(), DriverError> {
        let mut waiting_count = conn.prepare_cached(include_str!("counts/waiting_count.sql"))?;
        for ((minute, lane), count) in self.waiting.drain() {
            // What came and went in one transaction is most of what a busy lane does.
            if count == WaitingCount::default() {
                continue;
            }
            waiting_count.execute(params![minute, lane, count.waiting, count.retrying])?;
        }
        Ok(())
    }

    fn write_minutes(&mut self, conn: &Connection) -> Result<(), DriverError> {
        let minutes = self.minutes.drain();
        if minutes.is_empty() {
            return Ok(());
        }
        let mut minute_count = conn.prepare_cached(include_str!("counts/minute_count.sql"))?;
        for ((minute, lane), tally) in minutes {
            let [
                attempts,
                successes,
                failures,
                retries,
                successful_retries,
                exhausted,
            ] = tally_columns(tally);
            minute_count.execute(params![
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

/// Forgets past minutes in which nothing waits, and moves those long past into one.
pub(super) fn fold_waiting(conn: &Connection, now: Timestamp) -> Result<(), DriverError> {
    conn.prepare_cached(include_str!("counts/waiting_drop_empty.sql"))?
        .execute([minute(now)])?;
    let long_past = minute(now.minus(WAITING_MINUTES_KEPT));
    for sql in [
        include_str!("counts/waiting_fold.sql"),
        include_str!("counts/waiting_folded.sql"),
    ] {
        conn.prepare_cached(sql)?.execute([long_past])?;
    }
    Ok(())
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
