//! JSON as it is on the wire, and nothing else knows it.
//!
//! What comes in is checked by core's constructors, so these types only say how it is spelled.

mod access;
mod claim;
mod job;
mod policy;
mod queue;
mod schedule;

use serde::Serialize;
use utoipa::ToSchema;

pub use access::{
    EndpointShown, Endpoints, Keys, MadeEndpoint, MadeKey, NewEndpoint, NewKeyBody, RotateBody,
};
pub use claim::{
    ClaimBody, ClaimShown, Claims, FailBody, FailureBody, HeartbeatBody, LeaseShown, OutcomeName,
    SettleBody, SettleMany, SettledMany, SettledOne, SnoozeBody, SucceedBody,
};
pub use job::{
    AttemptShown, Attempts, CreateJob, CreateJobs, CreateMany, EditJob, HttpBody, JobShown, Jobs,
    RetryBody, WebhookBody,
};
pub use policy::{DurationText, Name, PolicyInput, PolicyShown, PreviewBody, PreviewShown};
pub use queue::{Alerts, Minutes, Nodes, QueueShown, Queues, StatsShown};
pub use schedule::{CreateSchedule, EditSchedule, ScheduleShown, Schedules, Ticks};

/// How much was done, or would be.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Done {
    /// On how many jobs it was done; on a dry run, on how many it would be.
    pub count: u64,
    pub dry_run: bool,
    /// Counting stopped here: there are at least this many.
    pub at_least: bool,
}
