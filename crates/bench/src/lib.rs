//! `steadfast bench`: figures for this machine, each compared with a bare loop in the same run.
//!
//! Wall time on a shared machine is noise; ratios within one run and CPU time per job are not.
//!
//! The crate does not depend on the server, so that both are compiled at the same time: the caller
//! starts the server to measure.
//!
//! # Layout
//!
//! * `figure`, `meter`: a result with its goal, and what a run cost.
//! * `stores`: the stores of a run. `bare`, `postgres_bare`: the loops that results are compared with.
//! * `lifecycle`, `scale`, `http`, `postgres`, `operations`, `flow`, `costs`: the benchmarks.

#![expect(clippy::print_stdout, reason = "the figures are the output")]

mod bare;
mod costs;
mod figure;
mod flow;
mod http;
mod lifecycle;
mod meter;
mod operations;
mod postgres;
mod postgres_bare;
mod scale;
mod stores;

use std::{net::SocketAddr, path::PathBuf};

pub use costs::TraceTarget;
use figure::Report;
use steadfast::{Engine, EngineBuilder};

/// A complete server on its own port.
pub struct BenchServer {
    /// The engine of the server, with its store in a file.
    pub engine: Engine,
    /// The address that the API listens on.
    pub address: SocketAddr,
}

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  steadfast bench --jobs 30000 --backlog 30000\n  steadfast bench --flow --held 300000\n  steadfast bench --operations --tagged 5000000\n  steadfast bench --costs --jobs 200000"
)]
pub struct Args {
    /// Jobs per throughput figure.
    #[arg(long, default_value_t = 100_000)]
    jobs: usize,
    /// Rows in the large backlog, at least 30,000.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(30_000..))]
    backlog: usize,
    /// Jobs per transaction, at most 1,000.
    #[arg(long, default_value_t = 1_000, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=1_000))]
    batch: usize,
    /// Timed starts for the start-lateness figure.
    #[arg(long, default_value_t = 500)]
    starts: usize,
    /// Requests for the create-over-HTTP figure.
    #[arg(long, default_value_t = 100_000)]
    requests: usize,
    /// HTTP jobs for the calls figure.
    #[arg(long, default_value_t = 10_000)]
    calls: usize,
    /// Run only the server benchmarks: creates over HTTP, HTTP jobs, restart.
    #[arg(long)]
    server: bool,
    #[command(flatten)]
    flow: flow::FlowArgs,
    #[command(flatten)]
    operations: operations::OperationArgs,
    #[command(flatten)]
    costs: costs::CostArgs,
    /// Benchmark a PostgreSQL database instead of SQLite files: one to four nodes, in a temporary
    /// schema that is dropped afterwards.
    #[arg(long)]
    store: Option<String>,
    /// Directory for the database files [default: a temporary one].
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Print one JSON object per figure.
    #[arg(long)]
    json: bool,
}

/// Measures, and prints the figures. `serve` starts a server on a store in the given file, and
/// `trace` gives an engine a tracer.
pub async fn run(
    args: Args,
    serve: impl AsyncFn(PathBuf) -> anyhow::Result<BenchServer>,
    trace: impl Fn(EngineBuilder, TraceTarget) -> anyhow::Result<EngineBuilder>,
) -> anyhow::Result<()> {
    let scratch = || match &args.dir {
        Some(dir) => tempfile::tempdir_in(dir),
        None => tempfile::tempdir(),
    };
    let mut report = Report::new(args.json);
    if args.flow.flow {
        flow::figures(&args, scratch()?.path(), &mut report).await?;
        report.finish();
        return Ok(());
    }
    if args.operations.operations {
        operations::figures(&args, scratch()?.path(), &mut report).await?;
        report.finish();
        return Ok(());
    }
    if args.costs.costs {
        costs::figures(&args, scratch()?.path(), &mut report, trace).await?;
        report.finish();
        return Ok(());
    }
    if let Some(url) = &args.store {
        return postgres::figures(&args, url, &mut report).await;
    }
    // From the quiet to the large: what a large figure leaves for the disk to write disturbs
    // the next, and what it leaves in memory is not the backlog's. Each has its own files.
    if !args.server {
        lifecycle::lateness(&args, scratch()?.path(), &mut report).await?;
        scale::claims(&args, scratch()?.path(), &mut report).await?;
        lifecycle::enqueue(&args, scratch()?.path(), &mut report).await?;
        lifecycle::whole(&args, scratch()?.path(), &mut report).await?;
    }
    http::create(&args, &serve, scratch()?.path(), &mut report).await?;
    http::calls(&args, &serve, scratch()?.path(), &mut report).await?;
    http::restart(&args, &serve, scratch()?.path(), &mut report).await?;
    report.finish();
    Ok(())
}
