//! A durable job queue and scheduler for your own process, whose speciality is retry.
//!
//! A job is stored before [`Client::enqueue`] returns. From then on it runs until it succeeds or
//! its retry policy gives up, whatever happens to the process meanwhile, and every attempt leaves
//! a record that explains what followed.
//!
//! # The first job
//!
//! A job has an input with a name ([`JobKind`]) and an async function that handles it. An
//! [`Engine`] on a store runs it.
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
//! [`MemoryStore`] forgets everything at the end of the process.
#![cfg_attr(
    feature = "sqlite",
    doc = "[`SqliteStore`] is one file on one machine, and the default."
)]
#![cfg_attr(
    feature = "postgres",
    doc = "[`PostgresStore`] is for many machines that share one queue."
)]
//!
//! # Retry
//!
//! A [`RetryPolicy`] says how often a failed job is tried again, and when. It is put together
//! from up to five levels: the job ([`JobRequest::retry`]), its kind ([`JobKind::retry`]), its
//! queue, its tenant and the engine ([`EngineBuilder`]). Each level is a [`PolicyPatch`] that sets
//! only what it cares about, or a [`Preset`].
//!
//! ```
//! use std::time::Duration;
//! use steadfast::{PolicyPatch, Preset, policy::Jitter};
//!
//! let patch = PolicyPatch::exponential(Duration::from_secs(60))
//!     .max_retries(5)
//!     .jitter(Jitter::None);
//! let policy = patch.over(&Preset::Queue.policy())?;
//! // A policy can show its timetable without running anything.
//! let rows = policy.preview().rows;
//! let minutes = rows.iter().map(|row| row.at.typical.as_secs() / 60);
//! assert!(minutes.eq([0, 1, 3, 7, 15, 31]));
//! # Ok::<(), steadfast::Invalid>(())
//! ```
//!
//! The store counts an attempt when it is claimed, not when it fails, so a job that takes its
//! process down with it is bounded as well. [`explain`] turns decisions, reasons and policies into
//! sentences.
//!
//! # Errors
//!
//! A handler fails with a [`JobError`]. `?` makes a retryable failure of every error;
//! [`JobError::permanent`] is never retried; [`JobError::failure`] has a class of your own that
//! rules of the policy can match; [`JobError::retry_after`] sets the least delay;
//! [`JobError::Snooze`] and [`JobError::Release`] do not count as an attempt. Panics and timeouts
//! are failures, too.
//!
//! Calls of a program fail with a [`ClientError`], which knows whether the same call may succeed
//! later ([`ClientError::is_transient`]).
//!
//! # Schedules
//!
//! A [`ScheduleRequest`] makes one job per tick of a cron rule or at equal distances, in any time
//! zone. Any number of nodes fire a tick once. See [`schedule`](mod@schedule).
//!
//! ```
//! # use serde::{Deserialize, Serialize};
//! # use steadfast::{Client, ClientError, JobKind, MemoryStore, ScheduleRequest};
//! # #[derive(Serialize, Deserialize)]
//! # struct Report;
//! # impl JobKind for Report {
//! #     const KIND: &'static str = "report";
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), ClientError> {
//! # let client = Client::new(std::sync::Arc::new(MemoryStore::default()));
//! let nightly = ScheduleRequest::cron("nightly", "30 2 * * *", Report).timezone("Europe/Paris");
//! let schedule = client.schedule(nightly).await?;
//! assert!(!schedule.paused);
//! # Ok(())
//! # }
//! ```
//!
//! # Flow control
//!
//! A gate limits the jobs of a queue, kind, tenant, destination or concurrency key, over all nodes:
//! how many run at once, how many start in a time, whether in order. A job that may not start waits;
//! no attempt is spent. See [`flow`](mod@flow), [`EngineBuilder::gate`] and [`Client::set_gate`].
//!
//! ```
//! use steadfast::{Engine, MemoryStore, flow::{GatePatch, GateScope}};
//!
//! let limits = GatePatch::default().rate("10/s".parse()?).max_running(5);
//! let builder = Engine::builder(MemoryStore::default())
//!     .gate(GateScope::Destination, "https://api.example.com", limits);
//! # Ok::<(), steadfast::Invalid>(())
//! ```
//!
//! # Transactions
//!
//! A job can be created in the transaction that changes your own tables, in SQLite and in
//! PostgreSQL: both are committed, or neither is. [`Client::prepare`] checks the request, and
//! `enqueue_in` of the store writes it. [`Context::enqueue_on_success`] creates a job together
//! with the success of another, and [`Context::once`] runs a step of a job once over all attempts.
//!
//! # Testing
//!
//! A [`TestEngine`](testing::TestEngine) runs the same handlers with the same decisions, in memory
//! and on a clock that the test moves: a retry an hour away takes no time.
//!
//! # Operating
//!
//! [`Engine::run_until_signal`] stops in order on SIGTERM and SIGINT: nothing new is claimed,
//! running attempts may end within the grace period, and the rest is given back uncounted.
//! [`Engine::subscribe`] and [`node::Observer`] report what happens, [`Client::stats`] counts,
//! [`alert`](mod@alert) says when something is wrong, and [`Client::dead_letters`] are the jobs
//! that wait for a person. Log lines go to `tracing`. The binary `steadfast` serves the same store
//! with an HTTP API and a dashboard, beside your process.
//!
//! # Features
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `sqlite` | yes | `SqliteStore`: one file on one machine, with SQLite built in |
//! | `postgres` | no | `PostgresStore`: many nodes on one PostgreSQL database |
//! | `http` | no | the module `http`: HTTP jobs and webhooks, sent by the engine itself |
//! | `log-layer` | no | `AttemptLogLayer`: events of `tracing` in the logs of attempts |
//!
//! ## SQLite build flags
//!
//! The binary builds SQLite with two flags that your program does not inherit. Without them every
//! commit also syncs the times of the file (`fsync` in place of `fdatasync`), and every allocation
//! takes a lock to count memory. Nothing but speed depends on it. To have them, add these lines to
//! `.cargo/config.toml` of your program:
//!
//! ```toml
//! [env]
//! LIBSQLITE3_FLAGS = "-DHAVE_FDATASYNC=1 -DSQLITE_DEFAULT_MEMSTATUS=0"
//! ```
//!
//! # Examples
//!
//! Each example answers one question; run it with `cargo run -p steadfast --example NAME`.
//!
//! | example | question |
//! |---|---|
//! | [`first_job`](examples::first_job) | What is the least I need? |
//! | [`retry_policy`](examples::retry_policy) | How do I say how often, and when? |
//! | [`error_classes`](examples::error_classes) | Which errors are retried? |
//! | [`at_most_once`](examples::at_most_once) | What if it must never run twice? |
//! | [`cron`](examples::cron) | How do I run something on a schedule? |
//! | [`once`](examples::once) | How do I make retries harmless? |
//! | [`transactional_enqueue`](examples::transactional_enqueue) | How do job and data commit together? |
//! | [`graceful_shutdown`](examples::graceful_shutdown) | What happens to running jobs on a deploy? |
//! | [`testing_handlers`](examples::testing_handlers) | How do I test handlers without waiting? |
//!
//! # Stability
//!
//! This crate is the promise: what is re-exported here is what stays. The work is done by
//! `steadfast-core` (the rules of retry), `steadfast-store` (where jobs live) and
//! `steadfast-engine` (what runs them).

#![deny(missing_docs)]

#[doc(inline)]
pub use steadfast_core::{
    Attempt, Failure, Invalid, Job, JobId, JobState, Kind, Payload, PolicyPatch, Preset, Queue,
    RetryPolicy, Tenant, Timestamp, duration, explain, limits,
};
#[cfg(feature = "log-layer")]
#[doc(inline)]
pub use steadfast_engine::AttemptLogLayer;
#[cfg(feature = "http")]
#[doc(inline)]
pub use steadfast_engine::http;
#[doc(inline)]
pub use steadfast_engine::{
    Client, ClientError, Context, Engine, EngineBuilder, EngineConfig, JobError, JobEvent, JobKind,
    JobRequest, Notice, Notices, ScheduleRequest, StopReason,
};
#[doc(inline)]
pub use steadfast_store::MemoryStore;
#[cfg(feature = "postgres")]
#[doc(inline)]
pub use steadfast_store::{PostgresOptions, PostgresStore};
#[cfg(feature = "sqlite")]
#[doc(inline)]
pub use steadfast_store::{SqliteOptions, SqliteStore};

pub mod job {
    //! Jobs in detail: their parts, their attempts, and what can be done with them.

    #[doc(inline)]
    pub use steadfast_core::{
        AnswerPattern, Attempt, AttemptForecast, AttemptStatus, BatchCounts, BatchId,
        BatchJobFilter, BatchName, BatchStatus, CommandRefusal, ConfirmAnswer, ConfirmSettings,
        Confirmation, ConflictAction, Debounce, EndReason, ExpiryAction, Failure, FailureClass,
        Fence, Guarantee, IdempotencyKey, Job, JobCommand, JobEdit, JobExtras, JobId, JobLabel,
        JobProgress, JobState, LogLevel, NewJob, NewJobExtras, OnFailure, PrerequisiteState,
        Priority, QuestionRecord, RefusalReason, RunAt, ScheduledRun, StartBefore, StartDeadline,
        Tags, Tally, Traceparent, Unique, UniqueConflict, UniqueKey, UniqueResult, UniqueScope,
    };
    #[doc(inline)]
    pub use steadfast_engine::{
        BatchRequest, BulkCommand, BulkResult, CreateResult, CreatedBatch, JobRequest, Stats,
    };
    #[doc(inline)]
    pub use steadfast_store::{
        AttemptCursor, AttemptOwner, BatchFilter, BatchRecord, CommandError, EnqueueError,
        EnqueueResult, JobCount, JobFilter, JobPageRequest, LaneStats, MinuteStats, Page,
        PageRequest,
    };
}

pub mod policy {
    //! Retry policies: how often, when, and for which failures; and the decisions they lead to.

    #[doc(inline)]
    pub use steadfast_core::{
        Backoff, DecidedBy, Decision, DelayRange, DelaySource, Jitter, PolicyPatch, Preset,
        Preview, PreviewRow, RetryBudget, RetryDelay, RetryPolicy, RetryRule, RuleAction,
        RuleMatch, StatusRange,
    };
    #[doc(inline)]
    pub use steadfast_core::{ReplayMetrics, ReplayReport};
    #[doc(inline)]
    pub use steadfast_engine::{ReplayRecord, ReplayRequest};
}

pub mod schedule {
    //! Schedules: cron rules, time zones, and what happens to ticks that overlap or were missed.

    #[doc(inline)]
    pub use steadfast_core::{
        Cron, Dst, MissedTickPolicy, OverlapPolicy, Schedule, ScheduleId, ScheduleName,
        ScheduleProgress, SkipReason, SkippedTicks, Tick, TickRule, Timetable, Zone,
    };
    #[doc(inline)]
    pub use steadfast_engine::{ScheduleEdit, ScheduleRequest};
    #[doc(inline)]
    pub use steadfast_store::TickRecord;
}

pub mod operation {
    //! Work on many jobs at once, which outlives the process that asked for it, and who did what.
    //!
    //! ```
    //! use steadfast::{
    //!     Client, ClientError,
    //!     job::JobFilter,
    //!     operation::{Actor, OperationKind, OperationRequest},
    //! };
    //!
    //! # async fn requeue(client: Client) -> Result<(), ClientError> {
    //! let by = Actor::named("repair of the invoices");
    //! let mut request = OperationRequest::new(OperationKind::Requeue, by);
    //! request.filter = JobFilter {
    //!     tags: vec!["customer:4711".to_owned()],
    //!     ..JobFilter::default()
    //! };
    //! request.pace = Some(50);
    //! let operation = client.create_operation(request).await?;
    //! println!("{}: {}", operation.id, operation.operation);
    //! # Ok(())
    //! # }
    //! ```

    #[doc(inline)]
    pub use steadfast_core::{
        Actor, AuditId, AuditRecord, CanaryRule, KeyRotation, Operation, OperationId, OperationJob,
        OperationKind, OperationOutcome, OperationOutcomes, OperationProgress, OperationRefusal,
        OperationResult, OperationStatus,
    };
    #[doc(inline)]
    pub use steadfast_engine::OperationRequest;
    #[doc(inline)]
    pub use steadfast_store::{AuditFilter, OperationFilter, OperationJobFilter, OperationRecord};
}

pub mod failure {
    //! Failures of one cause as one thing: groups, by fingerprint.

    #[doc(inline)]
    pub use steadfast_core::{
        Failure, FailureClass, FailureExample, FailureFingerprint, FailureGroup, FailureKey,
        FailureMark, FailureState, FailureTally, HourCounts,
    };
    #[doc(inline)]
    pub use steadfast_store::{FailureCursor, FailureFilter};
}

pub mod alert {
    //! Alerts: states that fire and resolve, per tenant.

    #[doc(inline)]
    pub use steadfast_core::{
        AlertRule, AlertSettings, AlertState, AlertStatus, AlertSubject, AlertUnit,
        CertificateAlert, DestinationAlert, DlqAlert, ExhaustedAlert, FragileAlert,
        NewFailureAlert, OverdueAlert, RegressedAlert, RetryRateAlert, StoreSlowAlert, StormAlert,
    };
}

pub mod flow {
    //! Gates and destinations: how much of one thing may run, how fast it may start, and what
    //! follows if the system that jobs call is not well.

    /// Why a job has not started, for [`Client::explain`](crate::Client::explain).
    #[doc(inline)]
    pub use steadfast_core::{
        Blocker, BlockerKind, GateHolder, QueueExplanation, StartEstimate, StartExplanation,
    };
    #[doc(inline)]
    pub use steadfast_core::{
        ConcurrencyKey, Destination, DestinationHealth, Gate, GateDefaults, GateId, GateLimits,
        GatePatch, GateScope, HealthPatch, HealthRules, HealthStatus, HoldMode, Incident,
        IncidentCause, LimitHeader, ManualHold, OutcomeCounts, Pause, PausePatch, Rate, RatePatch,
        RetryShare, SharedQuota, SharedRetryAfter, TargetQuota, Weight,
    };
    /// How many jobs are coming, for [`Client::forecast`](crate::Client::forecast).
    #[doc(inline)]
    pub use steadfast_core::{DueForecast, DueMinute};
    #[doc(inline)]
    pub use steadfast_engine::{
        DestinationCounts, DestinationFilter, DestinationState, ExplainRequest, WorkerPresence,
    };
    #[doc(inline)]
    pub use steadfast_engine::{DestinationForecast, Forecasts, QueueForecast};
}

pub mod webhook {
    //! Webhooks: which events of a job are sent, and where.

    #[doc(inline)]
    pub use steadfast_core::{
        BodyFormat, Endpoint, EndpointId, EndpointSecret, EventId, EventType, Webhook,
        WebhookSecret, WebhookTarget,
    };
}

pub mod node {
    //! A running engine seen from outside: workers in other processes, observers, and handlers
    //! for kinds whose input is not a Rust type.

    #[doc(inline)]
    pub use steadfast_core::{Claim, Fence, Outcome, StaleFence, WorkerName};
    #[doc(inline)]
    pub use steadfast_engine::{
        AttemptContext, AttemptEnd, Handler, NodeHandle, NodeState, Observer, SettleError,
        Settlement,
    };
    #[doc(inline)]
    pub use steadfast_store::{ClaimRequest, RenewResult, Renewal};
}

pub mod store {
    //! Stores, their errors, and the clock that decides.
    //!
    //! [`Store`] is what an engine needs of a store: six contracts. Their verbs may still grow before 1.0; the
    //! test suite that every store passes is part of `steadfast-store`.

    #[doc(inline)]
    pub use steadfast_engine::end_running_attempts;
    #[doc(inline)]
    pub use steadfast_store::{
        BaseStore, ClaimRequest, Clock, CommandError, CounterDifference, DamagedRow, DamagedRows,
        DependencyStore, Document, DocumentKind, DocumentPage, DocumentStore, EnqueueError,
        GateSettings, JobStore, ManualClock, MemoryStore, OpenError, OperationStore, QueryStore,
        ScheduleStore, Store, StoreError, SystemClock,
    };
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    #[doc(inline)]
    pub use steadfast_store::{
        BrokenRows, EncryptionKeyError, EncryptionKeyIds, EncryptionKeys, InspectedRows, MoveError,
        MoveProgress, MoveSide, MovedTable, ResealedRows, RowPosition, StoreCheck, StoreMove,
        TablePage, TableStore, check_tables, release_moved,
    };
    #[cfg(feature = "sqlite")]
    #[doc(inline)]
    pub use steadfast_store::{CopyError, SqliteCopy, SqliteOptions, SqliteStore, rusqlite};
    #[cfg(feature = "postgres")]
    #[doc(inline)]
    pub use steadfast_store::{PostgresOptions, PostgresStore, tokio_postgres};
}

pub mod testing {
    //! Tests of handlers without waiting: an engine in memory, on a clock that the test moves.

    #[doc(inline)]
    pub use steadfast_engine::testing::{TestEngine, TestError};
    #[doc(inline)]
    pub use steadfast_store::ManualClock;
}

/// The examples of this crate, to read. They exist in the documentation only.
#[cfg(all(doc, not(doctest)))]
pub mod examples {
    macro_rules! examples {
        ($($name:ident: $question:literal,)+) => {$(
            #[doc = $question]
            ///
            /// ```
            #[doc = include_str!(concat!("../examples/", stringify!($name), ".rs"))]
            /// ```
            pub mod $name {}
        )+};
    }

    examples! {
        first_job: "What is the least I need?",
        retry_policy: "How do I say how often, and when?",
        error_classes: "Which errors are retried?",
        at_most_once: "What if it must never run twice?",
        cron: "How do I run something on a schedule?",
        once: "How do I make retries harmless?",
        transactional_enqueue: "How do job and data commit together?",
        graceful_shutdown: "What happens to running jobs on a deploy?",
        testing_handlers: "How do I test handlers without waiting?",
    }
}

/// The example of the book, checked.
#[cfg(all(doctest, feature = "sqlite"))]
#[doc = include_str!("../../../docs/embedding.md")]
struct EmbeddingPage;
