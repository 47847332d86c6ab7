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

use super::invalid::Invalid;

/// A point in time, to the microsecond, from 1970 to the end of the year 9999.
///
/// ```
/// use std::time::Duration;
/// use steadfast_core::Timestamp;
///
/// let noon: Timestamp = "2026-01-01T13:00:00+01:00".parse().unwrap();
/// assert_eq!(noon.plus(Duration::from_millis(250)).to_string(), "2026-01-01T12:00:00.25Z");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// 1970-01-01T00:00:00Z, the earliest time there is.
    pub const EPOCH: Self = Self(0);
    /// 9999-12-30T22:00:00Z, the last instant that every calendar library in use can format.
    pub const MAX: Self = Self(253_402_207_200_000_000);

    /// Microseconds since 1970, clamped to the range `EPOCH..=MAX`.
    pub const fn from_micros(micros: i64) -> Self {
        if micros < 0 {
            Self::EPOCH
        } else if micros > Self::MAX.0 {
            Self::MAX
        } else {
            Self(micros)
        }
    }

    /// Milliseconds since 1970, clamped to the range `EPOCH..=MAX`.
    pub const fn from_millis(millis: i64) -> Self {
        Self::from_micros(millis.saturating_mul(1_000))
    }

    /// Microseconds since 1970.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Whole milliseconds since 1970.
    pub const fn as_millis(self) -> i64 {
        self.0 / 1_000
    }

    pub(crate) fn is_epoch(&self) -> bool {
        *self == Self::EPOCH
    }

    /// The time this much later, at most [`Timestamp::MAX`].
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self::from_micros(self.0.saturating_add(micros(duration)))
    }

    /// The time this much earlier, at least [`Timestamp::EPOCH`].
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self::from_micros(self.0.saturating_sub(micros(duration)))
    }

    /// The time that passed since `earlier`; zero if `earlier` is in fact later.
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

/// RFC 3339 in UTC, with as many decimals as it takes: `2026-01-01T12:00:00.25Z`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = jiff::Timestamp::from_microsecond(self.0).map_err(|_| fmt::Error)?;
        fmt::Display::fmt(&time, f)
    }
}

impl FromStr for Timestamp {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        text.parse().map(Self::from_jiff).map_err(|_| {
            Invalid::new(
                "time",
                text,
                "must be an RFC 3339 time such as 2026-01-01T12:00:00Z",
            )
        })
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
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_time_has_a_text_that_reads_back(micros in 0..=Timestamp::MAX.0, coarse in 0..7_u32) {
            let unit = 10_i64.pow(coarse);
            let time = Timestamp::from_micros(micros / unit * unit);
            prop_assert_eq!(time.to_string().parse(), Ok(time));
        }
    }

    #[test]
    fn the_first_and_the_last_time_have_a_text() {
        assert_eq!(Timestamp::EPOCH.to_string(), "1970-01-01T00:00:00Z");
        assert_eq!(Timestamp::MAX.to_string(), "9999-12-30T22:00:00Z");
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
