//! The texts in the columns of `top`, none wider than its column.

use std::time::Duration;

use steadfast_core::Timestamp;

use crate::{
    output::escape,
    show::{brief, shorten, shorten_middle, thousands},
};

/// A column of this many characters on the right, with a space before it whatever the text is.
pub fn cell(text: &str, chars: usize) -> String {
    format!(" {:>chars$}", shorten(text, chars))
}

/// A text from outside in exactly this number of characters. Names often differ at their end only.
pub fn padded(text: &str, chars: usize) -> String {
    let text = shorten_middle(&one_line(text), chars);
    format!("{text:<chars$}")
}

/// A text from outside, which cannot change the terminal or begin a line.
pub fn one_line(text: &str) -> String {
    escape(text).replace('\n', " ")
}

/// A number in at most six characters: `99,999`, `1,204k`, `12M`.
pub fn compact(count: u64) -> String {
    number(count, 6)
}

/// A number in at most this many characters, which are at least four, in thousands or more if it
/// has more.
pub fn number(count: u64, chars: usize) -> String {
    let units = [
        (1, ""),
        (1_000, "k"),
        (1_000_000, "M"),
        (1_000_000_000, "G"),
    ];
    let texts = units.map(|(unit, name)| format!("{}{name}", thousands(count / unit)));
    let short = texts.iter().find(|text| text.len() <= chars);
    short.unwrap_or(&texts[3]).clone()
}

/// Per second, with a digit after the point where there is room for it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "people read whole numbers"
)]
pub fn rate(per_second: f64) -> String {
    if per_second < 999.95 {
        return format!("{per_second:.1}");
    }
    compact(per_second.round() as u64)
}

#[expect(clippy::cast_precision_loss, reason = "people read whole percents")]
pub fn share(part: u64, whole: u64) -> String {
    match whole {
        0 => "–".to_owned(),
        whole => format!("{:.0} %", 100.0 * part as f64 / whole as f64),
    }
}

pub fn oldest(since: Option<Timestamp>, now: Timestamp) -> String {
    since.map_or("–".to_owned(), |since| short_age(now.since(since)))
}

/// A duration in at most six characters: `59.9s`, `9m 5s`, `13m`, `2d 4h`.
pub fn short_age(duration: Duration) -> String {
    let text = brief(duration);
    match text.split_once(' ') {
        Some((first, _)) if text.chars().count() > 6 => first.to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_ages_fit_their_columns() {
        for (count, six, four) in [
            (0, "0", "0"),
            (999, "999", "999"),
            (9_999, "9,999", "9k"),
            (99_999, "99,999", "99k"),
            (1_234_567, "1,234k", "1M"),
            (12_000_000, "12M", "12M"),
            (5_000_000_000, "5,000M", "5G"),
        ] {
            assert_eq!(compact(count), six);
            assert_eq!(number(count, 4), four);
        }
        for (seconds, text) in [
            (59, "59s"),
            (9 * 60 + 5, "9m 5s"),
            (13 * 60 + 18, "13m"),
            (52 * 3_600, "2d 4h"),
            (365 * 86_400 + 7_200, "365d"),
        ] {
            assert_eq!(short_age(Duration::from_secs(seconds)), text);
        }
        assert_eq!(rate(0.66), "0.7");
        assert_eq!(rate(20_000.4), "20,000");
        assert_eq!(cell("123,456,789", 5), " 123,…");
    }
}
