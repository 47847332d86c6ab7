//! Learned pace against targets whose capacity is known.
//!
//! The health, the tallies and the gates are those of core; nodes, store and target are simulated on
//! virtual time, so a run of minutes takes milliseconds and one number repeats it. Nodes learn of each
//! other with the delays of a real store, and a refused call keeps its place until its node knows what
//! follows, as in the engine.

mod figures;
mod target;
mod world;

use std::time::Duration;

pub use figures::PaceFigures;
pub use target::TargetKind;

/// A target, its callers, and for how long they call it.
#[derive(Clone, Debug)]
pub struct PaceTrial {
    pub target: TargetKind,
    /// Calls at once, or calls per second for a target with a rate.
    pub capacity: u32,
    /// How long a call takes while the target has room.
    pub latency: Duration,
    /// Latencies are exponential, and not alike.
    pub is_erratic: bool,
    /// The capacity is halved at random, and restored later.
    pub is_halved: bool,
    /// The wait that refusals ask for in `Retry-After`.
    pub wait: Duration,
    pub nodes: usize,
    /// Jobs per second of each tenant; `None` for one with a backlog.
    pub demands: Vec<Option<u32>>,
    /// The operator says that the limits are those of all tenants.
    pub is_shared: bool,
    /// What a person allows at once.
    pub max_running: Option<u32>,
    /// All nodes are restarted at this time.
    pub restart_at: Option<Duration>,
    pub lasts: Duration,
}

impl Default for PaceTrial {
    fn default() -> Self {
        Self {
            target: TargetKind::Concurrency,
            capacity: 40,
            latency: Duration::from_millis(200),
            is_erratic: false,
            is_halved: false,
            wait: Duration::ZERO,
            nodes: 1,
            demands: vec![None],
            is_shared: true,
            max_running: None,
            restart_at: None,
            lasts: Duration::from_secs(180),
        }
    }
}

impl PaceTrial {
    /// Plays it: the same seed, the same course.
    pub fn run(&self, seed: u64) -> PaceFigures {
        world::World::new(self, seed).run()
    }
}
