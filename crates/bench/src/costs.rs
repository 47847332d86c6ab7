//! What encryption and traces cost: the lifecycle with and without them, in turns.

use std::path::Path;

use steadfast::{Engine, EngineBuilder, SqliteOptions, SqliteStore, store::EncryptionKeys};
use tokio::net::TcpListener;

use super::{Args, figure::Report, lifecycle, meter::Cost};

/// Each variant runs its part of the jobs so often, so that what slows the machine for a while
/// slows all of them.
const ROUNDS: usize = 5; // not a limit: how often the variants take turns
const KEY: &str = "bench:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

#[derive(clap::Args)]
pub struct CostArgs {
    /// Run only the costs of encryption and of traces, as parts of the lifecycle.
    #[arg(long, conflicts_with_all = ["flow", "operations", "server", "store"])]
    pub costs: bool,
}

/// Sends the spans of an engine to a collector.
pub struct TraceTarget {
    /// The address of the collector.
    pub endpoint: String,
    /// The part of all traces that is kept, such as `0.01`.
    pub sampled: &'static str,
}

/// A lifecycle with something that costs.
struct Variant {
    names: [&'static str; 2],
    aims: [&'static str; 2],
    is_encrypted: bool,
    sampled: Option<&'static str>,
}

const VARIANTS: [Variant; 4] = [
    Variant {
        names: ["lifecycle, encrypted", "lifecycle, encrypted, CPU"],
        aims: ["(baseline: plain)"; 2],
        is_encrypted: true,
        sampled: None,
    },
    Variant {
        names: ["lifecycle again", "lifecycle again, CPU"],
        aims: ["(baseline: the same)"; 2],
        is_encrypted: false,
        sampled: None,
    },
    Variant {
        names: ["traces, 1 % kept", "traces, 1 % kept, CPU"],
        aims: ["(baseline: no traces)", "ratio ≤ 1.05"],
        is_encrypted: false,
        sampled: Some("0.01"),
    },
    Variant {
        names: ["traces, all kept", "traces, all kept, CPU"],
        aims: ["(baseline: no traces)"; 2],
        is_encrypted: false,
        sampled: Some("1"),
    },
];

pub async fn figures(
    args: &Args,
    dir: &Path,
    report: &mut Report,
    trace: impl Fn(EngineBuilder, TraceTarget) -> anyhow::Result<EngineBuilder>,
) -> anyhow::Result<()> {
    let endpoint = collector().await?;
    let jobs = args.jobs.div_ceil(ROUNDS);
    let mut plain = Cost::default();
    let mut costs = [Cost::default(); VARIANTS.len()];
    for round in 0..ROUNDS {
        let file = dir.join(format!("plain-{round}.db"));
        let store = SqliteStore::open(file, SqliteOptions::default())?;
        plain += lifecycle::run(Engine::builder(store), jobs, args.batch).await?;
        for (variant, cost) in VARIANTS.iter().zip(&mut costs) {
            let file = dir.join(format!("{}-{round}.db", variant.names[0]));
            let keys = variant.is_encrypted.then(|| EncryptionKeys::parse(KEY));
            let options = SqliteOptions::default().encryption(keys.transpose()?);
            let mut builder = Engine::builder(SqliteStore::open(file, options)?);
            if let Some(sampled) = variant.sampled {
                let endpoint = endpoint.clone();
                builder = trace(builder, TraceTarget { endpoint, sampled })?;
            }
            *cost += lifecycle::run(builder, jobs, args.batch).await?;
        }
    }
    for (variant, cost) in VARIANTS.iter().zip(costs) {
        let both = (cost, plain);
        lifecycle::compare(report, variant.names, variant.aims, both, jobs * ROUNDS);
    }
    Ok(())
}

/// Takes all spans, in this process: what it costs to receive them is counted as well.
async fn collector() -> anyhow::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let endpoint = format!("http://{}", listener.local_addr()?);
    let takes_all = axum::Router::new().fallback(|_: axum::body::Bytes| async {});
    tokio::spawn(async { axum::serve(listener, takes_all).await });
    Ok(endpoint)
}
