//! Many jobs at once.

use serde::{Deserialize, Serialize};
use steadfast_core::{
    BatchId, EndReason, FailureFingerprint, OperationId, Payload, ScheduleId, Timestamp,
};

#[cfg(feature = "openapi")]
use crate::schema::{FingerprintSchema, KindSchema, NameSchema};

/// Selects dead letters by `ids`, or by the other fields as a filter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeadLettersRequest {
    /// Job ids of dead letters, up to 1,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<String>>,
    /// Must be true to select every dead letter.
    #[serde(default)]
    pub all: bool,
    /// Only this tenant. Requires a key for all tenants; other keys always use their own tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
    /// Jobs in this queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<NameSchema>))]
    pub queue: Option<String>,
    /// Jobs of this kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<KindSchema>))]
    pub kind: Option<String>,
    /// Runs of this schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub schedule: Option<ScheduleId>,
    /// Jobs for this destination, such as `https://api.example.com`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// Jobs of this batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub batch: Option<BatchId>,
    /// Dead letters with this reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<EndReason>,
    /// Jobs whose last failure has this class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Jobs whose last failure has this fingerprint.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<FingerprintSchema>))]
    pub fingerprint: Option<FailureFingerprint>,
    /// Jobs whose last failure message contains this text, ignoring case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Jobs with all of these tags, such as `order:4711`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Jobs created at this time or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub from: Option<Timestamp>,
    /// Jobs created before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub before: Option<Timestamp>,
    /// Jobs that failed permanently at this time or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub failed_from: Option<Timestamp>,
    /// Jobs that failed permanently before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub failed_before: Option<Timestamp>,
    /// New payload for each of them; only with `ids`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub payload: Option<Payload>,
    /// Only count the matching jobs.
    #[serde(default)]
    pub dry_run: bool,
}

/// Number of jobs that were or would be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BulkResult {
    /// Number of changed jobs; for a dry run, the number that would be changed.
    pub count: u64,
    /// Whether it was a dry run.
    pub dry_run: bool,
    /// Whether `count` is a lower bound, because counting stopped early or the work continues.
    pub at_least: bool,
    /// The operation that does the work, `opr_…`; absent if the work was done immediately or only
    /// counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub operation: Option<OperationId>,
}
