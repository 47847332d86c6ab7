//! Time zones, from the data inside the binary and from nowhere else.
//!
//! Reading the machine's zone files would make two nodes of one cluster disagree about when
//! a schedule fires, and would make this crate do I/O.

use std::{borrow::Cow, fmt, str::FromStr};

use jiff::tz::{TimeZone, TimeZoneDatabase};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::values::{Invalid, Timestamp};

/// An IANA time zone. Cloning it is cheap.
///
/// ```
/// use steadfast_core::Zone;
///
/// assert_eq!(Zone::parse("europe/paris").unwrap().name(), "Europe/Paris");
/// assert!(Zone::parse("Mars/Olympus").is_err());
/// ```
#[derive(Clone)]
pub struct Zone(TimeZone);

impl Zone {
    /// UTC, the default of schedules.
    pub fn utc() -> Self {
        Self(TimeZone::UTC)
    }

    /// The zone of an IANA name. Case does not matter; the zone keeps the spelling of the IANA data.
    pub fn parse(name: &str) -> Result<Self, Invalid> {
        TimeZoneDatabase::bundled()
            .get(name)
            .ok()
            // "Etc/Unknown" is the zone library's placeholder for a zone that it does not know.
            .filter(|zone| !zone.is_unknown() && zone.iana_name().is_some())
            .map(Self)
            .ok_or_else(|| {
                Invalid::new(
                    "timezone",
                    format!("{name:?}"),
                    "must be an IANA time zone such as Europe/Paris or UTC",
                )
            })
    }

    /// The IANA name, as `Europe/Paris`.
    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// A moment as clocks of the zone show it, to the second: `2026-01-01 13:00:00`.
    pub fn local_time(&self, at: Timestamp) -> String {
        let seconds = at.as_micros().div_euclid(1_000_000);
        let local = self.0.to_datetime(instant(seconds));
        local.to_string().replace('T', " ")
    }

    /// The period of constant offset around the instant `at`, in seconds since 1970.
    pub(crate) fn period(&self, at: i64) -> Period {
        let offset = self.offset(at);
        let start = self.0.preceding(instant(at.saturating_add(1))).next();
        let end = self.0.following(instant(at)).next();
        let start = start.map(|transition| transition.timestamp().as_second());
        let end = end.map(|transition| transition.timestamp().as_second());
        Period {
            start: start.unwrap_or(i64::MIN),
            end: end.unwrap_or(i64::MAX),
            offset,
            offset_before: start.map_or(offset, |start| self.offset(start - 1)),
            offset_after: end.map_or(offset, |end| self.offset(end)),
        }
    }

    fn offset(&self, at: i64) -> i64 {
        i64::from(self.0.to_offset(instant(at)).seconds())
    }
}

/// A period in which a zone's clocks are not changed: local time is UTC plus `offset`.
///
/// Gaps and folds lie only at its two ends, which is what makes them easy to treat exactly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Period {
    pub start: i64,
    /// Exclusive.
    pub end: i64,
    pub offset: i64,
    pub offset_before: i64,
    pub offset_after: i64,
}

fn instant(second: i64) -> jiff::Timestamp {
    jiff::Timestamp::from_second(second).unwrap_or(jiff::Timestamp::MAX)
}

impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Zone {}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Zone({})", self.name())
    }
}

impl FromStr for Zone {
    type Err = Invalid;

    fn from_str(name: &str) -> Result<Self, Invalid> {
        Self::parse(name)
    }
}

impl Serialize for Zone {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Zone {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&name).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_known_by_its_iana_name_in_any_case() {
        assert_eq!(Zone::parse("Asia/Kolkata").unwrap().name(), "Asia/Kolkata");
        assert_eq!(Zone::parse("utc").unwrap(), Zone::utc());
        assert_eq!(Zone::parse("US/eastern").unwrap().name(), "US/Eastern");
    }

    #[test]
    fn a_moment_is_shown_as_clocks_of_the_zone_show_it() {
        let at: Timestamp = "2026-07-01T00:30:00.75Z".parse().unwrap();
        let local = |zone: &str| Zone::parse(zone).unwrap().local_time(at);
        assert_eq!(local("Europe/Paris"), "2026-07-01 02:30:00");
        assert_eq!(local("America/New_York"), "2026-06-30 20:30:00");
        assert_eq!(local("UTC"), "2026-07-01 00:30:00");
    }

    #[test]
    fn an_unknown_zone_is_refused_with_its_field() {
        for name in [
            "",
            "Mars/Olympus",
            "Etc/Unknown",
            "EST5EDT4",
            "+02:00",
            "/etc/localtime",
        ] {
            let error = Zone::parse(name).unwrap_err();
            assert_eq!(error.field, "timezone");
            assert!(error.to_string().contains(name), "{error}");
        }
    }

    #[test]
    fn a_zone_is_written_and_read_as_its_name() {
        let zone = Zone::parse("America/Sao_Paulo").unwrap();
        let json = serde_json::to_string(&zone).unwrap();
        assert_eq!(json, "\"America/Sao_Paulo\"");
        assert_eq!(serde_json::from_str::<Zone>(&json).unwrap(), zone);
        assert!(serde_json::from_str::<Zone>("\"Nowhere\"").is_err());
    }

    #[test]
    fn a_period_begins_at_its_own_first_second_and_ends_before_the_next() {
        let zone = Zone::parse("America/New_York").unwrap();
        let gap = "2026-03-08T07:00:00Z"
            .parse::<jiff::Timestamp>()
            .unwrap()
            .as_second();
        let winter = zone.period(gap - 1);
        let summer = zone.period(gap);
        assert_eq!(
            (winter.end, winter.offset, winter.offset_after),
            (gap, -18_000, -14_400)
        );
        assert_eq!(
            (summer.start, summer.offset_before, summer.offset),
            (gap, -18_000, -14_400)
        );
        assert_eq!(zone.period(gap + 1).start, gap);
    }
}
