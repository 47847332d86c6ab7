//! `steadfast dev`: a server for the time in which a program is written. Nothing is kept, the
//! dashboard opens by itself, and each attempt is a line in the terminal.

mod browser;
mod live;

use std::net::SocketAddr;

use crate::{
    serve,
    settings::{Settings, StoreUrl, listen_address},
};

#[derive(clap::Args)]
#[command(
    after_help = "The store is in memory: jobs are lost when the server stops. No settings file is read.\n\nExamples:\n  steadfast dev\n  steadfast dev --no-open --listen 127.0.0.1:8080"
)]
pub struct Args {
    /// Address to listen on.
    #[arg(
        long,
        env = "STEADFAST_LISTEN",
        default_value = "127.0.0.1:7373",
        value_name = "ADDRESS:PORT",
        value_parser = listen_address
    )]
    listen: SocketAddr,
    /// Do not open the dashboard in a browser.
    #[arg(long)]
    no_open: bool,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let mut settings = Settings {
        listen: args.listen,
        store: StoreUrl::Memory,
        ..Settings::default()
    };
    // Attempts are printed in full; a warning for each that fails would say it twice.
    "error".clone_into(&mut settings.log.level);
    let node = serve::Node::start(settings).await?;
    if !args.no_open {
        browser::open(&node.url());
    }
    let live = tokio::spawn(live::print(
        node.engine().client(),
        node.engine().subscribe(),
    ));
    let ended = node.run_until_signal().await;
    live.abort();
    ended
}
