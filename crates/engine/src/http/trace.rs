//! The phases of a call, so that a timeout can say which phase it ended.

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
        let now = Instant::now();
        let spent = Some(now - self.entered);
        match self.phase {
            Phase::Start | Phase::Body => {}
            Phase::Dns => self.timings.dns = spent,
            Phase::Connect => self.timings.connect = spent,
            Phase::Tls => self.timings.tls = spent,
            Phase::FirstByte => self.timings.first_byte = spent,
        }
        self.phase = next;
        self.entered = now;
    }

    /// The phases so far; that of the body counts until now.
    pub fn timings(&self) -> Timings {
        let is_body = self.phase == Phase::Body;
        Timings {
            body: is_body.then(|| self.entered.elapsed()),
            ..self.timings
        }
    }

    /// The failure of a call that took longer than it may.
    pub fn timeout_failure(&self, origin: &Origin, limit: Duration) -> Failure {
        let within = format!("within {}", explain::brief(limit));
        let message = match self.phase {
            Phase::Start | Phase::Dns => format!("looking up {origin} did not end {within}"),
            Phase::Connect => format!("connecting to {origin} did not end {within}"),
            Phase::Tls => format!("the TLS handshake with {origin} did not end {within}"),
            Phase::FirstByte => format!("no response from {origin} {within}"),
            Phase::Body => format!("the body of the response from {origin} did not end {within}"),
        };
        Failure::new(FailureClass::TIMEOUT, message)
    }
}
