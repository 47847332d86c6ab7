//! `steadfast bench --flow`: what flow control costs, and what it keeps apart.
//!
//! Every ratio is of two stores that take turns in the same run. On SQLite the cost of a claim is
//! CPU time, because the database is in this process; on PostgreSQL it is wall time.

mod claims;
mod nodes;
mod snapshot;
mod targets;

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use clap::builder::RangedU64ValueParser;
use steadfast::{PostgresOptions, PostgresStore, SqliteOptions, SqliteStore, store::Store};
use steadfast_core::{Gate, GateDefaults, GateId, GateLimits, GateScope, Gates, Invalid};

use super::{Args, figure::Report, postgres_bare::connect};
use crate::settings::DurationArg;

#[derive(clap::Args)]
pub struct FlowArgs {
    /// Only the figures of flow control: claims among many tenants and destinations and at gates,
    /// fair shares, hanging destinations.
    #[arg(long)]
    pub flow: bool,
    /// Tenants of the figures of flow control.
    #[arg(long, default_value_t = 100_000, requires = "flow", value_parser = RangedU64ValueParser::<usize>::new().range(10..))]
    tenants: usize,
    /// Destinations of the figures of flow control.
    #[arg(long, default_value_t = 100_000, requires = "flow", value_parser = RangedU64ValueParser::<usize>::new().range(10..))]
    destinations: usize,
    /// Jobs that wait behind a closed gate.
    #[arg(long, default_value_t = 1_000_000, requires = "flow", value_parser = RangedU64ValueParser::<usize>::new().range(1_000..))]
    held: usize,
    /// Jobs for each of 50 destinations that hang.
    #[arg(long, default_value_t = 1_000, requires = "flow")]
    hanging: usize,
    /// On PostgreSQL: only create, claim and settle for so long while another session holds an old
    /// snapshot; ten minutes show it.
    #[arg(long, requires = "flow", requires = "store")]
    old_snapshot: Option<DurationArg>,
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
    if let Some(DurationArg(time)) = args.flow.old_snapshot {
        return snapshot::throughput(stores, time, report).await;
    }
    // From the quiet to the large.
    targets::lateness(args, stores, report).await?;
    claims::many(args, stores, report).await?;
    claims::gates(args, stores, report).await?;
    claims::creates(args, stores, report).await?;
    claims::held(args, stores, report).await?;
    if stores.url.is_some() {
        nodes::hot_gate(args, stores, report).await?;
    }
    Ok(())
}

/// Where the stores of this run are: files in a directory, or schemas of a database.
struct Stores<'a> {
    url: Option<&'a str>,
    dir: &'a Path,
    count: AtomicUsize,
}

impl<'a> Stores<'a> {
    fn new(url: Option<&'a str>, dir: &'a Path) -> Self {
        Self {
            url,
            dir,
            count: AtomicUsize::new(0),
        }
    }

    /// A new one, which is empty.
    async fn open(&self) -> anyhow::Result<Arc<dyn Store>> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        Ok(match self.url {
            Some(url) => Arc::new(open_schema(url, &schema(number)).await?),
            None => {
                let file = self.dir.join(format!("flow-{number}.db"));
                Arc::new(SqliteStore::open(file, SqliteOptions::default())?)
            }
        })
    }

    /// The schema that the next store gets.
    fn next_schema(&self) -> String {
        schema(self.count.fetch_add(1, Ordering::Relaxed))
    }

    async fn remove(&self) -> anyhow::Result<()> {
        let Some(url) = self.url else { return Ok(()) };
        let client = connect(url).await?;
        for number in 0..self.count.load(Ordering::Relaxed) {
            let sql = format!("DROP SCHEMA IF EXISTS {} CASCADE", schema(number));
            client.batch_execute(&sql).await?;
        }
        Ok(())
    }
}

fn schema(number: usize) -> String {
    format!("steadfast_bench_{}_{number}", std::process::id())
}

async fn open_schema(url: &str, schema: &str) -> anyhow::Result<PostgresStore> {
    let options = PostgresOptions::default().schema(schema);
    Ok(PostgresStore::open(url, options).await?)
}

/// One gate of a queue.
fn queue_gate(queue: &str, limits: GateLimits) -> Result<Arc<Gates>, Invalid> {
    let id = GateId::new(None, GateScope::Queue, queue)?;
    let gates = Gates::new(1, [Gate { id, limits }], GateDefaults::default());
    Ok(Arc::new(gates))
}

/// A number with its thousands apart.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
