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

    pub(crate) fn to_jiff(self) -> jiff::Timestamp {
        jiff::Timestamp::from_microsecond(self.0).unwrap_or(jiff::Timestamp::MAX)
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

/// RFC 3339 in UTC.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_jiff().fmt(f)
    }
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
        serializer.collect_str(self)
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
    use super::*;

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
