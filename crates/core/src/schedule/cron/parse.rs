//! From the text of a pattern to sets of bits, or to a sentence about what is wrong with it.
//!
//! The text is upper-cased once, so names and letters are compared in one spelling; only the
//! nicknames are exact, because `@Daily` is more often a typing error than intended.

use super::{
    days::{Days, DaysOfMonth, DaysOfWeek},
    fields::{BitSet, Fields},
};
use crate::limits;

/// What is expected of a refused pattern: a sentence fragment that begins with "must".
pub(super) type Requirement = String;

const NICKNAMES: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// One of the six fields: what it is called and what it may hold.
struct Field {
    name: &'static str,
    min: u8,
    max: u8,
    /// The highest number that may be written, which is not `max` for weekdays alone.
    top: u8,
    /// Names of the values, beginning with the lowest.
    names: &'static [&'static str],
    allowed: &'static str,
}

const SECOND: Field = Field {
    name: "second",
    min: 0,
    max: 59,
    top: 59,
    names: &[],
    allowed: "0 to 59",
};
const MINUTE: Field = Field {
    name: "minute",
    ..SECOND
};
const HOUR: Field = Field {
    name: "hour",
    max: 23,
    top: 23,
    allowed: "0 to 23",
    ..SECOND
};
const DAY_OF_MONTH: Field = Field {
    name: "day-of-month",
    min: 1,
    max: 31,
    top: 31,
    names: &[],
    allowed: "1 to 31, L, LW, L-3 or 15W",
};
const MONTH: Field = Field {
    name: "month",
    min: 1,
    max: 12,
    top: 12,
    names: &[
        "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
    ],
    allowed: "1 to 12 or JAN to DEC",
};
/// A week is 0 to 6. 7 is only another way to write Sunday, so `1/3` ends on Saturday.
const DAY_OF_WEEK: Field = Field {
    name: "day-of-week",
    min: 0,
    max: 6,
    top: 7,
    names: &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"],
    allowed: "0 to 7 (0 and 7 are Sunday), SUN to SAT, FRI#2 or FRIL",
};

pub(super) fn fields(text: &str) -> Result<Fields, Requirement> {
    let most = limits::CRON_PATTERN_BYTES_MAX;
    if text.len() > most {
        return Err(format!("must be at most {most} bytes long"));
    }
    let pattern = expand_nickname(text.trim_matches([' ', '\t']))?.to_ascii_uppercase();
    let columns: Vec<&str> = pattern
        .split([' ', '\t'])
        .filter(|column| !column.is_empty())
        .collect();
    let (second, [minute, hour, day_of_month, month, day_of_week]) = match columns[..] {
        [a, b, c, d, e] => ("0", [a, b, c, d, e]),
        [second, a, b, c, d, e] => (second, [a, b, c, d, e]),
        _ => {
            return Err(format!(
                "must have 5 fields (minute, hour, day of month, month, day of week) or 6 \
                 (with seconds first), not {}",
                columns.len()
            ));
        }
    };
    let fields = Fields {
        seconds: SECOND.list(second)?,
        minutes: MINUTE.list(minute)?,
        hours: HOUR.list(hour)?,
        days: Days {
            of_month: days_of_month(day_of_month)?,
            of_week: days_of_week(day_of_week)?,
        },
        months: MONTH.list(month)?,
        interval: [second, minute, hour]
            .iter()
            .any(|column| column.starts_with('*')),
    };
    if !fields.ever_fire() {
        return Err("must match at least one date; this pattern never fires".to_owned());
    }
    Ok(fields)
}

fn expand_nickname(text: &str) -> Result<&str, Requirement> {
    if !text.starts_with('@') {
        return Ok(text);
    }
    NICKNAMES
        .iter()
        .find(|(name, _)| *name == text)
        .map(|(_, pattern)| *pattern)
        .ok_or_else(|| {
            let names = NICKNAMES.map(|(name, _)| name).join(", ");
            format!("must be one of {names}, or a cron pattern")
        })
}

fn days_of_month(column: &str) -> Result<DaysOfMonth, Requirement> {
    let field = &DAY_OF_MONTH;
    let mut days = DaysOfMonth {
        open: is_open(column),
        ..DaysOfMonth::default()
    };
    if column == "?" {
        days.plain = field.days("*")?;
        return Ok(days);
    }
    for item in column.split(',') {
        if item == "L" {
            days.before_last |= 1;
        } else if item == "LW" {
            days.last_weekday = true;
        } else if let Some(count) = item.strip_prefix("L-") {
            days.before_last |= 1 << number(count, 1, 30).ok_or_else(|| field.requirement(item))?;
        } else if let Some(day) = item.strip_suffix('W') {
            days.nearest |= 1 << number(day, 1, 31).ok_or_else(|| field.requirement(item))?;
        } else {
            days.plain |= field.days(item)?;
        }
    }
    Ok(days)
}

fn days_of_week(column: &str) -> Result<DaysOfWeek, Requirement> {
    let field = &DAY_OF_WEEK;
    let mut days = DaysOfWeek {
        open: is_open(column),
        ..DaysOfWeek::default()
    };
    if column == "?" {
        days.plain = field.weekdays("*")?;
        return Ok(days);
    }
    for item in column.split(',') {
        let special = match item.split_once('#') {
            Some(split) => Some(split),
            None => item.strip_suffix('L').map(|weekday| (weekday, "L")),
        };
        let Some((weekday, which)) = special else {
            days.plain |= field.weekdays(item)?;
            continue;
        };
        let weekday = field
            .value(weekday)
            .ok_or_else(|| field.requirement(item))?;
        if which == "L" {
            days.last |= 1 << (weekday % 7);
        } else {
            let nth = number(which, 1, 5).ok_or_else(|| field.requirement(item))?;
            days.nth[usize::from(nth) - 1] |= 1 << (weekday % 7);
        }
    }
    Ok(days)
}

/// An open day field leaves the choice of days to the other one.
fn is_open(column: &str) -> bool {
    column.starts_with('*') || column == "?"
}

impl Field {
    fn list(&self, column: &str) -> Result<BitSet, Requirement> {
        column
            .split(',')
            .try_fold(0, |set, item| Ok(set | self.item(item)?))
    }

    /// `*`, `5`, `1-10`, each with or without a step, as `*/5`, `5/15` and `1-10/2`.
    fn item(&self, item: &str) -> Result<BitSet, Requirement> {
        let (base, step) = match item.split_once('/') {
            None => (item, None),
            Some((base, step)) => {
                let count = self.max - self.min + 1;
                let step = number(step, 1, count).ok_or_else(|| {
                    let name = self.name;
                    format!("must have a step of 1 to {count} in the {name} field, not {item:?}")
                })?;
                (base, Some(step))
            }
        };
        let (first, last) = self.range(base, item, step.is_some())?;
        let step = usize::from(step.unwrap_or(1));
        Ok((first..=last)
            .step_by(step)
            .fold(0, |set, value| set | 1 << value))
    }

    fn range(&self, base: &str, item: &str, stepped: bool) -> Result<(u8, u8), Requirement> {
        let value = |text| self.value(text).ok_or_else(|| self.requirement(item));
        if base == "*" {
            return Ok((self.min, self.max));
        }
        let Some((first, last)) = base.split_once('-') else {
            let first = value(base)?;
            // A Sunday written 7 begins the week too.
            return Ok(if !stepped {
                (first, first)
            } else if first > self.max {
                (self.min, self.max)
            } else {
                (first, self.max)
            });
        };
        let (first, mut end) = (value(first)?, value(last)?);
        // In FRI-SUN the Sunday is the one that ends the week.
        if last == "SUN" && first > 0 {
            end = 7;
        }
        if first > end {
            return Err(format!(
                "must have ascending ranges in the {} field, not {item:?}: write two ranges",
                self.name
            ));
        }
        Ok((first, end))
    }

    fn value(&self, text: &str) -> Option<u8> {
        if let Some(index) = self.names.iter().position(|name| *name == text) {
            return u8::try_from(index).ok().map(|index| self.min + index);
        }
        number(text, self.min, self.top)
    }

    fn days(&self, item: &str) -> Result<u32, Requirement> {
        Ok(u32::try_from(self.item(item)?).unwrap_or(0))
    }

    /// The bits of 0 to 7, with 7 folded onto Sunday.
    fn weekdays(&self, item: &str) -> Result<u8, Requirement> {
        let set = self.item(item)?;
        Ok(u8::try_from((set | set >> 7) & 0x7f).unwrap_or(0))
    }

    fn requirement(&self, item: &str) -> Requirement {
        format!(
            "must have {} in the {} field, not {item:?}",
            self.allowed, self.name
        )
    }
}

/// Digits only: the standard parser would also take a plus sign.
fn number(text: &str, min: u8, max: u8) -> Option<u8> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse()
        .ok()
        .filter(|value| (min..=max).contains(value))
}
