//! Many jobs at once.

use serde::{Deserialize, Serialize};
use steadfast_core::{
    BatchId, EndReason, FailureFingerprint, OperationId, Payload, ScheduleId, Timestamp,
};

#[cfg(feature = "openapi")]
use crate::schema::{FingerprintSchema, KindSchema, NameSchema};

/// Which dead letters: those of `ids`, or all that match the other fields.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeadLettersRequest {
    /// Ids of dead letters, up to 1,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<String>>,
    /// Must be true to mean every dead letter there is.
    #[serde(default)]
    pub all: bool,
    /// Of this tenant. Only for keys that see all tenants; other keys have their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
    /// In this queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<NameSchema>))]
    pub queue: Option<String>,
    /// Of this kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<KindSchema>))]
    pub kind: Option<String>,
    /// Runs of this schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub schedule: Option<ScheduleId>,
    /// That call this system, as `https://api.example.com`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// That are counted in this batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub batch: Option<BatchId>,
    /// Given up for this reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<EndReason>,
    /// With a newest failure of this class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// With a newest failure of this fingerprint.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<FingerprintSchema>))]
    pub fingerprint: Option<FailureFingerprint>,
    /// With this text in the message of the newest failure, in any case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// With all of these tags, each as `order:4711`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Created at this time or later; when it failed does not matter.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub from: Option<Timestamp>,
    /// Created before this time; when it failed does not matter.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub before: Option<Timestamp>,
    /// Ended `failed` at this time or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub failed_from: Option<Timestamp>,
    /// Ended `failed` before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub failed_before: Option<Timestamp>,
    /// A new payload, in place of the one each has; only with `ids`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub payload: Option<Payload>,
    /// Only count them.
    #[serde(default)]
    pub dry_run: bool,
}

/// How many jobs were changed, or would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BulkResult {
    /// How many jobs were changed; on a dry run, how many would be.
    pub count: u64,
    /// Whether it was a dry run.
    pub dry_run: bool,
    /// Counting stopped here: there are at least this many. Of work that goes on, it is the count so
    /// far.
    pub at_least: bool,
    /// The operation that does the work, `opr_…`; absent if it was done at once, or only counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub operation: Option<OperationId>,
}
