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
    /// Where to go on, as `after`; null at the end of the list.
    #[serde(default, rename = "nextCursor")]
    pub next_cursor: Option<String>,
}

/// A queue, with its counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Queue))]
pub struct QueueBody {
    /// The tenant it belongs to.
    pub tenant: String,
    /// Its name.
    pub name: String,
    /// Whether its jobs wait until it is resumed.
    pub paused: bool,
    /// Who paused it, why, and until when, if that is known.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<PauseSchema>))]
    pub pause: Option<Pause>,
    /// Its jobs.
    #[serde(flatten)]
    pub counts: CountsBody,
}

/// Why a queue is paused, and until when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PauseQueueRequest {
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 1024))]
    pub reason: Option<String>,
    /// When it is resumed by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub until: Option<Timestamp>,
}

/// Jobs by label, and attempts lately and since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Counts))]
pub struct CountsBody {
    /// Waiting for their first time.
    pub scheduled: u64,
    /// Due, and waiting for a worker.
    pub ready: u64,
    /// Running.
    pub running: u64,
    /// Waiting for their next attempt.
    pub retrying: u64,
    /// Succeeded, and still kept.
    pub succeeded: u64,
    /// Failed, and still kept.
    pub failed: u64,
    /// Cancelled, and still kept.
    pub cancelled: u64,
    /// Failed, and neither requeued nor discarded.
    pub dlq_size: u64,
    /// Since when the job waits that has been due longest.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub oldest_ready: Option<Timestamp>,
    /// Attempts that ended in the last five minutes.
    pub recent: TallyBody,
    /// Attempts since the beginning.
    pub total: TallyBody,
}

/// Attempts, by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Tally))]
#[non_exhaustive]
pub struct TallyBody {
    /// All of them.
    pub attempts: u64,
    /// Those that succeeded.
    pub successes: u64,
    /// Those that failed.
    pub failures: u64,
    /// Those that were retries.
    pub retries: u64,
    /// Retries that succeeded.
    pub successful_retries: u64,
    /// Jobs that were given up because no retry was left.
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
    /// The time of these figures.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub now: Timestamp,
    /// Of all jobs together.
    #[serde(flatten)]
    pub counts: CountsBody,
    /// Retries since the beginning.
    pub total_retries: u64,
    /// Those of them that succeeded.
    pub successful_retries: u64,
    /// The share of retries that succeeded; null before the first.
    pub retry_success_rate: Option<f64>,
    /// Retries among the attempts of the last five minutes; null if there was none.
    pub retry_rate: Option<f64>,
    /// Attempts per second over the last five minutes.
    pub throughput: f64,
    /// By tenant, queue and kind. The figures above are of all of them, whichever page this is.
    pub lanes: Vec<LaneBody>,
    /// Where to go on, as `after`; null at the end of the lanes.
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

/// Attempts by the minute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MinuteList {
    /// Oldest first; minutes without an attempt are left out.
    pub minutes: Vec<MinuteBody>,
}

/// Attempts that ended within one minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = MinuteStats))]
pub struct MinuteBody {
    /// The minute's beginning.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// The attempts.
    #[serde(flatten)]
    pub tally: TallyBody,
}
