//! Queues, counts, alerts and nodes.

use serde::Serialize;
use steadfast_core::{AlertState, Tally, Timestamp};
use steadfast_engine::{NodeState, Stats};
use steadfast_store::{LaneStats, MinuteStats};
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
#[schema(as = QueueList)]
pub struct Queues {
    pub queues: Vec<QueueShown>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Queue)]
pub struct QueueShown {
    pub tenant: String,
    pub name: String,
    pub paused: bool,
    #[serde(flatten)]
    pub counts: Counts,
}

/// Jobs by label, and how things went lately.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    scheduled: u64,
    ready: u64,
    running: u64,
    retrying: u64,
    succeeded: u64,
    failed: u64,
    cancelled: u64,
    dlq_size: u64,
    /// Since when the job waits that has been due longest.
    #[schema(value_type = Option<String>, format = DateTime)]
    oldest_ready: Option<Timestamp>,
    /// Attempts that ended in the last five minutes.
    recent: TallyShown,
    total: TallyShown,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Tally)]
struct TallyShown {
    attempts: u64,
    successes: u64,
    failures: u64,
    retries: u64,
    successful_retries: u64,
    exhausted: u64,
}

impl From<Tally> for TallyShown {
    fn from(tally: Tally) -> Self {
        Self {
            attempts: tally.attempts,
            successes: tally.successes,
            failures: tally.failures,
            retries: tally.retries,
            successful_retries: tally.successful_retries,
            exhausted: tally.exhausted,
        }
    }
}

impl From<&Stats> for Counts {
    fn from(stats: &Stats) -> Self {
        Self {
            scheduled: stats.scheduled,
            ready: stats.ready,
            running: stats.running,
            retrying: stats.retrying,
            succeeded: stats.succeeded,
            failed: stats.failed,
            cancelled: stats.cancelled,
            dlq_size: stats.dead_letters,
            oldest_ready: stats.oldest_ready,
            recent: stats.recent.into(),
            total: stats.total.into(),
        }
    }
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Stats)]
pub struct StatsShown {
    #[schema(value_type = String, format = DateTime)]
    now: Timestamp,
    #[serde(flatten)]
    counts: Counts,
    total_retries: u64,
    successful_retries: u64,
    /// Of all retries, those that succeeded; null before the first.
    retry_success_rate: Option<f64>,
    /// Retries among the attempts of the last five minutes; null if there was none.
    retry_rate: Option<f64>,
    /// Attempts per second over the last five minutes.
    throughput: f64,
    /// By tenant, queue and kind.
    lanes: Vec<LaneShown>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = LaneStats)]
struct LaneShown {
    tenant: String,
    queue: String,
    kind: String,
    #[serde(flatten)]
    counts: Counts,
}

impl StatsShown {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a rate is shown to a few digits"
    )]
    pub fn of(lanes: Vec<LaneStats>, now: Timestamp, window_secs: f64) -> Self {
        let sum: Stats = lanes.iter().cloned().collect();
        let shown = lanes.into_iter().map(|lane| LaneShown {
            tenant: lane.tenant.to_string(),
            queue: lane.queue.to_string(),
            kind: lane.kind.to_string(),
            counts: Counts::from(&std::iter::once(lane).collect::<Stats>()),
        });
        Self {
            now,
            total_retries: sum.total_retries(),
            successful_retries: sum.successful_retries(),
            retry_success_rate: sum.retry_success_rate(),
            retry_rate: sum.recent.retry_rate(),
            throughput: sum.recent.attempts as f64 / window_secs,
            counts: Counts::from(&sum),
            lanes: shown.collect(),
        }
    }
}

#[derive(Serialize, ToSchema)]
#[schema(as = MinuteList)]
pub struct Minutes {
    pub minutes: Vec<MinuteShown>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MinuteStats)]
pub struct MinuteShown {
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    #[serde(flatten)]
    tally: TallyShown,
}

impl From<MinuteStats> for MinuteShown {
    fn from(minute: MinuteStats) -> Self {
        Self {
            at: minute.at,
            tally: minute.tally.into(),
        }
    }
}

/// An alert: a rule for one tenant, and whether it is broken.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only describes what core writes")]
#[schema(as = Alert, rename_all = "camelCase")]
pub struct AlertShown {
    /// `dlq`, `retry_rate`, `exhausted` or `overdue`.
    rule: String,
    tenant: String,
    /// Of which jobs: `jobs`, `deliveries` of webhooks, or `notifications` of alerts.
    subject: String,
    /// `ok`, `pending` (broken, but not for long enough yet) or `firing`.
    status: String,
    /// Since when the rule is broken, or kept again.
    #[schema(format = DateTime)]
    since: String,
    #[schema(format = DateTime)]
    fired_at: Option<String>,
    #[schema(format = DateTime)]
    notified_at: Option<String>,
    #[schema(format = DateTime)]
    resolved_at: Option<String>,
    #[schema(format = DateTime)]
    updated_at: String,
    /// What was found: a count, a rate, or a duration.
    #[schema(value_type = Value)]
    value: serde_json::Value,
    /// The limit it is held against.
    #[schema(value_type = Value)]
    threshold: serde_json::Value,
    /// A sentence for people.
    message: String,
}

#[derive(Serialize, ToSchema)]
#[schema(as = AlertList)]
pub struct Alerts {
    #[schema(value_type = Vec<AlertShown>)]
    pub alerts: Vec<AlertState>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = NodeList)]
pub struct Nodes {
    pub nodes: Vec<NodeShown>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NodeHandle)]
pub struct NodeShown {
    name: String,
    version: String,
    /// Which queues it serves; none means all.
    queues: Vec<String>,
    concurrency: usize,
    in_flight: usize,
    #[schema(value_type = String, format = DateTime)]
    started_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    last_seen: Timestamp,
    /// Whether it said so lately.
    alive: bool,
}

impl From<(NodeState, Timestamp)> for NodeShown {
    fn from((node, now): (NodeState, Timestamp)) -> Self {
        Self {
            alive: node.is_alive(now),
            name: node.name.to_string(),
            version: node.version,
            queues: node.queues.iter().map(ToString::to_string).collect(),
            concurrency: node.concurrency,
            in_flight: node.in_flight,
            started_at: node.started_at,
            last_seen: node.last_seen,
        }
    }
}
