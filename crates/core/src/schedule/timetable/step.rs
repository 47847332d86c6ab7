//! One step of a schedule: what to fire now, what to skip and why, and where it stands afterwards.
//!
//! Pure, so that the caller can write the jobs, the skips and the new progress in one
//! transaction, guarded by the schedule's revision. A crash before the commit leaves the old
//! progress, from which the same step follows again; two nodes that take the step at once
//! compute the same ticks, and only one of them commits.

use serde::{Deserialize, Serialize};

use super::{
    MissedTickPolicy, OverlapPolicy, Timetable,
    due::{DueTicks, TickRange},
};
use crate::{limits, values::Timestamp};

/// The state of a schedule between two steps.
// Exhaustive on purpose: every store reads and writes each field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScheduleProgress {
    /// The next tick to handle; `None` if there will be no more.
    pub next_tick: Option<Timestamp>,
    /// The newest tick that was handled, whether it fired, waits or was skipped.
    pub last_tick: Option<Timestamp>,
    /// How many ticks have fired, which is what `maxRuns` counts.
    pub runs: u64,
    /// A tick that waits for the unfinished run to end.
    pub queued_tick: Option<Timestamp>,
}

/// The next step of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimetableStep {
    /// Ticks to create a job for, in order of time.
    pub fire: Vec<Timestamp>,
    /// Ticks that create no job, in order of time.
    pub skipped: Vec<SkippedTicks>,
    /// Cancel the unfinished run, in the same transaction.
    pub cancel_unfinished: bool,
    /// The state after this step.
    pub progress: ScheduleProgress,
}

/// Ticks that created no job, as a range: a million missed seconds are one record.
// Exhaustive on purpose: every store reads and writes each field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SkippedTicks {
    /// The first of them.
    pub from: Timestamp,
    /// The last of them; equal to `from` if it is one.
    pub to: Timestamp,
    /// How many they are. Exact, except that of the missed ticks of a cron rule only
    /// [`limits::TICKS_COUNTED_MAX`] are counted: then there were at least this many.
    pub count: u64,
    /// Why they created no job.
    pub reason: SkipReason,
}

/// Why a tick created no job.
// Exhaustive on purpose: pages must have words for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum SkipReason {
    /// The last run was unfinished, or a newer tick that was due at the same time ran instead.
    Overlap,
    /// No node was running at the time of the tick: it was found more than
    /// [`limits::TICK_LATENESS_MAX`] late, or others before it were.
    Missed,
    /// Older than the newest [`limits::RUN_ALL_TICKS_MAX`], for which `runAll` makes up.
    MissedLimit,
    /// `maxRuns` was used up by other ticks.
    MaxRuns,
}

impl ScheduleProgress {
    /// Whether no tick will ever fire again.
    pub fn is_over(&self) -> bool {
        self.next_tick.is_none() && self.queued_tick.is_none()
    }

    /// Ticks that have fired, and the one that waits to fire.
    pub(super) fn runs_used(&self) -> u64 {
        self.runs
            .saturating_add(u64::from(self.queued_tick.is_some()))
    }
}

impl Timetable {
    /// The state of a new schedule that is created at `created_at`.
    pub fn begin(&self, created_at: Timestamp) -> ScheduleProgress {
        ScheduleProgress {
            next_tick: self.first_tick(created_at).map(|tick| tick.at),
            ..ScheduleProgress::default()
        }
    }

    /// The state of a schedule that was paused until `now`: ticks of the pause are neither run nor
    /// recorded as missed. An `Every` goes on with the same spacing.
    pub fn resume(&self, progress: &ScheduleProgress, now: Timestamp) -> ScheduleProgress {
        let anchor = progress.next_tick.or(progress.last_tick).unwrap_or(now);
        let after = progress.last_tick.map_or(now, |last| last.max(now));
        let next = self.tick_after(anchor, after).map(|tick| tick.at);
        self.ended_after_last_run(ScheduleProgress {
            next_tick: next,
            ..*progress
        })
    }

    /// The state of a schedule that was stepped while the clock was ahead of `now`, which its last tick
    /// shows: it goes on from now. `None` if the clock was right, or ahead by no more than
    /// [`limits::CLOCK_STEP_MAX`].
    pub fn rewind(&self, progress: &ScheduleProgress, now: Timestamp) -> Option<ScheduleProgress> {
        let last = progress.last_tick?;
        if last <= now.plus(limits::CLOCK_STEP_MAX) {
            return None;
        }
        let anchor = progress.next_tick.unwrap_or(last);
        Some(
            self.ended_after_last_run(ScheduleProgress {
                next_tick: self.tick_after(anchor, now).map(|tick| tick.at),
                last_tick: None,
                queued_tick: progress
                    .queued_tick
                    .filter(|tick| *tick <= now.plus(limits::CLOCK_STEP_MAX)),
                ..*progress
            }),
        )
    }

    /// The state after a step of which this many ticks turned out to have fired before, as happens
    /// when a clock was ahead and is set back: a tick counts once.
    #[must_use]
    pub fn without_repeated(
        &self,
        progress: &ScheduleProgress,
        repeated: u64,
        now: Timestamp,
    ) -> ScheduleProgress {
        let progress = ScheduleProgress {
            runs: progress.runs.saturating_sub(repeated),
            ..*progress
        };
        match progress.next_tick {
            Some(_) => progress,
            // The repeated ticks may have seemed to be the last ones of `maxRuns`.
            None => self.resume(&progress, now),
        }
    }

    /// The next step. `unfinished` is true if a run of this schedule has not ended.
    ///
    /// First `missed` decides which of the ticks that are due may run at all, then `overlap`
    /// and `maxRuns` how many of them. If not all can run, the newest do, because their runs work
    /// with the newest data; only a tick that already waits goes before newer ones. So `runAll`
    /// makes up for every tick only with `overlap: allow`, and requests for a schedule with
    /// another pair are refused.
    pub fn step(
        &self,
        progress: &ScheduleProgress,
        unfinished: bool,
        now: Timestamp,
    ) -> TimetableStep {
        let due = match self.next_unhandled(progress) {
            Some(first) => self.due(first, now),
            None => DueTicks::default(),
        };
        let next_tick = due.next;
        let last_tick = due.newest.last().copied().or(progress.last_tick);
        let mut skipped = Vec::new();
        let ticks = self.apply_missed_policy(due, now, &mut skipped);
        let mut fire = self.apply_overlap_policy(progress, ticks, unfinished, now, &mut skipped);
        let queued_tick = match (self.overlap, unfinished) {
            (OverlapPolicy::QueueOne, true) => fire.pop(),
            (OverlapPolicy::QueueOne, false) if fire.len() > 1 => fire.pop(),
            _ => None,
        };
        TimetableStep {
            cancel_unfinished: self.overlap == OverlapPolicy::Replace
                && unfinished
                && !fire.is_empty(),
            progress: self.ended_after_last_run(ScheduleProgress {
                next_tick,
                last_tick,
                runs: progress.runs.saturating_add(fire.len() as u64),
                queued_tick,
            }),
            fire,
            skipped,
        }
    }

    /// The next tick; one that a clock set back moved before the last handled tick is replaced.
    fn next_unhandled(&self, progress: &ScheduleProgress) -> Option<Timestamp> {
        match (progress.next_tick?, progress.last_tick) {
            (next, Some(last)) if next <= last => self.tick_after(last, last).map(|tick| tick.at),
            (next, _) => Some(next),
        }
    }

    /// Those of the due ticks that may run.
    fn apply_missed_policy(
        &self,
        due: DueTicks,
        now: Timestamp,
        skipped: &mut Vec<SkippedTicks>,
    ) -> Vec<Timestamp> {
        let DueTicks {
            older,
            newest: mut ticks,
            ..
        } = due;
        if self.missed == MissedTickPolicy::RunAll {
            skip(skipped, older, &[], SkipReason::MissedLimit);
            return ticks;
        }
        let missed = count_missed(older.map(|older| older.from), &ticks, now);
        let run_from = match self.missed {
            // A tick that is on time runs now and makes up for those before it.
            MissedTickPolicy::RunOnce if missed == ticks.len() => missed.saturating_sub(1),
            _ => missed,
        };
        let ticks_to_run = ticks.split_off(run_from);
        skip(skipped, older, &ticks, SkipReason::Missed);
        ticks_to_run
    }

    /// Those ticks that run now or wait, in order of time: as many as `overlap` and `maxRuns` allow.
    fn apply_overlap_policy(
        &self,
        progress: &ScheduleProgress,
        mut ticks: Vec<Timestamp>,
        unfinished: bool,
        now: Timestamp,
        skipped: &mut Vec<SkippedTicks>,
    ) -> Vec<Timestamp> {
        let missed = match self.missed {
            MissedTickPolicy::RunAll => count_missed(None, &ticks, now),
            MissedTickPolicy::Skip | MissedTickPolicy::RunOnce => 0,
        };
        let last_missed = missed.checked_sub(1).map(|last| ticks[last]);
        let overlap_max = match (self.overlap, unfinished) {
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
        let (count_max, reason) = if runs_left < overlap_max {
            (runs_left, SkipReason::MaxRuns)
        } else {
            (overlap_max, SkipReason::Overlap)
        };
        let count_max = usize::try_from(count_max).unwrap_or(usize::MAX);
        let queued = progress
            .queued_tick
            .filter(|_| self.overlap == OverlapPolicy::QueueOne && count_max > 0);
        if queued.is_none() {
            ticks.splice(0..0, progress.queued_tick);
        }
        let newest_max = count_max - usize::from(queued.is_some());
        let newest = ticks.split_off(ticks.len().saturating_sub(newest_max));
        // Of a tick that passed while no node was running, that is the true reason.
        let missed = match reason {
            SkipReason::Overlap => ticks.partition_point(|tick| Some(*tick) <= last_missed),
            _ => 0,
        };
        let on_time = ticks.split_off(missed);
        skip(skipped, None, &ticks, SkipReason::Missed);
        skip(skipped, None, &on_time, reason);
        queued.into_iter().chain(newest).collect()
    }

    /// The same progress, without a next tick if all runs are used.
    fn ended_after_last_run(&self, mut progress: ScheduleProgress) -> ScheduleProgress {
        if self.max_runs.is_some_and(|max| progress.runs_used() >= max) {
            progress.next_tick = None;
        }
        progress
    }
}

/// How many of these ticks, which are in order of time, passed while no node was running. A node
/// that runs may be somewhat late; if even the first tick, which may be an older one, is later
/// than that, none ran until now.
fn count_missed(older: Option<Timestamp>, ticks: &[Timestamp], now: Timestamp) -> usize {
    let Some(first) = older.or(ticks.first().copied()) else {
        return 0;
    };
    if now.since(first) <= limits::TICK_LATENESS_MAX {
        return 0;
    }
    ticks.partition_point(|tick| now.since(*tick) > limits::TICK_LATENESS_AFTER_GAP_MAX)
}

/// Records ticks, and the range before them if there is one, as skipped.
fn skip(
    skipped: &mut Vec<SkippedTicks>,
    older: Option<TickRange>,
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
