//! Query strings.

use crate::duration::DurationText;
use serde::{Deserialize, Serialize};
use steadfast_core::{BatchId, EndReason, FailureFingerprint, JobLabel, ScheduleId, Timestamp};

#[cfg(feature = "openapi")]
use crate::schema::{FingerprintSchema, KindSchema, NameSchema};

/// Which jobs to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct JobQuery {
    /// Jobs with this label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<JobLabel>,
    /// Jobs in this queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<NameSchema>))]
    pub queue: Option<String>,
    /// Jobs of this kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<KindSchema>))]
    pub kind: Option<String>,
    /// Jobs of any other kind; `webhook` leaves deliveries out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<KindSchema>))]
    pub not_kind: Option<String>,
    /// Only this tenant. Requires a key for all tenants; other keys always use their own tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
    /// Runs of this schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<String>))]
    pub schedule: Option<ScheduleId>,
    /// Jobs for this destination, such as `https://api.example.com`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// Jobs of this batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<String>))]
    pub batch: Option<BatchId>,
    /// Jobs created at this time or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<String>, format = DateTime))]
    pub from: Option<Timestamp>,
    /// Jobs created before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<String>, format = DateTime))]
    pub before: Option<Timestamp>,
    /// Jobs that failed permanently at this time or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<String>, format = DateTime))]
    pub failed_from: Option<Timestamp>,
    /// Jobs that failed permanently before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<String>, format = DateTime))]
    pub failed_before: Option<Timestamp>,
    /// Jobs whose last failure message contains this text, ignoring case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Jobs whose last failure has this class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Jobs whose last failure has this HTTP status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// With this tag, as `order:4711`; of several, with all of them.
    // Serializers of query strings cannot repeat a name, so the client adds the tags itself.
    #[serde(default, skip_serializing_if = "is_added_by_client")]
    #[cfg_attr(feature = "openapi", param(max_items = 32))]
    pub tag: Vec<String>,
    /// Jobs whose last failure has this fingerprint.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<FingerprintSchema>))]
    pub fingerprint: Option<FailureFingerprint>,
    /// Jobs that ended for this reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<EndReason>,
    /// Maximum number of results, up to 500; 50 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 500))]
    pub limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

fn is_added_by_client(_: &[String]) -> bool {
    true
}

/// Which schedules to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct ScheduleQuery {
    /// Only this tenant. Requires a key for all tenants; other keys always use their own tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
    /// Maximum number of results, up to 500; 50 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 500))]
    pub limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// Which page of a history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct PageQuery {
    /// Maximum number of results, up to 500.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 500))]
    pub limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// Of which tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct TenantQuery {
    /// Only this tenant. Requires a key for all tenants; other keys always use their own tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
}

/// Which page of a list, and of which tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct TenantPageQuery {
    /// Only this tenant. Requires a key for all tenants; other keys always use their own tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
    /// Maximum number of results, up to 500 (the default).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 500))]
    pub limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// How far to look back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct MinutesQuery {
    /// Only this tenant. Requires a key for all tenants; other keys always use their own tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
    /// Minutes to look back, up to a week; 60 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 10080))]
    pub minutes: Option<u64>,
}

/// Fields of the jobs that events become.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct CloudEventQuery {
    /// Kind of the jobs, in place of the `type` of the event.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<KindSchema>))]
    pub kind: Option<String>,
    /// Queue of the jobs, unless the event has an attribute `queue`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<NameSchema>))]
    pub queue: Option<String>,
    /// Tenant of the jobs. Requires a key for all tenants; other keys always use their own tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
}

/// How long to wait for what is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(
    feature = "openapi",
    derive(utoipa::IntoParams),
    into_params(parameter_in = Query)
)]
pub struct WaitQuery {
    /// How long to wait for the job to end, up to 60s; no wait by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<String>, example = "100ms"))]
    pub wait: Option<DurationText>,
}
