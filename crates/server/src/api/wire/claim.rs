//! What workers say.

use serde::{Deserialize, Serialize};
use steadfast_core::{Claim, Fence, JobId, Payload, Timestamp};
use utoipa::ToSchema;

use super::{DurationText, JobShown, Name};

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = ClaimRequest)]
pub struct ClaimBody {
    /// Who claims; shown with every attempt.
    #[schema(value_type = Name, example = "worker-1")]
    pub worker: String,
    /// All queues where none is named.
    #[serde(default)]
    #[schema(value_type = Vec<Name>)]
    pub queues: Vec<String>,
    /// All kinds where none is named, but for those that the node runs by itself.
    #[serde(default)]
    #[schema(value_type = Vec<Name>)]
    pub kinds: Vec<String>,
    #[schema(minimum = 1, maximum = 1000)]
    pub max: Option<usize>,
    /// In place of each job's own lease.
    pub lease: Option<DurationText>,
    /// How long to wait for a job, up to 30s.
    pub wait: Option<DurationText>,
    /// For admin keys; others have a tenant of their own.
    #[schema(value_type = Option<Name>)]
    pub tenant: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Claims)]
pub struct Claims {
    pub claims: Vec<ClaimShown>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Claim)]
pub struct ClaimShown {
    /// The job's id; it goes into the address of what follows.
    #[schema(value_type = String)]
    id: JobId,
    /// Proves that the claim still holds: send it back with whatever you say of this attempt.
    #[schema(value_type = u32)]
    fence: Fence,
    #[schema(value_type = Option<String>, format = DateTime)]
    lease_until: Option<Timestamp>,
    job: JobShown,
}

impl ClaimShown {
    pub fn of(claim: &Claim, now: Timestamp) -> Self {
        let job = claim.job();
        Self {
            id: job.id,
            fence: claim.fence(),
            lease_until: job.progress.lease_until,
            job: JobShown::whole(job.clone(), now),
        }
    }
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = Heartbeat)]
pub struct HeartbeatBody {
    #[schema(value_type = u32)]
    pub fence: Fence,
    /// How long the claim shall hold from now; the job's own lease where nobody says.
    pub lease: Option<DurationText>,
    /// How far the work has come, for people.
    pub note: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Lease)]
pub struct LeaseShown {
    #[schema(value_type = String, format = DateTime)]
    pub lease_until: Timestamp,
    /// Somebody asked to cancel: stop, and say `fail` or `succeed` as it then is.
    pub cancel_requested: bool,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = Success)]
pub struct SucceedBody {
    #[schema(value_type = u32)]
    pub fence: Fence,
    /// Kept with the attempt, up to 64 KiB.
    #[schema(value_type = Option<Value>)]
    pub result: Option<Payload>,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = FailureReport)]
pub struct FailBody {
    #[schema(value_type = u32)]
    pub fence: Fence,
    pub failure: Option<FailureBody>,
}

#[derive(Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = FailureInput)]
pub struct FailureBody {
    /// `error` where nobody says. `validation`, `not_found`, `unauthorized`, `forbidden` and
    /// `syntax` are not retried; any name of your own is.
    #[schema(example = "ValidationError")]
    pub class: Option<String>,
    pub message: Option<String>,
    #[schema(minimum = 100, maximum = 599)]
    pub http_status: Option<u16>,
    /// Not before this long from now.
    pub retry_after: Option<DurationText>,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = Snooze)]
pub struct SnoozeBody {
    #[schema(value_type = u32)]
    pub fence: Fence,
    /// Try again after this long, without counting this attempt.
    pub delay: DurationText,
}

/// How one of many attempts went.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = Settlement)]
pub struct SettleBody {
    #[schema(value_type = String)]
    pub id: String,
    #[schema(value_type = u32)]
    pub fence: Fence,
    pub outcome: OutcomeName,
    #[schema(value_type = Option<Value>)]
    pub result: Option<Payload>,
    pub failure: Option<FailureBody>,
    pub delay: Option<DurationText>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SettlementOutcome)]
pub enum OutcomeName {
    Succeed,
    Fail,
    Snooze,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = Settlements)]
pub struct SettleMany {
    #[schema(min_items = 1, max_items = 1000)]
    pub settlements: Vec<SettleBody>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SettleResult)]
pub struct SettledMany {
    /// In the order of the request.
    pub settled: Vec<SettledOne>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SettledOne)]
pub struct SettledOne {
    pub id: String,
    pub ok: bool,
    /// The job's label from now on.
    pub label: Option<String>,
    /// `stale_fence` or `not_found`, where it is not ok.
    pub code: Option<String>,
    pub detail: Option<String>,
}
