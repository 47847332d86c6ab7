//! Retry policies, without running anything.

use serde::{Deserialize, Serialize};
use steadfast_core::{
    DelayRange, PolicyPatch, Preview, ReplayMetrics, ReplayReport, RetryPolicy, Timestamp, duration,
};

#[cfg(feature = "openapi")]
use crate::schema::{NameSchema, PolicyPatchSchema, PolicySchema};

/// A policy to be looked at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PreviewPolicyRequest {
    /// The policy, over the preset it names or over `queue`.
    #[serde(default, skip_serializing_if = "PolicyPatch::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<PolicyPatchSchema>))]
    pub retry: PolicyPatch,
}

/// What a policy would do to a job that always fails at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = PolicyPreview))]
#[non_exhaustive]
pub struct PolicyPreviewBody {
    /// The policy, complete.
    #[cfg_attr(feature = "openapi", schema(value_type = PolicySchema))]
    pub retry: RetryPolicy,
    /// Each attempt it would make.
    pub attempts: Vec<PolicyPreviewAttempt>,
    /// When it gives up, counted from the first attempt.
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
    /// Retries before it.
    pub retry_count: u32,
    /// The wait before it.
    pub delay: DelayRangeBody,
    /// When it starts, counted from the first attempt.
    pub at: DelayRangeBody,
}

/// The least that jitter can choose, the middle, and the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = DelayRange))]
#[non_exhaustive]
pub struct DelayRangeBody {
    /// At the lowest roll.
    pub min_ms: u64,
    /// At the middle roll.
    pub typical_ms: u64,
    /// At the highest roll.
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

/// Another policy, and the jobs over whose attempts it is run: at least one of `queue`, `kind` and
/// `destination`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReplayPolicyRequest {
    /// The other policy: what jobs would have got that were created with this `retry`.
    #[serde(skip_serializing_if = "PolicyPatch::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<PolicyPatchSchema>))]
    pub retry: PolicyPatch,
    /// Jobs of this queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<NameSchema>))]
    pub queue: Option<String>,
    /// Jobs of this kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<NameSchema>))]
    pub kind: Option<String>,
    /// Jobs that call this system, as `https://api.example.com`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// Jobs that were created at this time or later, at most a week ago; a day ago by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub since: Option<Timestamp>,
    /// Of this tenant. Only for keys that see all tenants; other keys have their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
}

/// What a policy would have done, beside what was done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = PolicyReplay))]
#[non_exhaustive]
pub struct PolicyReplayBody {
    /// The jobs were created at this time or later.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub since: Timestamp,
    /// Whether there were more attempts than are read, so that older jobs were left out.
    pub is_cut: bool,
    /// The result as a sentence; that it is not known, if too little was observed.
    pub summary: String,
    /// For which share of the retries of the other policy something was observed near their time,
    /// from 0 to 1. Below 0.8 there is no `new`.
    pub observed_share: f64,
    /// What is on record.
    pub recorded: ReplayMetricsBody,
    /// The policies that were used, replayed as the other one: how far this is from the record is how
    /// far `new` may be from the truth.
    pub old: Option<ReplayMetricsBody>,
    /// The other policy; null if too little was observed to know.
    pub new: Option<ReplayMetricsBody>,
}

/// What came of jobs under a policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ReplayFigures))]
#[non_exhaustive]
pub struct ReplayMetricsBody {
    /// Jobs; one that was requeued counts again.
    pub jobs: u64,
    /// Attempts that were made for them.
    pub attempts: u64,
    /// How many of them succeeded.
    pub successes: u64,
    /// How many of them became dead letters.
    pub dead_letters: u64,
    /// From the start of the first attempt to success, for half of those that succeeded.
    pub time_to_success_p50_ms: Option<u64>,
    /// The same for 95 of 100.
    pub time_to_success_p95_ms: Option<u64>,
    /// Attempts that started in the fullest minute.
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
