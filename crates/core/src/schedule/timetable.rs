//! When a schedule fires: a rule, its limits, and what happens to ticks that overlap with a run or
//! that passed while no node was running.
//!
//! Nothing here keeps state. What a schedule has done so far is a [`ScheduleProgress`], which the
//! store keeps and brings back.

mod due;
mod record;
mod step;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    limits,
    schedule::{
        cron::{Cron, Tick},
        zone::Zone,
    },
    values::{Invalid, Timestamp, duration},
};
use record::TimetableRecord;
pub use step::{ScheduleProgress, SkipReason, SkippedTicks, TimetableStep};

/// The moments at which a schedule fires.
// Exhaustive on purpose: whatever edits or shows a schedule must handle each rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TickRule {
    /// Local times that match a pattern.
    Cron {
        /// The pattern.
        cron: Cron,
        /// The zone of the local times.
        zone: Zone,
    },
    /// Even spacing in real time, which no change of clocks affects: from [`limits::EVERY_MIN`] to
    /// [`limits::EVERY_MAX`], in whole milliseconds.
    Every(Duration),
}

/// What happens to a tick while the last run is unfinished, its retries included.
// Exhaustive on purpose: pages must have words for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum OverlapPolicy {
    /// The tick is skipped. The default.
    #[default]
    Skip,
    /// Runs may overlap.
    Allow,
    /// One tick waits for the unfinished run to end; further ones are skipped.
    QueueOne,
    /// The unfinished run is cancelled, and the new one starts.
    Replace,
}

/// What happens to ticks that passed while no node was running. Ticks count as missed if the first
/// of those that are due is more than [`limits::TICK_LATENESS_MAX`] late, except for one of the
/// last second.
// Exhaustive on purpose: pages must have words for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "openapi",
    derive(utoipa::ToSchema),
    schema(description = "What happens to ticks that were missed")
)]
#[serde(rename_all = "camelCase")]
pub enum MissedTickPolicy {
    /// They are skipped.
    Skip,
    /// One run makes up for all of them. The default.
    #[default]
    RunOnce,
    /// Each is run, but only the newest [`limits::RUN_ALL_TICKS_MAX`]. Their runs overlap, so it
    /// needs [`OverlapPolicy::Allow`].
    RunAll,
}

/// A rule with its limits, checked.
///
/// ```
/// use std::time::Duration;
/// use steadfast_core::{TickRule, Timestamp, Timetable};
///
/// let noon: Timestamp = "2026-01-01T12:00:00Z".parse().unwrap();
/// let timetable = Timetable::new(TickRule::Every(Duration::from_secs(90)))
///     .and_then(|timetable| timetable.with_window(Some(noon), None))
///     .unwrap();
/// let ticks: Vec<_> = timetable.preview(noon, 2).iter().map(|tick| tick.at.to_string()).collect();
/// assert_eq!(ticks, ["2026-01-01T12:01:30Z", "2026-01-01T12:03:00Z"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "TimetableRecord", into = "TimetableRecord")]
pub struct Timetable {
    rule: TickRule,
    start_at: Option<Timestamp>,
    end_at: Option<Timestamp>,
    max_runs: Option<u64>,
    overlap: OverlapPolicy,
    missed: MissedTickPolicy,
}

impl TickRule {
    /// The rule in words, as [`Cron::describe`]; `every 5m` for an interval.
    pub fn describe(&self) -> String {
        match self {
            Self::Cron { cron, .. } => cron.describe(),
            Self::Every(every) => format!("every {}", duration::format(*every)),
        }
    }

    /// The time zone of a cron rule.
    pub fn zone(&self) -> Option<&Zone> {
        match self {
            Self::Cron { zone, .. } => Some(zone),
            Self::Every(_) => None,
        }
    }
}

impl Timetable {
    /// A timetable without start, end or limit of runs, with the default policies. Refuses an
    /// `Every` that is too short, too long or no whole number of milliseconds.
    pub fn new(rule: TickRule) -> Result<Self, Invalid> {
        if let TickRule::Every(every) = rule {
            check_every(every)?;
        }
        Ok(Self {
            rule,
            start_at: None,
            end_at: None,
            max_runs: None,
            overlap: OverlapPolicy::default(),
            missed: MissedTickPolicy::default(),
        })
    }

    /// No tick before `start_at`, none after `end_at`; a tick on either fires.
    pub fn with_window(
        mut self,
        start_at: Option<Timestamp>,
        end_at: Option<Timestamp>,
    ) -> Result<Self, Invalid> {
        if let (Some(start), Some(end)) = (start_at, end_at)
            && end <= start
        {
            return Err(Invalid::new(
                "endAt",
                end,
                format!("must be after startAt ({start})"),
            ));
        }
        self.start_at = start_at;
        self.end_at = end_at;
        Ok(self)
    }

    /// The schedule ends after this many runs; `None` for no end. Refuses 0.
    pub fn with_max_runs(mut self, max_runs: Option<u64>) -> Result<Self, Invalid> {
        if max_runs == Some(0) {
            return Err(Invalid::new("maxRuns", 0, "must be at least 1"));
        }
        self.max_runs = max_runs;
        Ok(self)
    }

    /// Refuses policies that do not go together: missed ticks are run at once, which any other
    /// `overlap` than `allow` would prevent. Stored timetables of older versions may have them,
    /// and run the newest.
    pub fn check_policies(&self) -> Result<(), Invalid> {
        if self.missed != MissedTickPolicy::RunAll || self.overlap == OverlapPolicy::Allow {
            return Ok(());
        }
        let expected = "must be skip or runOnce, or overlap must be allow, because runs of missed \
                        ticks overlap";
        Err(Invalid::new("missed", "runAll", expected))
    }

    /// Sets what happens to a tick while the last run is unfinished.
    #[must_use]
    pub fn with_overlap(mut self, overlap: OverlapPolicy) -> Self {
        self.overlap = overlap;
        self
    }

    /// Sets what happens to ticks that passed while no node was running.
    #[must_use]
    pub fn with_missed(mut self, missed: MissedTickPolicy) -> Self {
        self.missed = missed;
        self
    }

    /// The moments at which it fires, within its limits.
    pub fn rule(&self) -> &TickRule {
        &self.rule
    }

    /// No tick is earlier; `None` for no such limit.
    pub fn start_at(&self) -> Option<Timestamp> {
        self.start_at
    }

    /// No tick is later; `None` for no such limit.
    pub fn end_at(&self) -> Option<Timestamp> {
        self.end_at
    }

    /// How many ticks fire before the schedule ends; `None` for no such limit.
    pub fn max_runs(&self) -> Option<u64> {
        self.max_runs
    }

    /// What happens to a tick while the last run is unfinished.
    pub fn overlap(&self) -> OverlapPolicy {
        self.overlap
    }

    /// What happens to ticks that passed while no node was running.
    pub fn missed(&self) -> MissedTickPolicy {
        self.missed
    }

    /// The first tick of a schedule created at `created_at`; `None` means that it would never
    /// fire and should be refused.
    ///
    /// It lies after `created_at`, or at or after a `start_at` that is not yet past. An
    /// `Every` without `start_at` counts from `created_at`.
    pub fn first_tick(&self, created_at: Timestamp) -> Option<Tick> {
        let after = match self.start_at {
            Some(start) if start >= created_at => just_before(start),
            _ => created_at,
        };
        self.tick_after(created_at, after)
    }

    /// The first tick strictly after `after`.
    ///
    /// An `Every` without `start_at` counts from `after` itself, which is right when `after`
    /// is a tick; for a schedule that exists already, see [`Timetable::upcoming`].
    pub fn next_after(&self, after: Timestamp) -> Option<Tick> {
        self.tick_after(after, after)
    }

    /// The first `count` ticks after `from`; fewer if the timetable ends before that.
    pub fn preview(&self, from: Timestamp, count: usize) -> Vec<Tick> {
        self.ticks(from, from)
            .take(self.limit_to_runs(count, 0))
            .collect()
    }

    /// The next `count` ticks of an existing schedule. Its progress holds where an `Every` counts
    /// from, and how many runs are used.
    pub fn upcoming(&self, progress: &ScheduleProgress, count: usize) -> Vec<Tick> {
        let Some(next) = progress.next_tick else {
            return Vec::new();
        };
        self.ticks(next, just_before(next))
            .take(self.limit_to_runs(count, progress.runs_used()))
            .collect()
    }

    fn limit_to_runs(&self, count: usize, used: u64) -> usize {
        let left = self
            .max_runs
            .map_or(u64::MAX, |max| max.saturating_sub(used));
        count.min(usize::try_from(left).unwrap_or(usize::MAX))
    }

    fn ticks(&self, anchor: Timestamp, after: Timestamp) -> impl Iterator<Item = Tick> {
        std::iter::successors(self.tick_after(anchor, after), move |tick| {
            self.tick_after(anchor, tick.at)
        })
    }

    /// The first tick strictly after `after`. `anchor` is a moment on the grid of an `Every`
    /// that has no `start_at` to be anchored at.
    fn tick_after(&self, anchor: Timestamp, after: Timestamp) -> Option<Tick> {
        let after = match self.start_at {
            Some(start) if start > after => just_before(start),
            _ => after,
        };
        let tick = match &self.rule {
            TickRule::Cron { cron, zone } => cron.next_after(zone, after)?,
            TickRule::Every(every) => {
                let at = grid_after(self.start_at.unwrap_or(anchor), *every, after)?;
                Tick { at, dst: None }
            }
        };
        Some(tick).filter(|tick| self.end_at.is_none_or(|end| tick.at <= end))
    }
}

fn check_every(every: Duration) -> Result<(), Invalid> {
    let whole_millis = every.subsec_nanos().is_multiple_of(1_000_000);
    if whole_millis && (limits::EVERY_MIN..=limits::EVERY_MAX).contains(&every) {
        return Ok(());
    }
    let min = duration::format(limits::EVERY_MIN);
    let max = duration::format(limits::EVERY_MAX);
    let text = match whole_millis {
        true => duration::format(every),
        false => format!("{every:?}"),
    };
    Err(Invalid::new(
        "every",
        text,
        format!("must be {min} to {max}, in whole milliseconds"),
    ))
}

/// The first moment strictly after `after` that is a whole number of steps from `anchor`.
fn grid_after(anchor: Timestamp, step: Duration, after: Timestamp) -> Option<Timestamp> {
    let step = i64::try_from(step.as_micros()).ok()?;
    let anchor = anchor.as_micros();
    let count = (after.as_micros() - anchor).div_euclid(step) + 1;
    let at = anchor.checked_add(count.checked_mul(step)?)?;
    (at <= Timestamp::MAX.as_micros()).then(|| Timestamp::from_micros(at))
}

fn just_before(at: Timestamp) -> Timestamp {
    at.minus(Duration::from_micros(1))
}
