//! `steadfast bench`: `steadfast_bench` measures, and this file starts the server for it.

use std::{path::PathBuf, sync::Arc};

use steadfast::{
    Engine, SqliteOptions, SqliteStore,
    http::{AddressPolicy, Outbound, OutboundRules},
};
pub use steadfast_bench::Args;
use steadfast_bench::BenchServer;
use steadfast_server::{App, Metrics, Settings};
use tokio::net::TcpListener;

pub async fn run(args: Args) -> anyhow::Result<()> {
    steadfast_bench::run(args, serve).await
}

async fn serve(file: PathBuf) -> anyhow::Result<BenchServer> {
    let store = SqliteStore::open(file, SqliteOptions::default())?;
    let outbound = Outbound::builder(OutboundRules::new(AddressPolicy::Any)).build()?;
    let metrics = Arc::new(Metrics::default());
    let engine = Engine::builder(Arc::new(store))
        .observer(metrics.clone())
        .outbound(outbound)
        .start()?;
    let settings = Settings {
        open: true,
        ..Settings::default()
    };
    let app = App::new(engine.client(), engine.node(), metrics, settings);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(steadfast_server::serve(
        listener,
        app,
        std::future::pending(),
    ));
    Ok(BenchServer { engine, address })
}
