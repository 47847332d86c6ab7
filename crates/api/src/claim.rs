//! What workers send, and what they get.

use serde::{Deserialize, Serialize};
use steadfast_core::{Claim, Fence, JobId, JobLabel, Payload, Timestamp};

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
    /// From these queues, 100 at most; from all by default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<NameSchema>, max_items = 100))]
    pub queues: Vec<String>,
    /// Of these kinds, 100 at most; by default of all but those that the node runs by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<KindSchema>, max_items = 100))]
    pub kinds: Vec<String>,
    /// How many at most; 10 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1000))]
    pub max: Option<usize>,
    /// In place of each job's own lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<DurationText>,
    /// How long to wait for a job, up to 30s; not at all by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<DurationText>,
    /// Of this tenant. Only for keys that see all tenants; other keys have their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
    /// What the worker is; shown in the list of workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker_info: Option<WorkerInfo>,
}

/// What a worker is, in its own words. Each text may have 128 bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WorkerInfo {
    /// The version of the program that runs the jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 128))]
    pub version: Option<String>,
    /// The machine it runs on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 128))]
    pub host: Option<String>,
    /// How many jobs it runs at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// The library it was written with, as `steadfast-python/0.1.0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 128))]
    pub library: Option<String>,
}

/// The claims that a request got.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ClaimList {
    /// The claims, perhaps none.
    pub claims: Vec<ClaimBody>,
}

/// A job that a worker holds until its lease runs out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Claim))]
#[non_exhaustive]
pub struct ClaimBody {
    /// The job's id; it goes into the address of what follows.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: JobId,
    /// Proves that the claim still holds: send it back with every request about this attempt.
    #[cfg_attr(feature = "openapi", schema(value_type = u32))]
    pub fence: Fence,
    /// Until when the claim holds.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub lease_until: Option<Timestamp>,
    /// The job itself.
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

/// A sign that an attempt still runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HeartbeatRequest {
    /// That of the claim.
    #[cfg_attr(feature = "openapi", schema(value_type = u32))]
    pub fence: Fence,
    /// How long the claim shall hold from now; the job's own lease by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<DurationText>,
    /// How far the work has come, for people; the last note stays by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The same in percent, as a whole number; the last one stays by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(maximum = 100))]
    pub progress: Option<u8>,
}

/// Signs that many attempts still run, in one request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HeartbeatsRequest {
    /// The worker's name, as it claims; it is shown as seen now.
    #[cfg_attr(feature = "openapi", schema(value_type = NameSchema, example = "worker-1"))]
    pub worker: String,
    /// One for each attempt, up to 1,000.
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 1000))]
    pub claims: Vec<HeartbeatEntry>,
}

/// A sign that one of many attempts still runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HeartbeatEntry {
    /// The job's id.
    pub id: String,
    /// That of the claim.
    #[cfg_attr(feature = "openapi", schema(value_type = u32))]
    pub fence: Fence,
    /// How long the claim shall hold from now; the job's own lease by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<DurationText>,
    /// How far the work has come, for people; the last note stays by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The same in percent, as a whole number; the last one stays by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(maximum = 100))]
    pub progress: Option<u8>,
}

/// One result for each heartbeat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HeartbeatList {
    /// In the order of the request.
    pub claims: Vec<HeartbeatResult>,
}

/// What became of one heartbeat. The fields of the lease are there if it is ok.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HeartbeatResult {
    /// The job's id, as it was sent.
    pub id: String,
    /// Whether the claim still holds.
    pub ok: bool,
    /// Until when the claim holds now.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub lease_until: Option<Timestamp>,
    /// A cancel was requested: stop, and report `fail` or `succeed` as it then is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel_requested: Option<bool>,
    /// When the attempt has run for as long as its job's timeout allows. No lease lasts longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub deadline: Option<Timestamp>,
    /// The deadline is over: stop. The attempt fails with class `timeout`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<bool>,
    /// `stale_fence` or `not_found`, if the claim does not hold; `invalid` if a field is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// A sentence for people, if it is not ok.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// A lease that was renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Lease))]
pub struct LeaseBody {
    /// Until when the claim holds now.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub lease_until: Timestamp,
    /// A cancel was requested: stop, and report `fail` or `succeed` as it then is.
    pub cancel_requested: bool,
    /// When the attempt has run for as long as its job's timeout allows. No lease lasts longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub deadline: Option<Timestamp>,
    /// The deadline is over: stop. The attempt fails with class `timeout`.
    #[serde(default)]
    pub timed_out: bool,
}

/// A report that an attempt succeeded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SucceedRequest {
    /// That of the claim.
    #[cfg_attr(feature = "openapi", schema(value_type = u32))]
    pub fence: Fence,
    /// Kept with the attempt, up to 64 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub result: Option<Payload>,
    /// Jobs that are created with the success or not at all, up to 100; none of them may be
    /// recurring. They belong to the tenant of this job by default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(max_items = 100))]
    pub on_success: Vec<CreateJobRequest>,
}

/// A report that an attempt failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FailRequest {
    /// That of the claim.
    #[cfg_attr(feature = "openapi", schema(value_type = u32))]
    pub fence: Fence,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureRequest>,
}

/// What went wrong, in the worker's words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FailureRequest {
    /// `error` by default. `validation`, `not_found`, `unauthorized`, `forbidden` and `syntax` are
    /// not retried; any name of your own is, unless `permanent` says otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(example = "ValidationError"))]
    pub class: Option<String>,
    /// A sentence for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The status of the response that was not a success.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 100, maximum = 599))]
    pub http_status: Option<u16>,
    /// Not before this long from now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<DurationText>,
    /// The stack trace, kept with the attempt; of one over 64 KiB the middle is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// No retry can cure it, whatever its class: the job becomes a dead letter, unless a rule of its
    /// policy retries the class.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub permanent: bool,
}

/// A request to try again later without counting this attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SnoozeRequest {
    /// That of the claim.
    #[cfg_attr(feature = "openapi", schema(value_type = u32))]
    pub fence: Fence,
    /// How long from now.
    pub delay: DurationText,
}

/// A request to take a job back, without counting this attempt: the worker stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReleaseRequest {
    /// That of the claim.
    #[cfg_attr(feature = "openapi", schema(value_type = u32))]
    pub fence: Fence,
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
    /// That of the claim.
    #[cfg_attr(feature = "openapi", param(value_type = u32))]
    pub fence: Fence,
}

/// The result of a step of an attempt, to be stored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SaveStepRequest {
    /// That of the claim.
    #[cfg_attr(feature = "openapi", schema(value_type = u32))]
    pub fence: Fence,
    /// Any JSON, up to 64 KiB; null by default.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Value))]
    pub result: Payload,
}

/// A step of a job that is done, whichever attempt did it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Step))]
#[non_exhaustive]
pub struct StepBody {
    /// Its name.
    pub name: String,
    /// The result that was stored first.
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

/// The ends of many attempts, in one request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SettleRequest {
    /// One for each attempt, up to 1,000.
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 1000))]
    pub settlements: Vec<SettlementRequest>,
}

/// How one of many attempts ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SettlementRequest {
    /// The job's id.
    pub id: String,
    /// That of the claim.
    #[cfg_attr(feature = "openapi", schema(value_type = u32))]
    pub fence: Fence,
    /// How it ended.
    pub outcome: SettlementOutcome,
    /// Kept with the attempt; only with `succeed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub result: Option<Payload>,
    /// Jobs that are created with the success or not at all, up to 100; only with `succeed`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(max_items = 100))]
    pub on_success: Vec<CreateJobRequest>,
    /// What went wrong; only with `fail`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureRequest>,
    /// How long from now; only with `snooze`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<DurationText>,
}

/// How an attempt ended, as its worker reports it.
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
}

/// One result for each settlement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SettlementList {
    /// In the order of the request.
    pub settled: Vec<SettlementResult>,
}

/// What became of one settlement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SettlementResult {
    /// The job's id, as it was sent.
    pub id: String,
    /// Whether it was accepted.
    pub ok: bool,
    /// The job's label from now on.
    pub label: Option<JobLabel>,
    /// `stale_fence` or `not_found`, if it is not ok because the claim does not hold; else what is
    /// wrong with this settlement, as `invalid`: the claim still holds, so send another one, such as a
    /// failure that says so.
    pub code: Option<String>,
    /// A sentence for people, if it is not ok.
    pub detail: Option<String>,
    /// The field of the settlement that is wrong, as `result`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}
