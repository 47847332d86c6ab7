//! The phases of a call, so that a timeout can say which phase it ended, and the record of an attempt
//! how long each took.

use std::time::Duration;

use steadfast_core::{Failure, FailureClass, explain};
use tokio::time::Instant;

use super::{origin::Origin, response::Timings};

#[derive(Clone, Copy, PartialEq)]
pub enum Phase {
    Start,
    Dns,
    Connect,
    Tls,
    FirstByte,
    Body,
}

pub struct Trace {
    phase: Phase,
    entered: Instant,
    timings: Timings,
}

impl Trace {
    pub fn start() -> Self {
        Self {
            phase: Phase::Start,
            entered: Instant::now(),
            timings: Timings::default(),
        }
    }

    /// The last phase is over and the next one begins.
    pub fn enter(&mut self, next: Phase) {
        self.timings = match next {
            // Phases of the failed try over an earlier connection are not part of the call.
            Phase::Dns => Timings::default(),
            _ => self.timings(),
        };
        self.phase = next;
        self.entered = Instant::now();
    }

    /// The phases so far; the current one counts until now.
    pub fn timings(&self) -> Timings {
        let mut timings = self.timings;
        let place = match self.phase {
            Phase::Start => return timings,
            Phase::Dns => &mut timings.dns,
            Phase::Connect => &mut timings.connect,
            Phase::Tls => &mut timings.tls,
            Phase::FirstByte => &mut timings.first_byte,
            Phase::Body => &mut timings.body,
        };
        *place = Some(self.entered.elapsed());
        timings
    }

    /// Whether a part of the request may have been sent.
    pub fn has_sent(&self) -> bool {
        matches!(self.phase, Phase::FirstByte | Phase::Body)
    }

    /// The failure of a call that took longer than it may.
    pub fn timeout_failure(&self, origin: &Origin, limit: Duration) -> Failure {
        let within = format!("within {}", explain::brief(limit));
        let message = match self.phase {
            Phase::Start | Phase::Dns => {
                format!("the DNS lookup of {origin} did not finish {within}")
            }
            Phase::Connect => format!("the connection to {origin} was not established {within}"),
            Phase::Tls => format!("the TLS handshake with {origin} did not finish {within}"),
            Phase::FirstByte => format!("no response from {origin} {within}"),
            Phase::Body => format!("the response body from {origin} was not complete {within}"),
        };
        Failure::new(FailureClass::TIMEOUT, message)
    }
}
