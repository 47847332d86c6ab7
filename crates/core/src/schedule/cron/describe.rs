//! A pattern in ordinary words, so that a person can check what was written.
//!
//! Made from the sets of a pattern and not from its text: `0 9 * * 1-5`, `0 9 * * MON-FRI` and
//! `0 0 9 ? * 1,2,3,4,5` read the same.

use super::{
    days::{Days, DaysOfMonth, DaysOfWeek, bits},
    fields::{BitSet, Fields},
};

/// More times of day than this are said by their fields: `every 15 minutes from 09:00 to 17:59`.
const LISTED_TIMES_MAX: u32 = 6; // not a limit: how a sentence reads

const ALL_SIXTY: BitSet = (1 << 60) - 1; // not a limit: a bit mask
const ALL_HOURS: BitSet = (1 << 24) - 1; // not a limit: a bit mask
const ALL_DAYS: u32 = !1; // not a limit: a bit mask
const ALL_WEEKDAYS: u8 = 0x7f; // not a limit: a bit mask
const ALL_MONTHS: BitSet = 0x1ffe; // not a limit: a bit mask

const WEEKDAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const ORDINALS: [&str; 5] = ["first", "second", "third", "fourth", "fifth"];

/// As `at 09:00 on Monday to Friday`.
pub(super) fn describe(fields: &Fields) -> String {
    let mut parts = Vec::new();
    let times =
        fields.seconds.count_ones() * fields.minutes.count_ones() * fields.hours.count_ones();
    let days = describe_days(&fields.days);
    if times <= LISTED_TIMES_MAX {
        parts.push(format!("at {}", join(&times_of_day(fields), "and")));
        parts.push(days.unwrap_or_else(|| "every day".to_owned()));
    } else {
        parts.push(describe_times(fields));
        parts.extend(days);
    }
    if fields.months != ALL_MONTHS {
        parts.push(format!(
            "in {}",
            join(&named_runs(fields.months >> 1, &MONTHS), "and")
        ));
    }
    parts.join(" ")
}

fn times_of_day(fields: &Fields) -> Vec<String> {
    let mut times = Vec::new();
    for hour in values(fields.hours) {
        for minute in values(fields.minutes) {
            for second in values(fields.seconds) {
                times.push(if fields.seconds == 1 {
                    format!("{hour:02}:{minute:02}")
                } else {
                    format!("{hour:02}:{minute:02}:{second:02}")
                });
            }
        }
    }
    times
}

/// Times of day that are too many to be listed.
fn describe_times(fields: &Fields) -> String {
    let minute = fields.minutes.trailing_zeros();
    let once_an_hour = fields.seconds == 1 && fields.minutes.is_power_of_two();
    if once_an_hour && let Some(step) = step(fields.hours, 24) {
        return match minute {
            0 => format!("every {step} hours"),
            _ => format!("every {step} hours at minute {minute}"),
        };
    }
    if once_an_hour && let Some((first, last)) = ends_of_run(fields.hours) {
        return match (minute, fields.hours) {
            (0, ALL_HOURS) => "every hour".to_owned(),
            (_, ALL_HOURS) => format!("at minute {minute} of every hour"),
            _ => format!("every hour from {first:02}:{minute:02} to {last:02}:{minute:02}"),
        };
    }
    let mut parts = Vec::new();
    let mut is_whole = true;
    if fields.seconds == 1 {
        parts.push(describe_sixty(fields.minutes, "minute"));
        is_whole = parts[0].starts_with("every");
    } else {
        let seconds = describe_sixty(fields.seconds, "second");
        // "every 10 seconds", and not "every 10 seconds of every minute".
        if fields.minutes != ALL_SIXTY || !seconds.starts_with("every") {
            is_whole = fields.minutes == ALL_SIXTY;
            parts.push(seconds);
            parts.push(of_minutes(fields.minutes));
        } else {
            parts.push(seconds);
        }
    }
    if fields.hours != ALL_HOURS {
        parts.push(of_hours(fields.hours));
    } else if !is_whole {
        parts.push("of every hour".to_owned());
    }
    parts.join(" ")
}

/// `every minute`, `every 5 minutes`, `at minute 30`, `at minutes 5, 20 and 35`.
fn describe_sixty(set: BitSet, unit: &str) -> String {
    if set == ALL_SIXTY {
        return format!("every {unit}");
    }
    if let Some(step) = step(set, 60) {
        return format!("every {step} {unit}s");
    }
    let plural = if set.is_power_of_two() { "" } else { "s" };
    format!("at {unit}{plural} {}", join(&runs(set), "and"))
}

/// Which minutes seconds belong to: `of every minute`, `of minutes 0 and 30`.
fn of_minutes(minutes: BitSet) -> String {
    if minutes == ALL_SIXTY {
        return "of every minute".to_owned();
    }
    let plural = if minutes.is_power_of_two() { "" } else { "s" };
    format!("of minute{plural} {}", join(&runs(minutes), "and"))
}

/// `from 09:00 to 17:59`, or `in the hours 9, 12 and 18`.
fn of_hours(hours: BitSet) -> String {
    if let Some((first, last)) = ends_of_run(hours) {
        return format!("from {first:02}:00 to {last:02}:59");
    }
    format!("in the hours {}", join(&runs(hours), "and"))
}

/// `None` for every day.
fn describe_days(days: &Days) -> Option<String> {
    let of_month = (!days.of_month.are_all()).then(|| days_of_month(&days.of_month));
    let of_week = (!days.of_week.are_all()).then(|| days_of_week(&days.of_week));
    let both_must_match = days.of_month.open || days.of_week.open;
    match (of_month, of_week) {
        (None, None) => None,
        (Some(of_month), Some(of_week)) if both_must_match => {
            Some(format!("on {of_month} when it is {of_week}"))
        }
        (Some(of_month), Some(of_week)) => Some(format!("on {of_month} or on {of_week}")),
        // Either is enough, and one of them is every day.
        (None, Some(_)) | (Some(_), None) if !both_must_match => None,
        (Some(days), None) | (None, Some(days)) => Some(format!("on {days}")),
    }
}

fn days_of_month(days: &DaysOfMonth) -> String {
    let mut parts = Vec::new();
    if days.plain != 0 {
        let plural = if days.plain.is_power_of_two() {
            ""
        } else {
            "s"
        };
        let list = join(&runs(u64::from(days.plain)), "and");
        parts.push(format!("day{plural} {list} of the month"));
    }
    for day in bits(days.nearest) {
        parts.push(format!("the weekday nearest to day {day} of the month"));
    }
    for before in bits(days.before_last) {
        parts.push(match before {
            0 => "the last day of the month".to_owned(),
            1 => "the day before the last day of the month".to_owned(),
            _ => format!("the day {before} days before the last day of the month"),
        });
    }
    if days.last_weekday {
        parts.push("the last weekday of the month".to_owned());
    }
    join(&parts, "or")
}

fn days_of_week(days: &DaysOfWeek) -> String {
    let mut parts = Vec::new();
    if days.plain != 0 {
        // A week that is read from Monday on: "Saturday and Sunday", not "Sunday and Saturday".
        let from_monday = u64::from(days.plain >> 1) | u64::from(days.plain & 1) << 6;
        let mut names = WEEKDAYS;
        names.rotate_left(1);
        parts.push(join(&named_runs(from_monday, &names), "and"));
    }
    for (ordinal, weekdays) in ORDINALS.iter().zip(days.nth) {
        for weekday in bits(u32::from(weekdays)) {
            let weekday = WEEKDAYS[usize::from(weekday)];
            parts.push(format!("the {ordinal} {weekday} of the month"));
        }
    }
    for weekday in bits(u32::from(days.last)) {
        let weekday = WEEKDAYS[usize::from(weekday)];
        parts.push(format!("the last {weekday} of the month"));
    }
    join(&parts, "or")
}

impl DaysOfMonth {
    fn are_all(&self) -> bool {
        self.plain == ALL_DAYS
    }
}

impl DaysOfWeek {
    fn are_all(&self) -> bool {
        self.plain == ALL_WEEKDAYS
    }
}

/// The first and last value of a set without gaps.
fn ends_of_run(set: BitSet) -> Option<(u32, u32)> {
    let (first, last) = (set.trailing_zeros(), 63 - set.leading_zeros());
    (set.count_ones() == last - first + 1).then_some((first, last))
}

/// The step of a set that begins with 0 and goes on evenly over the end of its unit: 5 for
/// `*/5` of minutes. `None` for `*/7`, whose last step is shorter, and for one value.
fn step(set: BitSet, count: u32) -> Option<u32> {
    let step = (set & !1).trailing_zeros();
    let is_even = set & 1 == 1 && step > 1 && step < count && count.is_multiple_of(step);
    let evenly = (0..count)
        .step_by(usize::try_from(step).ok()?.max(1))
        .fold(0, |evenly: BitSet, value| evenly | 1 << value);
    (is_even && set == evenly).then_some(step)
}

/// The values of a set, with three or more in a row as a range.
fn runs(set: BitSet) -> Vec<String> {
    describe_runs(set, |value| value.to_string())
}

fn named_runs(set: BitSet, names: &[&str]) -> Vec<String> {
    describe_runs(set, |value| {
        let name = usize::try_from(value).ok().and_then(|at| names.get(at));
        name.copied().unwrap_or_default().to_owned()
    })
}

fn describe_runs(set: BitSet, name: impl Fn(u32) -> String) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = set;
    while rest != 0 {
        let first = rest.trailing_zeros();
        let count = (rest >> first).trailing_ones();
        let last = first + count - 1;
        if count >= 3 {
            parts.push(format!("{} to {}", name(first), name(last)));
        } else {
            parts.extend((first..=last).map(&name));
        }
        for value in first..=last {
            rest &= !(1 << value);
        }
    }
    parts
}

fn values(set: BitSet) -> impl Iterator<Item = u32> {
    (0..BitSet::BITS).filter(move |value| set & 1 << value != 0)
}

/// `a`, `a and b`, `a, b and c`.
fn join(parts: &[String], word: &str) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} {word} {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use crate::Cron;

    #[test]
    fn patterns_read_as_a_person_would_say_them() {
        let patterns = [
            "* * * * *",
            "*/5 * * * *",
            "*/7 * * * *",
            "0 * * * *",
            "30 * * * *",
            "5/15 * * * *",
            "0,30 * * * *",
            "0 */2 * * *",
            "30 */3 * * *",
            "30 9-17 * * *",
            "15 */6 * * *",
            "0 9 * * *",
            "0 9 * * MON-FRI",
            "0 0 9 ? * 1,2,3,4,5",
            "0 9,17 * * *",
            "0 9,12,17 * * SAT,SUN",
            "30 8 * * FRI-SUN",
            "*/15 9-17 * * MON-FRI",
            "0 9-17 * * *",
            "*/10 8,12,18 * * *",
            "0 0 1 * *",
            "@yearly",
            "@weekly",
            "@hourly",
            "0 0 1,15 * *",
            "0 0 13 * 5",
            "0 0 */2 * MON",
            "0 0 1-31 * FRI",
            "0 0 L * *",
            "0 0 L-1,L-3 * *",
            "0 6 15W * *",
            "0 6 LW * *",
            "0 6 * * FRI#2",
            "0 6 * * FRIL",
            "0 6 1 JAN,APR,JUL,OCT *",
            "0 6 * JUN-AUG MON",
            "30 4 29 2 *",
            "* * * * * *",
            "*/10 * * * * *",
            "30 * * * * *",
            "15 30 9 * * *",
            "*/20 0 * * * *",
            "*/10 */5 9-17 * * *",
            "* 0 * * *",
        ];
        let sentences: Vec<String> = patterns
            .iter()
            .map(|pattern| format!("{pattern:<26} {}", Cron::parse(pattern).unwrap().describe()))
            .collect();
        insta::assert_snapshot!(sentences.join("\n"));
    }

    #[test]
    fn patterns_that_mean_the_same_read_the_same() {
        for (one, other) in [
            ("0 9 * * 1-5", "0 0 9 ? * MON,TUE,WED,THU,FRI"),
            ("@daily", "0 0 * * *"),
            ("0 0 * * 0", "0 0 * * 7"),
            ("*/30 * * * *", "0,30 * * * *"),
        ] {
            let words = |pattern| Cron::parse(pattern).unwrap().describe();
            assert_eq!(words(one), words(other));
        }
    }
}
