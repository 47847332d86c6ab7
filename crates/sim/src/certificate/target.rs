//! A target with servers and a queue. It works off calls whose callers have gone.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
    time::Duration,
};

use rand::{RngExt as _, rngs::StdRng};
use steadfast_core::{CertificateSettings, Fault, Timestamp};

pub struct Target {
    fault: Fault,
    from: Timestamp,
    to: Timestamp,
    latency: Duration,
    servers: usize,
    queue: VecDeque<u64>,
    serving: BinaryHeap<Reverse<(Timestamp, u64)>>,
}

impl Target {
    pub fn new(settings: &CertificateSettings, fault: Fault, from: Timestamp) -> Self {
        let servers = settings.target.capacity * settings.target.latency.as_secs_f64();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a small number"
        )]
        let servers = servers.round().max(1.0) as usize;
        Self {
            fault,
            from,
            to: from.plus(settings.outage),
            latency: settings.target.latency,
            servers,
            queue: VecDeque::new(),
            serving: BinaryHeap::new(),
        }
    }

    pub fn refuses(&self, now: Timestamp) -> bool {
        self.fault == Fault::Refuses && self.is_faulty(now)
    }

    pub fn is_overloaded(&self, now: Timestamp) -> bool {
        self.fault == Fault::Overload && self.is_faulty(now)
    }

    fn is_faulty(&self, now: Timestamp) -> bool {
        (self.from..self.to).contains(&now)
    }

    pub fn call(&mut self, number: u64, now: Timestamp, random: &mut StdRng) {
        self.queue.push_back(number);
        self.serve(now, random);
    }

    /// When the next call is answered.
    pub fn next_at(&self) -> Option<Timestamp> {
        self.serving.peek().map(|Reverse((at, _))| *at)
    }

    /// The next call that is answered by now.
    pub fn answered(&mut self, now: Timestamp, random: &mut StdRng) -> Option<u64> {
        let Reverse((at, number)) = *self.serving.peek()?;
        if at > now {
            return None;
        }
        self.serving.pop();
        self.serve(at, random);
        Some(number)
    }

    fn serve(&mut self, now: Timestamp, random: &mut StdRng) {
        while self.serving.len() < self.servers
            && let Some(number) = self.queue.pop_front()
        {
            let time = self.latency.mul_f64(random.random_range(0.5..1.5));
            let end = now.plus(time);
            let is_frozen = self.fault == Fault::Hangs && now < self.to && end >= self.from;
            let begun = self.from.since(now);
            let end = match is_frozen {
                true => self.to.plus(time.saturating_sub(begun)),
                false => end,
            };
            self.serving.push(Reverse((end, number)));
        }
    }
}
