//! Counters of a node, for Prometheus.
//!
//! Attempts are counted as they happen, by the engine's observer. Nothing is global: each node has
//! its own registry.

pub mod start_latency;

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::Registry,
};
use steadfast_core::{AttemptStatus, EndReason};
use steadfast_engine::{JobEvent, Notice, Observer};

use self::start_latency::StartLatency;
use crate::limits;

/// Labels of a metric about the jobs of one tenant, queue and kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LaneLabels {
    tenant: String,
    queue: String,
    kind: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AttemptLabels {
    tenant: String,
    queue: String,
    kind: String,
    outcome: String,
    class: String,
}

/// The counters of a node.
pub struct Metrics {
    lanes: Mutex<HashSet<LaneLabels>>,
    retries: Family<LaneLabels, Counter>,
    exhausted: Family<LaneLabels, Counter>,
    backoff: Family<LaneLabels, Histogram, fn() -> Histogram>,
    attempts: Family<AttemptLabels, Counter>,
    duration: Family<LaneLabels, Histogram, fn() -> Histogram>,
    lateness: Family<LaneLabels, Histogram, fn() -> Histogram>,
    fences_lost: Counter,
    /// For the overview.
    pub(crate) start_latency: StartLatency,
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

impl Default for Metrics {
    fn default() -> Self {
        Self {
            lanes: Mutex::default(),
            retries: Family::default(),
            exhausted: Family::default(),
            backoff: Family::new_with_constructor(long_buckets),
            attempts: Family::default(),
            duration: Family::new_with_constructor(short_buckets),
            lateness: Family::new_with_constructor(short_buckets),
            fences_lost: Counter::default(),
            start_latency: StartLatency::default(),
        }
    }
}

impl Observer for Metrics {
    fn notice(&self, notice: &Notice) {
        let lane = self.lane(notice);
        if let JobEvent::Started { late, backoff } = &notice.event {
            self.start_latency.note(&notice.tenant, *late);
            self.lateness
                .get_or_create(&lane)
                .observe(late.as_secs_f64());
            if notice.attempt > 1 {
                self.retries.get_or_create(&lane).inc();
                if let Some(backoff) = backoff {
                    self.backoff
                        .get_or_create(&lane)
                        .observe(backoff.as_secs_f64());
                }
            }
        }
        if let JobEvent::Failed {
            reason: Some(EndReason::Exhausted),
            ..
        } = &notice.event
        {
            self.exhausted.get_or_create(&lane).inc();
        }
        if notice.event == JobEvent::FenceLost {
            self.fences_lost.inc();
        }
        if let Some(end) = &notice.ended {
            self.duration
                .get_or_create(&lane)
                .observe(end.took.as_secs_f64());
            let known = end.class.as_ref().map(|class| {
                let is_ours = steadfast_core::FailureClass::KNOWN.contains(class);
                if is_ours { class.as_str() } else { "other" }
            });
            let labels = AttemptLabels {
                tenant: lane.tenant,
                queue: lane.queue,
                kind: lane.kind,
                outcome: outcome(end.status).to_owned(),
                class: known.unwrap_or_default().to_owned(),
            };
            self.attempts.get_or_create(&labels).inc();
        }
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
    }
}

impl Metrics {
    /// The labels of a job, or `other` once there are too many.
    fn lane(&self, notice: &Notice) -> LaneLabels {
        let lane = LaneLabels {
            tenant: notice.tenant.to_string(),
            queue: notice.queue.to_string(),
            kind: notice.kind.to_string(),
        };
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        if lanes.contains(&lane) || lanes.len() < limits::METRIC_LANES_MAX {
            lanes.insert(lane.clone());
            return lane;
        }
        let other = || "other".to_owned();
        LaneLabels {
            tenant: other(),
            queue: other(),
            kind: other(),
        }
    }

    pub(crate) fn register(&self, registry: &mut Registry) {
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
    }
}
