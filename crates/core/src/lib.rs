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
//! * `webhook`, `endpoint`: who subscribed to events of a job, and the jobs that deliver them.
//! * `alert`: what is wrong with a tenant's jobs, said once.
//! * `failure`: classes of failures, permanent or worth a retry.
//! * `limits`: every limit, with its reason.
//! * the rest: checked values (ids, names, payloads, times) that cannot be built wrong.

pub mod duration;
pub mod explain;
pub mod limits;

mod alert;
mod attempt;
mod command;
mod cron;
mod endpoint;
mod failure;
mod forecast;
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
mod transition;
mod webhook;
mod zone;

pub use alert::{
    AlertChange, AlertFigure, AlertFigures, AlertObservation, AlertRule, AlertSettings, AlertState,
    AlertStatus, AlertSubject, DlqAlert, ExhaustedAlert, OverdueAlert, RetryRateAlert,
};
pub use attempt::{
    Attempt, AttemptStatus, Claim, DecidedBy, Decision, EndedAttempt, Outcome, RetryBudget,
    StaleFence,
};
pub use command::{CommandRefusal, CommandResult, JobCommand, JobEdit, RefusalReason, on_command};
pub use cron::{Cron, Dst, Tick};
pub use endpoint::{Endpoint, EndpointSecret};
pub use failure::{Failure, FailureClass};
pub use forecast::AttemptForecast;
pub use id::{EndpointId, EventId, JobId, KeyId, ScheduleId};
pub use invalid::Invalid;
pub use job::{
    EndReason, Fence, Guarantee, Job, JobLabel, JobProgress, JobState, NewJob, Priority, RunAt,
    ScheduledRun, Tags,
};
pub use lifecycle::after_attempt;
pub use name::{IdempotencyKey, Kind, Queue, ScheduleName, StepName, Tenant, WorkerName};
pub use payload::Payload;
pub use policy::{
    Backoff, DelayRange, DelaySource, Dice, Jitter, PolicyPatch, Preset, Preview, PreviewRow,
    RetryDelay, RetryPolicy, RetryRule, RuleAction, RuleMatch, Shorthands, StatusRange,
};
pub use schedule::Schedule;
pub use tally::Tally;
pub use time::Timestamp;
pub use timetable::{
    MissedTickPolicy, OverlapPolicy, ScheduleProgress, SkipReason, SkippedTicks, TickRule,
    Timetable, TimetableStep,
};
pub use transition::{CommitResult, Guard, Transition};
pub use webhook::{
    BodyFormat, EventType, JobRenderer, Subscription, Subscriptions, Webhook, WebhookEvent,
    WebhookSecret, WebhookTarget,
};
pub use zone::Zone;
