//! What a destination says about its own limits: how many requests remain, and until when.
//!
//! Providers put it into the headers of every answer, under many names and in many forms; `headers`
//! has the table. Of an answer only the scarcest counter counts, and only if at most half of its limit
//! remains: the first half may be used at once, the other half is spread over the time until the
//! reset. Nothing that a header says raises a limit that a person set, and nothing counts for longer
//! than a Retry-After may.

mod headers;

use std::{fmt, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{explain::whole_second, values::Timestamp};

pub use headers::RequestedWait;

/// The name of a response header that limited jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LimitHeader(u8);

/// Headers that are no counters, by number; those of the counters follow.
const OTHER_HEADERS: [&str; 4] = [
    "another header",
    "Retry-After",
    "retry-after-ms",
    "RateLimit",
];

impl LimitHeader {
    /// A header that a newer version knows.
    const OTHER: Self = Self(0);
    /// `Retry-After`.
    pub const RETRY_AFTER: Self = Self(1);
    /// `retry-after-ms`.
    pub const RETRY_AFTER_MS: Self = Self(2);
    /// The structured `RateLimit` of the IETF draft.
    pub const RATE_LIMIT: Self = Self(3);

    /// The name of the header.
    pub fn as_str(self) -> &'static str {
        let name = Self::names().nth(usize::from(self.0));
        name.unwrap_or(OTHER_HEADERS[0])
    }

    /// A header by its name.
    pub(super) fn named(name: &str) -> Self {
        let place = Self::names().position(|known| known == name);
        place
            .and_then(|place| u8::try_from(place).ok())
            .map_or(Self::OTHER, Self)
    }

    fn names() -> impl Iterator<Item = &'static str> {
        OTHER_HEADERS
            .into_iter()
            .chain(headers::remaining_headers())
    }

    pub(crate) fn is_retry_after(&self) -> bool {
        *self == Self::RETRY_AFTER
    }

    /// Whether it is sent only when a request was refused; others count what remains.
    pub(super) fn is_of_refusal(self) -> bool {
        [Self::RETRY_AFTER, Self::RETRY_AFTER_MS].contains(&self)
    }

    /// `3 requests remain until 2026-01-01T12:03:07Z (x-ratelimit-remaining-requests)`.
    pub fn describe(self, remaining: u32, resets_at: Timestamp) -> String {
        let until = whole_second(resets_at);
        match (remaining, self.unit()) {
            (0, unit) => format!("no {unit} remain until {until} ({self})"),
            (1, unit) => {
                let unit = unit.trim_end_matches('s');
                format!("1 {unit} remains until {until} ({self})")
            }
            (remaining, unit) => format!("{remaining} {unit} remain until {until} ({self})"),
        }
    }

    /// The unit that the header counts.
    fn unit(self) -> &'static str {
        match self.as_str().contains("tokens") {
            true => "tokens",
            false => "requests",
        }
    }
}

impl Default for LimitHeader {
    fn default() -> Self {
        Self::RETRY_AFTER
    }
}

impl fmt::Display for LimitHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for LimitHeader {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for LimitHeader {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Ok(Self::named(&name))
    }
}

/// A counter of the target, as one answer shows it.
///
/// ```
/// use std::time::Duration;
/// use steadfast_core::{TargetQuota, Timestamp};
///
/// let headers = [("x-ratelimit-remaining", "3"), ("x-ratelimit-reset", "60")];
/// let header = |name: &str| {
///     let found = headers.iter().find(|(known, _)| *known == name);
///     found.map(|(_, value)| value.to_string())
/// };
/// let quota = TargetQuota::read(&header, Timestamp::EPOCH).unwrap();
/// assert_eq!((quota.remaining, quota.resets_in), (3, Duration::from_secs(60)));
/// assert_eq!(quota.header.as_str(), "x-ratelimit-remaining");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TargetQuota {
    /// The header that says how much remains.
    pub header: LimitHeader,
    /// How much remains; a start uses at least one.
    pub remaining: u32,
    /// The whole limit, if the target says it.
    pub limit: Option<u32>,
    /// The time until the reset.
    pub resets_in: Duration,
    /// For how long it counts: less than `resets_in` if a setting says so.
    pub counts_for: Duration,
}

impl TargetQuota {
    /// The scarcest counter of an answer; `None` if it has none, or more than half of each remains.
    /// `header` returns a header by its lower-case name, repeated ones joined by commas.
    pub fn read(header: &dyn Fn(&str) -> Option<String>, now: Timestamp) -> Option<Self> {
        let counters = headers::counters(header, now).into_iter();
        let scarce = counters.filter(Self::is_scarce);
        scarce.max_by_key(|quota| (quota.interval(), quota.resets_in))
    }

    fn is_scarce(&self) -> bool {
        let is_over_half = |limit: u32| self.remaining > limit / 2;
        let has_plenty = self.remaining > 0 && self.limit.is_some_and(is_over_half);
        !self.resets_in.is_zero() && !has_plenty
    }

    /// The time between two starts, if what remains is spread until the reset; without end if nothing
    /// does.
    fn interval(&self) -> Duration {
        interval(self.resets_in, self.remaining)
    }
}

/// Rounded up: never too fast.
pub(super) fn interval(until_reset: Duration, remaining: u32) -> Duration {
    match remaining {
        0 => Duration::MAX,
        _ => Duration::from_micros(micros(until_reset).div_ceil(remaining.into())),
    }
}

pub(super) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
