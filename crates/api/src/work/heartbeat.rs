//! Heartbeats of running attempts.

use serde::{Deserialize, Serialize};
use steadfast_core::{Fence, LogLines, Timestamp};

use crate::duration::DurationText;
#[cfg(feature = "openapi")]
use crate::schema::NameSchema;

/// A heartbeat of a running attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HeartbeatRequest {
    /// The fence of the claim.
    #[cfg_attr(feature = "openapi", schema(value_type = u32))]
    pub fence: Fence,
    /// Lease duration from now; the job's own lease by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<DurationText>,
    /// Progress note; the previous note stays by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Progress in percent, a whole number; the previous value stays by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(maximum = 100))]
    pub progress: Option<u8>,
    /// New lines of the attempt's log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<LogLines>,
}

/// Heartbeats for many attempts in one request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HeartbeatsRequest {
    /// The worker's name, as in its claims; updates when the worker was last seen.
    #[cfg_attr(feature = "openapi", schema(value_type = NameSchema, example = "worker-1"))]
    pub worker: String,
    /// One per attempt, up to 1,000.
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 1000))]
    pub claims: Vec<HeartbeatEntry>,
}

/// A heartbeat for one of many attempts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HeartbeatEntry {
    /// The job's id.
    pub id: String,
    /// The fence of the claim.
    #[cfg_attr(feature = "openapi", schema(value_type = u32))]
    pub fence: Fence,
    /// Lease duration from now; the job's own lease by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<DurationText>,
    /// Progress note; the previous note stays by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Progress in percent, a whole number; the previous value stays by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(maximum = 100))]
    pub progress: Option<u8>,
    /// New lines of the attempt's log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<LogLines>,
}

/// One result per heartbeat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HeartbeatList {
    /// In the order of the request.
    pub claims: Vec<HeartbeatResult>,
}

/// The result of one heartbeat. The lease fields are present if it is ok.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HeartbeatResult {
    /// The job's id from the request.
    pub id: String,
    /// Whether the claim is still valid.
    pub ok: bool,
    /// New expiry of the claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub lease_until: Option<Timestamp>,
    /// Whether a cancel was requested: stop, and report `fail` or `succeed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel_requested: Option<bool>,
    /// When the job's timeout ends the attempt. No lease lasts longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub deadline: Option<Timestamp>,
    /// Whether the deadline has passed: stop. The attempt fails with class `timeout`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<bool>,
    /// `stale_fence` or `not_found` if the claim has expired; `invalid` if a field is invalid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Human-readable message, if it is not ok.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// A lease that was renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Lease))]
pub struct LeaseBody {
    /// New expiry of the claim.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub lease_until: Timestamp,
    /// Whether a cancel was requested: stop, and report `fail` or `succeed`.
    pub cancel_requested: bool,
    /// When the job's timeout ends the attempt. No lease lasts longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub deadline: Option<Timestamp>,
    /// Whether the deadline has passed: stop. The attempt fails with class `timeout`.
    #[serde(default)]
    pub timed_out: bool,
}
