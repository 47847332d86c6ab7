//! The days of a month that a pattern selects, as a set of bits.
//!
//! A month has only 28 shapes (its length, and the weekday it begins with), and nothing in
//! the two day fields depends on more. So a whole month is decided at once, and whether a
//! pattern can ever fire is decided by trying every shape instead of searching centuries.

use super::calendar::Shape;

/// Bit `d` is day `d` of the month; bit 0 is never set.
pub(super) type DaySet = u32;

const SUNDAY: u8 = 0; // not a limit: a weekday
const SATURDAY: u8 = 6; // not a limit: a weekday
/// Bits 0, 7, 14, 21 and 28: shifted to the first Friday, all Fridays.
const EVERY_SEVENTH: u64 = 0b1_0000001_0000001_0000001_0000001; // not a limit: a bit mask

/// The day-of-month and day-of-week fields together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Days {
    pub of_month: DaysOfMonth,
    pub of_week: DaysOfWeek,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DaysOfMonth {
    /// The field begins with `*` or is `?`.
    pub open: bool,
    pub plain: DaySet,
    /// Bit `n` is `L-n`; bit 0 is `L`.
    pub before_last: u32,
    /// Bit `d` is `dW`: the weekday nearest to day `d`.
    pub nearest: DaySet,
    /// `LW`: the last Monday to Friday.
    pub last_weekday: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DaysOfWeek {
    /// The field begins with `*` or is `?`.
    pub open: bool,
    /// Bit 0 is Sunday, here and below.
    pub plain: u8,
    /// `nth[0]` holds the weekdays of which the first in the month is meant.
    pub nth: [u8; 5],
    pub last: u8,
}

impl Days {
    /// Vixie's rule: two restricted fields mean either, an open one leaves it to the other.
    pub fn of(&self, shape: Shape) -> DaySet {
        let of_month = self.of_month.of(shape);
        let of_week = self.of_week.of(shape);
        if self.of_month.open || self.of_week.open {
            of_month & of_week
        } else {
            of_month | of_week
        }
    }

    /// Whether any year has such a day in the given month (1 to 12).
    ///
    /// Within 400 years every month begins with every weekday, February in both its lengths.
    pub fn happen_in(&self, month: u8) -> bool {
        let lengths: &[u8] = match month {
            2 => &[28, 29],
            4 | 6 | 9 | 11 => &[30],
            _ => &[31],
        };
        lengths.iter().any(|&days| {
            (SUNDAY..=SATURDAY).any(|first_weekday| {
                self.of(Shape {
                    days,
                    first_weekday,
                }) != 0
            })
        })
    }
}

impl DaysOfMonth {
    fn of(&self, shape: Shape) -> DaySet {
        let mut set = self.plain & all_days(shape);
        for n in bits(self.before_last) {
            if n < shape.days {
                set |= 1 << (shape.days - n);
            }
        }
        for day in bits(self.nearest & all_days(shape)) {
            set |= 1 << nearest_weekday(day, shape);
        }
        if self.last_weekday {
            set |= 1 << nearest_weekday(shape.days, shape);
        }
        set
    }
}

impl DaysOfWeek {
    fn of(&self, shape: Shape) -> DaySet {
        let mut set = 0_u64;
        for weekday in bits(u32::from(self.plain)) {
            set |= EVERY_SEVENTH << first_of(weekday, shape);
        }
        for (nth, weekdays) in (0_u8..).zip(self.nth) {
            for weekday in bits(u32::from(weekdays)) {
                set |= 1 << (first_of(weekday, shape) + 7 * nth);
            }
        }
        for weekday in bits(u32::from(self.last)) {
            let fourth = first_of(weekday, shape) + 21;
            set |= 1
                << if fourth + 7 <= shape.days {
                    fourth + 7
                } else {
                    fourth
                };
        }
        u32::try_from(set & u64::from(all_days(shape))).unwrap_or(0)
    }
}

fn all_days(shape: Shape) -> DaySet {
    (u32::MAX >> (31 - shape.days)) & !1
}

/// The day of the first such weekday, 1 to 7.
fn first_of(weekday: u8, shape: Shape) -> u8 {
    1 + (weekday + 7 - shape.first_weekday) % 7
}

/// Monday to Friday nearest to a day, without leaving the month.
fn nearest_weekday(day: u8, shape: Shape) -> u8 {
    match (shape.first_weekday + day - 1) % 7 {
        SATURDAY if day == 1 => 3,
        SATURDAY => day - 1,
        SUNDAY if day == shape.days => day - 2,
        SUNDAY => day + 1,
        _ => day,
    }
}

pub(super) fn bits(mut set: u32) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let lowest = u8::try_from(set.trailing_zeros())
            .ok()
            .filter(|&bit| bit < 32)?;
        set &= set - 1;
        Some(lowest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// February 2025: 28 days, begins and ends on a Saturday and a Friday.
    const FEBRUARY: Shape = Shape {
        days: 28,
        first_weekday: 6,
    };
    /// June 2025: 30 days, begins on a Sunday.
    const JUNE: Shape = Shape {
        days: 30,
        first_weekday: 0,
    };
    /// August 2025: 31 days, begins on a Friday, ends on a Sunday.
    const AUGUST: Shape = Shape {
        days: 31,
        first_weekday: 5,
    };

    fn days(set: DaySet) -> Vec<u8> {
        bits(set).collect()
    }

    #[test]
    fn the_nearest_weekday_never_leaves_the_month() {
        for (shape, day, expected) in [
            (FEBRUARY, 1, 3),
            (FEBRUARY, 15, 14),
            (FEBRUARY, 28, 28),
            (JUNE, 1, 2),
            (JUNE, 15, 16),
            (AUGUST, 31, 29),
            (AUGUST, 30, 29),
        ] {
            assert_eq!(nearest_weekday(day, shape), expected, "{day}W in {shape:?}");
        }
    }

    #[test]
    fn a_day_that_a_month_lacks_is_not_moved_to_another() {
        let of_month = DaysOfMonth {
            plain: 1 << 31,
            nearest: 1 << 30,
            ..DaysOfMonth::default()
        };
        assert_eq!(of_month.of(FEBRUARY), 0);
        assert_eq!(days(of_month.of(JUNE)), [30]);
    }

    #[test]
    fn days_before_the_last_are_counted_from_the_end() {
        let of_month = DaysOfMonth {
            before_last: 1 | 1 << 3 | 1 << 30,
            ..DaysOfMonth::default()
        };
        assert_eq!(days(of_month.of(FEBRUARY)), [25, 28]);
        assert_eq!(days(of_month.of(AUGUST)), [1, 28, 31]);
    }

    #[test]
    fn a_fifth_weekday_is_missing_from_short_months_and_the_last_never_is() {
        let friday = 1 << 5;
        let fifth = DaysOfWeek {
            nth: [0, 0, 0, 0, friday],
            ..DaysOfWeek::default()
        };
        let last = DaysOfWeek {
            last: friday,
            ..DaysOfWeek::default()
        };
        assert_eq!(fifth.of(FEBRUARY), 0);
        assert_eq!(days(fifth.of(AUGUST)), [29]);
        assert_eq!(days(last.of(FEBRUARY)), [28]);
        assert_eq!(days(last.of(JUNE)), [27]);
        assert_eq!(days(last.of(AUGUST)), [29]);
    }
}
