//! The learned pace by the minute, for people: how it moved, and why.

use serde::{Deserialize, Serialize};

use super::{PaceCounts, PaceReason};
use crate::{limits, values::Timestamp};

/// The learned pace of a destination in one minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaceMinute {
    /// When the minute began.
    pub at: Timestamp,
    /// The fewest calls at once that it allowed.
    pub least: u32,
    /// The most calls at once that it allowed.
    pub most: u32,
    /// Calls that ended.
    pub ended: u32,
    /// Those of them that were refused.
    pub refused: u32,
    /// Why it moved: of several reasons, the last that lowered it.
    pub reason: Option<PaceReason>,
}

/// The last minutes in which calls ended, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct PaceMinutes(Vec<Minute>);

/// `[minute since 1970, least, most, ended, refused, reason]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Minute(i64, u32, u32, u32, u32, Option<PaceReason>);

const MICROS: i64 = 60_000_000; // not a limit: of a minute

impl PaceMinutes {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn add(&mut self, counts: &PaceCounts, limit: u32, now: Timestamp) {
        if counts.ended == 0 {
            return;
        }
        let minute = self.minute(limit, now);
        minute.3 = minute.3.saturating_add(counts.ended);
        minute.4 = minute.4.saturating_add(counts.refused);
    }

    /// The limit has changed.
    pub(super) fn moved(&mut self, limit: u32, reason: PaceReason, now: Timestamp) {
        let minute = self.minute(limit, now);
        if reason.lowers() || minute.5.is_none() {
            minute.5 = Some(reason);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = PaceMinute> {
        self.0.iter().map(|minute| {
            let Minute(number, least, most, ended, refused, reason) = *minute;
            PaceMinute {
                at: Timestamp::from_micros(number.saturating_mul(MICROS)),
                least,
                most,
                ended,
                refused,
                reason,
            }
        })
    }

    /// The current minute, in which this limit holds. If the clock was set back, minutes that lie
    /// ahead are forgotten.
    fn minute(&mut self, limit: u32, now: Timestamp) -> &mut Minute {
        let number = now.as_micros().div_euclid(MICROS);
        self.0.retain(|known| known.0 <= number);
        if self.0.last().is_none_or(|known| known.0 < number) {
            self.0.push(Minute(number, limit, limit, 0, 0, None));
            let excess = self.0.len().saturating_sub(limits::PACE_MINUTES_MAX);
            self.0.drain(..excess);
        }
        let index = self.0.len() - 1;
        let minute = &mut self.0[index];
        minute.1 = minute.1.min(limit);
        minute.2 = minute.2.max(limit);
        minute
    }
}
