//! One step of a schedule: what to fire now, what to skip and why, and where it stands after.
//!
//! Pure, so that the caller can write the jobs, the skips and the new progress in one
//! transaction, guarded by the schedule's revision. A crash before the commit leaves the old
//! progress, from which the same step follows again; two nodes that take the step at once
//! compute the same ticks, and only one of them commits.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    MissedTickPolicy, OverlapPolicy, Timetable,
    due::{Due, Range},
};
use crate::Timestamp;

/// How late a tick may be and still count as seen. Longer than a restart with its grace
/// period of 30 s, so that a deployment does not lose the nightly run of a schedule that
/// skips missed ticks; shorter than a minute, so that a minutely rule has at most one.
const LATENESS_MAX: Duration = Duration::from_secs(45);

/// All that a schedule remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScheduleProgress {
    /// The next tick that is not dealt with; `None` when there will be no more.
    pub next_tick: Option<Timestamp>,
    /// The newest tick that is dealt with, whether it fired, waits or was skipped.
    pub last_tick: Option<Timestamp>,
    /// How many ticks have fired, which is what `maxRuns` counts.
    pub runs: u64,
    /// A tick that waits for the unfinished run to end.
    pub queued_tick: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimetableStep {
    /// Ticks to make a job of, in order of time.
    pub fire: Vec<Timestamp>,
    /// In order of time.
    pub skipped: Vec<SkippedTicks>,
    /// Cancel the unfinished run, in the same transaction.
    pub cancel_unfinished: bool,
    pub progress: ScheduleProgress,
}

/// Ticks that made no run, as a range: a million missed seconds are one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SkippedTicks {
    pub from: Timestamp,
    pub to: Timestamp,
    /// Exact, except that more than 10,000 missed ticks of a cron rule are not all counted:
    /// then there were at least this many.
    pub count: u64,
    pub reason: SkipReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SkipReason {
    /// The last run was unfinished, or another tick that was due at the same time went first.
    Overlap,
    /// Nobody was there to see the tick.
    Missed,
    /// Older than the newest hundred that `runAll` makes up for.
    MissedLimit,
    /// `maxRuns` was used up by other ticks.
    MaxRuns,
}

impl ScheduleProgress {
    /// Nothing will ever fire again.
    pub fn is_over(&self) -> bool {
        self.next_tick.is_none() && self.queued_tick.is_none()
    }

    /// Runs that have fired, and the one that has its place.
    pub(super) fn taken(&self) -> u64 {
        self.runs
            .saturating_add(u64::from(self.queued_tick.is_some()))
    }
}

impl Timetable {
    /// Where a schedule made at `created_at` begins.
    pub fn begin(&self, created_at: Timestamp) -> ScheduleProgress {
        ScheduleProgress {
            next_tick: self.first_tick(created_at).map(|tick| tick.at),
            ..ScheduleProgress::default()
        }
    }

    /// Where a schedule goes on that was paused until `now`: ticks of the pause were not
    /// missed, they were not wanted. An `Every` keeps its beat.
    pub fn resume(&self, progress: &ScheduleProgress, now: Timestamp) -> ScheduleProgress {
        let anchor = progress.next_tick.or(progress.last_tick).unwrap_or(now);
        let after = progress.last_tick.map_or(now, |last| last.max(now));
        let next = self.tick_after(anchor, after).map(|tick| tick.at);
        self.bounded(ScheduleProgress {
            next_tick: next,
            ..*progress
        })
    }

    /// What to do now. `unfinished` says whether a run of this schedule has not ended yet.
    ///
    /// First `missed` decides which of the ticks that are due may run at all, then `overlap`
    /// and `maxRuns` how many of them. Where not all can go the newest do, because their
    /// runs see the newest state of the world; only a tick that already waits keeps its
    /// place before newer ones. So with `overlap: skip`, `runAll` can make up for one tick
    /// only and records the others as overlapping.
    pub fn step(
        &self,
        progress: &ScheduleProgress,
        unfinished: bool,
        now: Timestamp,
    ) -> TimetableStep {
        let due = match self.next_untold(progress) {
            Some(first) => self.due(first, now),
            None => Due::default(),
        };
        let next_tick = due.next;
        let last_tick = due.newest.last().copied().or(progress.last_tick);
        let mut skipped = Vec::new();
        let ticks = self.settle_missed(due, now, &mut skipped);
        let mut places = self.give_places(progress, ticks, unfinished, &mut skipped);
        let queued_tick = match (self.overlap, unfinished) {
            (OverlapPolicy::QueueOne, true) => places.pop(),
            (OverlapPolicy::QueueOne, false) if places.len() > 1 => places.pop(),
            _ => None,
        };
        TimetableStep {
            cancel_unfinished: self.overlap == OverlapPolicy::Replace
                && unfinished
                && !places.is_empty(),
            progress: self.bounded(ScheduleProgress {
                next_tick,
                last_tick,
                runs: progress.runs.saturating_add(places.len() as u64),
                queued_tick,
            }),
            fire: places,
            skipped,
        }
    }

    /// The next tick, unless a clock that went backwards made it one of the past.
    fn next_untold(&self, progress: &ScheduleProgress) -> Option<Timestamp> {
        match (progress.next_tick?, progress.last_tick) {
            (next, Some(last)) if next <= last => self.tick_after(last, last).map(|tick| tick.at),
            (next, _) => Some(next),
        }
    }

    /// Those of the due ticks that may run.
    fn settle_missed(
        &self,
        due: Due,
        now: Timestamp,
        skipped: &mut Vec<SkippedTicks>,
    ) -> Vec<Timestamp> {
        let Due {
            older,
            newest: mut ticks,
            ..
        } = due;
        if self.missed == MissedTickPolicy::RunAll {
            skip(skipped, older, &[], SkipReason::MissedLimit);
            return ticks;
        }
        let missed = ticks.partition_point(|tick| now.since(*tick) > LATENESS_MAX);
        let run_from = match self.missed {
            // A tick that was seen runs now and makes up for those before it.
            MissedTickPolicy::RunOnce if missed == ticks.len() => missed.saturating_sub(1),
            _ => missed,
        };
        let ticks_to_run = ticks.split_off(run_from);
        skip(skipped, older, &ticks, SkipReason::Missed);
        ticks_to_run
    }

    /// The ticks that run now or wait, in order of time.
    fn give_places(
        &self,
        progress: &ScheduleProgress,
        mut ticks: Vec<Timestamp>,
        unfinished: bool,
        skipped: &mut Vec<SkippedTicks>,
    ) -> Vec<Timestamp> {
        let overlap_places = match (self.overlap, unfinished) {
            (OverlapPolicy::Allow, _) => u64::MAX,
            (OverlapPolicy::Skip, true) => 0,
            (OverlapPolicy::Skip, false)
            | (OverlapPolicy::Replace, _)
            | (OverlapPolicy::QueueOne, true) => 1,
            (OverlapPolicy::QueueOne, false) => 2,
        };
        let runs_left = self
            .max_runs
            .map_or(u64::MAX, |max| max.saturating_sub(progress.runs));
        let (places, reason) = if runs_left < overlap_places {
            (runs_left, SkipReason::MaxRuns)
        } else {
            (overlap_places, SkipReason::Overlap)
        };
        let places = usize::try_from(places).unwrap_or(usize::MAX);
        let kept = progress
            .queued_tick
            .filter(|_| self.overlap == OverlapPolicy::QueueOne && places > 0);
        if kept.is_none() {
            ticks.splice(0..0, progress.queued_tick);
        }
        let free = places - usize::from(kept.is_some());
        let going = ticks.split_off(ticks.len().saturating_sub(free));
        skip(skipped, None, &ticks, reason);
        kept.into_iter().chain(going).collect()
    }

    fn bounded(&self, mut progress: ScheduleProgress) -> ScheduleProgress {
        if self.max_runs.is_some_and(|max| progress.taken() >= max) {
            progress.next_tick = None;
        }
        progress
    }
}

/// Records ticks, and the range before them if there is one, as skipped.
fn skip(
    skipped: &mut Vec<SkippedTicks>,
    older: Option<Range>,
    ticks: &[Timestamp],
    reason: SkipReason,
) {
    let listed = match ticks {
        [] => None,
        [only] => Some((*only, *only)),
        [first, .., last] => Some((*first, *last)),
    };
    let (from, to, count) = match (older, listed) {
        (None, None) => return,
        (Some(older), None) => (older.from, older.to, older.count),
        (None, Some((from, to))) => (from, to, ticks.len() as u64),
        (Some(older), Some((_, to))) => (older.from, to, older.count + ticks.len() as u64),
    };
    skipped.push(SkippedTicks {
        from,
        to,
        count,
        reason,
    });
}
