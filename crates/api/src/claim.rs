//! Requests and responses of workers.

use serde::{Deserialize, Serialize};
use steadfast_core::{
    Claim, ConfirmAnswer, Fence, JobId, JobLabel, LogLines, Payload, PrerequisiteState, Timestamp,
};

#[cfg(feature = "openapi")]
use crate::schema::{KindSchema, NameSchema};
use crate::{
    duration::DurationText,
    jobs::{create::CreateJobRequest, job::JobBody},
};

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
    /// New lines of the attempt's log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<LogLines>,
}

/// A report that an attempt failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FailRequest {
    /// The fence of the claim.
    #[cfg_attr(feature = "openapi", schema(value_type = u32))]
    pub fence: Fence,
    /// The failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureRequest>,
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

/// The fence of a claim, in an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(
    feature = "openapi",
    derive(utoipa::IntoParams),
    into_params(parameter_in = Query)
)]
pub struct FenceQuery {
    /// The fence of the claim.
    #[cfg_attr(feature = "openapi", param(value_type = u32))]
    pub fence: Fence,
}

/// Which results of prerequisites to read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(
    feature = "openapi",
    derive(utoipa::IntoParams),
    into_params(parameter_in = Query)
)]
pub struct PrerequisiteQuery {
    /// The fence of the claim.
    #[cfg_attr(feature = "openapi", param(value_type = u32))]
    pub fence: Fence,
    /// Maximum number of results, up to 100 (the default).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 100))]
    pub limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// A page of the jobs that a claimed job has waited for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PrerequisiteList {
    /// The jobs of its `after`, in the order of their ids.
    pub prerequisites: Vec<PrerequisiteResult>,
    /// The cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// A job that a claimed job has waited for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct PrerequisiteResult {
    /// The job's id.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: JobId,
    /// State of the job; `given_up` if it was discarded or deleted without success.
    pub state: PrerequisiteState,
    /// Kind of the job; null if it was deleted.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<KindSchema>))]
    pub kind: Option<String>,
    /// Result of its last attempt, if it succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub result: Option<Payload>,
}

impl PrerequisiteResult {
    /// A job that stands like this, without its result.
    pub fn new(id: JobId, state: PrerequisiteState) -> Self {
        Self {
            id,
            state,
            kind: None,
            result: None,
        }
    }
}

/// The result of a step to store.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SaveStepRequest {
    /// The fence of the claim.
    #[cfg_attr(feature = "openapi", schema(value_type = u32))]
    pub fence: Fence,
    /// Any JSON, up to 64 KiB; null by default.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Value))]
    pub result: Payload,
}

/// A completed step of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Step))]
#[non_exhaustive]
pub struct StepBody {
    /// Its name.
    pub name: String,
    /// The stored result.
    #[cfg_attr(feature = "openapi", schema(value_type = Value))]
    pub result: Payload,
}

impl StepBody {
    /// A stored step.
    pub fn new(name: impl Into<String>, result: Payload) -> Self {
        Self {
            name: name.into(),
            result,
        }
    }
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
