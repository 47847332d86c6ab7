//! Where a call stands, so that a budget that ends can say what it ended in.

use std::time::Duration;

use steadfast_core::{Failure, FailureClass, duration};
use tokio::time::Instant;

use super::{connect::Origin, response::Timings};

#[derive(Clone, Copy, PartialEq)]
pub enum Phase {
    Start,
    Dns,
    Connect,
    Tls,
    Answer,
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
            Phase::Answer => self.timings.first_byte = spent,
        }
        self.phase = next;
        self.entered = now;
    }

    pub fn timings(&self) -> Timings {
        self.timings
    }

    pub fn timed_out(&self, origin: &Origin, budget: Duration) -> Failure {
        let within = format!("within {}", duration::format(budget));
        let message = match self.phase {
            Phase::Start | Phase::Dns => format!("looking up {origin} did not end {within}"),
            Phase::Connect => format!("connecting to {origin} did not end {within}"),
            Phase::Tls => format!("the TLS handshake with {origin} did not end {within}"),
            Phase::Answer => format!("no answer from {origin} {within}"),
            Phase::Body => format!("the body of the answer from {origin} did not end {within}"),
        };
        Failure::new(FailureClass::TIMEOUT, message)
    }
}
