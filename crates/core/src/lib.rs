//! The rules of retry, and nothing else.
//!
//! This crate never does I/O, never asks the time and never rolls dice: time and randomness
//! are arguments. That is what makes every decision of the product testable as a table.
//!
//! # Layout
//!
//! * [`after_attempt`] and [`on_command`] (in `lifecycle`) decide every state. Start there.
//! * `job`, `attempt`: what is stored, and what an attempt is while it runs.
//! * `policy`: when to try again. `policy/delay` holds the arithmetic.
//! * `cron`, `zone`, `timetable`, `schedule`: when to make a job, daylight saving included.
//! * `webhook`, `endpoint`: who wants news of a job, and the jobs that deliver it.
//! * `alert`: what is wrong with a tenant's jobs, said once.
//! * `failure`: classes of failures, permanent or worth a retry.
//! * `limits`: every limit, with its reason.
//! * the rest: checked values (ids, names, payloads, times) that cannot be built wrong.

pub mod duration;
pub mod limits;

mod alert;
mod attempt;
mod cron;
mod endpoint;
mod failure;
mod id;
mod invalid;
mod job;
mod lifecycle;
mod name;
mod payload;
mod policy;
mod schedule;
mod tally;
mod time;
mod timetable;
mod webhook;
mod zone;

pub use alert::{
    AlertChange, AlertFigure, AlertRule, AlertSettings, AlertState, AlertStatus, AlertSubject,
    DlqAlert, ExhaustedAlert, Figures, Observation, OverdueAlert, RetryRateAlert,
};
pub use attempt::{Attempt, AttemptStatus, Claim, DecidedBy, Decision, Ended, Outcome, StaleFence};
pub use cron::{Cron, Dst, Tick};
pub use endpoint::{Endpoint, EndpointSecret};
pub use failure::{Failure, FailureClass};
pub use id::{EndpointId, EventId, JobId, KeyId, ScheduleId};
pub use invalid::Invalid;
pub use job::{
    Fence, Guarantee, Job, Label, NewJob, Priority, Progress, Reason, RunAt, RunOf, State, Tags,
};
pub use lifecycle::{
    Changed, Command, Edit, Guard, Refused, RefusedWhy, Transition, after_attempt, on_command,
};
pub use name::{IdempotencyKey, Kind, OnceName, Queue, ScheduleName, Tenant, WorkerName};
pub use payload::Payload;
pub use policy::{
    Backoff, Dice, Jitter, Match, PolicyPatch, Preset, Preview, PreviewRow, RetryDelay,
    RetryPolicy, Rule, Shorthands, Spread, StatusRange, Then,
};
pub use schedule::Schedule;
pub use tally::Tally;
pub use time::Timestamp;
pub use timetable::{
    Missed, Overlap, ScheduleProgress, Skip, SkipReason, Step, TickRule, Timetable,
};
pub use webhook::{
    BodyFormat, EventType, Hooks, News, Secret, Subscription, Webhook, WebhookTarget,
};
pub use zone::Zone;
