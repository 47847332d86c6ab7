//! Counts: gathered over a transaction where statements do not count by themselves, and moved
//! into the totals in the background.

use std::collections::HashMap;

use steadfast_core::{JobProgress, JobState};

use super::{fault::Fault, names::LaneId, session::Session};
use crate::columns::state_number;

/// Small enough that a commit never waits long for the totals.
const MOVED_MAX: i64 = 5_000;

#[derive(Default)]
pub(super) struct Counts(HashMap<LaneId, LaneChange>);

#[derive(Default)]
struct LaneChange {
    by_state: [i32; 5],
    dead_letters: i32,
}

impl Counts {
    /// A job of a lane has gone from one progress to another.
    pub(super) fn moved(&mut self, lane: LaneId, from: &JobProgress, to: &JobProgress) {
        let change = self.0.entry(lane).or_default();
        for (progress, by) in [(from, -1), (to, 1)] {
            let number = usize::try_from(state_number(progress.state)).unwrap_or_default();
            change.by_state[number] += by;
            change.dead_letters += by * i32::from(is_dead_letter(progress));
        }
    }

    /// Writes what was gathered, in the transaction that it belongs to.
    pub(super) async fn write(self, session: &Session<'_>) -> Result<(), Fault> {
        let (mut lanes, mut dead_letters) = (Vec::new(), Vec::new());
        let mut states: [Vec<i32>; 5] = Default::default();
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

fn is_dead_letter(progress: &JobProgress) -> bool {
    progress.state == JobState::Failed && progress.resolved_at.is_none()
}

/// Moves all changes into the totals, a little at a time.
pub(super) async fn fold(session: &Session<'_>) -> Result<(), Fault> {
    loop {
        let sql = include_str!("sql/fold.sql");
        let moved: i64 = session.query_one(sql, &[&MOVED_MAX]).await?.try_get(0)?;
        if moved < MOVED_MAX {
            return Ok(());
        }
    }
}
