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
    label: Option<String>,
    /// Name of its queue.
    queue: Option<String>,
    /// Kind: the type of the job, as its program names it. The server itself runs kind http (it calls
    /// a URL) and kind webhook (it delivers an event).
    kind: Option<String>,
    /// Id of the schedule that created it.
    schedule: Option<String>,
    /// Id of the batch it belongs to.
    batch: Option<String>,
    /// System that it calls, such as https://api.example.com.
    destination: Option<String>,
    /// Created at this time or later, such as 2026-05-01T12:00:00Z.
    from: Option<String>,
    /// Created before this time.
    before: Option<String>,
    /// Failed permanently at this time or later.
    failed_from: Option<String>,
    /// Failed permanently before this time.
    failed_before: Option<String>,
    /// Text in the message of its last failure, ignoring case.
    text: Option<String>,
    /// Class of its last failure, such as timeout, connection, http.
    class: Option<String>,
    /// HTTP status of its last failure.
    status: Option<u16>,
    /// Fingerprint of its last failure, from list_failures.
    fingerprint: Option<String>,
    /// Tags such as order:4711; a job must have all of them.
    tag: Option<Vec<String>>,
    /// Only this tenant. Leave it out, unless the key is for all tenants and you want only one.
    tenant: Option<String>,
    /// Of a list: maximum number of jobs, up to 500; 20 by default. An operation has none.
    limit: Option<u64>,
    /// Of a list: the nextCursor of the previous answer, for its next page.
    after: Option<String>,
}
