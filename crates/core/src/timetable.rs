//! When a schedule fires: a rule, its limits, and what to do with ticks that collide or that
//! nobody was there to see.
//!
//! Nothing here remembers anything. What a schedule has done so far is a
//! [`ScheduleProgress`], which the store keeps and hands back.

mod due;
mod record;
mod step;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Cron, Invalid, Tick, Timestamp, Zone, duration};
use record::Record;
pub use step::{ScheduleProgress, SkipReason, SkippedTicks, TimetableStep};

/// Faster than every second is a loop, not a schedule.
const EVERY_MIN: Duration = Duration::from_secs(1);
/// Anything rarer than yearly, leap years included, deserves a date of its own.
const EVERY_MAX: Duration = Duration::from_secs(366 * 24 * 60 * 60);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TickRule {
    Cron {
        cron: Cron,
        zone: Zone,
    },
    /// Even spacing in real time, which no change of clocks touches.
    Every(Duration),
}

/// What happens to a tick while the last run is unfinished, its retries included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OverlapPolicy {
    /// The tick makes no run.
    #[default]
    Skip,
    /// Runs may overlap.
    Allow,
    /// One tick waits for the unfinished run to end; further ones make no run.
    QueueOne,
    /// The unfinished run is cancelled in favour of the new one.
    Replace,
}

/// What happens to ticks that passed while no node was there to see them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MissedTickPolicy {
    Skip,
    /// One run makes up for all of them.
    #[default]
    RunOnce,
    /// Each is run, the newest hundred at most.
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
#[serde(try_from = "Record", into = "Record")]
pub struct Timetable {
    rule: TickRule,
    start_at: Option<Timestamp>,
    end_at: Option<Timestamp>,
    max_runs: Option<u64>,
    overlap: OverlapPolicy,
    missed: MissedTickPolicy,
}

impl Timetable {
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

    /// No tick before `start_at`, none after `end_at`; a tick on either is in.
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

    pub fn with_max_runs(mut self, max_runs: Option<u64>) -> Result<Self, Invalid> {
        if max_runs == Some(0) {
            return Err(Invalid::new("maxRuns", 0, "must be at least 1"));
        }
        self.max_runs = max_runs;
        Ok(self)
    }

    #[must_use]
    pub fn with_overlap(mut self, overlap: OverlapPolicy) -> Self {
        self.overlap = overlap;
        self
    }

    #[must_use]
    pub fn with_missed(mut self, missed: MissedTickPolicy) -> Self {
        self.missed = missed;
        self
    }

    pub fn rule(&self) -> &TickRule {
        &self.rule
    }

    pub fn start_at(&self) -> Option<Timestamp> {
        self.start_at
    }

    pub fn end_at(&self) -> Option<Timestamp> {
        self.end_at
    }

    pub fn max_runs(&self) -> Option<u64> {
        self.max_runs
    }

    pub fn overlap(&self) -> OverlapPolicy {
        self.overlap
    }

    pub fn missed(&self) -> MissedTickPolicy {
        self.missed
    }

    /// The first tick of a schedule made at `created_at`; `None` means that it would never
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

    /// The first `count` ticks after `from`, fewer where the timetable ends.
    pub fn preview(&self, from: Timestamp, count: usize) -> Vec<Tick> {
        self.ticks(from, from)
            .take(self.limited(count, 0))
            .collect()
    }

    /// The next `count` ticks of a schedule that exists, which has fixed where an `Every`
    /// counts from and used up some of its runs.
    pub fn upcoming(&self, progress: &ScheduleProgress, count: usize) -> Vec<Tick> {
        let Some(next) = progress.next_tick else {
            return Vec::new();
        };
        self.ticks(next, just_before(next))
            .take(self.limited(count, progress.taken()))
            .collect()
    }

    fn limited(&self, count: usize, runs: u64) -> usize {
        let left = self
            .max_runs
            .map_or(u64::MAX, |max| max.saturating_sub(runs));
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
    if whole_millis && (EVERY_MIN..=EVERY_MAX).contains(&every) {
        return Ok(());
    }
    let (min, max) = (duration::format(EVERY_MIN), duration::format(EVERY_MAX));
    Err(Invalid::new(
        "every",
        format!("{every:?}"),
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
