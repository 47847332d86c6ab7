//! Jobs that are counted together.

use serde::{Deserialize, Serialize};
use steadfast_core::{BatchCounts, BatchId, BatchJobFilter, BatchStatus, JobId, Tenant, Timestamp};

use crate::jobs::create::CreateJobRequest;
#[cfg(feature = "openapi")]
use crate::schema::NameSchema;

/// A batch to be created, with jobs or without.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateBatchRequest {
    /// What people call it, up to 255 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 255))]
    pub name: Option<String>,
    /// Of this tenant. Only for keys that see all tenants; other keys have their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
    /// With a key, repeating the request gives the batch that exists instead of a second one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 255))]
    pub idempotency_key: Option<String>,
    /// Whether jobs can be added later; such a batch ends only after it was closed.
    pub open: bool,
    /// Its jobs, up to 1,000; more can be added to an open one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(max_items = 1000))]
    pub jobs: Vec<CreateJobRequest>,
    /// The job to make when all have ended, however they did. It gets the tag `batch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_end: Option<Box<CreateJobRequest>>,
    /// The job to make when all have succeeded, also if that is after requeues. It gets the tag
    /// `batch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_success: Option<Box<CreateJobRequest>>,
}

/// Jobs that are counted together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Batch))]
pub struct BatchBody {
    /// `bat_…`
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: BatchId,
    /// Whose batch.
    #[cfg_attr(feature = "openapi", schema(value_type = NameSchema))]
    pub tenant: Tenant,
    /// What people call it.
    pub name: Option<String>,
    /// `open` while jobs can be added, `running` until all have ended, then `succeeded`, or `failed`
    /// if some have failed or were cancelled.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub status: BatchStatus,
    /// How many jobs it has.
    pub total: u64,
    /// Those that have not ended.
    pub unfinished: u64,
    /// Those that have succeeded.
    pub succeeded: u64,
    /// Those that have ended without success.
    pub failed: u64,
    /// How many of 100 jobs have ended.
    pub progress: u8,
    /// When it was created.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    /// Since when all jobs have ended; null again if one is requeued.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub finished_at: Option<Timestamp>,
    /// The job that is made when all have ended.
    pub on_end: Option<BatchCallbackBody>,
    /// The job that is made when all have succeeded.
    pub on_success: Option<BatchCallbackBody>,
    /// The ids of its jobs, in the order of the request. Only in the answer to its creation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<String>>, required = false))]
    pub jobs: Option<Vec<JobId>>,
}

impl BatchBody {
    /// A batch with these counts, and nothing else.
    pub fn new(id: BatchId, tenant: Tenant, created_at: Timestamp, counts: BatchCounts) -> Self {
        Self {
            id,
            tenant,
            name: None,
            status: counts.status(),
            total: counts.total,
            unfinished: counts.unfinished(),
            succeeded: counts.succeeded,
            failed: counts.failed,
            progress: counts.percent(),
            created_at,
            finished_at: None,
            on_end: None,
            on_success: None,
            jobs: None,
        }
    }
}

/// A job that a batch makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = BatchCallback))]
pub struct BatchCallbackBody {
    /// `job_…`, which it has from the beginning.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: JobId,
    /// Whether it was made. It is made once.
    pub created: bool,
}

/// A page of batches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BatchList {
    /// The newest first.
    pub batches: Vec<BatchBody>,
    /// Where to go on, as `after`; null at the end of the list.
    pub next_cursor: Option<String>,
}

/// Which batches to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct BatchQuery {
    /// Of this tenant. Only for keys that see all tenants; other keys have their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
    /// Only those whose jobs have not all ended, or that are open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<bool>,
    /// How many, up to 500; 50 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 500))]
    pub limit: Option<usize>,
    /// Where the page before ended: its nextCursor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// Which jobs of a batch to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct BatchJobQuery {
    /// `unfinished`, `succeeded`, `failed` or `cancelled`; all by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<String>))]
    pub state: Option<BatchJobFilter>,
    /// How many, up to 500; 50 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 500))]
    pub limit: Option<usize>,
    /// Where the page before ended: its nextCursor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}
