//! A pattern as bit sets, and the search for its next match on a clock without time zone.
//!
//! The search jumps: to the next month that has a matching day, to that day, to the hour,
//! minute and second. It never looks at a moment that cannot match.

use super::{
    calendar::Month,
    days::{DaySet, Days},
};

pub(super) const DAY_SECS: i64 = 86_400; // not a limit: a unit

/// Bit `n` is the value `n`.
pub(super) type BitSet = u64;

/// Every set has at least one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fields {
    pub seconds: BitSet,
    pub minutes: BitSet,
    pub hours: BitSet,
    pub days: Days,
    pub months: BitSet,
    /// Follows real time through a change of clocks, instead of the wall clock.
    pub interval: bool,
}

impl Fields {
    pub fn ever_fire(&self) -> bool {
        (1..=12).any(|month| self.months & 1 << month != 0 && self.days.happen_in(month))
    }

    /// The first match in `from..until`, all in seconds of local time since 1970.
    pub fn first_match(&self, from: i64, until: i64) -> Option<i64> {
        if from >= until {
            return None;
        }
        let today = from.div_euclid(DAY_SECS);
        let mut month = Month::of_day(today);
        let mut days = self.days_in(month);
        let day_of_month = today - month.first + 1;
        if days & 1 << day_of_month != 0
            && let Some(time) = self.time_from(from.rem_euclid(DAY_SECS))
        {
            return Some(today * DAY_SECS + time).filter(|&at| at < until);
        }
        // Two shifts, because one by 32 would overflow on the 31st.
        days = days >> day_of_month >> 1 << 1 << day_of_month;
        while days == 0 {
            month = month.next();
            if month.first * DAY_SECS >= until {
                return None;
            }
            days = self.days_in(month);
        }
        let day = month.first + i64::from(days.trailing_zeros()) - 1;
        Some(day * DAY_SECS + self.first_time()).filter(|&at| at < until)
    }

    fn days_in(&self, month: Month) -> DaySet {
        if self.months & 1 << month.number == 0 {
            return 0;
        }
        self.days.of(month.shape)
    }

    /// The first matching time of day at or after `from`, in seconds of the day.
    fn time_from(&self, from: i64) -> Option<i64> {
        let (hour, minute, second) = (from / 3_600, from / 60 % 60, from % 60);
        let (first_minute, first_second) = (lowest(self.minutes), lowest(self.seconds));
        if self.hours & 1 << hour != 0 {
            if self.minutes & 1 << minute != 0
                && let Some(second) = at_least(self.seconds, second)
            {
                return Some(hour * 3_600 + minute * 60 + second);
            }
            if let Some(minute) = at_least(self.minutes, minute + 1) {
                return Some(hour * 3_600 + minute * 60 + first_second);
            }
        }
        let hour = at_least(self.hours, hour + 1)?;
        Some(hour * 3_600 + first_minute * 60 + first_second)
    }

    fn first_time(&self) -> i64 {
        lowest(self.hours) * 3_600 + lowest(self.minutes) * 60 + lowest(self.seconds)
    }
}

fn lowest(set: BitSet) -> i64 {
    i64::from(set.trailing_zeros())
}

/// The lowest value of the set from `value` on, which is at most 60.
fn at_least(set: BitSet, value: i64) -> Option<i64> {
    let rest = set >> value << value;
    (rest != 0).then(|| lowest(rest))
}
