//! The `steadfast` binary.
#![expect(
    clippy::print_stdout,
    reason = "a command line tool speaks on standard output"
)]

mod bench;
mod serve;

use std::{process::ExitCode, time::Duration};

use clap::{Parser, Subcommand};

/// Jobs are many small allocations that are made on one thread and freed on another.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A durable job scheduler and job queue whose speciality is retry.
#[derive(Parser)]
#[command(name = "steadfast", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Run a node: schedules fire, leases are kept, and /healthz answers.
    Serve(serve::Args),
    /// Measure this machine: Steadfast beside a bare SQLite loop that writes the same rows.
    Bench(bench::Args),
}

fn main() -> ExitCode {
    match run(Cli::parse().verb) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("steadfast: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(verb: Verb) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let outcome = match verb {
        Verb::Serve(args) => runtime.block_on(serve::run(args)),
        Verb::Bench(args) => runtime.block_on(bench::run(args)),
    };
    // What still blocks a thread must not keep the process.
    runtime.shutdown_timeout(Duration::from_secs(1));
    outcome
}
