//! The rules of retry, and nothing else.
//!
//! This crate never does I/O, never asks the time and never rolls dice: time and randomness
//! are arguments. That is what makes every decision of the product testable as a table.
//!
//! # Layout
//!
//! * `lifecycle` and `command` decide every state, in [`after_attempt`] and [`on_command`]. Start
//!   there. `transition` is what a store writes.
//! * `unique`, `start_deadline`, `dependencies` and `batch`: jobs that depend on others or on time.
//! * `job`, `state` and `attempt`: what is stored. `forecast` and [`explain`]: what is to come, and
//!   why something happened, for people.
//! * `failure` and `policy`: what is worth another try, and when; `policy/delay` holds the
//!   arithmetic, `failure/fold` says which failures are the same, and `replay` what
//!   another policy would have done.
//! * `flow`: what may start now, and who is next. `due_forecast`: how much is coming;
//!   `forecast_record`: what that was worth.
//! * `operation`: work on many jobs at once.
//! * `schedule`, `timetable`, `cron`, `zone`: when to create a job, daylight saving included.
//! * `endpoint`, `webhook`, `delivery`: which systems hear of a job, and the jobs that deliver the
//!   events.
//! * `alert` and `tally`: what is wrong with a tenant's jobs, reported once.
//! * the rest: checked values (payloads, names, ids, times, durations) that cannot be built wrong,
//!   and [`limits`], each with its reason.

#![deny(missing_docs)]

mod lifecycle;

mod command;
mod transition;

mod job;
mod state;

mod batch;
mod dependencies;
mod start_deadline;
mod unique;

mod attempt;
pub mod explain;
mod forecast;

mod failure;
mod policy;
mod replay;

mod due_forecast;
mod flow;
mod forecast_record;

mod audit;
mod operation;

mod schedule;
mod timetable;

mod cron;
mod zone;

mod delivery;
mod endpoint;
mod webhook;

mod alert;
mod tally;

pub mod duration;
#[doc(hidden)]
pub mod finite;
mod id;
mod invalid;
mod name;
mod note;
mod payload;
mod string_enum;
mod time;
mod traceparent;

pub mod limits;

pub use alert::{
    AlertChange, AlertFigures, AlertObservation, AlertRule, AlertSettings, AlertState, AlertStatus,
    AlertSubject, AlertUnit, ComingJobs, DestinationAlert, DlqAlert, ExhaustedAlert,
    NewFailureAlert, ObservedDestination, OverdueAlert, RegressedAlert, RetryRateAlert, StormAlert,
};
pub use attempt::{
    Attempt, AttemptStatus, Claim, DecidedBy, Decision, EndedAttempt, Outcome, RetryBudget,
    StaleFence,
};
pub use audit::{Actor, AuditRecord};
pub use batch::{
    BATCH_TAG, BatchCounts, BatchEvent, BatchJobFilter, BatchJobState, BatchName, BatchStatus,
    BatchStep, NewBatch,
};
pub use command::{
    CommandRefusal, CommandResult, JobCommand, JobEdit, RefusalReason, on_command,
    on_dependant_command,
};
pub use cron::{Cron, Dst, Tick};
pub use delivery::{DeliveryPolicy, JobRenderer, Subscription, Subscriptions, WebhookEvent};
pub use dependencies::{
    DependantDecision, Dependencies, OnFailure, PrerequisiteCounts, PrerequisiteState,
    blocked_run_at,
};
pub use due_forecast::{
    DueCount, DueFacts, DueForecast, DueMinute, ForecastError, MinuteOutcomes, RetryRate,
    sustained_per_minute,
};
pub use endpoint::{Endpoint, EndpointSecret};
pub use failure::{
    Failure, FailureAlert, FailureClass, FailureEvent, FailureExample, FailureFingerprint,
    FailureGroup, FailureKey, FailureMark, FailureObservation, FailureState, FailureStep,
    FailureTally, HourCounts, NameSet,
};
pub use flow::{
    AppliedGate, Blocker, BlockerKind, CallWindow, ClosedBy, Destination, DestinationHealth,
    DestinationLimit, Gate, GateDefaults, GateHolder, GateId, GateLimits, GateNumber, GatePatch,
    GateReading, GateScope, GateState, Gates, GatesChange, HandHold, HealthChange, HealthEvent,
    HealthInput, HealthPatch, HealthReport, HealthRules, HealthStatus, HealthSubject, HealthTally,
    HoldCommand, HoldMode, Incident, IncidentCause, JobReading, OutcomeCounts, Pause, PausePatch,
    PlaceReading, QueueExplanation, QueueFacts, Rate, RatePatch, RetryShare, Room, Share,
    SharedRetryAfter, StartEstimate, StartExplanation, StartFacts, Sublane, Weight, WorkerReading,
    call_allowance, name_number,
};
pub use forecast::AttemptForecast;
pub use forecast_record::ForecastRecord;
pub use id::{AuditId, BatchId, EndpointId, EventId, JobId, KeyId, OperationId, ScheduleId};
pub use invalid::Invalid;
pub use job::{
    Fence, Job, JobExtras, JobProgress, NewJob, NewJobExtras, Priority, RunAt, ScheduledRun, Tags,
    tag_text,
};
pub use lifecycle::after_attempt;
pub use name::{
    ConcurrencyKey, IdempotencyKey, Kind, Queue, ScheduleName, StepName, Tenant, UniqueKey,
    WorkerName,
};
pub use note::Note;
pub use operation::{
    CanaryRule, Operation, OperationEvent, OperationJob, OperationKind, OperationOutcome,
    OperationOutcomes, OperationProgress, OperationRefusal, OperationResult, OperationRoom,
    OperationStatus, check_operation_target,
};
pub use payload::Payload;
pub use policy::{
    Backoff, DelayRange, DelaySource, Dice, Jitter, PolicyPatch, Preset, Preview, PreviewRow,
    RetryDelay, RetryPolicy, RetryRule, RuleAction, RuleMatch, Shorthands, StatusRange,
};
pub use replay::{
    RecordedAttempt, RecordedFailure, ReplayFigures, ReplayHistory, ReplayPolicies, ReplayReport,
};
pub use schedule::Schedule;
pub use start_deadline::{ExpiryAction, StartBefore, StartDeadline};
pub use state::{EndReason, Guarantee, JobLabel, JobState};
pub use tally::Tally;
pub use time::Timestamp;
pub use timetable::{
    MissedTickPolicy, OverlapPolicy, ScheduleProgress, SkipReason, SkippedTicks, TickRule,
    Timetable, TimetableStep,
};
pub use traceparent::Traceparent;
pub use transition::{CommitResult, Guard, Transition};
pub use unique::{
    ConflictAction, Debounce, Unique, UniqueConflict, UniqueDecision, UniqueResult, UniqueScope,
};
pub use webhook::{BodyFormat, EventType, Webhook, WebhookSecret, WebhookTarget};
pub use zone::Zone;
