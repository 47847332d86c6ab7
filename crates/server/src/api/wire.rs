//! JSON as it is on the wire, and nothing else knows it.
//!
//! What comes in is checked by core's constructors, so these types only say how it is spelled.

mod access;
mod claim;
mod job;
mod policy;
mod queue;
mod schedule;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use access::{EndpointShown, KeyShown, MadeEndpoint, MadeKey, NewEndpoint, NewKeyBody, RotateBody};
pub use claim::{
    ClaimBody, ClaimShown, Claims, FailBody, FailureBody, HeartbeatBody, LeaseShown, SettleBody,
    SettleMany, SettledMany, SettledOne, SnoozeBody, SucceedBody,
};
pub use job::{
    AttemptShown, Attempts, CreateJob, CreateJobs, CreateMany, EditJob, JobShown, Jobs, RetryBody,
    WebhookBody,
};
pub use policy::{DurationText, PolicyInput, PolicyShown, PreviewBody, PreviewShown};
pub use queue::{AlertShown, Alerts, MinuteShown, QueueShown, Queues, StatsShown};
pub use schedule::{
    CreateSchedule, EditSchedule, ScheduleShown, Schedules, TickShown, Ticks, UpcomingTick,
};

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

/// An empty object: nothing can be said, and nothing else may be.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}
