//! What the end of an attempt says about the pace of its destination.

use std::time::Duration;

use crate::{
    failure::FailureClass,
    job::attempt::{EndedAttempt, Outcome},
};

/// The answer of a destination to one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::flow) enum PaceAnswer {
    /// It answered, whatever it thought of the job.
    Good,
    /// It refused the call with status 429 or 503, and asked to wait for this long.
    Refused(Duration),
    /// It did not answer in time.
    TimedOut,
    /// The call took a place, and says nothing else.
    Unclear,
}

impl PaceAnswer {
    /// `None` if the destination was not called, or the attempt did not end.
    pub(in crate::flow) fn of(ended: &EndedAttempt) -> Option<Self> {
        let failure = match ended.outcome() {
            Outcome::Success { .. } => return Some(Self::Good),
            Outcome::Failure { failure, .. } => failure,
            _ => return None,
        };
        Some(match failure.http_status {
            Some(429 | 503) => Self::Refused(failure.retry_after.unwrap_or_default()),
            Some(_) => Self::Good,
            None if failure.class == FailureClass::TIMEOUT => Self::TimedOut,
            None if failure.calls_destination() => Self::Unclear,
            None => return None,
        })
    }
}
