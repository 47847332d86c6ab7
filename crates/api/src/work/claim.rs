//! Requests for jobs, and the jobs that a worker gets.

use serde::{Deserialize, Serialize};
use steadfast_core::{Claim, Fence, JobId, Timestamp};

use super::settlement::{SettlementRequest, SettlementResult};
#[cfg(feature = "openapi")]
use crate::schema::{KindSchema, NameSchema};
use crate::{duration::DurationText, jobs::job::JobBody};

/// A worker's request for jobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ClaimJobsRequest {
    /// The worker's name; shown with every attempt.
    #[cfg_attr(feature = "openapi", schema(value_type = NameSchema, example = "worker-1"))]
    pub worker: String,
    /// Queues to claim from, at most 100; all by default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<NameSchema>, max_items = 100))]
    pub queues: Vec<String>,
    /// Kinds to claim, at most 100; by default all kinds except those that the node runs itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<KindSchema>, max_items = 100))]
    pub kinds: Vec<String>,
    /// Kinds for which the worker answers whether an attempt took effect, at most 100. Questions
    /// of other kinds are answered `unknown` for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<KindSchema>, max_items = 100))]
    pub confirms: Vec<String>,
    /// Maximum number of jobs; 10 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1000))]
    pub max: Option<usize>,
    /// Lease duration, instead of each job's own lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<DurationText>,
    /// How long to wait for a job, up to 30s; no wait by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<DurationText>,
    /// Only this tenant. Requires a key for all tenants; other keys always use their own tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
    /// Description of the worker, shown in the list of workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker_info: Option<WorkerInfo>,
    /// Which responses have arrived. Claims of a response that did not arrive are released without
    /// counting the attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<ClaimSession>,
    /// Settlements of earlier attempts, up to 1,000, settled before the claim. The response
    /// has one result for each and does not wait for jobs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(max_items = 1000))]
    pub settlements: Vec<SettlementRequest>,
}

/// The claim requests of one worker process, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ClaimSession {
    /// Random text of the process, up to 64 bytes; a restarted worker has another one.
    #[cfg_attr(
        feature = "openapi",
        schema(min_length = 1, max_length = 64, example = "8f3b0c5d")
    )]
    pub id: String,
    /// Number of this request: higher than that of every earlier request of the session. A lower
    /// one is refused, because it was overtaken.
    pub sequence: u64,
    /// The highest `sequence` whose response has arrived, with all its claims; 0 by default.
    #[serde(default)]
    pub received: u64,
}

/// Description of a worker. Each text may have up to 128 bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WorkerInfo {
    /// Version of the worker program.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 128))]
    pub version: Option<String>,
    /// Host of the worker.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 128))]
    pub host: Option<String>,
    /// Maximum number of concurrent jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// Client library and version, such as `steadfast-python/0.1.0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 128))]
    pub library: Option<String>,
}

/// The claims of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ClaimList {
    /// The claims; may be empty.
    pub claims: Vec<ClaimBody>,
    /// One result per settlement of the request, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settled: Vec<SettlementResult>,
}

/// A job held by a worker until its lease expires.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Claim))]
#[non_exhaustive]
pub struct ClaimBody {
    /// The job's id, used in the paths of later requests.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: JobId,
    /// Proof that the claim is valid: send it with every request about this attempt.
    #[cfg_attr(feature = "openapi", schema(value_type = u32))]
    pub fence: Fence,
    /// Expiry of the claim.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub lease_until: Option<Timestamp>,
    /// The job itself. If it has `questions`, do not run it: find out whether its last attempt took
    /// effect, and settle with the outcome `answer`.
    pub job: JobBody,
}

impl ClaimBody {
    /// A claim as its worker gets it.
    pub fn new(claim: &Claim, now: Timestamp) -> Self {
        let job = claim.job();
        Self {
            id: job.id,
            fence: claim.fence(),
            lease_until: job.progress.lease_until,
            job: JobBody::new(job.clone(), now),
        }
    }
}
