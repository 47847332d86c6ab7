//! Jobs that are counted together.

use serde::{Deserialize, Serialize};
use steadfast_core::{BatchCounts, BatchId, BatchJobFilter, BatchStatus, JobId, Tenant, Timestamp};

use crate::jobs::create::CreateJobRequest;
#[cfg(feature = "openapi")]
use crate::schema::NameSchema;

/// A request to create a batch, with or without jobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateBatchRequest {
    /// Name of the batch, up to 255 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 255))]
    pub name: Option<String>,
    /// Only this tenant. Requires a key for all tenants; other keys always use their own tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
    /// Idempotency key: repeating the request returns the existing batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 255))]
    pub idempotency_key: Option<String>,
    /// Whether jobs can be added later; an open batch ends only after it is closed.
    pub open: bool,
    /// Up to 1,000 jobs; more can be added to an open batch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(max_items = 1000))]
    pub jobs: Vec<CreateJobRequest>,
    /// The job to create when all jobs have ended, successfully or not. It gets the tag `batch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_end: Option<Box<CreateJobRequest>>,
    /// The job to create when all jobs have succeeded, including after requeues. It gets the tag
    /// `batch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_success: Option<Box<CreateJobRequest>>,
}

/// A group of jobs with shared progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Batch))]
pub struct BatchBody {
    /// `bat_…`
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: BatchId,
    /// Tenant of the batch.
    #[cfg_attr(feature = "openapi", schema(value_type = NameSchema))]
    pub tenant: Tenant,
    /// Name of the batch.
    pub name: Option<String>,
    /// `open` while jobs can be added, `running` until all have ended, then `succeeded`, or `failed`
    /// if some have failed or were cancelled.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub status: BatchStatus,
    /// Number of jobs in the batch.
    pub total: u64,
    /// Unfinished jobs.
    pub unfinished: u64,
    /// Jobs that have succeeded.
    pub succeeded: u64,
    /// Jobs that ended without success.
    pub failed: u64,
    /// Percentage of jobs that have ended.
    pub progress: u8,
    /// When it was created.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    /// When all jobs had ended; null again if a job is requeued.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub finished_at: Option<Timestamp>,
    /// The job that is created when all jobs have ended.
    pub on_end: Option<BatchCallbackBody>,
    /// The job that is created when all jobs have succeeded.
    pub on_success: Option<BatchCallbackBody>,
    /// The ids of its jobs, in the order of the request. Only in the response to its creation.
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

/// A callback job of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = BatchCallback))]
pub struct BatchCallbackBody {
    /// `job_…`; assigned before the job is created.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: JobId,
    /// Whether the job has been created. It is created only once.
    pub created: bool,
}

/// A page of batches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BatchList {
    /// Newest first.
    pub batches: Vec<BatchBody>,
    /// Cursor for the next page, sent as `after`; null at the end of the list.
    pub next_cursor: Option<String>,
}

/// Which batches to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct BatchQuery {
    /// Only this tenant. Requires a key for all tenants; other keys always use their own tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
    /// Only batches that are open or have unfinished jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<bool>,
    /// Maximum number of results, up to 500; 50 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 500))]
    pub limit: Option<usize>,
    /// The `nextCursor` of the previous page.
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
    /// Maximum number of results, up to 500; 50 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 500))]
    pub limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}
