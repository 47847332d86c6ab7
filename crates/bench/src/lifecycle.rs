//! Throughput of creating and running jobs, and how late they start.

use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde::{Deserialize, Serialize};
use steadfast::{
    Client, Context, Engine, EngineBuilder, JobError, JobKind, JobRequest, SqliteOptions,
    SqliteStore,
    store::{Clock as _, SystemClock},
};
use tokio::sync::Notify;

use super::{
    Args,
    bare::Bare,
    figure::Report,
    meter::{Cost, Meter},
};

#[derive(Clone, Serialize, Deserialize)]
pub struct Bench {
    filler: String,
}

impl JobKind for Bench {
    const KIND: &'static str = "bench";
}

/// A job whose payload is 200 bytes of JSON.
pub fn job() -> Bench {
    let filler = "x".repeat(200 - r#"{"filler":""}"#.len());
    Bench { filler }
}

pub fn payload() -> anyhow::Result<String> {
    Ok(serde_json::to_string(&job())?)
}

pub async fn enqueue(args: &Args, dir: &Path, report: &mut Report) -> anyhow::Result<()> {
    let mut bare = Bare::new(&dir.join("bare-enqueue.db"), args.batch)?;
    let payload = payload()?;
    let meter = Meter::start();
    bare.insert(args.jobs, &payload)?;
    let bare = meter.stop();

    let store = SqliteStore::open(dir.join("enqueue.db"), SqliteOptions::default())?;
    let client = Client::new(Arc::new(store));
    let meter = Meter::start();
    fill(&client, args.jobs, args.batch).await?;
    let ours = meter.stop();
    compare(
        report,
        ["enqueue", "enqueue, CPU"],
        ["", ""],
        (ours, bare),
        args.jobs,
    );
    Ok(())
}

pub async fn fill(client: &Client, jobs: usize, batch: usize) -> anyhow::Result<()> {
    for start in (0..jobs).step_by(batch) {
        let size = batch.min(jobs - start);
        client.enqueue_all(std::iter::repeat_n(job(), size)).await?;
    }
    Ok(())
}

/// Counts jobs that have run, and wakes the waiter when all have.
#[derive(Default)]
pub struct RunCounter {
    count: AtomicUsize,
    expected: usize,
    all: Notify,
}

impl RunCounter {
    pub fn of(expected: usize) -> Self {
        Self {
            expected,
            ..Self::default()
        }
    }

    pub async fn wait(&self) {
        self.all.notified().await;
    }

    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }
}

pub async fn count(_: Bench, ctx: Context<Arc<RunCounter>>) -> Result<(), JobError> {
    let done = ctx.state();
    if done.count.fetch_add(1, Ordering::Relaxed) + 1 == done.expected {
        done.all.notify_one();
    }
    Ok(())
}

pub async fn whole(args: &Args, dir: &Path, report: &mut Report) -> anyhow::Result<()> {
    let mut bare = Bare::new(&dir.join("bare-lifecycle.db"), args.batch)?;
    let payload = payload()?;
    let meter = Meter::start();
    bare.insert(args.jobs, &payload)?;
    anyhow::ensure!(
        bare.claim_and_settle()? == args.jobs,
        "the bare loop lost jobs"
    );
    let bare = meter.stop();

    let store = SqliteStore::open(dir.join("lifecycle.db"), SqliteOptions::default())?;
    let ours = run(Engine::builder(store), args.jobs, args.batch).await?;
    let names = ["lifecycle", "lifecycle, CPU"];
    compare(
        report,
        names,
        ["ratio ≥ 0.60", "ratio ≤ 2.00"],
        (ours, bare),
        args.jobs,
    );
    Ok(())
}

/// Creates jobs and runs them with an engine of its own; the cost of both.
pub async fn run(builder: EngineBuilder, jobs: usize, batch: usize) -> anyhow::Result<Cost> {
    let done = Arc::new(RunCounter::of(jobs));
    let meter = Meter::start();
    let engine = builder
        .state(done.clone())
        .handler(count)
        .concurrency(4 * batch)
        .start()?;
    fill(&engine.client(), jobs, batch).await?;
    done.wait().await;
    let client = engine.client();
    engine.stop().await;
    let cost = meter.stop();
    let stats = client.stats(client.now()).await?;
    anyhow::ensure!(
        stats.succeeded == jobs as u64,
        "the engine lost jobs: {stats:?}"
    );
    Ok(cost)
}

pub fn compare(
    report: &mut Report,
    [rate, cpu]: [&'static str; 2],
    [rate_aim, cpu_aim]: [&'static str; 2],
    (ours, bare): (Cost, Cost),
    jobs: usize,
) {
    let rates = (ours.per_second(jobs), bare.per_second(jobs));
    report.compare(rate, rates, "jobs/s", rate_aim);
    if let Some(cpus) = ours.cpu_micros_each(jobs).zip(bare.cpu_micros_each(jobs)) {
        report.compare(cpu, cpus, "µs/job", cpu_aim);
    }
}

/// Starts of single jobs on an idle engine: the handler's first moment minus `runAt`. A claim
/// is durable before anything starts, so the baseline is one durable commit.
pub async fn lateness(args: &Args, dir: &Path, report: &mut Report) -> anyhow::Result<()> {
    let store = SqliteStore::open(dir.join("lateness.db"), SqliteOptions::default())?;
    let late = Lateness::default();
    let engine = Engine::builder(store)
        .state(late.clone())
        .handler(note)
        .start()?;
    let mut bare = Bare::new(&dir.join("bare-lateness.db"), 1)?;
    let payload = payload()?;
    let mut commits = Vec::new();
    for n in 0..args.starts {
        // Spread over the milliseconds, so that no timer's grid flatters the figure.
        let delay = Duration::from_micros(3_000 + (n as u64 * 617) % 7_000);
        let request: JobRequest = job().job().delay(delay);
        engine.client().enqueue(request).await?;
        late.1.notified().await;
        let meter = Meter::start();
        bare.insert(1, &payload)?;
        commits.push(meter.stop().wall.as_secs_f64() * 1e3);
    }
    engine.stop().await;
    let starts = late.0.lock().map(|all| all.clone()).unwrap_or_default();
    for (name, percent, aim) in [
        (
            "start lateness, median",
            50,
            "(baseline: one durable commit)",
        ),
        ("start lateness, p99", 99, "< 5 ms"),
    ] {
        if let Some(both) = at(&starts, percent).zip(at(&commits, percent)) {
            report.compare(name, both, "ms", aim);
        }
    }
    Ok(())
}

type Lateness = Arc<(Mutex<Vec<f64>>, Notify)>;

async fn note(_: Bench, ctx: Context<Lateness>) -> Result<(), JobError> {
    let late = SystemClock.now().since(ctx.job().progress.run_at);
    let (all, started) = &**ctx.state();
    if let Ok(mut all) = all.lock() {
        all.push(late.as_secs_f64() * 1e3);
    }
    started.notify_one();
    Ok(())
}

pub fn at(samples: &[f64], percent: usize) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    sorted.get(last * percent / 100).copied()
}
