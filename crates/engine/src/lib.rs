//! Runs jobs.
//!
//! # Layout
//!
//! * `parts` is the diagram: what the roles share, and the list of all roles. `role` is their one
//!   shape and the one loop around them; `roles` has a file for each, and tests call its `tick`.
//! * [`Engine`] is what a program holds; it knows how to stop. `builder` and `config` make one.
//! * The path of a job: `client` → store → `roles/fetcher` → `attempt/executor` →
//!   `attempt/committer` → store.
//! * `attempt`: what a handler sees and returns, and how an attempt ends. Its `settle` is the only
//!   caller of core's `after_attempt`. `inflight`: the attempts that run, and how they are asked to
//!   stop. `notice`: what happened, after the commit. `traces`: the same as spans of OpenTelemetry.
//! * `client`: what a program asks of the engine. `node`: a running engine as servers and workers
//!   use it.
//! * `documents`: settings that change seldom, held in memory. `flow`: gates, the health of
//!   destinations, and slots for calls.
//! * `http` (feature `http`): jobs that are requests to other people's servers.
//! * `testing`: an engine on a manual clock, for tests of handlers.

#![deny(missing_docs)]

mod builder;
mod config;
mod engine;
mod parts;

mod role;
mod roles;

mod attempt;
mod inflight;
mod notice;
mod traces;

mod client;
mod node;

mod documents;
mod flow;

#[cfg(feature = "http")]
pub mod http;
pub mod testing;

mod limits;
mod process_signals;
mod random;

#[cfg(feature = "log-layer")]
pub use steadfast_tracing::AttemptLogLayer;

pub use attempt::{
    abandoned::end_running_attempts,
    context::{AttemptContext, Context},
    handler::Handler,
    job_error::JobError,
    undelivered_claims::UndeliveredClaims,
};
pub use builder::EngineBuilder;
pub use client::{
    BatchRequest, BulkCommand, BulkResult, Client, ClientError, CreateResult, CreatedBatch,
    DestinationCounts, DestinationFilter, DestinationForecast, DestinationState, DueStop,
    DueSummary, ExplainRequest, Forecasts, GateUse, LaneDue, OperationRequest, QueueForecast,
    ReplayRecord, ReplayRequest, WorkerPresence, endpoint_deliveries,
    request::schedule::{ScheduleEdit, ScheduleRequest},
    request::{JobKind, JobRequest},
    stats::Stats,
};
pub use config::EngineConfig;
pub use documents::{
    cache::{DocumentCache, decode_documents},
    node_state::NodeState,
    secrets::{confirm_secrets, payload_secrets, secret_references},
};
pub use engine::Engine;
pub use flow::{admission::RefusedCreates, store_meter::StoreSlow};
pub use inflight::signals::StopReason;
pub use node::{ClaimError, NodeHandle, SettleError, Settlement};
pub use notice::{AttemptEnd, JobEvent, Notice, Notices, Observer};
pub use role::health::{RoleState, RoleStatus};
pub use roles::health_keeper::IncidentCounts;
