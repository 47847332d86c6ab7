//! `steadfast bench`: `steadfast_bench` measures, and this file starts the server for it.

use std::{path::PathBuf, sync::Arc};

use anyhow::Context as _;
use steadfast::{
    Engine, EngineBuilder, SqliteOptions, SqliteStore,
    http::{AddressPolicy, Outbound, OutboundRules},
};
pub use steadfast_bench::Args;
use steadfast_bench::{BenchServer, TraceTarget};
use steadfast_server::{App, Metrics, Settings, Telemetry, TelemetrySettings};
use tokio::net::TcpListener;

pub async fn run(args: Args) -> anyhow::Result<()> {
    steadfast_bench::run(args, serve, trace).await
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

/// Spans are made and sent as by a server; the environment has no part in it.
fn trace(builder: EngineBuilder, target: TraceTarget) -> anyhow::Result<EngineBuilder> {
    let variable = move |name: &str| match name {
        "OTEL_TRACES_SAMPLER" => Some("parentbased_traceidratio".to_owned()),
        "OTEL_TRACES_SAMPLER_ARG" => Some(target.sampled.to_owned()),
        _ => None,
    };
    let settings = TelemetrySettings {
        endpoint: Some(target.endpoint),
        variable: Arc::new(variable),
        ..TelemetrySettings::default()
    };
    let telemetry = Telemetry::start(&settings)?.context("no telemetry")?;
    let tracer = telemetry.tracer().context("no tracer")?;
    Ok(builder.tracer(tracer))
}
