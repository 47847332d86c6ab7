//! When a job becomes due.

use std::time::Duration;

use crate::values::{Invalid, Timestamp, duration};

/// When a job becomes due, by the store's clock.
// Exhaustive on purpose: every store must handle each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunAt {
    /// As soon as it is stored.
    Now,
    /// This long after it is stored.
    After(Duration),
    /// At this time; one in the past is due at once.
    At(Timestamp),
}

impl RunAt {
    /// When a job becomes due if it is stored at `now`.
    pub fn due(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Now => now,
            Self::After(delay) => now.plus(delay),
            Self::At(time) => time,
        }
    }

    /// Refuses a time, where there can be none, under the name by which it was given.
    pub fn check_now(self, expected: &str) -> Result<(), Invalid> {
        match self {
            Self::Now => Ok(()),
            Self::After(delay) => Err(Invalid::new("delay", duration::format(delay), expected)),
            Self::At(time) => Err(Invalid::new("runAt", time, expected)),
        }
    }
}
