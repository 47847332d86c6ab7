//! `steadfast demo`: a server on a temporary store, a target that fails in many ways, and each
//! attempt as it happens. Jobs are created and read over the API, as users do it.

mod live;
mod scenarios;
mod storm;
mod summary;
mod target;

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use anyhow::Context as _;
use steadfast::{
    Context, Engine, JobError, JobKind, SqliteOptions, SqliteStore,
    http::{AddressPolicy, Outbound, OutboundRules},
};
use steadfast_server::{App, Metrics};
use tokio::net::TcpListener;

use crate::{
    exit::usage,
    limits::DEMO_MAX,
    output::print_line,
    server_args::{Server, ServerArgs},
    settings::DurationArg,
};
use scenarios::DemoJobs;
use target::Target;

#[derive(clap::Args)]
#[command(
    after_help = "Nothing is left behind: the store is in a temporary directory.\n\nExamples:\n  steadfast demo\n  steadfast demo --keep --listen 127.0.0.1:7373\n  steadfast demo --storm --outage 20s"
)]
pub struct Args {
    /// Keep the server running at the end.
    #[arg(long)]
    keep: bool,
    /// Address to listen on [default: any free port].
    #[arg(long, default_value = "127.0.0.1:0", hide_default_value = true)]
    listen: SocketAddr,
    /// Simulate an outage under load: with and without holding jobs, side by side.
    #[arg(long, conflicts_with_all = ["keep", "listen"])]
    storm: bool,
    /// Duration of the outage.
    #[arg(long, default_value = "60s", requires = "storm")]
    outage: DurationArg,
    /// Write a chart of the storm to this SVG file.
    #[arg(long, requires = "storm", value_name = "FILE")]
    svg: Option<PathBuf>,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    if args.storm {
        return storm::run(args.outage.0, args.svg).await;
    }
    if !args.listen.ip().is_loopback() {
        return Err(usage(
            "the demo runs without API keys, so it listens on loopback only: use 127.0.0.1",
        ));
    }
    silence_panic();
    let dir = tempfile::tempdir()?;
    let store = SqliteStore::open(dir.path().join("demo.db"), SqliteOptions::default())?;
    let target = Target::start().await?;
    let (engine, server) = serve(store, args.listen).await?;

    live::print_intro(server.client.url())?;
    let notices = engine.subscribe();
    let jobs = DemoJobs::start(&server, &target).await?;
    let client = engine.client();
    let watching = live::watch(&client, &jobs, notices, target.verified());
    let totals = tokio::time::timeout(DEMO_MAX, watching)
        .await
        .context("the demo takes much longer than expected; is this machine busy?")??;
    summary::print(&server, &jobs, &totals).await?;
    summary::print_next_steps(server.client.url(), args.keep)?;
    if args.keep {
        engine.run_until_signal().await?;
    } else {
        engine.stop_now().await;
    }
    Ok(())
}

/// An engine and its API, in this process.
async fn serve(store: SqliteStore, listen: SocketAddr) -> anyhow::Result<(Engine, Server)> {
    let listener = TcpListener::bind(listen).await;
    let listener = listener.with_context(|| format!("cannot listen on {listen}"))?;
    let url = format!("http://{}", listener.local_addr()?);
    // The target is on this machine, and so is every caller of the API.
    let outbound = Outbound::builder(OutboundRules::new(AddressPolicy::Any)).build()?;
    let metrics = Arc::new(Metrics::default());
    let engine = Engine::builder(Arc::new(store))
        .handler(panicky)
        .observer(metrics.clone())
        .outbound(outbound)
        .start()?;
    let settings = steadfast_server::Settings {
        open: true,
        ..steadfast_server::Settings::default()
    };
    let app = App::new(engine.client(), engine.node(), metrics, settings);
    let node = engine.node();
    tokio::spawn(steadfast_server::serve(listener, app, async move {
        node.stopping().await;
    }));
    Ok((engine, ServerArgs::of_url(url).connect_as_named()?))
}

/// The input of a handler in Rust that panics at its first attempt.
#[derive(serde::Serialize, serde::Deserialize)]
struct Panicky;

const PANIC: &str = "index out of bounds: the demo did this on purpose";

impl JobKind for Panicky {
    const KIND: &'static str = "panicky";
}

async fn panicky(_job: Panicky, ctx: Context) -> Result<(), JobError> {
    assert!(ctx.attempt() > 1, "{PANIC}");
    Ok(())
}

/// A panic on purpose needs no trace on the terminal; every other one does.
fn silence_panic() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if panic.payload_as_str() != Some(PANIC) {
            default(panic);
        }
    }));
}

/// A line between two parts of the output.
fn print_heading(text: &str) -> std::io::Result<()> {
    print_line!(
        "\n── {text} {}",
        "─".repeat(74_usize.saturating_sub(text.chars().count()))
    )
}
