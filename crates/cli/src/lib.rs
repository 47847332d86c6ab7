//! The `steadfast` binary as a library, so that its parsers can be fuzzed.
//!
//! # Layout
//!
//! * `serve`: a node, from its `settings`. `dev`: a node in memory whose attempts are printed.
//!   `demo`: a node and a target that fails in many ways.
//! * `verbs`: requests to a running server, printed through `show`. `top`: the same, live.
//! * `server_args`: the server that a verb calls. `context`: servers by name.
//! * `output`, `exit`: output whose reader may close it, and exit codes.
//! * `manual`: completions and man pages, from the commands themselves.
//! * `bench`: a server for the measurements of `steadfast-bench`. `limits`: every limit, with its
//!   reason.

#[cfg(feature = "_testing")]
#[doc(hidden)]
pub mod fuzzing;

mod bench;
mod context;
mod demo;
mod dev;
mod exit;
mod job_list;
mod limits;
mod manual;
mod numbers;
mod output;
mod page;
mod serve;
mod server_args;
mod settings;
mod show;
mod top;
mod verbs;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use verbs::{
    access::{audit, keys, mcp, secrets},
    alerts, batches, destinations, dlq, doctor, endpoints, failures, forecast, gates, jobs, nodes,
    operations, policy, queues, schedules, stats,
    store::{backup, check, migrate, moving, restore},
    workers,
};

/// A durable job scheduler and job queue whose speciality is retry.
#[derive(Parser)]
#[command(
    name = "steadfast",
    // Whatever the file is called that was started.
    bin_name = "steadfast",
    version,
    arg_required_else_help = true,
    after_help = "First steps:\n  steadfast demo                          watch retries at work, in under a minute\n  steadfast dev                           try your own jobs on a server in memory\n  steadfast serve                         run a server on ./steadfast.db\n  steadfast jobs create URL --watch       create a job there and follow it\n\nExit codes: 0 success, 1 refused or failed, 2 invalid input, 3 server unreachable,\n4 not found."
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
#[expect(clippy::large_enum_variant, reason = "a process parses one")]
enum Verb {
    /// Run a server: API, HTTP jobs, schedules, webhooks, dead letters, alerts.
    Serve(Box<serve::Args>),
    /// Run a throwaway server in memory, open its dashboard, and print every attempt.
    Dev(dev::Args),
    /// Watch retries at work: jobs that fail in different ways, each explained, in under a minute.
    Demo(demo::Args),
    /// Create, list, show, edit and watch jobs.
    Jobs(jobs::Args),
    /// Manage schedules, which create one job per tick.
    Schedules(schedules::Args),
    /// List, requeue and discard dead letters: jobs that failed permanently.
    Dlq(dlq::Args),
    /// List failures grouped by cause, and mark them known or fixed.
    Failures(failures::Args),
    /// Manage batches: groups of jobs with shared progress and a callback job at the end.
    Batches(batches::Args),
    /// Follow, pause and cancel bulk operations on jobs.
    Operations(operations::Args),
    /// Show the audit log: who did what, and when.
    Audit(audit::Args),
    /// List, pause and resume queues.
    Queues(queues::Args),
    /// Set concurrency and rate limits (gates).
    Gates(gates::Args),
    /// Show the health of the systems that jobs call; hold and release them.
    Destinations(destinations::Args),
    /// List nodes.
    Nodes(nodes::Args),
    /// List workers and what they claim.
    Workers(workers::Args),
    /// Show job counts and rates.
    Stats(stats::Args),
    /// Watch queues, failures and destinations live; pause, hold and release.
    Top(top::Args),
    /// Forecast how many jobs will be due, minute by minute.
    Forecast(forecast::Args),
    /// Serve an agent on standard input and output: tools of the Model Context Protocol.
    Mcp(mcp::Args),
    /// List alerts, firing and resolved.
    Alerts(alerts::Args),
    /// Manage endpoints: URLs that receive webhooks and alerts.
    Endpoints(endpoints::Args),
    /// Preview a retry policy without a server, or replay one over past attempts.
    Policy(policy::Args),
    /// Manage API keys.
    Keys(keys::Args),
    /// Manage secrets: values that headers of HTTP jobs and endpoints name.
    Secrets(secrets::Args),
    /// Name the servers that you work with, and choose one.
    Context(context::Args),
    /// Copy an SQLite store to a file while its node runs.
    Backup(backup::Args),
    /// Create a store from a backup.
    Restore(restore::Args),
    /// Check a store: rows, states, counters.
    Check(check::Args),
    /// Move a store to another database.
    Move(moving::Args),
    /// Migrate a store to the schema of this release.
    Migrate(migrate::Args),
    /// Check settings, store and server for problems, without changing anything.
    Doctor(Box<doctor::Args>),
    /// Benchmark this machine: Steadfast against a bare SQLite loop that writes the same rows.
    Bench(bench::Args),
    /// Print shell completions.
    Completions(manual::CompletionArgs),
    /// Write man pages, one per command.
    Man(manual::ManArgs),
}

/// Runs the command line of this process, and returns its exit code.
pub fn main() -> ExitCode {
    match run(parse().verb) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit::report(&error),
    }
}

fn parse() -> Cli {
    let mut command = numbers::allow_negative(Cli::command());
    let matches = command.try_get_matches_from_mut(std::env::args_os());
    let cli = matches.and_then(|mut matches| Cli::from_arg_matches_mut(&mut matches));
    cli.unwrap_or_else(|error| numbers::describe(error, &mut command).exit())
}

fn run(verb: Verb) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let outcome = runtime.block_on(dispatch(verb));
    runtime.shutdown_timeout(limits::RUNTIME_SHUTDOWN_MAX);
    outcome
}

async fn dispatch(verb: Verb) -> anyhow::Result<()> {
    match verb {
        Verb::Serve(args) => serve::run(*args).await,
        Verb::Dev(args) => dev::run(args).await,
        Verb::Demo(args) => demo::run(args).await,
        Verb::Jobs(args) => jobs::run(args).await,
        Verb::Schedules(args) => schedules::run(args).await,
        Verb::Dlq(args) => dlq::run(args).await,
        Verb::Failures(args) => failures::run(args).await,
        Verb::Batches(args) => batches::run(args).await,
        Verb::Operations(args) => operations::run(args).await,
        Verb::Audit(args) => audit::run(args).await,
        Verb::Queues(args) => queues::run(args).await,
        Verb::Gates(args) => gates::run(args).await,
        Verb::Destinations(args) => destinations::run(args).await,
        Verb::Nodes(args) => nodes::run(args).await,
        Verb::Workers(args) => workers::run(args).await,
        Verb::Stats(args) => stats::run(args).await,
        Verb::Top(args) => top::run(args).await,
        Verb::Forecast(args) => forecast::run(args).await,
        Verb::Mcp(args) => mcp::run(args).await,
        Verb::Alerts(args) => alerts::run(args).await,
        Verb::Endpoints(args) => endpoints::run(args).await,
        Verb::Policy(args) => policy::run(args).await,
        Verb::Keys(args) => keys::run(args).await,
        Verb::Secrets(args) => secrets::run(args).await,
        Verb::Context(args) => context::run(args),
        Verb::Backup(args) => backup::run(args),
        Verb::Restore(args) => restore::run(args).await,
        Verb::Check(args) => check::run(args).await,
        Verb::Move(args) => moving::run(args).await,
        Verb::Migrate(args) => migrate::run(args).await,
        Verb::Doctor(args) => doctor::run(*args).await,
        Verb::Bench(args) => bench::run(args).await,
        Verb::Completions(args) => manual::print_completions(args, &mut Cli::command()),
        Verb::Man(args) => manual::write_pages(&args, Cli::command()),
    }
}
