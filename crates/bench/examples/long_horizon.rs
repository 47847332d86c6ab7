//! An adapter for a comparison of job queues on PostgreSQL that others wrote:
//! hardbyte/postgresql-job-queue-benchmarking on GitHub.
//!
//! Its harness starts this program, reads samples as lines of JSON from its output, watches the tables,
//! and disturbs the database. The settings are environment variables; CONTRIBUTING_ADAPTERS.md of the
//! harness describes them. See deploy/benchmarks/README.md.

use std::{
    collections::VecDeque,
    env,
    io::Write as _,
    str::FromStr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use steadfast::{
    Client, Context, Engine, JobError, JobKind, PostgresOptions, PostgresStore, Timestamp,
    store::{Clock as _, SystemClock},
};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::{MissedTickBehavior, interval, sleep},
};

/// The harness fails a run whose program reports fewer tables than the manifest beside the README.
const TABLES: [&str; 4] = [
    "steadfast.job",
    "steadfast.attempt",
    "steadfast.count_change",
    "steadfast.lane_count",
];
/// The percentiles are those of the last 30 seconds, of at most this many starts.
const LATENCIES_MAX: usize = 32_768;
const LATENCY_WINDOW: Duration = Duration::from_secs(30);
/// How often the harness's other adapters count waiting jobs.
const DEPTH_PERIOD: Duration = Duration::from_millis(200);
const DEPTH_PAUSE: Duration = Duration::from_millis(50);

#[derive(Serialize, Deserialize)]
struct BenchJob {
    /// When it was created, by the clock of this process.
    created: i64,
    padding: String,
}

impl JobKind for BenchJob {
    const KIND: &'static str = "long-horizon";
}

struct Settings {
    database: String,
    rate: f64,
    /// A file with the current rate, which phases of high load change.
    rate_file: Option<String>,
    /// Waiting jobs to keep up, in place of a rate.
    depth: Option<u64>,
    batch: u64,
    batch_period: Duration,
    workers: usize,
    padding: usize,
    work: Duration,
    sample_seconds: u64,
    instance: u32,
}

impl Settings {
    fn read() -> anyhow::Result<Self> {
        let is_depth_target = env::var("PRODUCER_MODE").is_ok_and(|it| it == "depth-target");
        let depth = number("TARGET_DEPTH", 1_000)?;
        Ok(Self {
            database: env::var("DATABASE_URL").context("DATABASE_URL is not set")?,
            rate: number("PRODUCER_RATE", 800.0)?,
            rate_file: env::var("PRODUCER_RATE_CONTROL_FILE").ok(),
            depth: is_depth_target.then_some(depth),
            batch: number("PRODUCER_BATCH_MAX", 128)?,
            batch_period: Duration::from_millis(number("PRODUCER_BATCH_MS", 10)?),
            workers: number("WORKER_COUNT", 32)?,
            padding: number("JOB_PAYLOAD_BYTES", 256_usize)?.saturating_sub(48),
            work: Duration::from_millis(number("JOB_WORK_MS", 1)?),
            sample_seconds: number("SAMPLE_EVERY_S", 5_u64)?.max(1),
            instance: number("BENCH_INSTANCE_ID", 0)?,
        })
    }

    fn current_rate(&self) -> f64 {
        let text = self.rate_file.as_ref().map(std::fs::read_to_string);
        let rate = text.and_then(|it| it.ok()?.trim().parse().ok());
        rate.unwrap_or(self.rate)
    }
}

fn number<T: FromStr>(name: &str, default: T) -> anyhow::Result<T> {
    match env::var(name) {
        Err(_) => Ok(default),
        Ok(text) => match text.parse() {
            Ok(number) => Ok(number),
            Err(_) => anyhow::bail!("{name} is not a number: {text}"),
        },
    }
}

/// What happened, for the samples.
struct Counters {
    settings: Settings,
    created: AtomicU64,
    completed: AtomicU64,
    waiting: AtomicU64,
    /// When jobs started, and how many milliseconds after their creation.
    latencies: Mutex<VecDeque<(Instant, f64)>>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let settings = Settings::read()?;
    let store = PostgresStore::open(&settings.database, PostgresOptions::default()).await?;
    let workers = settings.workers;
    let counters = Arc::new(Counters {
        settings,
        created: AtomicU64::new(0),
        completed: AtomicU64::new(0),
        waiting: AtomicU64::new(0),
        latencies: Mutex::default(),
    });
    let builder = Engine::builder(store).state(counters.clone());
    let engine = builder.handler(run).concurrency(workers).start()?;
    describe(&counters.settings)?;
    let client = engine.client();
    let mut terminated = signal(SignalKind::terminate())?;
    let mut interrupted = signal(SignalKind::interrupt())?;
    tokio::select! {
        ended = produce(&client, &counters) => ended?,
        ended = count_waiting(&client, &counters) => ended?,
        ended = report(&counters) => ended?,
        _ = terminated.recv() => {}
        _ = interrupted.recv() => {}
    }
    engine.stop().await;
    Ok(())
}

async fn run(job: BenchJob, ctx: Context<Arc<Counters>>) -> Result<(), JobError> {
    let counters = ctx.state();
    let waited = SystemClock.now().as_micros() - job.created;
    if let Ok(mut latencies) = counters.latencies.lock() {
        latencies.push_back((Instant::now(), waited.max(0) as f64 / 1_000.0));
        if latencies.len() > LATENCIES_MAX {
            latencies.pop_front();
        }
    }
    sleep(counters.settings.work).await;
    counters.completed.fetch_add(1, Relaxed);
    Ok(())
}

/// Creates jobs at the rate of the settings, or as many as keep the queue at its depth.
async fn produce(client: &Client, counters: &Counters) -> anyhow::Result<()> {
    let settings = &counters.settings;
    let padding = "x".repeat(settings.padding);
    let mut credit = 0.0;
    let mut last = Instant::now();
    loop {
        let most = match settings.depth {
            Some(depth) => {
                let missing = depth.saturating_sub(counters.waiting.load(Relaxed));
                if missing == 0 {
                    sleep(DEPTH_PAUSE).await;
                }
                missing
            }
            None => {
                sleep(settings.batch_period.saturating_sub(last.elapsed())).await;
                // The time that has passed counts, not the period that was asked for.
                credit += settings.current_rate() * last.elapsed().as_secs_f64();
                last = Instant::now();
                whole(credit)
            }
        };
        let count = most.min(settings.batch);
        if count == 0 {
            continue;
        }
        let created = SystemClock.now().as_micros();
        let jobs = (0..count).map(|_| BenchJob {
            created,
            padding: padding.clone(),
        });
        match client.enqueue_all(jobs).await {
            Ok(_) => {
                credit -= count as f64;
                counters.created.fetch_add(count, Relaxed);
            }
            // Phases that cut connections are part of the comparison.
            Err(error) => writeln!(std::io::stderr(), "[steadfast] create: {error}")?,
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "credit is a small number above zero"
)]
fn whole(credit: f64) -> u64 {
    credit as u64
}

async fn count_waiting(client: &Client, counters: &Counters) -> anyhow::Result<()> {
    if counters.settings.instance > 0 {
        std::future::pending::<()>().await;
    }
    let mut ticks = interval(DEPTH_PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if let Ok(stats) = client.stats(Timestamp::MAX).await {
            counters.waiting.store(stats.ready, Relaxed);
        }
    }
}

/// Prints samples at the boundaries of the clock, so that those of all systems line up.
async fn report(counters: &Counters) -> anyhow::Result<()> {
    let seconds = counters.settings.sample_seconds;
    let period = seconds * 1_000_000;
    let passed = SystemClock.now().as_micros().unsigned_abs() % period;
    sleep(Duration::from_micros(period - passed)).await;
    let mut ticks = interval(Duration::from_secs(seconds));
    let mut before = (0, 0, Instant::now());
    loop {
        ticks.tick().await;
        let now = (
            counters.created.load(Relaxed),
            counters.completed.load(Relaxed),
            Instant::now(),
        );
        let passed = (now.2 - before.2).as_secs_f64().max(0.001);
        let window = seconds as f64;
        let [p50, p95, p99] = percentiles(counters);
        let (created, completed) = ((now.0 - before.0) as f64, (now.1 - before.1) as f64);
        before = now;
        sample("claim_p50_ms", p50, LATENCY_WINDOW.as_secs_f64(), counters)?;
        sample("claim_p95_ms", p95, LATENCY_WINDOW.as_secs_f64(), counters)?;
        sample("claim_p99_ms", p99, LATENCY_WINDOW.as_secs_f64(), counters)?;
        sample("enqueue_rate", created / passed, window, counters)?;
        sample("completion_rate", completed / passed, window, counters)?;
        // The first replica reports what is the same for all.
        if counters.settings.instance == 0 {
            let waiting = counters.waiting.load(Relaxed) as f64;
            sample("queue_depth", waiting, 0.0, counters)?;
            let rate = counters.settings.current_rate();
            sample("producer_target_rate", rate, 0.0, counters)?;
        }
    }
}

fn percentiles(counters: &Counters) -> [f64; 3] {
    let all = counters.latencies.lock();
    let all = all.map(|it| it.clone()).unwrap_or_default();
    let recent = all.iter().filter(|it| it.0.elapsed() <= LATENCY_WINDOW);
    let mut recent: Vec<f64> = recent.map(|it| it.1).collect();
    recent.sort_by(f64::total_cmp);
    [50, 95, 99].map(|percent| match recent.len() {
        0 => 0.0,
        count => recent[(count - 1) * percent / 100],
    })
}

fn describe(settings: &Settings) -> anyhow::Result<()> {
    let database = settings.database.rsplit('/').next().unwrap_or_default();
    let database = database.split('?').next().unwrap_or_default();
    print(&json!({
        "kind": "descriptor",
        "system": "steadfast",
        "event_tables": TABLES,
        "extensions": [],
        "version": env!("CARGO_PKG_VERSION"),
        "schema_version": env!("CARGO_PKG_VERSION"),
        "db_name": database,
        "started_at": SystemClock.now().to_string(),
        "instance_id": settings.instance,
    }))
}

fn sample(metric: &str, value: f64, window: f64, counters: &Counters) -> anyhow::Result<()> {
    print(&json!({
        "t": SystemClock.now().to_string(),
        "system": "steadfast",
        "kind": "adapter",
        "subject_kind": "adapter",
        "subject": "",
        "metric": metric,
        "value": value,
        "window_s": window,
        "instance_id": counters.settings.instance,
    }))
}

fn print(record: &Value) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{record}")?;
    Ok(out.flush()?)
}
