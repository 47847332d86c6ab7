//! The limit that a learned pace puts on claims.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{limits, values::Timestamp};

/// How many calls at once a destination may get, as a function of time: it grows smoothly, so that
/// not many calls start at once that may be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaceLimit {
    pub(super) from: u32,
    pub(super) to: u32,
    /// From when it grows. Attempts that started earlier say nothing about it.
    pub(super) since: Timestamp,
    /// Calls beyond it were refused, or slower.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_found: bool,
    /// About when a call last ended.
    pub(super) heard_at: Timestamp,
}

impl PaceLimit {
    /// The limit of a destination of which nothing is known.
    pub const START: Self = Self {
        from: limits::PACE_START,
        to: limits::PACE_START,
        since: Timestamp::EPOCH,
        is_found: false,
        heard_at: Timestamp::MAX,
    };

    /// How many calls may run at this time.
    pub fn at(self, now: Timestamp) -> u32 {
        let places = self.grown(now);
        match self.is_old(now) {
            true => (places / 2).max(limits::PACE_START.min(places)),
            false => places,
        }
    }

    /// The most calls that it allows at any time.
    pub fn most(self) -> u32 {
        self.to
    }

    /// Whether it is what the destination was found to take, and not only the next try.
    pub fn is_found(self) -> bool {
        self.is_found
    }

    /// When it allows one more, if it grows.
    pub(in crate::flow) fn next_place_at(self, now: Timestamp) -> Option<Timestamp> {
        let more = self.to.saturating_sub(self.from);
        let next = self.grown(now).checked_sub(self.from)? + 1;
        if next > more || self.is_old(now) {
            return None;
        }
        let micros = u64::from(next) * round_micros();
        let after = Duration::from_micros(micros.div_ceil(more.into()));
        Some(self.since.plus(after).max(now))
    }

    pub(super) fn is_growing(self) -> bool {
        self.from < self.to
    }

    /// No call has ended for so long that it may be wrong.
    pub(super) fn is_old(self, now: Timestamp) -> bool {
        now.since(self.heard_at) >= limits::PACE_OLD_AFTER
    }

    /// No call has ended for so long that the next one should be noted.
    pub(super) fn is_silent(self, now: Timestamp) -> bool {
        now.since(self.heard_at) >= limits::PACE_HEARD_EVERY
    }

    fn grown(self, now: Timestamp) -> u32 {
        let more = u64::from(self.to.saturating_sub(self.from));
        let elapsed = u64::try_from(now.since(self.since).as_micros()).unwrap_or(u64::MAX);
        let grown = more * elapsed.min(round_micros()) / round_micros();
        self.from
            .saturating_add(u32::try_from(grown).unwrap_or(u32::MAX))
    }
}

fn round_micros() -> u64 {
    u64::try_from(limits::PACE_ROUND.as_micros()).unwrap_or(u64::MAX)
}
