//! A point in time that cannot overflow.
//!
//! Microseconds since 1970 in an `i64`: the resolution of PostgreSQL, an integer in SQLite,
//! and cheap to compare. Every operation saturates, so no policy and no clock can make a
//! time wrap around into the past.

use std::{
    fmt,
    str::FromStr,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::Invalid;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    pub const EPOCH: Self = Self(0);
    /// 9999-12-30T22:00:00Z, the last instant that every calendar library we use can show.
    pub const MAX: Self = Self(253_402_207_200_000_000);

    /// Clamps to the range `EPOCH..=MAX`.
    pub const fn from_micros(micros: i64) -> Self {
        if micros < 0 {
            Self::EPOCH
        } else if micros > Self::MAX.0 {
            Self::MAX
        } else {
            Self(micros)
        }
    }

    pub const fn from_millis(millis: i64) -> Self {
        Self::from_micros(millis.saturating_mul(1_000))
    }

    pub const fn as_micros(self) -> i64 {
        self.0
    }

    pub const fn as_millis(self) -> i64 {
        self.0 / 1_000
    }

    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self::from_micros(self.0.saturating_add(micros(duration)))
    }

    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self::from_micros(self.0.saturating_sub(micros(duration)))
    }

    /// Time passed since `earlier`; zero where `earlier` is in fact later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }

    pub(crate) fn from_jiff(timestamp: jiff::Timestamp) -> Self {
        Self::from_micros(timestamp.as_microsecond())
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

/// Clamps, as [`Timestamp::from_micros`] does.
impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let since_epoch = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::EPOCH.plus(since_epoch)
    }
}

impl From<Timestamp> for SystemTime {
    fn from(timestamp: Timestamp) -> Self {
        UNIX_EPOCH + timestamp.since(Timestamp::EPOCH)
    }
}

/// RFC 3339 in UTC, with as many decimals as it takes.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(Text::of(*self).as_str())
    }
}

/// A time as text. Each job that is shown has several, so they are written without a calendar
/// library: UTC has no rules but the leap years.
struct Text {
    bytes: [u8; Self::BYTES_MAX],
    length: usize,
}

impl Text {
    const BYTES_MAX: usize = "9999-12-30T22:00:00.000000Z".len();
    const TO_SECONDS: usize = "9999-12-30T22:00:00".len();

    fn of(time: Timestamp) -> Self {
        let micros = time.0.unsigned_abs();
        let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
        let (days, second) = (seconds / 86_400, seconds % 86_400);
        let (year, month, day) = date(days);
        let mut bytes = *b"0000-00-00T00:00:00.000000Z";
        put(&mut bytes[..4], year);
        put(&mut bytes[5..7], month);
        put(&mut bytes[8..10], day);
        put(&mut bytes[11..13], second / 3_600);
        put(&mut bytes[14..16], second / 60 % 60);
        put(&mut bytes[17..19], second % 60);
        let mut length = Self::TO_SECONDS;
        if fraction > 0 {
            put(&mut bytes[20..26], fraction);
            length = 26;
            while bytes[length - 1] == b'0' {
                length -= 1;
            }
        }
        bytes[length] = b'Z';
        let length = length + 1;
        Self { bytes, length }
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

/// Fills the place with the last digits of a number.
fn put(place: &mut [u8], mut number: u64) {
    for digit in place.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// Year, month and day of a number of days since 1970. Years are counted from March here, so
/// that the leap day comes last and months before it have fixed lengths.
fn date(days: u64) -> (u64, u64, u64) {
    const DAYS_OF_400_YEARS: u64 = 146_097;
    // From March of the year 0.
    let days = days + 719_468;
    let (era, day) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    // Five months from March, or from August, have 153 days.
    let month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, next_year) = match month {
        0..=9 => (month + 3, 0),
        _ => (month - 9, 1),
    };
    (era * 400 + year + next_year, month, day_of_month)
}

impl FromStr for Timestamp {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        text.parse()
            .map(Self::from_jiff)
            .map_err(|_| Invalid::new("time", text, "must be RFC 3339, as 2026-01-01T12:00:00Z"))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(Text::of(*self).as_str())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn by_jiff(time: Timestamp) -> String {
        jiff::Timestamp::from_microsecond(time.0)
            .unwrap()
            .to_string()
    }

    proptest! {
        #[test]
        fn text_is_what_a_calendar_library_writes(micros in 0..=Timestamp::MAX.0, coarse in 0..7_u32) {
            let unit = 10_i64.pow(coarse);
            let time = Timestamp::from_micros(micros / unit * unit);
            prop_assert_eq!(time.to_string(), by_jiff(time));
            prop_assert_eq!(time.to_string().parse(), Ok(time));
        }
    }

    #[test]
    fn every_day_of_four_hundred_years_has_its_date() {
        for day in 0..=146_097 {
            let time = Timestamp::from_micros(day * 86_400_000_000);
            assert_eq!(time.to_string(), by_jiff(time));
        }
    }

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        assert_eq!(Timestamp::MAX.plus(Duration::MAX), Timestamp::MAX);
        assert_eq!(Timestamp::EPOCH.minus(Duration::MAX), Timestamp::EPOCH);
        assert_eq!(Timestamp::from_micros(i64::MIN), Timestamp::EPOCH);
        assert_eq!(Timestamp::EPOCH.since(Timestamp::MAX), Duration::ZERO);
    }

    #[test]
    fn text_is_rfc_3339_in_utc() {
        let text = "2026-01-01T12:00:00.25Z";
        let time: Timestamp = text.parse().unwrap();
        assert_eq!(time.to_string(), text);
        assert_eq!(
            "2026-01-01T13:00:00.25+01:00".parse::<Timestamp>().unwrap(),
            time
        );
        assert!("yesterday".parse::<Timestamp>().is_err());
    }
}
