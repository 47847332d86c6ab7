//! Runs jobs.
//!
//! # Layout
//!
//! * `parts` is the diagram: what the roles share, and the list of all roles. `role` is their one
//!   shape and the one loop around them; each role is one file, and tests call its `tick`.
//!   `role_health` says how their rounds go.
//! * [`Engine`] is what a program holds; it knows how to stop.
//! * The path of a job: `client` → store → `fetcher` → `executor` → `committer` → store.
//!   `keeper` renews leases meanwhile, `sweeper` settles those that ran out, `schedule_runner`
//!   fires schedules, `pruner` deletes old jobs, `watcher` checks the alerts,
//!   `operation_runner` carries on work on many jobs, `health_keeper` keeps the health of destinations, which `health_tallies` count, `node_heartbeat`
//!   records that this node is alive, and `document_cache` holds what changes seldom.
//! * `settle` is the only caller of core's `after_attempt`: every attempt ends there.
//! * `request`, `schedule_request`, `client`: what a program asks of the engine.
//! * `node`: a running engine as servers and workers use it.
//! * `handler`, `context`, `job_error`, `attempt_signals`: what a handler sees, what it returns,
//!   and how it is asked to stop.
//! * `http` (feature `http`): jobs that are requests to other people's servers.
//! * `testing`: an engine on a manual clock, for tests of handlers.

#![deny(missing_docs)]

mod builder;
mod config;
mod engine;
mod parts;

mod role;
mod role_health;
mod store_backoff;

mod call_slots;
mod claim_pause;
mod committer;
mod executor;
mod expirer;
mod fetcher;
mod health_documents;
mod health_keeper;
mod health_tallies;
mod keeper;
mod link_runner;
mod node_heartbeat;
mod operation_runner;
mod outlook;
mod pruner;
mod schedule_runner;
mod sweeper;
mod watcher;

mod held_claims;
mod inflight;
mod settle;

mod attempt_signals;
mod context;
mod handler;
mod job_error;

mod client;
mod document_cache;
mod endpoints;
mod forecasts;
mod gates;
mod node;
mod notice;
mod policy_levels;
mod request;
mod schedule_request;
mod stats;

#[cfg(feature = "http")]
pub mod http;
pub mod testing;

mod limits;
mod process_signals;
mod random;

pub use attempt_signals::StopReason;
pub use builder::EngineBuilder;
pub use client::{
    BatchRequest, BulkCommand, BulkResult, Client, ClientError, CreateResult, CreatedBatch,
    DestinationCounts, DestinationFilter, DestinationForecast, DestinationState, ExplainRequest,
    Forecasts, GateUse, OperationRequest, QueueForecast, ReplayRecord, ReplayRequest,
    WorkerPresence, endpoint_deliveries,
};
pub use config::EngineConfig;
pub use context::{AttemptContext, Context};
pub use document_cache::{DocumentCache, decode_documents};
pub use engine::Engine;
pub use handler::Handler;
pub use health_keeper::IncidentCounts;
pub use held_claims::HeldClaims;
pub use job_error::JobError;
pub use node::{ClaimError, NodeHandle, SettleError, Settlement};
pub use node_heartbeat::NodeState;
pub use notice::{AttemptEnd, JobEvent, Notice, Notices, Observer};
pub use request::{JobKind, JobRequest};
pub use role_health::{RoleState, RoleStatus};
pub use schedule_request::{ScheduleEdit, ScheduleRequest};
pub use stats::Stats;
