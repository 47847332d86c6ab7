//! How many attempts may start in a time.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

use super::checks::in_range;
use crate::{
    explain, limits,
    values::{Invalid, Timestamp, duration},
};

/// At most `limit + burst` starts in any window of length `per`; if nothing waits, `burst + 1` may
/// start together, and then one every `per / limit`. Several starts a second are a little further apart,
/// so that late ones can be made up for: see [`limits::RATE_LATE_PART`].
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

/// Starts have a distance, the spacing; `next_start` is when the one after the last would come. A start
/// may come earlier than that, by the slack. Of `limit + burst` starts and one more, the last comes at
/// least `(limit + burst) * spacing - slack` after the first, and that is never less than `per`.
///
/// No node starts a job in the very moment in which it may start. Without slack each start would put off
/// the next one by as much as it is late itself, and 500 a second came to 310 (SQLite) and 216
/// (PostgreSQL).
impl Rate {
    /// How long one start takes, rounded up: never too fast.
    fn spacing(&self) -> i64 {
        let (limit, burst) = (i64::from(self.limit), i64::from(self.burst));
        match self.burst_is_slack() {
            true => div_up(self.per_micros(), limit),
            false => div_up(self.per_micros() + self.late(), limit + burst),
        }
    }

    /// How much earlier than its time a start may come.
    fn slack(&self) -> i64 {
        match self.burst_is_slack() {
            true => self.spacing().saturating_mul(i64::from(self.burst)),
            false => self.late(),
        }
    }

    /// Whether starts of the burst, which come early, make up for all that come late.
    fn burst_is_slack(&self) -> bool {
        let burst = self.per_micros().saturating_mul(i64::from(self.burst));
        burst / i64::from(self.limit.max(1)) >= self.late()
    }

    /// How late a start may be without loss. Starts a second apart or more lose little by being late.
    fn late(&self) -> i64 {
        match self.per_micros() / i64::from(self.limit.max(1)) {
            1_000_000.. => 0,
            _ => self.per_micros() / i64::from(limits::RATE_LATE_PART),
        }
    }

    fn per_micros(&self) -> i64 {
        i64::try_from(self.per.as_micros()).unwrap_or(i64::MAX)
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

fn div_up(time: i64, by: i64) -> i64 {
    let by = by.max(1);
    time.div_euclid(by) + i64::from(time.rem_euclid(by) > 0)
}
