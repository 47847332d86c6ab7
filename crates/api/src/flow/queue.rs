//! Queues, counts and rates.

use serde::{Deserialize, Serialize};
use steadfast_core::{Pause, Tally, Timestamp};

#[cfg(feature = "openapi")]
use crate::schema::PauseSchema;

/// All queues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QueueList {
    /// By tenant and name.
    pub queues: Vec<QueueBody>,
    /// Cursor for the next page, sent as `after`; null at the end of the list.
    #[serde(default, rename = "nextCursor")]
    pub next_cursor: Option<String>,
}

/// A queue, with its counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Queue))]
pub struct QueueBody {
    /// The tenant.
    pub tenant: String,
    /// Its name.
    pub name: String,
    /// Whether the queue is paused.
    pub paused: bool,
    /// Who paused the queue, why and until when, if known.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<PauseSchema>))]
    pub pause: Option<Pause>,
    /// Its jobs.
    #[serde(flatten)]
    pub counts: CountsBody,
}

/// Reason and end of a pause.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PauseQueueRequest {
    /// Reason, shown to other people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 1024))]
    pub reason: Option<String>,
    /// When the queue is resumed automatically.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub until: Option<Timestamp>,
}

/// Jobs by label, and recent and total attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Counts))]
pub struct CountsBody {
    /// Jobs waiting for their first start time.
    pub scheduled: u64,
    /// Jobs that are due and waiting for a worker.
    pub ready: u64,
    /// Running jobs.
    pub running: u64,
    /// Jobs waiting for their next attempt.
    pub retrying: u64,
    /// Succeeded jobs within retention.
    pub succeeded: u64,
    /// Failed jobs within retention.
    pub failed: u64,
    /// Cancelled jobs within retention.
    pub cancelled: u64,
    /// Dead letters: failed jobs, neither requeued nor discarded.
    pub dlq_size: u64,
    /// Due time of the oldest ready job.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub oldest_ready: Option<Timestamp>,
    /// Attempts that ended in the last five minutes.
    pub recent: TallyBody,
    /// All attempts so far.
    pub total: TallyBody,
}

/// Attempts by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Tally))]
#[non_exhaustive]
pub struct TallyBody {
    /// All attempts.
    pub attempts: u64,
    /// Successful attempts.
    pub successes: u64,
    /// Failed attempts.
    pub failures: u64,
    /// Attempts that were retries.
    pub retries: u64,
    /// Retries that succeeded.
    pub successful_retries: u64,
    /// Jobs that ran out of retries.
    pub exhausted: u64,
}

impl From<Tally> for TallyBody {
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

/// Counts and rates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Stats))]
pub struct StatsBody {
    /// Time of these counts.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub now: Timestamp,
    /// Totals over all jobs.
    #[serde(flatten)]
    pub counts: CountsBody,
    /// Total retries.
    pub total_retries: u64,
    /// Retries that succeeded.
    pub successful_retries: u64,
    /// Fraction of retries that succeeded; null without retries.
    pub retry_success_rate: Option<f64>,
    /// Fraction of attempts in the last five minutes that were retries; null without attempts.
    pub retry_rate: Option<f64>,
    /// Attempts per second over the last five minutes.
    pub throughput: f64,
    /// Counts by tenant, queue and kind. The totals cover all pages.
    pub lanes: Vec<LaneBody>,
    /// Cursor for the next page, sent as `after`; null at the end.
    #[serde(default, rename = "nextCursor")]
    pub next_cursor: Option<String>,
}

/// Counts of one tenant, queue and kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = LaneStats))]
pub struct LaneBody {
    /// The tenant.
    pub tenant: String,
    /// The queue.
    pub queue: String,
    /// The kind.
    pub kind: String,
    /// Its jobs.
    #[serde(flatten)]
    pub counts: CountsBody,
}

/// Attempts per minute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MinuteList {
    /// Oldest first; minutes without attempts are omitted.
    pub minutes: Vec<MinuteBody>,
}

/// Attempts that ended within one minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = MinuteStats))]
pub struct MinuteBody {
    /// Start of the minute.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// The attempts.
    #[serde(flatten)]
    pub tally: TallyBody,
}
