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
    AttemptStatus, Backoff, Command, Cron, DecidedBy, Decision, DlqAlert, Dst, Edit, EventType,
    ExhaustedAlert, Failure, FailureClass, Fence, Guarantee, IdempotencyKey, Invalid, Jitter, Job,
    JobId, Kind, Label, Match, Missed, NewJob, OverdueAlert, Overlap, Payload, PolicyPatch, Preset,
    Preview, PreviewRow, Priority, Progress, Queue, Reason, Refused, RefusedWhy, RetryDelay,
    RetryPolicy, RetryRateAlert, Rule, RunAt, RunOf, Schedule, ScheduleId, ScheduleName,
    ScheduleProgress, Secret, Skip, SkipReason, Spread, State, StatusRange, Tags, Tally, Tenant,
    Then, Tick, TickRule, Timestamp, Timetable, Webhook, WebhookTarget, WorkerName, Zone,
};
#[cfg(feature = "http")]
pub use steadfast_engine::http;
pub use steadfast_engine::{
    AttemptEnd, Attempting, Client, ClientError, Config, Context, Engine, EngineBuilder, Event,
    Handler, JobError, JobKind, JobRequest, Made, Node, NodeState, Notice, Notices, Observer,
    ScheduleEdit, ScheduleRequest, SettleError, Settlement, Stats, StopReason, testing,
};
pub use steadfast_store::{
    AttemptCursor, AttemptsOf, Clock, CommandError, EnqueueError, Enqueued, JobFilter, JobPage,
    LaneStats, Listed, ManualClock, MemoryStore, OpenError, Page, Store, StoreError, SystemClock,
    TickRecord,
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
