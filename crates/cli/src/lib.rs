//! The `steadfast` binary, as a library, so that what people write for it can be fuzzed.
//!
//! # Layout
//!
//! * `serve`: a node, from its `settings`. `demo`: a node, a target that misbehaves, and a story.
//! * `verbs`: what is asked of a running server through `remote`, and shown through `show`.
//! * `say`, `ended`: output whose reader may go away, and exit codes.
//! * `bench`: figures.
#![expect(
    clippy::print_stdout,
    reason = "a command line tool speaks on standard output"
)]

#[doc(hidden)]
pub mod fuzzing;

mod bench;
mod demo;
mod exit;
mod remote;
mod say;
mod serve;
mod settings;
mod show;
mod verbs;

use std::{process::ExitCode, time::Duration};

use clap::{Parser, Subcommand};
use verbs::{
    alerts, dlq, doctor, endpoints, jobs, keys, migrate, policy, queues, schedules, stats,
};

/// A durable job scheduler and job queue whose speciality is retry.
#[derive(Parser)]
#[command(
    name = "steadfast",
    version,
    arg_required_else_help = true,
    after_help = "First steps:\n  steadfast demo                          see retry at work, in under a minute\n  steadfast serve                         run a server on ./steadfast.db\n  steadfast jobs create URL --watch       make a job there, and follow it\n\nExit codes: 0 it worked, 1 somebody said no, 2 it was asked wrongly, 3 the server cannot be\nreached, 4 there is no such thing."
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Run a server: API, HTTP jobs, schedules, webhooks, dead letters, alerts.
    Serve(Box<serve::Args>),
    /// See retry at work: jobs that fail in every way there is, explained, in under a minute.
    Demo(demo::Args),
    /// Make, list, look at, change and watch jobs.
    Jobs(jobs::Args),
    /// Rules that make one job per tick.
    Schedules(schedules::Args),
    /// Dead letters: jobs that were given up.
    Dlq(dlq::Args),
    /// Queues: how full they are, and whether they are served.
    Queues(queues::Args),
    /// Counts and rates.
    Stats(stats::Args),
    /// What is wrong at the moment, and what was.
    Alerts(alerts::Args),
    /// Where webhooks and alerts go.
    Endpoints(endpoints::Args),
    /// Retry policies, drawn without running anything.
    Policy(policy::Args),
    /// API keys.
    Keys(keys::Args),
    /// Bring a store to the schema this binary knows.
    Migrate(migrate::Args),
    /// Look for what could be wrong on this machine.
    Doctor(Box<doctor::Args>),
    /// Measure this machine: Steadfast beside a bare SQLite loop that writes the same rows.
    Bench(bench::Args),
}

/// Does what the command line asks for, and says with which code to end.
pub fn main() -> ExitCode {
    match run(Cli::parse().verb) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit::report(&error),
    }
}

fn run(verb: Verb) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let outcome = runtime.block_on(dispatch(verb));
    // What still blocks a thread must not keep the process.
    runtime.shutdown_timeout(Duration::from_secs(1));
    outcome
}

async fn dispatch(verb: Verb) -> anyhow::Result<()> {
    match verb {
        Verb::Serve(args) => serve::run(*args).await,
        Verb::Demo(args) => demo::run(args).await,
        Verb::Jobs(args) => jobs::run(args).await,
        Verb::Schedules(args) => schedules::run(args).await,
        Verb::Dlq(args) => dlq::run(args).await,
        Verb::Queues(args) => queues::run(args).await,
        Verb::Stats(args) => stats::run(args).await,
        Verb::Alerts(args) => alerts::run(args).await,
        Verb::Endpoints(args) => endpoints::run(args).await,
        Verb::Policy(args) => policy::run(args),
        Verb::Keys(args) => keys::run(args).await,
        Verb::Migrate(args) => migrate::run(args).await,
        Verb::Doctor(args) => doctor::run(*args).await,
        Verb::Bench(args) => bench::run(args).await,
    }
}
