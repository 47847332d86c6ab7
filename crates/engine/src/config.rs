//! What can be set, and what it is when nobody sets it.

use std::time::Duration;

use steadfast_core::{AlertSettings, Queue, WorkerName};

#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Who holds the claims of this engine. `None` makes up a name of process and chance.
    pub worker: Option<WorkerName>,
    /// Which queues to serve; none means all.
    pub queues: Vec<Queue>,
    /// How many attempts may run at once.
    pub concurrency: usize,
    /// How long running attempts may go on after a stop before they are given back.
    pub grace: Duration,
    /// How often expired leases are looked for.
    pub sweep_every: Duration,
    /// How long succeeded, cancelled and discarded jobs are kept.
    pub retention: Duration,
    pub prune_every: Duration,
    pub alerts: AlertSettings,
    /// How often is looked for what is wrong.
    pub watch_every: Duration,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            worker: None,
            queues: Vec::new(),
            concurrency: 100,
            grace: Duration::from_secs(30),
            sweep_every: Duration::from_secs(5),
            retention: 7 * steadfast_core::limits::DAY,
            prune_every: Duration::from_secs(60),
            alerts: AlertSettings::default(),
            watch_every: Duration::from_secs(10),
        }
    }
}
