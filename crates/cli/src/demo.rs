//! `steadfast demo`: everything in a temporary place, a target that misbehaves, and the story of
//! each job as it happens. Jobs are made and looked at over the API, as users do it.

mod cast;
mod live;
mod story;
mod target;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::Context as _;
use steadfast::{
    Context, Engine, EngineBuilder, JobError, JobKind, SqliteOptions, SqliteStore,
    http::{AddressPolicy, Outbound, OutboundRules},
};
use steadfast_server::{App, Metrics};
use tokio::net::TcpListener;

use crate::{exit::usage, remote::Remote, say::say};
use cast::Cast;
use target::Target;

/// Everything is over long before; if not, something is wrong and should be said.
const PATIENCE: Duration = Duration::from_secs(45);

#[derive(clap::Args)]
#[command(
    after_help = "Nothing is left behind: the store is in a temporary directory.\n\nExamples:\n  steadfast demo\n  steadfast demo --keep --listen 127.0.0.1:7373"
)]
pub struct Args {
    /// Leave the server running at the end, to look around in.
    #[arg(long)]
    keep: bool,
    /// Where its server listens [default: any free port].
    #[arg(long, default_value = "127.0.0.1:0", hide_default_value = true)]
    listen: SocketAddr,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    if !args.listen.ip().is_loopback() {
        return Err(usage(
            "the demo needs no key, so it only listens where nobody else can connect: use 127.0.0.1",
        ));
    }
    quiet_panics();
    let place = tempfile::tempdir()?;
    let store = SqliteStore::open(place.path().join("demo.db"), SqliteOptions::default())?;
    let target = Target::start().await?;
    let (engine, remote) = serve(store, args.listen).await?;

    live::introduce(&remote.url)?;
    let notices = engine.subscribe();
    let cast = Cast::engage(&remote, &target).await?;
    let watching = live::watch(&remote, &cast, notices, target.verified());
    let watched = tokio::time::timeout(PATIENCE, watching).await;
    let seen =
        watched.context("the demo takes much longer than it should; is this machine busy?")??;
    story::tell(&remote, &cast, &seen).await?;
    story::what_next(&remote.url, args.keep)?;
    match args.keep {
        true => engine.run_until_signal().await?,
        false => engine.stop_now().await,
    }
    Ok(())
}

/// An engine and its API, in this process.
async fn serve(store: SqliteStore, listen: SocketAddr) -> anyhow::Result<(Engine, Remote)> {
    let listener = TcpListener::bind(listen).await;
    let listener = listener.with_context(|| format!("cannot listen on {listen}"))?;
    let url = format!("http://{}", listener.local_addr()?);
    // The target is on this machine, and so is whoever can reach the API.
    let outbound = Outbound::builder(OutboundRules::new(AddressPolicy::Any)).build()?;
    let metrics = Arc::new(Metrics::default());
    let engine = EngineBuilder::new(Arc::new(store))
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
    let remote = Remote {
        url,
        api_key: None,
        ca_file: None,
        json: false,
    };
    Ok((engine, remote))
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
fn quiet_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if panic.payload_as_str() != Some(PANIC) {
            usual(panic);
        }
    }));
}

/// A line between two parts of the show.
fn heading(text: &str) -> std::io::Result<()> {
    say!(
        "\n── {text} {}",
        "─".repeat(74_usize.saturating_sub(text.chars().count()))
    )
}
