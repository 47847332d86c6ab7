//! Times, durations, counts and payloads as people read them.

use std::{fmt, time::Duration};

use askama::filters::HtmlSafe;
use steadfast_core::Timestamp;

/// A time, relative to now and, for whoever points at it, absolute.
#[derive(Clone, Copy)]
pub struct When {
    pub at: Timestamp,
    pub now: Timestamp,
}

impl When {
    pub fn relative(&self) -> String {
        match self.at > self.now {
            true => format!("in {}", rough(self.at.since(self.now))),
            false if self.now.since(self.at) < Duration::from_secs(1) => "just now".to_owned(),
            false => format!("{} ago", rough(self.now.since(self.at))),
        }
    }

    pub fn absolute(&self) -> String {
        let millis = Timestamp::from_millis(self.at.as_millis());
        millis.to_string().replace('T', " ").replace('Z', " UTC")
    }

    /// A time that ticks down until it has come.
    pub fn countdown(self) -> Countdown {
        Countdown(self)
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, title, text) = (self.at, self.absolute(), self.relative());
        write!(
            f,
            r#"<time datetime="{at}" title="{title}" data-relative>{text}</time>"#
        )
    }
}

/// Times hold digits, letters and colons only.
impl HtmlSafe for When {}

pub struct Countdown(When);

impl fmt::Display for Countdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, title) = (self.0.at, self.0.absolute());
        let text = match self.0.at > self.0.now {
            true => format!("in {}", short(self.0.at.since(self.0.now))),
            false => "now".to_owned(),
        };
        write!(
            f,
            r#"<time class="countdown" datetime="{at}" title="{title}" data-countdown>{text}</time>"#
        )
    }
}

impl HtmlSafe for Countdown {}

const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")];

/// One unit, for times that are only looked at in passing.
fn rough(duration: Duration) -> String {
    let seconds = duration.as_secs();
    for (size, unit) in UNITS {
        if seconds >= size {
            return format!("{}{unit}", seconds / size);
        }
    }
    "a moment".to_owned()
}

/// Two units, or a few digits.
pub fn short(duration: Duration) -> String {
    let millis = duration.as_millis();
    if duration.is_zero() {
        return "0s".to_owned();
    }
    if millis == 0 {
        return format!("{}µs", duration.as_micros());
    }
    if millis < 1_000 {
        return format!("{millis}ms");
    }
    if millis < 60_000 {
        let tenths = (millis + 50) / 100;
        return match tenths % 10 {
            0 => format!("{}s", tenths / 10),
            rest => format!("{}.{rest}s", tenths / 10),
        };
    }
    let seconds = duration.as_secs();
    let mut parts = Vec::new();
    let mut left = seconds;
    for (size, unit) in UNITS {
        if left >= size && parts.len() < 2 {
            parts.push(format!("{}{unit}", left / size));
        }
        left %= size;
    }
    parts.join(" ")
}

/// 1234567 as 1,234,567.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub fn percent(rate: Option<f64>) -> String {
    match rate {
        Some(rate) => format!("{:.1} %", rate * 100.0),
        None => "–".to_owned(),
    }
}

/// How much of a text is shown.
const TEXT_BYTES_MAX: usize = 16 * 1024;

/// Text of others, bounded.
pub struct Excerpt {
    pub text: String,
    /// How many bytes there are, if they are not all shown.
    pub of: Option<usize>,
}

impl Excerpt {
    /// JSON with line breaks; text that is none is shown as it is.
    pub fn json(text: &str) -> Self {
        let pretty = serde_json::from_str::<serde_json::Value>(text)
            .and_then(|value| serde_json::to_string_pretty(&value));
        Self::of(pretty.unwrap_or_else(|_| text.to_owned()))
    }

    fn of(mut text: String) -> Self {
        let length = text.len();
        text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
        Self {
            of: (text.len() < length).then_some(length),
            text,
        }
    }
}

/// A line of others, cut to what fits into a table.
pub fn line(text: &str, chars_max: usize) -> String {
    let mut line: String = text.chars().take(chars_max).collect();
    if line.len() < text.len() {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_said_in_two_units_at_most() {
        let ms = Duration::from_millis;
        for (duration, expected) in [
            (ms(0), "0s"),
            (Duration::from_micros(40), "40µs"),
            (ms(856), "856ms"),
            (ms(1_000), "1s"),
            (ms(1_249), "1.2s"),
            (ms(61_000), "1m 1s"),
            (ms(3_600_000), "1h"),
            (ms(90_061_000), "1d 1h"),
        ] {
            assert_eq!(short(duration), expected);
        }
    }

    #[test]
    fn counts_have_commas() {
        let shown = [0, 999, 1_000, 1_234_567].map(count);
        assert_eq!(shown, ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn a_long_text_is_cut_and_says_so() {
        let long = "é".repeat(TEXT_BYTES_MAX);
        let excerpt = Excerpt::json(&long);
        assert!(excerpt.text.len() <= TEXT_BYTES_MAX);
        assert_eq!(excerpt.of, Some(long.len()));
        assert_eq!(Excerpt::json(r#"{"a":1}"#).text, "{\n  \"a\": 1\n}");
    }
}
