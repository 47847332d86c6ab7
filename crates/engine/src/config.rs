//! The settings of an engine and their defaults.

use std::time::Duration;

use steadfast_core::{AlertSettings, GateDefaults, Queue, WorkerName};

/// The settings of an engine. Start from the default and change what differs:
///
/// ```
/// use std::time::Duration;
/// use steadfast_engine::EngineConfig;
///
/// let config = EngineConfig::default()
///     .with_concurrency(20)
///     .with_grace(Duration::from_secs(5));
/// assert_eq!(config.sweep_every, Duration::from_secs(5));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EngineConfig {
    /// The holder of this engine's claims. By default a name is made of the process id and a
    /// random number.
    pub worker: Option<WorkerName>,
    /// The queues to serve; none, the default, means all.
    pub queues: Vec<Queue>,
    /// How many attempts of handlers may run at once; 100 by default. HTTP jobs and webhooks do not
    /// count: they have [`EngineConfig::http_concurrency`].
    pub concurrency: usize,
    /// How many HTTP jobs and deliveries of webhooks may be in flight at once; 512 by default, and
    /// 2,048 at most. Each is an open file and some tens of kilobytes of memory while it waits.
    pub http_concurrency: usize,
    /// How long running attempts may go on after a stop before they are given back; 30 s by
    /// default.
    pub grace: Duration,
    /// How often the engine looks for expired leases; every 5 s by default.
    pub sweep_every: Duration,
    /// How long succeeded, cancelled and discarded jobs are kept; 7 days by default.
    pub retention: Duration,
    /// Dead letters are discarded this long after they failed; never by default.
    pub dead_letter_retention: Option<Duration>,
    /// How long operations that have ended are kept, with what they did to each job; 30 days by
    /// default.
    pub operation_retention: Duration,
    /// How long it is kept who did what; 90 days by default.
    pub audit_retention: Duration,
    /// How often the engine looks for jobs to delete; once a minute by default.
    pub prune_every: Duration,
    /// The longest Retry-After of another system that counts; 1 h by default, and 30 days at
    /// most.
    pub retry_after_max: Duration,
    /// How long an HTTP job or the delivery of a webhook may take, whatever its timeout says; 10 min
    /// by default. Jobs with a longer timeout are refused.
    pub call_timeout_max: Duration,
    /// How long a commit may take; 2 s by default. If all take longer for some seconds, most creates are
    /// refused until they are faster ([`StoreSlow`](crate::StoreSlow)). If zero, none is refused for it.
    pub commit_time_max: Duration,
    /// The largest payload of a job in bytes; 256 KiB by default, and 1 MiB at most.
    pub payload_bytes_max: usize,
    /// The default limits of keys without a gate of their own; none by default.
    pub gate_defaults: GateDefaults,
    /// When alerts fire and resolve.
    pub alerts: AlertSettings,
    /// How often the engine checks the alerts; every 10 s by default.
    pub watch_every: Duration,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            worker: None,
            queues: Vec::new(),
            concurrency: 100,
            http_concurrency: crate::limits::HTTP_CONCURRENCY_DEFAULT,
            grace: Duration::from_secs(30),
            sweep_every: Duration::from_secs(5),
            retention: 7 * steadfast_core::limits::DAY,
            dead_letter_retention: None,
            operation_retention: 30 * steadfast_core::limits::DAY,
            audit_retention: 90 * steadfast_core::limits::DAY,
            prune_every: Duration::from_secs(60),
            retry_after_max: steadfast_core::limits::RETRY_AFTER_DEFAULT,
            call_timeout_max: crate::limits::CALL_TIMEOUT_MAX_DEFAULT,
            commit_time_max: crate::limits::COMMIT_TIME_MAX_DEFAULT,
            payload_bytes_max: steadfast_core::limits::PAYLOAD_BYTES_DEFAULT,
            gate_defaults: GateDefaults::default(),
            alerts: AlertSettings::default(),
            watch_every: Duration::from_secs(10),
        }
    }
}

impl EngineConfig {
    /// The most that [`EngineConfig::http_concurrency`] can be.
    pub const HTTP_CONCURRENCY_MAX: usize = crate::limits::HTTP_CONCURRENCY_MAX;

    /// Sets [`EngineConfig::worker`].
    #[must_use]
    pub fn with_worker(mut self, worker: WorkerName) -> Self {
        self.worker = Some(worker);
        self
    }

    /// Sets [`EngineConfig::queues`].
    #[must_use]
    pub fn with_queues(mut self, queues: Vec<Queue>) -> Self {
        self.queues = queues;
        self
    }

    /// Sets [`EngineConfig::concurrency`].
    #[must_use]
    pub fn with_concurrency(mut self, concurrency: usize) -> Self {
        self.concurrency = concurrency;
        self
    }

    /// Sets [`EngineConfig::http_concurrency`].
    #[must_use]
    pub fn with_http_concurrency(mut self, http_concurrency: usize) -> Self {
        self.http_concurrency = http_concurrency;
        self
    }

    /// Sets [`EngineConfig::grace`].
    #[must_use]
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Sets [`EngineConfig::sweep_every`].
    #[must_use]
    pub fn with_sweep_every(mut self, every: Duration) -> Self {
        self.sweep_every = every;
        self
    }

    /// Sets [`EngineConfig::retention`].
    #[must_use]
    pub fn with_retention(mut self, retention: Duration) -> Self {
        self.retention = retention;
        self
    }

    /// Sets [`EngineConfig::dead_letter_retention`].
    #[must_use]
    pub fn with_dead_letter_retention(mut self, retention: Option<Duration>) -> Self {
        self.dead_letter_retention = retention;
        self
    }

    /// Sets [`EngineConfig::operation_retention`].
    #[must_use]
    pub fn with_operation_retention(mut self, retention: Duration) -> Self {
        self.operation_retention = retention;
        self
    }

    /// Sets [`EngineConfig::audit_retention`].
    #[must_use]
    pub fn with_audit_retention(mut self, retention: Duration) -> Self {
        self.audit_retention = retention;
        self
    }

    /// Sets [`EngineConfig::prune_every`].
    #[must_use]
    pub fn with_prune_every(mut self, every: Duration) -> Self {
        self.prune_every = every;
        self
    }

    /// Sets [`EngineConfig::retry_after_max`].
    #[must_use]
    pub fn with_retry_after_max(mut self, most: Duration) -> Self {
        self.retry_after_max = most;
        self
    }

    /// Sets [`EngineConfig::call_timeout_max`].
    #[must_use]
    pub fn with_call_timeout_max(mut self, most: Duration) -> Self {
        self.call_timeout_max = most;
        self
    }

    /// Sets [`EngineConfig::commit_time_max`].
    #[must_use]
    pub fn with_commit_time_max(mut self, most: Duration) -> Self {
        self.commit_time_max = most;
        self
    }

    /// Sets [`EngineConfig::payload_bytes_max`].
    #[must_use]
    pub fn with_payload_bytes_max(mut self, most: usize) -> Self {
        self.payload_bytes_max = most;
        self
    }

    /// Sets [`EngineConfig::gate_defaults`].
    #[must_use]
    pub fn with_gate_defaults(mut self, defaults: GateDefaults) -> Self {
        self.gate_defaults = defaults;
        self
    }

    /// Sets [`EngineConfig::alerts`].
    #[must_use]
    pub fn with_alerts(mut self, alerts: AlertSettings) -> Self {
        self.alerts = alerts;
        self
    }

    /// Sets [`EngineConfig::watch_every`].
    #[must_use]
    pub fn with_watch_every(mut self, every: Duration) -> Self {
        self.watch_every = every;
        self
    }
}
