//! The ticks that are due.
//!
//! Almost always it is one. But a node that was off for a year has missed thirty million ticks of
//! an every-second rule, and must decide about them within milliseconds. So only the newest are
//! listed, as many as could fire; the older ones become a range with a count.

use std::{collections::VecDeque, time::Duration};

use super::{TickRule, Timetable};
use crate::{limits, values::Timestamp};

/// The ticks that are due now.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct DueTicks {
    /// Those before `newest`, if there are more than can be listed.
    pub older: Option<TickRange>,
    /// At most [`limits::RUN_ALL_TICKS_MAX`], in order of time.
    pub newest: Vec<Timestamp>,
    /// The first tick that is not due yet.
    pub next: Option<Timestamp>,
}

/// Consecutive ticks that are treated alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TickRange {
    pub from: Timestamp,
    pub to: Timestamp,
    pub count: u64,
}

impl Timetable {
    /// The ticks from `first` up to `now`. `first` is a tick.
    pub(super) fn due(&self, first: Timestamp, now: Timestamp) -> DueTicks {
        let until = self.end_at.map_or(now, |end| end.min(now));
        if self.end_at.is_some_and(|end| first > end) {
            return DueTicks::default();
        }
        if first > until {
            return DueTicks {
                next: Some(first),
                ..DueTicks::default()
            };
        }
        match self.rule {
            TickRule::Every(every) => self.due_by_division(first, every, until),
            TickRule::Cron { .. } => self.due_by_scan(first, until),
        }
    }

    fn due_by_division(&self, first: Timestamp, every: Duration, until: Timestamp) -> DueTicks {
        let step = every.as_micros().max(1);
        let last = u64::try_from(until.since(first).as_micros() / step).unwrap_or(u64::MAX);
        let tick = |index: u64| {
            let micros = u128::from(index).saturating_mul(step);
            first.plus(Duration::from_micros(
                u64::try_from(micros).unwrap_or(u64::MAX),
            ))
        };
        let listed_from = (last + 1).saturating_sub(limits::RUN_ALL_TICKS_MAX as u64);
        DueTicks {
            older: (listed_from > 0).then(|| TickRange {
                from: first,
                to: tick(listed_from - 1),
                count: listed_from,
            }),
            newest: (listed_from..=last).map(tick).collect(),
            next: self.tick_after(first, tick(last)).map(|tick| tick.at),
        }
    }

    fn due_by_scan(&self, first: Timestamp, until: Timestamp) -> DueTicks {
        let mut scan = TickScan::after(first);
        scan.push(first);
        let counted_max = limits::TICKS_COUNTED_MAX;
        if self.scan_until(&mut scan, until, counted_max) == ScanEnd::CountReached {
            if let Some(start) = self.start_of_newest(scan.to, until) {
                scan.jump_to(start);
            }
            let read_max = counted_max + limits::TICK_SEARCH_READ_MAX;
            self.scan_until(&mut scan, until, read_max);
        }
        scan.into_due(first, self.next_after(until).map(|tick| tick.at))
    }

    fn scan_until(&self, scan: &mut TickScan, until: Timestamp, count_max: u64) -> ScanEnd {
        while scan.count < count_max {
            match self.next_after(scan.to) {
                Some(tick) if tick.at <= until => scan.push(tick.at),
                _ => return ScanEnd::TimeReached,
            }
        }
        ScanEnd::CountReached
    }

    /// A moment after which there are more due ticks than are listed, but few enough to read;
    /// `None` if `low` is such a moment.
    ///
    /// Found by halving, which works because a cron rule fires at most once a second: the
    /// number of ticks after a moment cannot jump over the numbers that are looked for.
    fn start_of_newest(&self, mut low: Timestamp, mut high: Timestamp) -> Option<Timestamp> {
        let until = high;
        let ticks_after = |moment| {
            let mut scan = TickScan::after(moment);
            let end = self.scan_until(&mut scan, until, limits::TICK_SEARCH_READ_MAX);
            (end, scan.count)
        };
        if ticks_after(low).0 == ScanEnd::TimeReached {
            return None;
        }
        for _ in 0..limits::TICK_SEARCH_STEPS_MAX {
            let middle = low.plus(high.since(low) / 2);
            match ticks_after(middle) {
                (ScanEnd::CountReached, _) => low = middle,
                (ScanEnd::TimeReached, count) if count <= limits::RUN_ALL_TICKS_MAX as u64 => {
                    high = middle;
                }
                (ScanEnd::TimeReached, _) => return Some(middle),
            }
        }
        Some(high)
    }
}

#[derive(PartialEq, Eq)]
enum ScanEnd {
    /// All ticks up to the given time were read.
    TimeReached,
    /// The given number of ticks was read; there may be more.
    CountReached,
}

/// Reads ticks in order of time, counts them and keeps the newest.
struct TickScan {
    /// The last tick that was read, or where the scan began.
    to: Timestamp,
    count: u64,
    /// One more than is listed, because a range of older ticks needs its last one.
    newest: VecDeque<Timestamp>,
}

impl TickScan {
    fn after(start: Timestamp) -> Self {
        Self {
            to: start,
            count: 0,
            newest: VecDeque::new(),
        }
    }

    fn push(&mut self, tick: Timestamp) {
        self.to = tick;
        self.count += 1;
        self.newest.push_back(tick);
        if self.newest.len() > limits::RUN_ALL_TICKS_MAX + 1 {
            self.newest.pop_front();
        }
    }

    fn jump_to(&mut self, at: Timestamp) {
        self.to = at;
        self.newest.clear();
    }

    fn into_due(mut self, first: Timestamp, next: Option<Timestamp>) -> DueTicks {
        let mut older = None;
        if self.newest.len() > limits::RUN_ALL_TICKS_MAX
            && let Some(to) = self.newest.pop_front()
        {
            older = Some(TickRange {
                from: first,
                to,
                count: self.count - limits::RUN_ALL_TICKS_MAX as u64,
            });
        }
        DueTicks {
            older,
            newest: self.newest.into(),
            next,
        }
    }
}
