//! `steadfast backup`: a copy of an SQLite store while its node runs.

use std::path::PathBuf;

use steadfast::store::SqliteCopy;

use super::{copy_failed, sqlite_file};
use crate::{
    output::print_line,
    settings::StoreUrl,
    show::{quantity, thousands},
};

const KIB: u64 = 1 << 10; // not a limit: a unit

#[derive(clap::Args)]
#[command(
    after_help = "The node keeps running. The copy is a store itself: it is complete, was checked, and is never\nwritten over. Payloads and secrets in it are encrypted only if the\nstore is.\n\nExamples:\n  steadfast backup backup.db\n  steadfast backup --store sqlite:/var/lib/steadfast/jobs.db \"backup-$(date +%F).db\""
)]
pub struct Args {
    /// File to create.
    file: PathBuf,
    /// Store to copy: sqlite:FILE.
    #[arg(
        long,
        env = "STEADFAST_STORE",
        hide_env_values = true,
        default_value = "sqlite:steadfast.db"
    )]
    store: StoreUrl,
}

pub fn run(args: Args) -> anyhow::Result<()> {
    let from = sqlite_file(args.store)?;
    let copy = SqliteCopy::make(&from, &args.file).map_err(copy_failed)?;
    let jobs = copy.jobs();
    copy.publish()?;
    let bytes = std::fs::metadata(&args.file)?.len();
    print_line!(
        "{} is a backup of {}: {}, {} KiB, checked",
        args.file.display(),
        from.display(),
        quantity(jobs, "job", "jobs"),
        thousands(bytes / KIB),
    )?;
    Ok(())
}
