//! Runs jobs.
//!
//! # Layout
//!
//! * `parts` is the diagram: what the roles share, and how each is started. A role is one file
//!   with one shape: `run` loops around `tick`, and tests call `tick`.
//! * [`Engine`] is what a program holds; it knows how to stop.
//! * The path of a job: `client` → store → `fetcher` → `executor` → `committer` → store.
//!   `keeper` renews leases meanwhile, `sweeper` settles those that ran out, `cron` fires
//!   schedules, `pruner` forgets what is old, `watcher` says what is wrong.
//! * `settle` is the only caller of core's `after_attempt`: whoever ends an attempt goes there.
//! * `request`, `schedules`, `client`: what a program asks of the engine.
//! * `node`: what others ask of a running engine, workers in other languages above all.
//! * `alerts`: what fires. `endpoints`: where webhooks go. `cache`: how a node knows what
//!   changes seldom.
//! * `handler`, `context`, `signals`: what a handler sees, and what it is told.
//! * `http` (feature `http`): jobs that are requests to other people's servers.
//! * `testing`: an engine on a manual clock, for tests of handlers.

#[cfg(feature = "http")]
pub mod http;
pub mod testing;

mod alerts;
mod attempt_signals;
mod builder;
mod cache;
mod client;
mod committer;
mod config;
mod context;
mod cron;
mod endpoints;
mod engine;
mod executor;
mod fetcher;
mod handler;
mod inflight;
mod keeper;
mod limits;
mod node;
mod node_heartbeat;
mod notice;
mod parts;
mod pruner;
mod random;
mod request;
mod schedules;
mod settle;
mod signals;
mod stats;
mod store_backoff;
mod sweeper;
mod watcher;

pub use attempt_signals::StopReason;
pub use builder::EngineBuilder;
pub use cache::{Cache, bodies};
pub use client::{Client, ClientError, CreateResult};
pub use config::EngineConfig;
pub use context::{AttemptContext, Context};
pub use engine::Engine;
pub use handler::{Handler, JobError, JobKind};
pub use node::{NodeHandle, SettleError, Settlement};
pub use node_heartbeat::NodeState;
pub use notice::{AttemptEnd, JobEvent, Notice, Notices, Observer};
pub use request::JobRequest;
pub use schedules::{ScheduleEdit, ScheduleRequest};
pub use stats::Stats;
