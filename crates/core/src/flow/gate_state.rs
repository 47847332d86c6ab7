//! The stored state of a gate, and why it is closed.

use std::sync::Arc;

use super::{
    health::{Incident, ManualHold, SharedRetryAfter},
    hold::Pause,
    pace::PaceLimit,
    rate::Rate,
    shared_quota::SharedQuota,
};
use crate::{limits, values::Timestamp};

/// The stored state of a gate.
// Exhaustive on purpose: every store reads and writes each field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateState {
    /// Attempts that run.
    pub running: u32,
    /// When the next start would come if every one were on time.
    pub next_start: Timestamp,
    /// The minute that `starts` and `retries` belong to, since 1970.
    pub minute: i64,
    /// Attempts that started in that minute.
    pub starts: u32,
    /// Those of them that were retries.
    pub retries: u32,
}

impl Default for GateState {
    fn default() -> Self {
        Self {
            running: 0,
            next_start: Timestamp::EPOCH,
            minute: 0,
            starts: 0,
            retries: 0,
        }
    }
}

/// Why none may start, and until when.
#[derive(Clone, Debug, PartialEq)]
pub enum ClosedBy {
    /// A person closed the gate.
    Pause(Pause),
    /// As many run as may. Opens when one ends.
    MaxRunning,
    /// The rate allows the next one then.
    Rate(Timestamp),
    /// Too many retries started in this minute; the next one may start then, or when others start.
    RetryShare(Timestamp),
    /// The destination is held because it does not work.
    Hold {
        /// When the job may be a probe.
        until: Timestamp,
        /// The cause.
        incident: Arc<Incident>,
    },
    /// A person holds the destination.
    ManualHold {
        /// When it is released by itself.
        until: Option<Timestamp>,
        /// Who, and why.
        hold: Arc<ManualHold>,
    },
    /// The destination works again, and jobs start faster from second to second.
    Ramp {
        /// When the next one may start.
        until: Timestamp,
        /// The current rate.
        rate: Rate,
    },
    /// The destination asked its callers to wait.
    RetryAfter(SharedRetryAfter),
    /// As many calls run as the destination was found to take.
    Pace {
        /// When the limit has room for one more because it grows; `None` if one must end first.
        until: Option<Timestamp>,
        /// The limit.
        pace: PaceLimit,
    },
    /// Little or nothing remains of the destination's own limits.
    Quota {
        /// When the next one may start.
        until: Timestamp,
        /// What the destination says.
        quota: SharedQuota,
    },
}

impl ClosedBy {
    /// When it opens, if time opens it.
    pub fn until(&self) -> Option<Timestamp> {
        match self {
            Self::Pause(pause) => pause.until,
            Self::MaxRunning => None,
            Self::Rate(until) | Self::RetryShare(until) => Some(*until),
            Self::Hold { until, .. } | Self::Ramp { until, .. } | Self::Quota { until, .. } => {
                Some(*until)
            }
            Self::ManualHold { until, .. } | Self::Pace { until, .. } => *until,
            Self::RetryAfter(retry_after) => Some(retry_after.until),
        }
    }
}

pub(super) const MINUTE: i64 = 60_000_000; // not a limit: microseconds

pub(super) fn minute(now: Timestamp) -> i64 {
    now.as_micros() / MINUTE
}

impl GateState {
    /// Whether what it says of starts may still count; if not, it need not be kept.
    pub fn matters_at(&self, now: Timestamp) -> bool {
        let last = self.next_start.plus(limits::PROBE_LOST_AFTER);
        last > now || self.minute >= minute(now)
    }

    pub(super) fn in_minute(&self, now: Timestamp) -> (u32, u32) {
        match self.minute == minute(now) {
            true => (self.starts, self.retries),
            false => (0, 0),
        }
    }
}
