//! How a trial went.

use steadfast_core::Timestamp;

/// How a trial went.
#[derive(Clone, Debug, Default)]
pub struct PaceFigures {
    /// How much of the capacity was used, from ten seconds after it was unknown or halved; of one
    /// that was restored, from when half a minute has passed.
    pub used: f64,
    /// The part of all calls that were refused, from the first.
    pub refused: f64,
    pub calls: u64,
    /// Calls of each tenant that were served.
    pub served: Vec<u64>,
    /// The mean latency against that of a target with room, after the first ten seconds.
    pub slowdown: f64,
    /// The most attempts that ran at once.
    pub most_running: u32,
    /// How often the capacity was halved.
    pub halvings: u32,
    /// Seconds until a restored capacity was used again, the longest.
    pub recovered_in: f64,
    /// Part of the capacity that was used in the two seconds after all nodes were restarted.
    pub used_after_restart: f64,
}

impl PaceFigures {
    /// Jain's index of what tenants with a backlog got: 1 if all got the same.
    pub fn fairness(&self, of: &[usize]) -> f64 {
        let served = of.iter().map(|tenant| self.served[*tenant] as f64);
        let (sum, squares) = served.fold((0.0, 0.0), |(sum, squares), count| {
            (sum + count, squares + count * count)
        });
        sum * sum / (squares * of.len() as f64)
    }
}

/// How much of the capacity is used, counted while it should be.
#[derive(Default)]
pub struct Usage {
    used: f64,
    possible: f64,
    last: Timestamp,
}

impl Usage {
    /// Until now, this many calls were served of this capacity.
    pub fn add(&mut self, served: u32, capacity: u32, is_counted: bool, now: Timestamp) {
        let time = now.since(self.last).as_secs_f64();
        self.last = now;
        if is_counted {
            self.used += f64::from(served.min(capacity)) * time;
            self.possible += f64::from(capacity) * time;
        }
    }

    pub fn part(&self) -> f64 {
        self.used / self.possible
    }

    /// Begins anew, and answers what it was.
    pub fn restart(&mut self) -> f64 {
        let part = self.part();
        (self.used, self.possible) = (0.0, 0.0);
        part
    }
}
