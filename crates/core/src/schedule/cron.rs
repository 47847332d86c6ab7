//! Cron patterns, and when they fire.
//!
//! Written here rather than taken from a crate because cron libraries differ exactly where a durable
//! scheduler must be right: which rules count as fixed when clocks change, what happens in the
//! repeated hour, and how long the search for a day that does not exist takes.

mod calendar;
mod days;
mod describe;
mod fields;
mod local;
mod parse;

use std::{borrow::Cow, fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{
    schedule::zone::Zone,
    values::{Invalid, Timestamp},
};
use fields::Fields;

/// A pattern of 5 fields, or of 6 with seconds first, or a nickname as `@daily`.
///
/// | field | values |
/// |---|---|
/// | second, minute | 0–59 |
/// | hour | 0–23 |
/// | day of month | 1–31, `L` last, `L-3` three before the last, `15W` weekday nearest to the 15th, `LW` last weekday, `?` |
/// | month | 1–12, `JAN`–`DEC` |
/// | day of week | 0–7 (0 and 7 are Sunday), `SUN`–`SAT`, `TUE#3` third Tuesday, `FRIL` or `FRI#L` last Friday, `?` |
///
/// Each takes lists (`1,15`), ranges (`1-5`) and steps (`*/5`, `5/15`, `1-10/2`). When both
/// day fields are restricted, either is enough; when one begins with `*`, both must match.
///
/// ```
/// use steadfast_core::{Cron, Timestamp, Zone};
///
/// let cron: Cron = "0 9 * * MON-FRI".parse().unwrap();
/// let saturday: Timestamp = "2026-01-03T12:00:00Z".parse().unwrap();
/// let tick = cron.next_after(&Zone::utc(), saturday).unwrap();
/// assert_eq!(tick.at.to_string(), "2026-01-05T09:00:00Z");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Cron {
    text: Arc<str>,
    fields: Fields,
}

/// One moment at which a schedule fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tick {
    /// The moment.
    pub at: Timestamp,
    /// How a change of clocks affects this tick, so that a page can mark it; mostly `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dst: Option<Dst>,
}

/// How a change of clocks (daylight saving time) affects a tick.
// Exhaustive on purpose: clocks go forward or back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum Dst {
    /// The clock skipped a local time of this rule; it fires at the first moment after.
    Gap,
    /// The clock shows this local time twice.
    Fold,
}

impl Cron {
    /// Refuses text that is no pattern, and a pattern that would never fire.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        match parse::fields(text) {
            Ok(fields) => Ok(Self {
                text: text.into(),
                fields,
            }),
            Err(requirement) => Err(Invalid::new("schedule", format!("{text:?}"), requirement)),
        }
    }

    /// The first tick strictly after `after`.
    ///
    /// `None` after [`Timestamp::MAX`], and for an interval rule all of whose matches fall into hours
    /// that this zone skips.
    pub fn next_after(&self, zone: &Zone, after: Timestamp) -> Option<Tick> {
        local::next_after(&self.fields, zone, after)
    }

    /// The rule in words: `at 09:00 on Monday to Friday`.
    ///
    /// ```
    /// # use steadfast_core::Cron;
    /// let cron: Cron = "*/15 9-17 * * 1-5".parse().unwrap();
    /// assert_eq!(cron.describe(), "every 15 minutes from 09:00 to 17:59 on Monday to Friday");
    /// ```
    pub fn describe(&self) -> String {
        describe::describe(&self.fields)
    }

    /// The text as it was given.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cron({:?})", self.text)
    }
}

impl FromStr for Cron {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::parse(text)
    }
}

impl Serialize for Cron {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Cron {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&text).map_err(de::Error::custom)
    }
}
