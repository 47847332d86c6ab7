//! `steadfast check`: every row of a store, and its counters.

use serde_json::json;
use steadfast::{
    SqliteOptions,
    store::{CounterDifference, DamagedRows, OpenError, StoreCheck, check_tables},
};

use super::contents::Contents;
use crate::{
    exit::ExitError,
    limits::{DAMAGED_ROWS_SHOWN, DIFFERENCES_SHOWN_MAX},
    output::{self, print_line},
    settings::{EncryptionArgs, StoreUrl},
    show::{quantity, thousands},
};

#[derive(clap::Args)]
#[command(
    after_help = "Reads the whole store in small steps; its nodes keep running. Only counters are repaired; for broken\nrows, restore a backup. Exits with 1 if something is wrong.\n\nExamples:\n  steadfast check --store sqlite:steadfast.db\n  steadfast check --store postgres://steadfast@db/jobs --repair"
)]
pub struct Args {
    /// Store: sqlite:FILE or postgres://USER@HOST/DATABASE.
    #[arg(
        long,
        env = "STEADFAST_STORE",
        hide_env_values = true,
        default_value = "sqlite:steadfast.db"
    )]
    store: StoreUrl,
    /// Correct counters that do not match the jobs.
    #[arg(long)]
    repair: bool,
    /// Allow an SQLite file that contains tables of another application.
    #[arg(long)]
    share: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    encryption: EncryptionArgs,
}

/// What a check has found.
struct Report {
    check: StoreCheck,
    /// Jobs that were decoded, with their payloads and results.
    jobs: u64,
    damaged: DamagedRows,
    differences: Vec<CounterDifference>,
    is_repaired: bool,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    if let StoreUrl::Sqlite(path) = &args.store
        && !path.exists()
    {
        return Err(ExitError::NotFound(format!("{} does not exist", args.store)).into());
    }
    let options = args.encryption.options()?;
    let options = options.share(args.share).existing(true);
    check_keys(&args.store, &options).await?;
    let opened = args.store.open_tables(options).await?;
    let store = opened.store;
    let check = check_tables(&*opened.tables).await?;
    let jobs = Contents::read(&*store, None).await?.jobs;
    let report = Report {
        check,
        jobs,
        damaged: store.list_damaged().await?,
        differences: store.recount(args.repair).await?,
        is_repaired: args.repair,
    };
    match args.json {
        true => report.print_json()?,
        false => report.print()?,
    }
    match report.is_well() {
        true => Ok(()),
        false => Err(ExitError::Reported.into()),
    }
}

/// Without its keys, every encrypted row of the store would look corrupt.
async fn check_keys(store: &StoreUrl, options: &SqliteOptions) -> anyhow::Result<()> {
    match store.open_encrypted(options.clone()).await.map(drop) {
        Err(error) if is_of_key(&error) => Err(error),
        // A store that was moved can be checked as well.
        _ => Ok(()),
    }
}

fn is_of_key(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(OpenError::EncryptionKey { .. }))
}

impl Report {
    fn is_well(&self) -> bool {
        let counters_are_right = self.differences.is_empty() || self.is_repaired;
        self.check.broken.is_empty() && self.damaged.rows.is_empty() && counters_are_right
    }

    fn print(&self) -> anyhow::Result<()> {
        for (table, rows) in &self.check.tables {
            print_line!("{:>12} {table}", thousands(*rows))?;
        }
        let Self { check, damaged, .. } = self;
        if check.broken.is_empty() {
            print_line!(
                "ok    rows      every row is in a valid state and belongs to what exists"
            )?;
        }
        for it in &check.broken {
            let count = quantity(it.count, "row", "rows");
            let examples = it.examples.join(", ");
            print_line!(
                "fail  rows      {}: {count}: {} ({examples})",
                it.table,
                it.rule
            )?;
        }
        let jobs = quantity(self.jobs, "job", "jobs");
        match damaged.rows.len() {
            0 => print_line!("ok    contents  {jobs} can be read")?,
            count => {
                let count = quantity(count as u64, "row", "rows");
                print_line!("fail  contents  {count} cannot be read, beside {jobs}")?;
            }
        }
        for row in damaged.rows.iter().take(DAMAGED_ROWS_SHOWN) {
            print_line!("fail  contents  {row}")?;
        }
        self.print_counters()
    }

    fn print_counters(&self) -> anyhow::Result<()> {
        let count = quantity(self.differences.len() as u64, "counter", "counters");
        let verb = match (self.differences.is_empty(), self.is_repaired) {
            (true, _) => {
                print_line!("ok    counters  all counters match the jobs")?;
                return Ok(());
            }
            (false, true) => {
                print_line!("ok    counters  {count} did not match the jobs: repaired")?;
                "was"
            }
            (false, false) => {
                print_line!("fail  counters  {count} not matching the jobs: repair with --repair")?;
                "is"
            }
        };
        for it in self.differences.iter().take(DIFFERENCES_SHOWN_MAX) {
            let lane = format!("tenant {}, queue {}, kind {}", it.tenant, it.queue, it.kind);
            let numbers = format!("{} {verb} {}, counted {}", it.counter, it.counted, it.found);
            print_line!("      counters  {lane}: {numbers}")?;
        }
        Ok(())
    }

    fn print_json(&self) -> anyhow::Result<()> {
        let tables: serde_json::Map<_, _> = self
            .check
            .tables
            .iter()
            .map(|(table, rows)| ((*table).to_owned(), json!(rows)))
            .collect();
        let broken = self.check.broken.iter().map(|it| {
            json!({
                "table": it.table, "rule": it.rule, "rows": it.count, "examples": it.examples,
            })
        });
        let damaged = self.damaged.rows.iter().map(ToString::to_string);
        let differences = self.differences.iter().map(|it| {
            json!({
                "tenant": it.tenant, "queue": it.queue, "kind": it.kind, "counter": it.counter,
                "counted": it.counted, "found": it.found,
            })
        });
        output::print_json(&json!({
            "ok": self.is_well(),
            "tables": tables,
            "broken": broken.collect::<Vec<_>>(),
            "unreadable": damaged.collect::<Vec<_>>(),
            "counters": differences.collect::<Vec<_>>(),
            "repaired": self.is_repaired && !self.differences.is_empty(),
        }))
    }
}
