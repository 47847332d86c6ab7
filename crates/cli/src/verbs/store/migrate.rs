//! `steadfast migrate`: update a store to the schema of this version, and do nothing else.

use crate::{
    exit::usage,
    output::print_line,
    settings::{EncryptionArgs, StoreUrl},
};

#[derive(clap::Args)]
#[command(
    after_help = "`serve` also migrates when it starts. A store with a newer schema is refused.\n\nExample:\n  steadfast migrate --store sqlite:steadfast.db"
)]
pub struct Args {
    /// Store: sqlite:FILE or postgres://USER@HOST/DATABASE.
    #[arg(long, env = "STEADFAST_STORE", hide_env_values = true)]
    store: StoreUrl,
    /// Allow an SQLite file that contains tables of another application.
    #[arg(long)]
    share: bool,
    #[command(flatten)]
    encryption: EncryptionArgs,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    if !args.store.is_durable() {
        return Err(usage("memory: has no schema to migrate"));
    }
    let options = args.encryption.options()?.share(args.share);
    drop(args.store.open(options, None).await?);
    Ok(print_line!("{} is up to date", args.store)?)
}
