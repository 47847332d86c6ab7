//! Arguments that several tools take. Their names are those of the API.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No more than a tenant.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantArgs {
    /// Only this tenant. Leave it out, unless the key is for all tenants and you want only one.
    tenant: Option<String>,
}

/// A page of a list.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageArgs {
    /// Only this tenant. Leave it out, unless the key is for all tenants and you want only one.
    tenant: Option<String>,
    /// Maximum number of items, up to 500; 20 by default.
    limit: Option<u64>,
    /// The nextCursor of the previous answer, for its next page.
    after: Option<String>,
}

/// One job.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobIdArguments {
    /// Id of the job, such as job_01h….
    job: String,
}

/// A queue.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueArgs {
    /// Name of the queue.
    queue: String,
    /// Tenant of the queue, if the key is for all tenants.
    tenant: Option<String>,
}

/// Which jobs.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JobFilterArgs {
    /// State of the job: scheduled (its first start is in the future), ready (due, waiting for a
    /// worker), running, retrying (waiting between two attempts), succeeded, failed, cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    /// Name of its queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<String>,
    /// Kind: the type of the job, as its program names it. The server itself runs kind http (it calls
    /// a URL) and kind webhook (it delivers an event).
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// Id of the schedule that created it.
    #[serde(skip_serializing_if = "Option::is_none")]
    schedule: Option<String>,
    /// Id of the batch it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    batch: Option<String>,
    /// System that it calls, such as https://api.example.com.
    #[serde(skip_serializing_if = "Option::is_none")]
    destination: Option<String>,
    /// Created at this time or later, such as 2026-05-01T12:00:00Z.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// Created before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<String>,
    /// Failed permanently at this time or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_from: Option<String>,
    /// Failed permanently before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_before: Option<String>,
    /// Text in the message of its last failure, ignoring case.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Class of its last failure, such as timeout, connection, http.
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<String>,
    /// HTTP status of its last failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    /// Fingerprint of its last failure, from list_failures.
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
    /// Tags such as order:4711; a job must have all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<Vec<String>>,
    /// Only this tenant. Leave it out, unless the key is for all tenants and you want only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    /// Of a list: maximum number of jobs, up to 500; 20 by default. An operation has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
    /// Of a list: the nextCursor of the previous answer, for its next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}
