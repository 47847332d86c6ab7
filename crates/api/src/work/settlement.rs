//! How a worker says that an attempt ended.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use steadfast_core::{ConfirmAnswer, Fence, JobLabel, LogLines, Payload};

use crate::{duration::DurationText, jobs::create::CreateJobRequest};

/// A report that an attempt succeeded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SucceedRequest {
    /// The fence of the claim.
    #[cfg_attr(feature = "openapi", schema(value_type = u32))]
    pub fence: Fence,
    /// Result, kept with the attempt, up to 64 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub result: Option<Payload>,
    /// Up to 100 jobs created atomically with the success; recurring jobs are not allowed. They
    /// belong to the tenant of this job.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(max_items = 100))]
    pub on_success: Vec<CreateJobRequest>,
    /// What the attempt used, by unit; units that are omitted are charged as `cost` says.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "openapi", schema(example = json!({"tokens": 2210})))]
    pub usage: BTreeMap<String, f64>,
    /// New lines of the attempt's log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<LogLines>,
}

/// A report that an attempt failed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FailRequest {
    /// The fence of the claim.
    #[cfg_attr(feature = "openapi", schema(value_type = u32))]
    pub fence: Fence,
    /// The failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureRequest>,
    /// What the attempt used, by unit; units that are omitted are charged as `cost` says.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "openapi", schema(example = json!({"tokens": 2210})))]
    pub usage: BTreeMap<String, f64>,
    /// New lines of the attempt's log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<LogLines>,
}

/// The failure as reported by the worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FailureRequest {
    /// `error` by default. `validation`, `not_found`, `unauthorized`, `forbidden` and `syntax` are
    /// not retried; any custom class is retried, unless `permanent` is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(example = "ValidationError"))]
    pub class: Option<String>,
    /// Human-readable message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// HTTP status of the failed response.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 100, maximum = 599))]
    pub http_status: Option<u16>,
    /// Minimum delay before the next attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<DurationText>,
    /// Stack trace, kept with the attempt. The middle of a trace over 64 KiB is omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// Whether the failure is permanent, regardless of its class: the job becomes a dead letter,
    /// unless a rule of its policy retries the class.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub permanent: bool,
}

/// A request to try again later without counting this attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SnoozeRequest {
    /// The fence of the claim.
    #[cfg_attr(feature = "openapi", schema(value_type = u32))]
    pub fence: Fence,
    /// Delay from now.
    pub delay: DurationText,
    /// New lines of the attempt's log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<LogLines>,
}

/// A request to release a job without counting this attempt, because the worker stops.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReleaseRequest {
    /// The fence of the claim.
    #[cfg_attr(feature = "openapi", schema(value_type = u32))]
    pub fence: Fence,
    /// New lines of the attempt's log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<LogLines>,
}

/// Settlements of many attempts in one request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SettleRequest {
    /// One per attempt, up to 1,000.
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 1000))]
    pub settlements: Vec<SettlementRequest>,
}

/// Settlement of one of many attempts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SettlementRequest {
    /// The job's id.
    pub id: String,
    /// The fence of the claim.
    #[cfg_attr(feature = "openapi", schema(value_type = u32))]
    pub fence: Fence,
    /// Outcome of the attempt.
    pub outcome: SettlementOutcome,
    /// Whether the last attempt took effect; only with `answer`, which requires it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<ConfirmAnswer>,
    /// Result, kept with the attempt; only with `succeed`, and with the answer `done`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub result: Option<Payload>,
    /// Up to 100 jobs created atomically with the success; only with `succeed`, and with the answer
    /// `done`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(max_items = 100))]
    pub on_success: Vec<CreateJobRequest>,
    /// The failure; only with `fail`, and with the answer `unknown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureRequest>,
    /// Delay from now; only with `snooze`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<DurationText>,
    /// What the attempt used, by unit; units that are omitted are charged as `cost` says.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "openapi", schema(example = json!({"tokens": 2210})))]
    pub usage: BTreeMap<String, f64>,
    /// New lines of the attempt's log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<LogLines>,
}

/// Outcome reported by the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum SettlementOutcome {
    /// It succeeded.
    Succeed,
    /// It failed; what follows is up to the job's policy.
    Fail,
    /// Try again later without counting this attempt.
    Snooze,
    /// Give the job back at once without counting this attempt: the worker stops.
    Release,
    /// The claim was a question, and this is its answer.
    Answer,
}

/// One result per settlement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SettlementList {
    /// In the order of the request.
    pub settled: Vec<SettlementResult>,
}

/// Result of one settlement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SettlementResult {
    /// The job's id from the request.
    pub id: String,
    /// Whether it was accepted.
    pub ok: bool,
    /// New label of the job.
    pub label: Option<JobLabel>,
    /// `stale_fence` or `not_found` if the claim has expired. Any other code, such as `invalid`,
    /// means that this settlement is invalid and the claim is still valid: send another settlement,
    /// such as a failure.
    pub code: Option<String>,
    /// Human-readable message, if it is not ok.
    pub detail: Option<String>,
    /// The invalid field of the settlement, such as `result`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}
