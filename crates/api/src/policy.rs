//! Retry policies, without running anything.

use serde::{Deserialize, Serialize};
use steadfast_core::{DelayRange, PolicyPatch, Preview, RetryPolicy, duration};

#[cfg(feature = "openapi")]
use crate::schema::{PolicyPatchSchema, PolicySchema};

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
