//! The pace of all callers of a destination, from what its answers say about its limits.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::quota::{LimitHeader, interval, micros};
use crate::{
    job::attempt::EndedAttempt,
    limits,
    values::{JobId, Timestamp},
};

/// A counter of the target that lowers the pace of its callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SharedQuota {
    /// The header that says how much remains.
    pub header: LimitHeader,
    /// How much remained; each start uses at least one.
    pub remaining: u32,
    /// When the target resets its counter.
    pub resets_at: Timestamp,
    /// Until when it counts: earlier than `resets_at` if that is very late.
    pub until: Timestamp,
    /// When it was received.
    pub at: Timestamp,
    /// When the attempt started that received it.
    pub asked_at: Timestamp,
    /// The job that received it.
    pub job: JobId,
}

impl SharedQuota {
    /// What the answer to an attempt shows.
    pub fn of(ended: &EndedAttempt) -> Option<Self> {
        let (quota, at) = (ended.quota?, ended.ended_at());
        Some(Self {
            header: quota.header,
            remaining: quota.remaining,
            resets_at: at.plus(quota.resets_in),
            until: at.plus(quota.counts_for.min(quota.resets_in)),
            at,
            asked_at: ended.job().progress.started_at.unwrap_or(at),
            job: ended.job().id,
        })
    }

    /// `3 requests remain until 2026-01-01T12:03:07Z (x-ratelimit-remaining-requests)`.
    pub fn describe(&self) -> String {
        self.header.describe(self.remaining, self.resets_at)
    }

    /// The one of two that counts: the newer one, if its attempt started after the other was
    /// received. Answers overtake each other, and of two whose order is not known the stricter counts.
    pub(super) fn current(known: Option<Self>, new: Option<Self>) -> Option<Self> {
        let (Some(known), Some(new)) = (known, new) else {
            return known.or(new);
        };
        let is_newer = new.asked_at >= known.at || known.until <= new.at;
        let strictness = |it: &Self| (it.interval(), it.until);
        let is_stricter = strictness(&new) > strictness(&known);
        Some(if is_newer || is_stricter { new } else { known })
    }

    /// Whether it asks for about the pace of another, so that a new answer is no news.
    pub fn is_like(&self, other: &Self) -> bool {
        let is_near = |one: u64, other: u64, of: u64| one.abs_diff(other) <= of / QUOTA_LIKE_PART;
        let interval = |it: &Self| micros(it.interval());
        let length = micros(self.until.since(self.at));
        let end = |it: &Self| micros(it.until.since(Timestamp::EPOCH));
        (self.remaining == 0) == (other.remaining == 0)
            && is_near(interval(self), interval(other), interval(other))
            && is_near(end(self), end(other), length)
    }

    /// How many may start now, or when the next may. The state of its gate is the time of the start
    /// after the last, as if all were on time; the first is due when the quota was received.
    pub(super) fn starts_at(
        &self,
        next_start: Timestamp,
        now: Timestamp,
    ) -> Result<u32, Timestamp> {
        if self.until <= now {
            return Ok(u32::MAX);
        }
        if self.remaining == 0 {
            return Err(self.until);
        }
        let next = self.next(next_start, now);
        if next > now {
            return Err(next.min(self.until));
        }
        let late = now.since(next).as_micros() / self.interval().as_micros().max(1);
        let starts = u32::try_from(late).unwrap_or(u32::MAX).saturating_add(1);
        Ok(starts.min(self.remaining))
    }

    pub(super) fn after(&self, next_start: Timestamp, starts: u32, now: Timestamp) -> Timestamp {
        let taken = self.interval().saturating_mul(starts);
        self.next(next_start, now).plus(taken)
    }

    /// A start that is late is made up for, but only a part of them, so that what was left unused for
    /// long does not start at once. A time that is later than this pace can have put it was written
    /// before the clock was set back, or at a slower pace.
    fn next(&self, next_start: Timestamp, now: Timestamp) -> Timestamp {
        let interval = self.interval();
        let latest = now.plus(interval).plus(limits::CLOCK_STEP_MAX);
        let next = match next_start > latest {
            true => Timestamp::EPOCH,
            false => next_start,
        };
        let late = interval.saturating_mul(self.remaining / limits::RATE_LATE_PART);
        let earliest = self.at.min(now).max(now.minus(late));
        next.max(earliest)
    }

    /// The time between two starts.
    pub(super) fn interval(&self) -> Duration {
        interval(self.resets_at.since(self.at), self.remaining)
    }

    /// The same, if the clock has been set back since.
    pub(super) fn not_in_future(self, now: Timestamp) -> Self {
        if self.at <= now {
            return self;
        }
        let moved = |at: Timestamp| now.plus(at.since(self.at));
        Self {
            resets_at: moved(self.resets_at),
            until: moved(self.until),
            at: now,
            asked_at: now,
            ..self
        }
    }
}

/// Two paces that differ by less than this part are alike: each change of a pace is stored.
const QUOTA_LIKE_PART: u64 = 8; // not a limit: a precision

#[cfg(test)]
mod tests;
