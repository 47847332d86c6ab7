//! How many attempts may start in a time.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

use super::checks::in_range;
use crate::{
    explain, limits,
    values::{Invalid, Timestamp, duration},
};

/// At most `limit + burst` starts in any window of length `per`; if nothing waits, `burst + 1` may
/// start together, and then one every `per / limit`. Of a large limit a small part is kept for starts
/// that come late: see [`limits::RATE_LATE_PART`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rate {
    /// How many.
    pub limit: u32,
    /// In which time.
    #[serde(with = "duration::text")]
    pub per: Duration,
    /// How many more, after a time in which fewer started.
    #[serde(default)]
    pub burst: u32,
}

impl Rate {
    /// Refuses what is outside of [`limits::RATE_LIMIT_MAX`], [`limits::RATE_PER`] and
    /// [`limits::RATE_BURST_MAX`].
    pub fn new(limit: i64, per: Duration, burst: i64) -> Result<Self, Invalid> {
        let limit = in_range("limit", limit, 1, limits::RATE_LIMIT_MAX)?;
        let burst = in_range("burst", burst, 0, limits::RATE_BURST_MAX)?;
        duration::check("per", per, limits::RATE_PER)?;
        Ok(Self { limit, per, burst })
    }
}

/// `100 per 1m`, `10 per 1s and 5 more at once`.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} per {}", self.limit, explain::brief(self.per))?;
        match self.burst {
            0 => Ok(()),
            burst => write!(f, " plus a burst of {burst}"),
        }
    }
}

/// `100/1m`, `10/s`, or with a burst `10/s+5`.
impl FromStr for Rate {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let invalid = || {
            let expected =
                "must be a rate such as \"10/s\", \"100/1m\", or with a burst \"10/s+5\"";
            Invalid::new("rate", format!("{text:?}"), expected)
        };
        let (limit, rest) = text.split_once('/').ok_or_else(invalid)?;
        let (per, burst) = rest.split_once('+').unwrap_or((rest, "0"));
        let per = match per.starts_with(|c: char| c.is_ascii_digit()) {
            true => duration::parse(per),
            false => duration::parse(&format!("1{per}")),
        };
        let number = |text: &str| text.trim().parse().map_err(|_| invalid());
        let per = per.map_err(|_| invalid())?;
        Self::new(number(limit)?, per, number(burst)?).map_err(|error| error.within("rate"))
    }
}

/// Starts are spaced as if `steady` of them filled `per`; `next_start` is when the one after the last
/// would come. A start may come earlier than that by as much as the other `limit + burst - steady`
/// take. So in any window of length `per` there are at most `limit + burst`.
///
/// No node starts a job in the very moment in which it may start. If all of the limit were spaced and
/// there were no burst, each start would put off the next one by as much as it is late itself, and
/// 500 a second came to 310 (SQLite) and 216 (PostgreSQL).
impl Rate {
    /// How many starts of a window are spaced.
    fn steady(&self) -> u32 {
        let late = (self.limit / limits::RATE_LATE_PART).saturating_sub(self.burst);
        self.limit.saturating_sub(late).max(1)
    }

    /// How long one start takes, rounded up: never too fast.
    fn spacing(&self) -> i64 {
        let per = i64::try_from(self.per.as_micros()).unwrap_or(i64::MAX);
        let steady = i64::from(self.steady());
        per.div_euclid(steady) + i64::from(per.rem_euclid(steady) > 0)
    }

    /// How much earlier than its time a start may come.
    fn slack(&self) -> i64 {
        let most = i64::from(self.limit) + i64::from(self.burst);
        let others = most.saturating_sub(i64::from(self.steady())).max(0);
        self.spacing().saturating_mul(others)
    }

    /// `next_start`, unless it is later than this rate can have put it: then the clock was set
    /// back, or the rate was slower before, and one may start now. The answer must not depend on
    /// `now` while none starts, or the gate would open in a moment for ever.
    fn bounded(&self, next_start: Timestamp, now: Timestamp) -> i64 {
        let ahead = self.slack().saturating_add(self.spacing());
        let most = now.plus(limits::CLOCK_STEP_MAX).as_micros();
        match next_start.as_micros() > most.saturating_add(ahead) {
            true => now.as_micros().saturating_add(self.slack()),
            false => next_start.as_micros(),
        }
    }

    /// How many may start now, or when the next one may.
    pub(super) fn starts_at(
        &self,
        next_start: Timestamp,
        now: Timestamp,
    ) -> Result<u32, Timestamp> {
        let (next, now) = (self.bounded(next_start, now), now.as_micros());
        let ahead = next.max(now).saturating_sub(now);
        if ahead > self.slack() {
            return Err(Timestamp::from_micros(next.saturating_sub(self.slack())));
        }
        let room = (self.slack() - ahead) / self.spacing().max(1);
        Ok(u32::try_from(room.saturating_add(1)).unwrap_or(u32::MAX))
    }

    pub(super) fn after(&self, next_start: Timestamp, starts: u32, now: Timestamp) -> Timestamp {
        let next = self.bounded(next_start, now).max(now.as_micros());
        let taken = self.spacing().saturating_mul(i64::from(starts));
        Timestamp::from_micros(next.saturating_add(taken))
    }

    /// The time between two starts when many wait.
    pub fn interval(&self) -> Duration {
        Duration::from_micros(u64::try_from(self.spacing()).unwrap_or(0))
    }
}
