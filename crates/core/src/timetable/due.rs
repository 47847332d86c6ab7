//! Which ticks have come due.
//!
//! Almost always it is one. But a node that was off for a year owes thirty million ticks of
//! an every-second rule, and must find out what to do about them in milliseconds. So only
//! the newest are listed, as many as could fire; of the older ones the range and number.

use std::{collections::VecDeque, time::Duration};

use super::{TickRule, Timetable};
use crate::{Timestamp, limits::DUE_LISTED_MAX};

/// How many cron ticks are counted one by one; about 5 ms.
const WALK_MAX: u64 = 10_000;

/// How many ticks a guess at "the newest few" may hold; about 0.2 ms per guess.
const GUESS_MAX: u64 = 400;

/// How often a window may be halved: from the whole of time to a second in 39 steps.
const GUESSES_MAX: usize = 48;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Due {
    /// What did not fit into `newest`.
    pub older: Option<Range>,
    /// In order of time.
    pub newest: Vec<Timestamp>,
    /// The first tick that is not due yet.
    pub next: Option<Timestamp>,
}

/// Ticks that share a fate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub from: Timestamp,
    pub to: Timestamp,
    pub count: u64,
}

impl Timetable {
    /// The ticks from `first` up to `now`. `first` is a tick.
    pub(super) fn due(&self, first: Timestamp, now: Timestamp) -> Due {
        let until = self.end_at.map_or(now, |end| end.min(now));
        if self.end_at.is_some_and(|end| first > end) {
            return Due::default();
        }
        if first > until {
            return Due {
                next: Some(first),
                ..Due::default()
            };
        }
        match self.rule {
            TickRule::Every(every) => self.due_on_grid(first, every, until),
            TickRule::Cron { .. } => self.due_by_walking(first, until),
        }
    }

    fn due_on_grid(&self, first: Timestamp, every: Duration, until: Timestamp) -> Due {
        let step = every.as_micros().max(1);
        let last = u64::try_from(until.since(first).as_micros() / step).unwrap_or(u64::MAX);
        let tick = |index: u64| {
            let micros = u128::from(index).saturating_mul(step);
            first.plus(Duration::from_micros(
                u64::try_from(micros).unwrap_or(u64::MAX),
            ))
        };
        let listed_from = (last + 1).saturating_sub(DUE_LISTED_MAX as u64);
        Due {
            older: (listed_from > 0).then(|| Range {
                from: first,
                to: tick(listed_from - 1),
                count: listed_from,
            }),
            newest: (listed_from..=last).map(tick).collect(),
            next: self.tick_after(first, tick(last)).map(|tick| tick.at),
        }
    }

    fn due_by_walking(&self, first: Timestamp, until: Timestamp) -> Due {
        let mut walk = Walk::starting_with(first);
        let more = self.walk_on(&mut walk, until, WALK_MAX);
        if more && let Some(window) = self.newest_window(walk.to, until) {
            walk.jump_to(window);
        }
        if more {
            self.walk_on(&mut walk, until, WALK_MAX + GUESS_MAX);
        }
        walk.into_due(first, self.next_after(until).map(|tick| tick.at))
    }

    /// Walks to `until` and says whether it stopped on the way, at `count_max` ticks.
    fn walk_on(&self, walk: &mut Walk, until: Timestamp, count_max: u64) -> bool {
        while walk.count < count_max {
            match self.next_after(walk.to) {
                Some(tick) if tick.at <= until => walk.push(tick.at),
                _ => return false,
            }
        }
        true
    }

    /// A moment after which there are more due ticks than are listed, but few.
    ///
    /// Found by halving, which works because a cron rule fires at most once a second: the
    /// number of ticks after a moment cannot jump over the window that is looked for.
    fn newest_window(&self, mut low: Timestamp, mut high: Timestamp) -> Option<Timestamp> {
        let until = high;
        if !self.has_more_than_guess(low, until).0 {
            return None;
        }
        for _ in 0..GUESSES_MAX {
            let middle = low.plus(high.since(low) / 2);
            match self.has_more_than_guess(middle, until) {
                (true, _) => low = middle,
                (false, count) if count <= DUE_LISTED_MAX as u64 => high = middle,
                (false, _) => return Some(middle),
            }
        }
        Some(high)
    }

    fn has_more_than_guess(&self, after: Timestamp, until: Timestamp) -> (bool, u64) {
        let mut walk = Walk {
            to: after,
            count: 0,
            newest: VecDeque::new(),
        };
        (self.walk_on(&mut walk, until, GUESS_MAX), walk.count)
    }
}

struct Walk {
    /// Where the walk stands.
    to: Timestamp,
    count: u64,
    /// One more than is listed, because a range of older ticks needs its last one.
    newest: VecDeque<Timestamp>,
}

impl Walk {
    fn starting_with(first: Timestamp) -> Self {
        let mut walk = Self {
            to: first,
            count: 0,
            newest: VecDeque::new(),
        };
        walk.push(first);
        walk
    }

    fn push(&mut self, tick: Timestamp) {
        self.to = tick;
        self.count += 1;
        self.newest.push_back(tick);
        if self.newest.len() > DUE_LISTED_MAX + 1 {
            self.newest.pop_front();
        }
    }

    fn jump_to(&mut self, at: Timestamp) {
        self.to = at;
        self.newest.clear();
    }

    fn into_due(mut self, first: Timestamp, next: Option<Timestamp>) -> Due {
        let mut older = None;
        if self.newest.len() > DUE_LISTED_MAX
            && let Some(to) = self.newest.pop_front()
        {
            older = Some(Range {
                from: first,
                to,
                count: self.count - DUE_LISTED_MAX as u64,
            });
        }
        Due {
            older,
            newest: self.newest.into(),
            next,
        }
    }
}
