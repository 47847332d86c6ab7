//! Events of jobs as they happen.

use serde::{Deserialize, Serialize};
use steadfast_core::{
    AttemptStatus, ConfirmAnswer, EndReason, Failure, JobId, Kind, Queue, Tenant, Timestamp,
};

/// The data of one server-sent event of `GET /events`; its name says what happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobEventBody {
    /// The job.
    pub job_id: JobId,
    /// The tenant.
    pub tenant: Tenant,
    /// Queue of the job.
    pub queue: Queue,
    /// Its kind.
    pub kind: Kind,
    /// The attempt that started or ended.
    pub attempt: u32,
    /// How the attempt ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<AttemptStatus>,
    /// How long the attempt took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// How long after its time the attempt started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_ms: Option<u64>,
    /// The failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// The answer to a question whether the attempt took effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<ConfirmAnswer>,
    /// When the next attempt is due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_run_at: Option<Timestamp>,
    /// Why the job was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<EndReason>,
}
