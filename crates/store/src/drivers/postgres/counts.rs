//! Counts: collected over a transaction if its statements do not count by themselves, and moved
//! into the totals in the background.

pub(crate) mod recount;

use std::collections::HashMap;

use steadfast_core::{JobProgress, JobState};

use super::{driver_error::DriverError, session::Session};
use crate::{
    drivers::sql::values::{STATES, state_number},
    lane::LaneId,
    limits::{COUNTS_MOVED_MAX, WAITING_MINUTES_KEPT},
    minutes::minute,
};

/// By lane, and by the minute for which jobs wait.
#[derive(Default)]
pub(super) struct Counts(HashMap<(LaneId, Option<i64>), CountChange>);

#[derive(Clone, Copy, Default)]
pub(super) struct CountChange {
    pub by_state: [i32; STATES],
    pub dead_letters: i32,
    pub retrying: i32,
}

impl Counts {
    /// A job of a lane has gone from one progress to another.
    pub(super) fn move_job(&mut self, lane: LaneId, from: &JobProgress, to: &JobProgress) {
        for (progress, by) in [(from, -1), (to, 1)] {
            let is_waiting = progress.state == JobState::Waiting;
            let due_minute = is_waiting.then(|| minute(progress.run_at));
            let change = self.change(lane, due_minute);
            let number = usize::try_from(state_number(progress.state)).unwrap_or_default();
            change.by_state[number] += by;
            change.dead_letters += by * i32::from(progress.is_dead_letter());
            let is_retry = is_waiting && progress.attempt > progress.attempts_before;
            change.retrying += by * i32::from(is_retry);
        }
    }

    pub(super) fn change(&mut self, lane: LaneId, due_minute: Option<i64>) -> &mut CountChange {
        self.0.entry((lane, due_minute)).or_default()
    }

    /// Writes what was collected, in the transaction that it belongs to.
    pub(super) async fn write(self, session: &Session<'_>) -> Result<(), DriverError> {
        let (mut lanes, mut due_minutes) = (Vec::new(), Vec::new());
        let (mut dead_letters, mut retrying) = (Vec::new(), Vec::new());
        let mut states: [Vec<i32>; STATES] = Default::default();
        for ((lane, due_minute), change) in self.0 {
            lanes.push(lane);
            due_minutes.push(due_minute);
            dead_letters.push(change.dead_letters);
            retrying.push(change.retrying);
            for (column, count) in states.iter_mut().zip(change.by_state) {
                column.push(count);
            }
        }
        let [waiting, running, succeeded, failed, cancelled] = states;
        session
            .execute(
                include_str!("counts/count.sql"),
                &[
                    &lanes,
                    &due_minutes,
                    &waiting,
                    &running,
                    &succeeded,
                    &failed,
                    &cancelled,
                    &dead_letters,
                    &retrying,
                ],
            )
            .await
    }
}

/// Moves all changes into the totals, a little at a time.
pub(super) async fn fold(session: &Session<'_>) -> Result<(), DriverError> {
    fold_all(session, include_str!("counts/fold.sql")).await
}

/// Tidies up minutes that are past.
pub(super) async fn fold_past(session: &Session<'_>) -> Result<(), DriverError> {
    let now = session.shared.clock.now();
    session
        .execute(
            include_str!("counts/waiting_drop_empty.sql"),
            &[&minute(now)],
        )
        .await?;
    let long_past = minute(now.minus(WAITING_MINUTES_KEPT));
    session
        .execute(include_str!("counts/waiting_fold.sql"), &[&long_past])
        .await
}

async fn fold_all(session: &Session<'_>, sql: &'static str) -> Result<(), DriverError> {
    loop {
        let row = session.query_one(sql, &[&COUNTS_MOVED_MAX]).await?;
        if row.try_get::<_, i64>("moved")? < COUNTS_MOVED_MAX {
            return Ok(());
        }
    }
}
