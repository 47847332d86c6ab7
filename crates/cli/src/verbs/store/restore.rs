//! `steadfast restore`: a store from a backup.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use steadfast::{
    SqliteStore,
    store::{OpenError, SqliteCopy, end_running_attempts},
};

use super::{copy_failed, sqlite_file};
use crate::{
    output::print_line,
    settings::{EncryptionArgs, StoreUrl},
    show::quantity,
};

#[derive(clap::Args)]
#[command(
    after_help = "The new store must not exist or be empty. Attempts that were running are lost: their jobs are\nretried, and those that may run at most once end with outcome_unknown. Jobs that have ended since\nthe backup run again.\n\nExample:\n  steadfast restore backup.db --to sqlite:steadfast.db"
)]
pub struct Args {
    /// Backup to read. It is not changed.
    file: PathBuf,
    /// Store to create: sqlite:FILE.
    #[arg(long, value_name = "STORE")]
    to: StoreUrl,
    #[command(flatten)]
    encryption: EncryptionArgs,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let target = sqlite_file(args.to.clone())?;
    let options = args.encryption.options()?;
    let copy = SqliteCopy::make(&args.file, &target).map_err(copy_failed)?;
    let jobs = copy.jobs();
    // Before the copy gets its name: a restore that is killed leaves no store behind.
    let store = SqliteStore::open(copy.path(), options)
        .map_err(|error| of_backup(&error, copy.path(), &args.file))?;
    let lost = end_running_attempts(Arc::new(store.clone())).await;
    store.close();
    let lost = lost?;
    copy.publish()?;
    print_line!(
        "{} is restored from {}: {}",
        args.to,
        args.file.display(),
        quantity(jobs, "job", "jobs")
    )?;
    if lost > 0 {
        let attempts = quantity(lost as u64, "attempt was", "attempts were");
        print_line!("{attempts} running and counted as lost")?;
    }
    Ok(())
}

/// The copy that cannot be opened is that of a file which the caller knows.
fn of_backup(error: &OpenError, copy: &Path, backup: &Path) -> anyhow::Error {
    let [copy, backup] = [copy, backup].map(|path| path.display().to_string());
    anyhow::anyhow!(error.to_string().replace(&copy, &backup))
}
