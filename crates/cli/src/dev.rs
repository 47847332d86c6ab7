//! `steadfast dev`: a server for the time in which a program is written. Nothing is kept, the
//! dashboard opens by itself, and each attempt is a line in the terminal. Until the first worker
//! has come, there is one to copy; a job that no worker takes is named.

mod browser;
mod live;
mod snippet;
mod workers;

use std::{env, net::SocketAddr};

use steadfast_client::Client;

use self::snippet::Language;
use crate::{
    serve,
    settings::{Settings, StoreUrl, listen_address},
};

#[derive(clap::Args)]
#[command(
    after_help = "The store is in memory: jobs are lost when the server stops. No settings file is read.\n\nExamples:\n  steadfast dev\n  steadfast dev --language go\n  steadfast dev --no-open --listen 127.0.0.1:8080"
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
    /// Language of the first worker to show [default: that of the project in this directory, or
    /// Python].
    #[arg(long)]
    language: Option<Language>,
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
    let directory = env::current_dir().unwrap_or_default();
    let language = args.language;
    let language = language.unwrap_or_else(|| Language::of_project(&directory));
    let url = node.url();
    let client = Client::builder(&url).build()?;
    let live = live::print(node.engine().client(), node.engine().subscribe());
    let workers = workers::print(client, language.invitation(&url));
    node.report_until_signal(async {
        tokio::join!(live, workers);
    })
    .await
}
