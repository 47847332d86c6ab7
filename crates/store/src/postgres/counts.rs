//! Counts: collected over a transaction if its statements do not count by themselves, and moved
//! into the totals in the background.

use std::collections::HashMap;

use steadfast_core::JobProgress;

use super::{driver_error::DriverError, names::LaneId, session::Session};
use crate::{
    limits::COUNTS_MOVED_MAX,
    sql::values::{STATES, state_number},
};

#[derive(Default)]
pub(super) struct Counts(HashMap<LaneId, LaneCounts>);

#[derive(Default)]
struct LaneCounts {
    by_state: [i32; STATES],
    dead_letters: i32,
}

impl Counts {
    /// A job of a lane has gone from one progress to another.
    pub(super) fn move_job(&mut self, lane: LaneId, from: &JobProgress, to: &JobProgress) {
        let change = self.0.entry(lane).or_default();
        for (progress, by) in [(from, -1), (to, 1)] {
            let number = usize::try_from(state_number(progress.state)).unwrap_or_default();
            change.by_state[number] += by;
            change.dead_letters += by * i32::from(progress.is_dead_letter());
        }
    }

    /// Writes what was collected, in the transaction that it belongs to.
    pub(super) async fn write(self, session: &Session<'_>) -> Result<(), DriverError> {
        let (mut lanes, mut dead_letters) = (Vec::new(), Vec::new());
        let mut states: [Vec<i32>; STATES] = Default::default();
        for (lane, change) in self.0 {
            lanes.push(lane);
            dead_letters.push(change.dead_letters);
            for (column, count) in states.iter_mut().zip(change.by_state) {
                column.push(count);
            }
        }
        let [waiting, running, succeeded, failed, cancelled] = states;
        session
            .execute(
                include_str!("sql/count.sql"),
                &[
                    &lanes,
                    &waiting,
                    &running,
                    &succeeded,
                    &failed,
                    &cancelled,
                    &dead_letters,
                ],
            )
            .await
    }
}

/// Moves all changes into the totals, a little at a time.
pub(super) async fn fold(session: &Session<'_>) -> Result<(), DriverError> {
    loop {
        let sql = include_str!("sql/fold.sql");
        let moved: i64 = session
            .query_one(sql, &[&COUNTS_MOVED_MAX])
            .await?
            .try_get("moved")?;
        if moved < COUNTS_MOVED_MAX {
            return Ok(());
        }
    }
}
