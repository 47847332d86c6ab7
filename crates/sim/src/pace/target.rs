//! Targets with a capacity that is known here and nowhere else.

use std::{collections::VecDeque, time::Duration};

use rand::{RngExt as _, rngs::StdRng};
use steadfast_core::Timestamp;

use super::PaceTrial;

/// How a target treats calls beyond its capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// It serves its capacity at once and refuses the others with 429.
    Concurrency,
    /// It serves its capacity in a second, and this many at once after a pause; it refuses the others.
    Rate { burst: u32 },
    /// It lets them wait, and refuses nothing.
    Queue,
}

/// What happens to a call that arrives.
pub enum Arrival {
    /// It is answered after this time.
    Served(Duration),
    Refused,
    /// It waits until another one has been served.
    Queued,
}

pub struct Target {
    kind: TargetKind,
    pub capacity: u32,
    latency: Duration,
    is_erratic: bool,
    pub serving: u32,
    queue: VecDeque<usize>,
    tokens: f64,
    tokens_at: Timestamp,
}

impl Target {
    pub fn new(trial: &PaceTrial, now: Timestamp) -> Self {
        Self {
            kind: trial.target,
            capacity: trial.capacity,
            latency: trial.latency,
            is_erratic: trial.is_erratic,
            serving: 0,
            queue: VecDeque::new(),
            tokens: 0.0,
            tokens_at: now,
        }
    }

    pub fn arrive(&mut self, call: usize, random: &mut StdRng, now: Timestamp) -> Arrival {
        let has_room = self.serving < self.capacity;
        match self.kind {
            TargetKind::Concurrency if !has_room => return Arrival::Refused,
            TargetKind::Queue if !has_room => {
                self.queue.push_back(call);
                return Arrival::Queued;
            }
            TargetKind::Rate { burst } => {
                let more = now.since(self.tokens_at).as_secs_f64() * f64::from(self.capacity);
                self.tokens = (self.tokens + more).min(f64::from(burst));
                self.tokens_at = now;
                if self.tokens < 1.0 {
                    return Arrival::Refused;
                }
                self.tokens -= 1.0;
            }
            TargetKind::Concurrency | TargetKind::Queue => {}
        }
        self.serving += 1;
        Arrival::Served(self.service(random))
    }

    /// A call was served. Answers those that are served next, and for how long.
    pub fn leave(&mut self, random: &mut StdRng) -> Vec<(usize, Duration)> {
        self.serving -= 1;
        self.serve_queue(random)
    }

    /// The capacity is another one.
    pub fn set_capacity(&mut self, capacity: u32, random: &mut StdRng) -> Vec<(usize, Duration)> {
        self.capacity = capacity;
        self.serve_queue(random)
    }

    fn serve_queue(&mut self, random: &mut StdRng) -> Vec<(usize, Duration)> {
        let mut next = Vec::new();
        while self.serving < self.capacity
            && let Some(call) = self.queue.pop_front()
        {
            self.serving += 1;
            next.push((call, self.service(random)));
        }
        next
    }

    fn service(&self, random: &mut StdRng) -> Duration {
        let factor = match self.is_erratic {
            true => -random.random_range(f64::EPSILON..1.0).ln(),
            false => random.random_range(0.9..1.1),
        };
        self.latency.mul_f64(factor).max(Duration::from_millis(1))
    }
}
