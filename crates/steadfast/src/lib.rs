//! A durable job queue and scheduler for your own process, whose speciality is retry.
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use steadfast::{Context, Engine, JobError, JobKind, MemoryStore};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Welcome {
//!     user: u64,
//! }
//!
//! impl JobKind for Welcome {
//!     const KIND: &'static str = "welcome";
//! }
//!
//! async fn welcome(job: Welcome, ctx: Context) -> Result<(), JobError> {
//!     println!("attempt {}: welcome, user {}", ctx.attempt(), job.user);
//!     Ok(())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let engine = Engine::builder(MemoryStore::default()).handler(welcome).start()?;
//! let id = engine.client().enqueue(Welcome { user: 7 }).await?;
//! let job = engine.finished(id).await?;
//! assert_eq!(job.progress.attempt, 1);
//! engine.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! This crate is the promise: what is re-exported here is what stays. The work is done by
//! `steadfast-core` (the rules of retry), `steadfast-store` (where jobs live) and
//! `steadfast-engine` (what runs them).
//!
//! Where to go from here: the examples of this crate each answer one question, from
//! `first_job` to `testing_handlers`.

pub use steadfast_core::duration;
pub use steadfast_core::{
    AlertFigure, AlertRule, AlertSettings, AlertState, AlertStatus, AlertSubject, Attempt,
    AttemptStatus, Backoff, CommandRefusal, Cron, DecidedBy, Decision, DelayRange, DlqAlert, Dst,
    EndReason, EventType, ExhaustedAlert, Failure, FailureClass, Fence, Guarantee, IdempotencyKey,
    Invalid, Jitter, Job, JobCommand, JobEdit, JobId, JobLabel, JobProgress, JobState, Kind,
    MissedTickPolicy, NewJob, OverdueAlert, OverlapPolicy, Payload, PolicyPatch, Preset, Preview,
    PreviewRow, Priority, Queue, RefusalReason, RetryDelay, RetryPolicy, RetryRateAlert, RetryRule,
    RuleAction, RuleMatch, RunAt, Schedule, ScheduleId, ScheduleName, ScheduleProgress,
    ScheduledRun, SkipReason, SkippedTicks, StatusRange, Tags, Tally, Tenant, Tick, TickRule,
    Timestamp, Timetable, Webhook, WebhookSecret, WebhookTarget, WorkerName, Zone,
};
#[cfg(feature = "http")]
pub use steadfast_engine::http;
pub use steadfast_engine::{
    AttemptContext, AttemptEnd, Client, ClientError, Context, CreateResult, Engine, EngineBuilder,
    EngineConfig, Handler, JobError, JobEvent, JobKind, JobRequest, NodeHandle, NodeState, Notice,
    Notices, Observer, ScheduleEdit, ScheduleRequest, SettleError, Settlement, Stats, StopReason,
    testing,
};
pub use steadfast_store::{
    AttemptCursor, AttemptOwner, Clock, CommandError, EnqueueError, EnqueueResult, JobFilter,
    JobPageRequest, LaneStats, ManualClock, MemoryStore, OpenError, Page, PageRequest, Store,
    StoreError, SystemClock, TickRecord,
};
#[cfg(feature = "postgres")]
pub use steadfast_store::{PostgresOptions, PostgresStore, tokio_postgres};
#[cfg(feature = "sqlite")]
pub use steadfast_store::{SqliteOptions, SqliteStore, rusqlite};

/// The contract of stores, for those who write one or ask one directly.
pub use steadfast_store as store;

/// The README's example, checked.
#[cfg(all(doctest, feature = "sqlite"))]
#[doc = include_str!("../../../README.md")]
struct Readme;
