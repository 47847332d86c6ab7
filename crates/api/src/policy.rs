//! Retry policies, without running anything.

use serde::{Deserialize, Serialize};
use steadfast_core::{
    DelayRange, PolicyPatch, Preview, ReplayMetrics, ReplayReport, RetryPolicy, Timestamp, duration,
};

#[cfg(feature = "openapi")]
use crate::schema::{NameSchema, PolicyPatchSchema, PolicySchema};

/// A policy to preview.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PreviewPolicyRequest {
    /// The policy; omitted fields come from its preset, or from `queue`.
    #[serde(default, skip_serializing_if = "PolicyPatch::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<PolicyPatchSchema>))]
    pub retry: PolicyPatch,
}

/// The timetable of a job whose every attempt fails immediately.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = PolicyPreview))]
#[non_exhaustive]
pub struct PolicyPreviewBody {
    /// The policy, complete.
    #[cfg_attr(feature = "openapi", schema(value_type = PolicySchema))]
    pub retry: RetryPolicy,
    /// The attempts.
    pub attempts: Vec<PolicyPreviewAttempt>,
    /// When the policy gives up, relative to the first attempt.
    pub gives_up: DelayRangeBody,
}

/// One attempt of a preview.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct PolicyPreviewAttempt {
    /// Its number, from 1.
    pub attempt: u32,
    /// Number of retries before this attempt.
    pub retry_count: u32,
    /// Delay before this attempt.
    pub delay: DelayRangeBody,
    /// Start time relative to the first attempt.
    pub at: DelayRangeBody,
}

/// Minimum, typical and maximum delay with jitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = DelayRange))]
#[non_exhaustive]
pub struct DelayRangeBody {
    /// Minimum.
    pub min_ms: u64,
    /// Typical value.
    pub typical_ms: u64,
    /// Maximum.
    pub max_ms: u64,
}

impl From<DelayRange> for DelayRangeBody {
    fn from(range: DelayRange) -> Self {
        Self {
            min_ms: duration::millis(range.min),
            typical_ms: duration::millis(range.typical),
            max_ms: duration::millis(range.max),
        }
    }
}

impl From<RetryPolicy> for PolicyPreviewBody {
    fn from(retry: RetryPolicy) -> Self {
        let Preview { rows, gives_up, .. } = retry.preview();
        let attempts = rows.into_iter().map(|row| PolicyPreviewAttempt {
            attempt: row.attempt,
            retry_count: row.attempt.saturating_sub(1),
            delay: row.delay.into(),
            at: row.at.into(),
        });
        Self {
            attempts: attempts.collect(),
            gives_up: gives_up.into(),
            retry,
        }
    }
}

/// A policy to replay, and the jobs to replay it over: at least one of `queue`, `kind` and
/// `destination`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReplayPolicyRequest {
    /// The policy to replay, as if the jobs had been created with this `retry`.
    #[serde(skip_serializing_if = "PolicyPatch::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<PolicyPatchSchema>))]
    pub retry: PolicyPatch,
    /// Jobs in this queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<NameSchema>))]
    pub queue: Option<String>,
    /// Jobs of this kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<NameSchema>))]
    pub kind: Option<String>,
    /// Jobs for this destination, such as `https://api.example.com`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// Jobs created at this time or later, at most a week ago; a day ago by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub since: Option<Timestamp>,
    /// Only this tenant. Requires a key for all tenants; other keys always use their own tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
}

/// A replayed policy compared with the recorded outcomes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = PolicyReplay))]
#[non_exhaustive]
pub struct PolicyReplayBody {
    /// Jobs created at this time or later.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub since: Timestamp,
    /// Whether older jobs were left out because there were too many attempts.
    pub is_cut: bool,
    /// The result as a sentence; says so if there were too few observations.
    pub summary: String,
    /// Fraction of simulated retries backed by observed attempts, from 0 to 1. Below 0.8, `new` is
    /// null.
    pub observed_share: f64,
    /// The recorded outcomes.
    pub recorded: ReplayMetricsBody,
    /// A replay of the original policies. Its difference from `recorded` shows how far `new` may be
    /// off.
    pub old: Option<ReplayMetricsBody>,
    /// Results of the replayed policy; null if there were too few observations.
    pub new: Option<ReplayMetricsBody>,
}

/// Results of jobs under a policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ReplayFigures))]
#[non_exhaustive]
pub struct ReplayMetricsBody {
    /// Number of jobs; a requeued job counts again.
    pub jobs: u64,
    /// Number of attempts.
    pub attempts: u64,
    /// Jobs that succeeded.
    pub successes: u64,
    /// Jobs that became dead letters.
    pub dead_letters: u64,
    /// Time from the first attempt to success, 50th percentile.
    pub time_to_success_p50_ms: Option<u64>,
    /// Time from the first attempt to success, 95th percentile.
    pub time_to_success_p95_ms: Option<u64>,
    /// Peak number of starts per minute.
    pub peak_starts_per_minute: u64,
}

impl From<ReplayMetrics> for ReplayMetricsBody {
    fn from(metrics: ReplayMetrics) -> Self {
        Self {
            jobs: metrics.jobs,
            attempts: metrics.attempts,
            successes: metrics.successes,
            dead_letters: metrics.dead_letters,
            time_to_success_p50_ms: metrics.time_to_success_p50.map(duration::millis),
            time_to_success_p95_ms: metrics.time_to_success_p95.map(duration::millis),
            peak_starts_per_minute: metrics.peak_starts_per_minute,
        }
    }
}

impl PolicyReplayBody {
    /// A report over the jobs that were created since a time.
    pub fn new(report: &ReplayReport, since: Timestamp, is_cut: bool) -> Self {
        Self {
            since,
            is_cut,
            summary: report.to_string(),
            observed_share: report.observed_share,
            recorded: report.recorded.into(),
            old: report.old.map(Into::into),
            new: report.new.map(Into::into),
        }
    }
}
