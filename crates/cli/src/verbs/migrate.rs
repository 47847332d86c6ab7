//! `steadfast migrate`: update a store to the schema of this version, and do nothing else.

use crate::{exit::usage, output::print_line, settings::StoreUrl};

#[derive(clap::Args)]
#[command(
    after_help = "`serve` does the same when it starts. A store of a newer version is refused.\n\nExample:\n  steadfast migrate --store sqlite:steadfast.db"
)]
pub struct Args {
    /// The store: sqlite:FILE or postgres://USER@HOST/DATABASE.
    #[arg(long, env = "STEADFAST_STORE", hide_env_values = true)]
    store: StoreUrl,
    /// Allow an SQLite file that already has tables of another application.
    #[arg(long)]
    share: bool,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    if !args.store.is_durable() {
        return Err(usage("memory: has no schema to migrate"));
    }
    drop(args.store.open(args.share).await?);
    Ok(print_line!("{} is up to date", args.store)?)
}
