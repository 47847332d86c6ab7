//! The target: a queue that serves a number of calls per second.

use std::time::Duration;

use super::{CertificateSettings, Fault};
use crate::{limits, values::Timestamp};

/// How a group of calls ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEnd {
    Answered(Timestamp),
    TimedOut(Timestamp),
    Refused(Timestamp),
}

impl CallEnd {
    pub fn at(self) -> Timestamp {
        match self {
            Self::Answered(at) | Self::TimedOut(at) | Self::Refused(at) => at,
        }
    }
}

pub struct Target {
    fault: Fault,
    from: Timestamp,
    to: Timestamp,
    latency: Duration,
    timeout: Duration,
    /// The time that one call takes of it, in microseconds.
    micros_per_call: f64,
    /// When it has worked off all that was sent.
    free_at: Timestamp,
    /// What is left of a microsecond.
    rest: f64,
}

impl Target {
    pub fn new(settings: &CertificateSettings, fault: Fault, from: Timestamp) -> Self {
        let target = &settings.target;
        Self {
            fault,
            from,
            to: from.plus(settings.outage),
            latency: target.latency,
            timeout: target.timeout,
            micros_per_call: 1e6 * limits::CERTIFICATE_MARGIN / target.capacity,
            free_at: Timestamp::EPOCH,
            rest: 0.0,
        }
    }

    /// Takes calls that begin together. The first of them decides how they end: groups are small
    /// beside the timeout. What is sent is worked off, whether a caller still waits for it or not.
    pub fn call(&mut self, count: u32, now: Timestamp) -> CallEnd {
        let is_faulty = (self.from..self.to).contains(&now);
        if is_faulty && self.fault == Fault::Refuses {
            return CallEnd::Refused(now.plus(limits::CERTIFICATE_REFUSAL));
        }
        let mut begin = now.max(self.free_at);
        if is_faulty && self.fault == Fault::Hangs {
            begin = begin.max(self.to);
        }
        let end = begin.plus(self.latency);
        let work = self.micros_per_call * f64::from(count) + self.rest;
        self.rest = work.fract();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole microseconds, not negative"
        )]
        let work = Duration::from_micros(work as u64);
        self.free_at = begin.plus(work);
        let deadline = now.plus(self.timeout);
        match end <= deadline {
            true => CallEnd::Answered(end),
            false => CallEnd::TimedOut(deadline),
        }
    }
}
