//! Durations, times and numbers as people read them.

use std::time::Duration;

use crate::values::Timestamp;

/// A duration for people, in two units at most: `850ms`, `3.2s`, `1m 5s`, `2d 4h`.
pub fn brief(duration: Duration) -> String {
    let micros = duration.as_micros();
    let tenths = (duration.as_millis() + 50) / 100;
    let seconds = duration.as_secs();
    let two_units = |unit: u64, name: &str, smaller: u64, smaller_name: &str| {
        let (big, small) = (seconds / unit, seconds % unit / smaller);
        if small == 0 {
            format!("{big}{name}")
        } else {
            format!("{big}{name} {small}{smaller_name}")
        }
    };
    match micros {
        0 => "0s".to_owned(),
        1..1_000 => format!("{micros}µs"),
        1_000..1_000_000 => format!("{}ms", micros / 1_000),
        // Rounded to tenths, this is a minute already.
        59_950_000..60_000_000 => "1m".to_owned(),
        1_000_000..60_000_000 if tenths.is_multiple_of(10) => format!("{}s", tenths / 10),
        1_000_000..60_000_000 => format!("{}.{}s", tenths / 10, tenths % 10),
        60_000_000..3_600_000_000 => two_units(60, "m", 1, "s"),
        3_600_000_000..86_400_000_000 => two_units(3_600, "h", 60, "m"),
        _ => two_units(86_400, "d", 3_600, "h"),
    }
}

/// A time for people, to the second.
///
/// ```
/// let time = "2026-01-01T12:00:00.123456Z".parse().unwrap();
/// assert_eq!(steadfast_core::explain::whole_second(time), "2026-01-01T12:00:00Z");
/// ```
pub fn whole_second(time: Timestamp) -> String {
    let part = Duration::from_millis(time.as_millis().unsigned_abs() % 1_000);
    Timestamp::from_millis(time.as_millis())
        .minus(part)
        .to_string()
}

/// A number for people: `1,234,567`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number and its noun: `1 job`, `1,234 jobs`.
pub fn count_of(count: u64, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{} {many}", thousands(count)),
    }
}

/// The first characters of a text, with an ellipsis if there are more.
pub fn shorten(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Before the failure with which a sentence about many failures ends.
const MOST_RECENT: &str = "; most recent: ";

/// A sentence about many failures, with the newest of them.
pub fn with_most_recent(text: &str, newest: Option<&str>) -> String {
    let newest = newest.map_or(String::new(), |newest| format!("{MOST_RECENT}{newest}"));
    format!("{text}{newest}")
}

/// The same sentence without the failure.
pub fn without_most_recent(text: &str) -> &str {
    text.find(MOST_RECENT).map_or(text, |at| &text[..at])
}
