//! Counters of a node, for Prometheus.
//!
//! Attempts are counted as they happen, by the engine's observer. Nothing is global: each node has
//! its own registry.

pub mod start_latency;

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock, PoisonError, RwLock},
    time::Duration,
};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram, info::Info},
    registry::Registry,
};
use steadfast_core::{AttemptStatus, ConfirmAnswer, EndReason, FailureClass, Kind, Queue, Tenant};
use steadfast_engine::{CreateResult, JobEvent, Notice, Observer};
use tokio::time::Instant;

use self::start_latency::StartLatency;
use crate::limits;

/// The label of what is beyond the first labels: counted together, never left out.
pub const OTHER: &str = "other";

/// Labels of a metric about the jobs of one tenant, queue and kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct LaneLabels {
    pub tenant: String,
    pub queue: String,
    pub kind: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AttemptLabels {
    tenant: String,
    queue: String,
    kind: String,
    outcome: String,
    class: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OperationLabels {
    operation: &'static str,
}

/// What clients ask for, under the name that the messaging conventions of OpenTelemetry have for it.
#[derive(Clone, Copy, Debug)]
pub enum ClientOperation {
    /// Jobs are created.
    Send,
    /// A worker claims jobs.
    Receive,
    /// A worker reports how attempts ended.
    Settle,
}

/// Measures an operation until it is dropped.
pub struct OperationTimer<'a> {
    metrics: &'a Metrics,
    operation: ClientOperation,
    started: Instant,
}

impl Drop for OperationTimer<'_> {
    fn drop(&mut self) {
        let operation = match self.operation {
            ClientOperation::Send => "send",
            ClientOperation::Receive => "receive",
            ClientOperation::Settle => "settle",
        };
        let labels = OperationLabels { operation };
        let histogram = self.metrics.operations.get_or_create(&labels);
        histogram.observe(self.started.elapsed().as_secs_f64());
    }
}

type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// The counters of a node.
pub struct Metrics {
    /// The counters of each lane, so that one look-up finds all of them.
    lanes: RwLock<HashMap<(Tenant, Queue, Kind), Arc<LaneCounters>>>,
    others: OnceLock<Arc<LaneCounters>>,
    sent: Family<LaneLabels, Counter>,
    started: Family<LaneLabels, Counter>,
    retries: Family<LaneLabels, Counter>,
    exhausted: Family<LaneLabels, Counter>,
    backoff: Histograms<LaneLabels>,
    attempts: Family<AttemptLabels, Counter>,
    duration: Histograms<LaneLabels>,
    lateness: Histograms<LaneLabels>,
    fences_lost: Counter,
    operations: Histograms<OperationLabels>,
    commit_time: Histogram,
    commit_size: Histogram,
    /// For the overview.
    pub(crate) start_latency: StartLatency,
}

/// The counters of one tenant, queue and kind.
struct LaneCounters {
    labels: LaneLabels,
    sent: Counter,
    started: Counter,
    retries: Counter,
    exhausted: Counter,
    backoff: Histogram,
    duration: Histogram,
    lateness: Histogram,
}

/// For attempts, which mostly take well under a second.
fn short_buckets() -> Histogram {
    Histogram::new([
        0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0, 120.0, 600.0,
    ])
}

/// For delays between attempts, which may take a day.
fn long_buckets() -> Histogram {
    Histogram::new([
        0.1, 0.5, 1.0, 5.0, 30.0, 60.0, 300.0, 1_800.0, 3_600.0, 21_600.0, 86_400.0,
    ])
}

/// For requests and commits. A long poll takes up to half a minute.
fn request_buckets() -> Histogram {
    Histogram::new([
        0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0,
    ])
}

/// For attempts per commit.
fn size_buckets() -> Histogram {
    Histogram::new([1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 1_000.0])
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            lanes: RwLock::default(),
            others: OnceLock::new(),
            sent: Family::default(),
            started: Family::default(),
            retries: Family::default(),
            exhausted: Family::default(),
            backoff: Family::new_with_constructor(long_buckets),
            attempts: Family::default(),
            duration: Family::new_with_constructor(short_buckets),
            lateness: Family::new_with_constructor(short_buckets),
            fences_lost: Counter::default(),
            operations: Family::new_with_constructor(request_buckets),
            commit_time: request_buckets(),
            commit_size: size_buckets(),
            start_latency: StartLatency::default(),
        }
    }
}

impl Observer for Metrics {
    fn notice(&self, notice: &Notice) {
        let lane = self.lane(&notice.tenant, &notice.queue, &notice.kind);
        if let JobEvent::Started {
            late,
            backoff,
            is_question,
        } = &notice.event
        {
            self.start_latency.note(&notice.tenant, *late);
            lane.started.inc();
            lane.lateness.observe(late.as_secs_f64());
            if notice.attempt > 1 && !is_question {
                lane.retries.inc();
                if let Some(backoff) = backoff {
                    lane.backoff.observe(backoff.as_secs_f64());
                }
            }
        }
        if let JobEvent::Failed {
            reason: Some(EndReason::Exhausted),
            ..
        } = &notice.event
        {
            lane.exhausted.inc();
        }
        if notice.event == JobEvent::FenceLost {
            self.fences_lost.inc();
        }
        if let Some(end) = &notice.ended {
            lane.duration.observe(end.took.as_secs_f64());
            let known = end.class.as_ref().map(|class| {
                let is_ours = FailureClass::KNOWN.contains(class);
                if is_ours { class.as_str() } else { OTHER }
            });
            let known = end.answer.map(ConfirmAnswer::as_str).or(known);
            let labels = AttemptLabels {
                tenant: lane.labels.tenant.clone(),
                queue: lane.labels.queue.clone(),
                kind: lane.labels.kind.clone(),
                outcome: outcome(end.status).to_owned(),
                class: known.unwrap_or_default().to_owned(),
            };
            self.attempts.get_or_create(&labels).inc();
        }
    }

    fn committed(&self, count: usize, took: Duration) {
        self.commit_time.observe(took.as_secs_f64());
        self.commit_size.observe(count as f64);
    }
}

fn outcome(status: AttemptStatus) -> &'static str {
    match status {
        AttemptStatus::Success => "success",
        AttemptStatus::Failed => "failure",
        AttemptStatus::Lost => "lost",
        AttemptStatus::Snoozed => "snoozed",
        AttemptStatus::Cancelled => "cancelled",
        AttemptStatus::Released => "released",
        AttemptStatus::Asked => "asked",
    }
}

impl Metrics {
    /// Begins to measure how long an operation of a client takes, until the guard is dropped.
    pub(crate) fn time(&self, operation: ClientOperation) -> OperationTimer<'_> {
        OperationTimer {
            metrics: self,
            operation,
            started: Instant::now(),
        }
    }

    /// Counts the job of a client's request, if it is new.
    pub(crate) fn sent(&self, result: &CreateResult) {
        if let CreateResult::New(job) = result {
            self.lane(&job.tenant, &job.queue, &job.kind).sent.inc();
        }
    }

    /// The counters of a lane, or those of all others once there are too many.
    fn lane(&self, tenant: &Tenant, queue: &Queue, kind: &Kind) -> Arc<LaneCounters> {
        let key = (tenant.clone(), queue.clone(), kind.clone());
        let lanes = self.lanes.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(lane) = lanes.get(&key) {
            return lane.clone();
        }
        drop(lanes);
        let mut lanes = self.lanes.write().unwrap_or_else(PoisonError::into_inner);
        if !lanes.contains_key(&key) && !has_room(&lanes, tenant) {
            let others = || Arc::new(self.counters([OTHER, OTHER, OTHER]));
            return self.others.get_or_init(others).clone();
        }
        let counters = || Arc::new(self.counters([tenant.as_str(), queue.as_str(), kind.as_str()]));
        lanes.entry(key).or_insert_with(counters).clone()
    }

    fn counters(&self, [tenant, queue, kind]: [&str; 3]) -> LaneCounters {
        let labels = LaneLabels {
            tenant: tenant.to_owned(),
            queue: queue.to_owned(),
            kind: kind.to_owned(),
        };
        LaneCounters {
            sent: self.sent.get_or_create_owned(&labels),
            started: self.started.get_or_create_owned(&labels),
            retries: self.retries.get_or_create_owned(&labels),
            exhausted: self.exhausted.get_or_create_owned(&labels),
            backoff: self.backoff.get_or_create_owned(&labels),
            duration: self.duration.get_or_create_owned(&labels),
            lateness: self.lateness.get_or_create_owned(&labels),
            labels,
        }
    }

    pub(crate) fn register(&self, registry: &mut Registry) {
        let version = vec![("version", env!("CARGO_PKG_VERSION"))];
        registry.register("build", "The running version", Info::new(version));
        registry.register(
            "sent_jobs",
            "Jobs that clients created on this node",
            self.sent.clone(),
        );
        registry.register(
            "attempts_started",
            "Attempts that this node started or handed to workers",
            self.started.clone(),
        );
        registry.register("retries", "Started retries", self.retries.clone());
        registry.register(
            "retry_exhausted",
            "Jobs that ran out of retries",
            self.exhausted.clone(),
        );
        registry.register(
            "retry_latency_seconds",
            "Time spent in backoff before a retry",
            self.backoff.clone(),
        );
        registry.register("attempts", "Ended attempts", self.attempts.clone());
        registry.register(
            "attempt_duration_seconds",
            "Duration of attempts",
            self.duration.clone(),
        );
        registry.register(
            "start_lateness_seconds",
            "Start of an attempt minus its runAt",
            self.lateness.clone(),
        );
        registry.register(
            "fence_lost",
            "Late results refused because of a stale fence",
            self.fences_lost.clone(),
        );
        registry.register(
            "operation_duration_seconds",
            "Duration of requests that create (send), claim (receive) and settle jobs",
            self.operations.clone(),
        );
        registry.register(
            "store_commit_seconds",
            "Time to write the ends of attempts in one transaction",
            self.commit_time.clone(),
        );
        registry.register(
            "store_commit_size",
            "Ends of attempts written in one transaction",
            self.commit_size.clone(),
        );
    }
}

/// Whether a tenant can have another lane of its own. Some places are kept for tenants with few.
fn has_room<T>(lanes: &HashMap<(Tenant, Queue, Kind), T>, tenant: &Tenant) -> bool {
    const KEPT_FROM: usize = limits::METRIC_LANES_MAX - limits::METRIC_LANES_KEPT;
    match lanes.len() {
        ..KEPT_FROM => true,
        KEPT_FROM..limits::METRIC_LANES_MAX => {
            let own = lanes.keys().filter(|(of, ..)| of == tenant);
            own.count() < limits::METRIC_LANES_OF_FEW
        }
        _ => false,
    }
}
