//! `steadfast serve`: one process that runs everything.

use std::{
    io::IsTerminal as _, net::SocketAddr, path::PathBuf, str::FromStr, sync::Arc, time::Duration,
};

use anyhow::{Context as _, bail};
use steadfast::{
    Config, EngineBuilder, MemoryStore, SqliteOptions, SqliteStore, Store,
    http::{AddressPolicy, Outbound, OutboundRules},
};
use steadfast_server::{App, Metrics, Settings};
use tokio::net::TcpListener;

/// How long answers may take that were under way when the node stopped.
const LAST_ANSWERS: Duration = Duration::from_secs(6);

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  steadfast serve\n  steadfast serve --store sqlite:/var/lib/steadfast/jobs.db --listen 127.0.0.1:8080"
)]
pub struct Args {
    /// Where to listen.
    #[arg(long, env = "STEADFAST_LISTEN", default_value = "127.0.0.1:7373")]
    listen: SocketAddr,
    /// Where jobs live: sqlite:FILE, or memory: for trying things out.
    #[arg(long, env = "STEADFAST_STORE", default_value = "sqlite:steadfast.db")]
    store: StoreAt,
    /// How long running attempts may go on after a stop, in seconds.
    #[arg(long, env = "STEADFAST_GRACE", default_value_t = 30)]
    grace: u64,
}

#[derive(Clone, Debug)]
enum StoreAt {
    Sqlite(PathBuf),
    Memory,
}

impl FromStr for StoreAt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("sqlite", path)) if !path.is_empty() => Ok(Self::Sqlite(path.into())),
            Some(("memory", "")) => Ok(Self::Memory),
            _ => Err(format!("{text:?} is no store: use sqlite:FILE or memory:")),
        }
    }
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_ansi(std::io::stdout().is_terminal())
        .init();

    if !args.listen.ip().is_loopback() {
        bail!(
            "will not listen on {}: this version has no API keys yet, so only loopback is safe; use --listen 127.0.0.1:{}",
            args.listen,
            args.listen.port(),
        );
    }
    let store: Arc<dyn Store> = match &args.store {
        StoreAt::Sqlite(path) => Arc::new(SqliteStore::open(path, SqliteOptions::default())?),
        StoreAt::Memory => Arc::new(MemoryStore::default()),
    };
    let listener = TcpListener::bind(args.listen)
        .await
        .with_context(|| format!("cannot listen on {}: is another node running?", args.listen))?;
    let address = listener.local_addr()?;
    let config = Config {
        grace: Duration::from_secs(args.grace),
        ..Config::default()
    };
    // Whoever can reach a loopback address is on this machine already.
    let outbound = Outbound::builder(OutboundRules::new(AddressPolicy::Any)).build()?;
    let metrics = Arc::new(Metrics::default());
    let engine = EngineBuilder::new(store)
        .config(config)
        .observer(metrics.clone())
        .outbound(outbound)
        .start()?;
    let settings = Settings {
        open: true,
        ..Settings::default()
    };
    let app = App::new(engine.client(), engine.node(), metrics, settings);
    welcome(&args.store, address);

    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let server = tokio::spawn(steadfast_server::serve(listener, app, async {
        // The sender going away is a stop, too.
        let _gone = stopped.await;
    }));
    engine.run_until_signal().await?;
    drop(stop);
    // A client that never ends its request must not hold up the stop.
    if let Ok(served) = tokio::time::timeout(LAST_ANSWERS, server).await {
        served??;
    }
    println!("stopped");
    Ok(())
}

fn welcome(store: &StoreAt, address: SocketAddr) {
    let place = match store {
        StoreAt::Sqlite(path) => format!("{}, durable", path.display()),
        StoreAt::Memory => "memory, gone when this process ends".to_owned(),
    };
    println!("Steadfast {}", env!("CARGO_PKG_VERSION"));
    println!("  store    {place}");
    println!("  health   http://{address}/healthz");
    println!("  runs     schedules, lease sweeps and retention of this store");
    println!(
        "  next     enqueue from Rust on the same file: see README.md and the examples of the `steadfast` crate"
    );
    println!("  stop     Ctrl-C");
}
