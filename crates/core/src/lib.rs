//! The rules of retry, and nothing else.
//!
//! This crate never does I/O, never asks the time and never rolls dice: time and randomness
//! are arguments. That is what makes every decision of the product testable as a table.
//!
//! # Layout
//!
//! * `lifecycle` decides every state, in [`after_attempt`] and [`on_command`]. Start there. Its
//!   `transition` is what a store writes.
//! * `job`: what is stored of a job and its attempts, and what a creator may ask for: uniqueness,
//!   a deadline, dependencies, a webhook. `state`: the words for where a job stands.
//! * `batch`, `operation`, `schedule`: many jobs as one, work on many jobs, and when to create a
//!   job, with cron and daylight saving.
//! * `failure` and `policy`: what is worth another try, and when; `policy/delay` holds the
//!   arithmetic. `failure_group` counts the failures that have the same cause.
//! * `flow`: what may start now, and who is next.
//! * `forecast`: what is to come, and what an outage would lead to. `replay`: what another policy would have done.
//! * `webhook`: which systems hear of a job, and the jobs that deliver the events. `alert`: what is
//!   wrong with a tenant's jobs, reported once. `audit`: who gave which command. `secret`: values
//!   that headers name.
//! * [`explain`]: the sentences about decisions, for people.
//! * `values`: names, ids, times and payloads that cannot be built wrong. [`limits`]: every limit,
//!   with its reason.

#![deny(missing_docs)]

mod lifecycle;

mod job;
mod state;

mod batch;
mod operation;
mod schedule;

mod failure;
mod failure_group;
mod policy;

mod flow;
mod forecast;
mod replay;

mod alert;
mod audit;
mod secret;
mod webhook;

pub mod explain;

mod values;

pub mod limits;

pub use alert::{
    AlertAcknowledgement, AlertChange, AlertCommand, AlertMetrics, AlertObservation, AlertRule,
    AlertSettings, AlertState, AlertStatus, AlertSubject, AlertUnit, CertificateAlert,
    DestinationAlert, DlqAlert, ExhaustedAlert, ForecastTrust, FragileAlert, NewFailureAlert,
    ObservedDestination, OverdueAlert, RegressedAlert, RetryRateAlert, StoreSlowAlert, StormAlert,
    UpcomingJobs,
};
pub use audit::{Actor, AuditRecord};
pub use batch::{
    BATCH_TAG, BatchCounts, BatchEvent, BatchJobFilter, BatchJobState, BatchName, BatchStatus,
    BatchStep, NewBatch,
};
pub use failure::{Failure, FailureClass, FailureFingerprint};
pub use failure_group::{
    FailureAlert, FailureEvent, FailureExample, FailureGroup, FailureKey, FailureMark,
    FailureObservation, FailureState, FailureStep, FailureTally, HourCounts, NameSet,
};
pub use flow::{
    AppliedGate, Blocker, BlockerKind, CallOwner, CallWindow, ClosedBy, DestinationHealth,
    DestinationLimit, FlowKey, Gate, GateDefaults, GateHolder, GateId, GateLimits, GateNumber,
    GatePatch, GateScope, GateSnapshot, GateState, GateStop, Gates, GatesChange, HealthChange,
    HealthEvent, HealthInput, HealthPatch, HealthReport, HealthRules, HealthStatus, HealthSubject,
    HealthTally, HoldCommand, HoldMode, Incident, IncidentCause, JobSnapshot, LearnedPace,
    LimitHeader, ManualHold, OutcomeCounts, PaceLimit, PaceMinute, PaceMode, PaceMove, PaceReason,
    Pause, PausePatch, PlaceSnapshot, QueueExplanation, QueueFacts, Rate, RatePatch, RequestedWait,
    RetryAfterScope, RetryShare, Room, Share, SharedQuota, SharedRetryAfter, StartEstimate,
    StartExplanation, StartFacts, TargetQuota, WaitingRefusal, WaitingRequest, Weight,
    WorkerSnapshot, call_allowance, tenant_call_allowance, tenant_webhook_allowance, webhook_slots,
};
pub use forecast::{
    attempts::AttemptForecast,
    certificate::{
        Bottleneck, CallerSettings, Certificate, CertificateChange, CertificatePicture,
        CertificateRow, CertificateSettings, CertificateVerdict, Fault, FaultResult, SystemState,
        TargetSettings, certify,
    },
    due::{DueCount, DueFacts, DueForecast, DueMinute, RetryRate, throughput_per_minute},
    error::ForecastError,
    record::ForecastRecord,
};
pub use job::{
    Fence, Job, JobExtras, JobProgress, NewJob, NewJobExtras, Priority, RunAt, ScheduledRun,
    UniqueConflict, UniqueDecision,
    attempt::{
        Attempt, AttemptStatus, Claim, DecidedBy, Decision, EndedAttempt, Outcome, RetryBudget,
        StaleFence,
    },
    confirm::{AnswerPattern, ConfirmAnswer, ConfirmSettings, Confirmation, QuestionRecord},
    dependencies::{
        DependantDecision, Dependencies, OnFailure, PrerequisiteCounts, PrerequisiteState,
        blocked_run_at,
    },
    log::{AttemptLog, LogLevel, LogLine, LogLines},
    outbox::{OutboxRefusal, OutboxRefusalReason},
    start_deadline::{ExpiryAction, StartBefore, StartDeadline},
    tally::Tally,
    unique::{ConflictAction, Debounce, Unique, UniqueResult, UniqueScope},
    webhook::{BodyFormat, CallbackStyle, EventType, Webhook, WebhookSecret, WebhookTarget},
};
pub use lifecycle::{
    after_attempt,
    command::{
        CommandRefusal, CommandResult, JobCommand, JobEdit, RefusalReason, on_command,
        on_dependant_command,
    },
    transition::{CommitResult, Guard, Transition},
};
pub use operation::{
    CanaryRule, EncryptedPart, KeyRotation, Operation, OperationEvent, OperationJob, OperationKind,
    OperationOutcome, OperationOutcomes, OperationProgress, OperationRefusal, OperationResult,
    OperationRoom, OperationStatus, check_operation_target,
};
pub use policy::{
    Backoff, DelayRange, DelaySource, Dice, Jitter, PolicyPatch, Preset, Preview, PreviewRow,
    RetryDelay, RetryPolicy, RetryRule, RuleAction, RuleMatch, Shorthands, StatusRange,
};
pub use replay::{
    MeasuredTarget, RecordedAttempt, RecordedFailure, ReplayHistory, ReplayMetrics, ReplayPolicies,
    ReplayReport,
};
pub use schedule::{
    Schedule,
    cron::{Cron, Dst, Tick},
    timetable::{
        MissedTickPolicy, OverlapPolicy, ScheduleProgress, SkipReason, SkippedTicks, TickRule,
        Timetable, TimetableStep,
    },
    zone::Zone,
};
pub use secret::{HeaderSource, Secret, SecretReference, SecretValue};
pub use state::{EndReason, Guarantee, JobLabel, JobState};
#[cfg(feature = "openapi")]
#[doc(hidden)]
pub use utoipa;
#[doc(hidden)]
pub use values::finite;
pub use values::{
    AuditId, BatchId, CertificateName, ConcurrencyKey, Destination, EndpointId, EventId,
    IdempotencyKey, Invalid, JobId, KeyId, Kind, Note, OperationId, Payload, Queue, ScheduleId,
    ScheduleName, SecretName, StepName, Tags, Tenant, Timestamp, Traceparent, UniqueKey,
    WorkerName, duration, name_number, tag_text,
};
pub use webhook::{
    delivery::{DeliveryPolicy, JobRenderer, Subscriptions, WebhookEvent},
    endpoint::{Endpoint, EndpointSecret, Subscription},
};
