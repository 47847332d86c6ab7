//! One gate that all jobs pass, over four nodes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use steadfast::{
    Client, PostgresStore,
    node::WorkerName,
    store::{BaseStore as _, ClaimRequest, GateSettings, JobStore as _},
};
use steadfast_core::{Claim, Dice, GateLimits, Outcome, Subscriptions, after_attempt};
use tokio::task::JoinSet;

use super::{
    super::{
        Args,
        figure::Report,
        lifecycle,
        meter::Meter,
        stores::{Stores, open_schema},
    },
    queue_gate,
};

const NODES: usize = 4; // not a limit: the shape of the measurement
const CLAIM_SIZE: usize = 100; // not a limit: the shape of the measurement
const RUNNING: u32 = 400; // not a limit: as many as the nodes can have
/// A node that hears nothing looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(50); // not a limit: the shape of the measurement

/// Jobs that are left, and how many run.
struct Progress {
    left: AtomicUsize,
    running: AtomicI64,
    most: AtomicI64,
}

pub async fn hot_gate(args: &Args, stores: &Stores<'_>, report: &mut Report) -> anyhow::Result<()> {
    let limits = GateLimits {
        max_running: Some(RUNNING),
        ..GateLimits::default()
    };
    let beside = throughput(args, stores, GateSettings::default()).await?;
    let ours = throughput(args, stores, queue_gate("default", limits)?).await?;
    report.compare(
        "one hot gate, 4 nodes",
        (ours, beside),
        "jobs/s",
        "(baseline: no gate); never more than it allows",
    );
    Ok(())
}

/// Claims and settles all jobs; answers how many in a second.
async fn throughput(args: &Args, stores: &Stores<'_>, gates: GateSettings) -> anyhow::Result<f64> {
    let (Some(url), schema) = (stores.url, stores.next_schema()) else {
        return Ok(f64::NAN);
    };
    let mut nodes = Vec::new();
    for _ in 0..NODES {
        let node = open_schema(url, &schema).await?;
        node.set_gate_settings(gates.clone());
        nodes.push(node);
    }
    let client = Client::new(Arc::new(nodes[0].clone()));
    lifecycle::fill(&client, args.jobs, args.batch).await?;
    let progress = Arc::new(Progress {
        left: AtomicUsize::new(args.jobs),
        running: AtomicI64::new(0),
        most: AtomicI64::new(0),
    });
    let meter = Meter::start();
    let mut tasks = JoinSet::new();
    for node in nodes {
        tasks.spawn(run(node, progress.clone()));
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    let cost = meter.stop();
    let most = progress.most.load(Ordering::Relaxed);
    anyhow::ensure!(
        gates.gates.is_empty() || most <= i64::from(RUNNING),
        "{most} ran at once; the gate allows {RUNNING}"
    );
    Ok(cost.per_second(args.jobs))
}

async fn run(store: PostgresStore, progress: Arc<Progress>) -> anyhow::Result<()> {
    let mut wakeups = store.wakeups();
    while progress.left.load(Ordering::Relaxed) > 0 {
        let request = ClaimRequest::new(WorkerName::new("bench")?, CLAIM_SIZE);
        wakeups.mark_look(store.now());
        let claims = store.claim(request).await?.claims;
        if claims.is_empty() {
            // The time is up, or something has changed: either way it looks again.
            let _: Result<(), _> = tokio::time::timeout(LOOK_AGAIN, wakeups.next()).await;
            continue;
        }
        let count = claims.len();
        // They run since before the claim answered, so this is never too many.
        let signed = i64::try_from(count)?;
        let running = progress.running.fetch_add(signed, Ordering::SeqCst) + signed;
        progress.most.fetch_max(running, Ordering::SeqCst);
        progress.running.fetch_sub(signed, Ordering::SeqCst);
        settle(&store, claims).await?;
        progress.left.fetch_sub(count, Ordering::Relaxed);
    }
    Ok(())
}

/// Ends attempts with success.
pub(super) async fn settle(store: &PostgresStore, claims: Vec<Claim>) -> anyhow::Result<()> {
    let now = store.now();
    let transitions = claims.into_iter().map(|claim| {
        let ended = claim.end(Outcome::Success { output: None }, now);
        after_attempt(&ended, &Subscriptions::default(), Dice::new(1))
    });
    store.commit(transitions.collect()).await?;
    Ok(())
}
