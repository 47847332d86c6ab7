//! Durations as people write them: `"30s"`, `"1m30s"`, `"1.5h"`; in JSON also a number of milliseconds.

use std::{fmt::Write as _, ops::RangeInclusive, time::Duration};

use super::invalid::Invalid;

const UNITS: [(&str, u64); 6] = [
    ("d", 86_400_000_000),
    ("h", 3_600_000_000),
    ("m", 60_000_000),
    ("s", 1_000_000),
    ("ms", 1_000),
    ("us", 1),
];

/// Refuses a duration out of its range, under the name of its field.
pub(crate) fn check(
    field: &str,
    value: Duration,
    range: RangeInclusive<Duration>,
) -> Result<(), Invalid> {
    if range.contains(&value) {
        return Ok(());
    }
    let (least, most) = range.into_inner();
    let (least, most) = (format(least), format(most));
    let expected = format!("must be between {least} and {most}");
    Err(Invalid::new(field, format(value), expected))
}

/// Parses one or more numbers with units (`d`, `h`, `m`, `s`, `ms`, `us`). A number without one is
/// refused: it could be seconds or milliseconds, and a wrong guess is wrong a thousand times.
pub fn parse(text: &str) -> Result<Duration, Invalid> {
    let invalid = || {
        Invalid::new(
            "duration",
            format!("{text:?}"),
            "must be a duration such as \"500ms\", \"30s\", \"1m30s\", \"2h\" or \"7d\"",
        )
    };
    let mut rest = text.trim();
    if let Ok(number) = rest.parse::<u64>() {
        let expected = format!("must have a unit, such as \"{number}s\" or \"{number}ms\"");
        return match number {
            0 => Ok(Duration::ZERO),
            _ => Err(Invalid::new("duration", format!("{text:?}"), expected)),
        };
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let (number, tail) = split(rest, |c| c.is_ascii_digit() || c == '.');
        let (unit, tail) = split(tail.trim_start(), |c| c.is_ascii_alphabetic());
        let (_, unit_micros) = UNITS
            .iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(invalid)?;
        let part = scale(number, *unit_micros).ok_or_else(invalid)?;
        total = total.checked_add(part).ok_or_else(invalid)?;
        rest = tail.trim_start();
    }
    Ok(total)
}

/// Whole numbers are exact; only a decimal point goes through floating point.
fn scale(number: &str, unit_micros: u64) -> Option<Duration> {
    if let Ok(whole) = number.parse::<u64>() {
        let micros = u128::from(whole) * u128::from(unit_micros);
        let secs = u64::try_from(micros / 1_000_000).ok()?;
        let rest = u64::try_from(micros % 1_000_000).ok()?;
        return Duration::from_secs(secs).checked_add(Duration::from_micros(rest));
    }
    let decimal: f64 = number.parse().ok()?;
    let unit_secs = Duration::from_micros(unit_micros).as_secs_f64();
    let exact = Duration::try_from_secs_f64(decimal * unit_secs).ok()?;
    // Less than a microsecond is not written, so it must not be read either: a stored duration
    // would differ from the one that was used.
    let rounded = exact.checked_add(Duration::from_nanos(500))?;
    Some(Duration::new(
        rounded.as_secs(),
        rounded.subsec_micros() * 1_000,
    ))
}

fn split(text: &str, mut keep: impl FnMut(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !keep(c)).unwrap_or(text.len()))
}

/// The shortest exact text, to the microsecond: `1m30s`, `500ms`, `0s`.
pub fn format(duration: Duration) -> String {
    let mut micros = duration.as_micros();
    if micros == 0 {
        return "0s".to_owned();
    }
    let mut text = String::new();
    for (unit, unit_micros) in UNITS {
        let count = micros / u128::from(unit_micros);
        micros %= u128::from(unit_micros);
        if count > 0 {
            write!(text, "{count}{unit}").unwrap_or_default();
        }
    }
    text
}

/// Whole milliseconds, for JSON that carries integers.
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A duration in JSON: written as text, read from text or from a number of milliseconds.
pub mod text {
    use std::{fmt, time::Duration};

    use serde::{Deserializer, Serializer, de};

    /// Writes text such as `"1m30s"`.
    pub fn serialize<S: Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::format(*value))
    }

    /// Reads text such as `"1m30s"`, or a number of milliseconds.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        deserializer.deserialize_any(Visitor)
    }

    pub(super) struct Visitor;

    impl de::Visitor<'_> for Visitor {
        type Value = Duration;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a duration such as \"30s\", or a number of milliseconds")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Duration, E> {
            super::parse(text).map_err(E::custom)
        }

        fn visit_u64<E: de::Error>(self, millis: u64) -> Result<Duration, E> {
            Ok(Duration::from_millis(millis))
        }

        fn visit_i64<E: de::Error>(self, millis: i64) -> Result<Duration, E> {
            u64::try_from(millis)
                .map(Duration::from_millis)
                .map_err(|_| E::custom(format!("duration is {millis}: must not be negative")))
        }
    }
}

/// As [`text`], for a field that may be missing or null.
pub mod text_option {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes text, or null.
    pub fn serialize<S: Serializer>(
        value: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(duration) => super::text::serialize(duration, serializer),
            None => serializer.serialize_none(),
        }
    }

    /// Reads text, a number of milliseconds, or null.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<super::Text>::deserialize(deserializer)?.map(|text| text.0))
    }
}

/// A list of durations in JSON.
pub mod text_list {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes a list of texts.
    pub fn serialize<S: Serializer>(values: &[Duration], s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(values.iter().map(|duration| super::format(*duration)))
    }

    /// Reads a list of texts or numbers of milliseconds.
    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<Duration>, D::Error> {
        let list = Vec::<super::Text>::deserialize(d)?;
        Ok(list.into_iter().map(|text| text.0).collect())
    }
}

/// A duration that reads and writes itself as [`text`], for use inside other types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Text(
    /// The duration itself.
    #[serde(with = "text")]
    pub Duration,
);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_is_read_as_people_write_it() {
        for (text, millis) in [
            ("30s", 30_000),
            ("1m30s", 90_000),
            ("1h 30m", 5_400_000),
            ("1.5h", 5_400_000),
            ("7d", 604_800_000),
            ("500ms", 500),
            ("0s", 0),
            ("0", 0),
        ] {
            assert_eq!(
                parse(text),
                Ok(Duration::from_millis(millis)),
                "parsing {text:?}"
            );
        }
    }

    #[test]
    fn nothing_finer_than_can_be_written_is_read() {
        for (text, micros) in [
            ("0.1us", 0),
            ("1.5us", 2),
            ("0.0000004s", 0),
            ("2.25ms", 2_250),
        ] {
            let read = parse(text).unwrap();
            assert_eq!(read, Duration::from_micros(micros), "{text}");
            assert_eq!(parse(&format(read)), Ok(read), "{text}");
        }
    }

    #[test]
    fn text_that_is_no_duration_is_refused_and_quoted() {
        for text in [
            "",
            "s",
            "5 parsecs",
            "-5s",
            "1..5s",
            "999999999999999999999d",
            "5S",
            "5",
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.to_string().contains(&format!("{text:?}")), "{error}");
        }
    }

    proptest! {
        #[test]
        fn format_then_parse_is_identity_to_the_microsecond(secs: u64, micros in 0..1_000_000_u32) {
            let duration = Duration::new(secs, micros * 1_000);
            prop_assert_eq!(parse(&format(duration)), Ok(duration));
        }

        #[test]
        fn no_text_makes_it_panic(text in ".*") {
            let _ = parse(&text);
        }
    }
}
