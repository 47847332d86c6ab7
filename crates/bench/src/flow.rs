//! `steadfast bench --flow`: what flow control costs, and what it keeps apart.
//!
//! Every ratio is of two stores that take turns in the same run. On SQLite the cost of a claim is
//! CPU time, because the database is in this process; on PostgreSQL it is wall time.

mod claims;
mod nodes;
mod snapshot;
mod targets;

use std::{path::Path, time::Duration};

use clap::builder::RangedU64ValueParser;
use steadfast::{duration, store::GateSettings};
use steadfast_core::{Gate, GateId, GateLimits, GateScope, Invalid};

use super::{Args, figure::Report, stores::Stores};

#[derive(clap::Args)]
pub struct FlowArgs {
    /// Run only the flow control benchmarks: claims with many tenants and destinations and at gates,
    /// fair shares, hanging destinations.
    #[arg(long)]
    pub flow: bool,
    /// Number of tenants for the flow control benchmarks.
    #[arg(long, default_value_t = 100_000, requires = "flow", value_parser = RangedU64ValueParser::<usize>::new().range(10..))]
    tenants: usize,
    /// Number of destinations for the flow control benchmarks.
    #[arg(long, default_value_t = 100_000, requires = "flow", value_parser = RangedU64ValueParser::<usize>::new().range(10..))]
    destinations: usize,
    /// Number of jobs behind a closed gate.
    #[arg(long, default_value_t = 1_000_000, requires = "flow", value_parser = RangedU64ValueParser::<usize>::new().range(1_000..))]
    held: usize,
    /// Number of jobs for each of 50 hanging destinations.
    #[arg(long, default_value_t = 1_000, requires = "flow")]
    hanging: usize,
    /// PostgreSQL only: create, claim and settle for this long while another session holds an old
    /// snapshot; ten minutes are enough to see its effect.
    #[arg(long, requires = "flow", requires = "store", value_parser = duration::parse)]
    old_snapshot: Option<Duration>,
}

pub async fn figures(args: &Args, dir: &Path, report: &mut Report) -> anyhow::Result<()> {
    anyhow::ensure!(
        args.jobs >= claims::JOBS_MIN,
        "--jobs must be at least {} with --flow",
        claims::JOBS_MIN
    );
    let stores = Stores::new(args.store.as_deref(), dir);
    let measured = measure(args, &stores, report).await;
    stores.remove().await?;
    measured
}

async fn measure(args: &Args, stores: &Stores<'_>, report: &mut Report) -> anyhow::Result<()> {
    if let Some(time) = args.flow.old_snapshot {
        return snapshot::throughput(stores, time, report).await;
    }
    // From the quiet to the large.
    targets::lateness(args, stores, report).await?;
    claims::many(args, stores, report).await?;
    claims::gates(args, stores, report).await?;
    claims::creates(args, stores, report).await?;
    claims::held(args, stores, report).await?;
    if !stores.are_files() {
        nodes::hot_gate(args, stores, report).await?;
    }
    Ok(())
}

/// One gate of a queue.
fn queue_gate(queue: &str, limits: GateLimits) -> Result<GateSettings, Invalid> {
    let id = GateId::new(None, GateScope::Queue, queue)?;
    Ok(GateSettings {
        gates: vec![Gate { id, limits }],
        ..GateSettings::default()
    })
}
