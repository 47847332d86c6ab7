//! `steadfast bench --operations`: what unique jobs, tags, fingerprints and work on many jobs cost.
//!
//! Ratios are of two stores, or of two halves, that take turns in the same run.

use std::{
    hint::black_box,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use clap::builder::RangedU64ValueParser;
use serde::{Deserialize, Serialize};
use steadfast::{
    Client, Context, Engine, Failure, JobError, JobKind, JobRequest, Kind,
    failure::{FailureClass, FailureFingerprint},
    job::{ConflictAction, JobFilter, JobPageRequest, Unique, UniqueKey, UniqueScope},
    operation::{Actor, OperationKind, OperationRequest, OperationStatus},
    store::{Clock as _, Store, SystemClock},
};
use steadfast_core::explain::thousands;

use super::{
    Args,
    figure::Report,
    lifecycle::{self, Bench, RunCounter, at},
    meter::{Cost, Meter, resident_mb},
    stores::{Stores, fill, plain},
};

/// How many jobs have one tag.
const TAG_JOBS: usize = 100; // not a limit: the shape of the measurement
const LISTS: usize = 200; // not a limit: the shape of the measurement
const PAGE: usize = 50; // not a limit: the shape of the measurement
const FEW: usize = 10_000; // not a limit: the shape of the measurement
const FAILURES: usize = 20_000; // not a limit: the shape of the measurement
/// Between two timed starts during an operation.
const EVERY: Duration = Duration::from_millis(20); // not a limit: the shape of the measurement

#[derive(clap::Args)]
pub struct OperationArgs {
    /// Run only the benchmarks of unique jobs, tags, failure fingerprints and bulk operations.
    #[arg(long, conflicts_with_all = ["flow", "server"])]
    pub operations: bool,
    /// Number of jobs for the list by tag.
    #[arg(long, default_value_t = 1_000_000, requires = "operations", value_parser = RangedU64ValueParser::<usize>::new().range(100..))]
    tagged: usize,
    /// Number of dead letters that an operation requeues.
    #[arg(long, default_value_t = 1_000_000, requires = "operations", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    dead: usize,
}

pub async fn figures(args: &Args, dir: &Path, report: &mut Report) -> anyhow::Result<()> {
    let stores = Stores::new(args.store.as_deref(), dir);
    let measured = measure(args, &stores, report).await;
    stores.remove().await?;
    measured
}

async fn measure(args: &Args, stores: &Stores<'_>, report: &mut Report) -> anyhow::Result<()> {
    fingerprints(report);
    create(args, stores, "create, unique", unique, report).await?;
    create(args, stores, "create, two tags", tagged, report).await?;
    list(args, stores, report).await?;
    requeue(args, stores, report).await
}

fn unique(number: usize) -> JobRequest {
    let key = UniqueKey::new(&format!("report:{number}"));
    let unique = key.map(|key| Unique {
        key,
        scope: UniqueScope::Unfinished,
        on_conflict: ConflictAction::Keep,
    });
    match unique {
        Ok(unique) => plain(number).unique(unique),
        Err(_) => plain(number),
    }
}

fn tagged(number: usize) -> JobRequest {
    let customer = (number / TAG_JOBS).to_string();
    plain(number).tag("customer", customer).tag("team", "a")
}

/// The cost of the fingerprint of a failure, on the messages of a few libraries.
fn fingerprints(report: &mut Report) {
    let messages = [
        "error trying to connect: tcp connect error: Connection refused (os error 111)",
        "user844@example.com: mailbox full (552)",
        "duplicate key value violates unique constraint \"orders_pkey\" (id)=(4711)",
        "POST https://api.example.com/v1/orders/8f14e45f: 503 after 12.3s, request 0af7651916cd43dd",
    ];
    let failures = messages.map(|message| Failure::new(FailureClass::TIMEOUT, message));
    let kind = Kind::http();
    let meter = Meter::start();
    for failure in failures.iter().cycle().take(FAILURES) {
        black_box(FailureFingerprint::of(black_box(failure), &kind, None));
    }
    let cost = meter.stop();
    let micros = cost.cpu_micros_each(FAILURES);
    let micros = micros.unwrap_or(1e6 / cost.per_second(FAILURES));
    report.alone("fingerprint of a failure", micros, "µs", "");
}

/// Creates of one sort compared with plain ones; both take turns.
async fn create(
    args: &Args,
    stores: &Stores<'_>,
    name: &'static str,
    job: fn(usize) -> JobRequest,
    report: &mut Report,
) -> anyhow::Result<()> {
    let (base, other) = (stores.open().await?, stores.open().await?);
    let (mut theirs, mut ours) = (Cost::default(), Cost::default());
    for start in (0..args.jobs).step_by(args.batch) {
        let size = args.batch.min(args.jobs - start);
        for (store, job, cost) in [
            (&base, plain as fn(usize) -> _, &mut theirs),
            (&other, job, &mut ours),
        ] {
            let meter = Meter::start();
            fill(store, args.batch, size, |number| job(start + number)).await?;
            *cost += meter.stop();
        }
    }
    let rates = (ours.per_second(args.jobs), theirs.per_second(args.jobs));
    report.compare(name, rates, "jobs/s", "(baseline: plain)");
    Ok(())
}

/// A page of the jobs with one tag among many jobs, compared with few jobs.
async fn list(args: &Args, stores: &Stores<'_>, report: &mut Report) -> anyhow::Result<()> {
    let rows = args.operations.tagged;
    let mut medians = Vec::new();
    for rows in [rows, rows.min(FEW)] {
        let store = stores.open().await?;
        fill(&store, args.batch, rows, tagged).await?;
        medians.push(list_time(&store, rows).await?);
    }
    let name = format!("list by tag, {} jobs", thousands(rows as u64));
    report.compare(
        name,
        (medians[0], medians[1]),
        "ms, median",
        "(baseline: at most 10,000 jobs)",
    );
    Ok(())
}

async fn list_time(store: &Arc<dyn Store>, rows: usize) -> anyhow::Result<f64> {
    let client = Client::new(store.clone());
    let mut times = Vec::new();
    for number in 0..LISTS {
        // All over the table.
        let customer = number * (rows / TAG_JOBS) / LISTS;
        let filter = JobFilter {
            tags: vec![format!("customer:{customer}")],
            ..JobFilter::default()
        };
        let began = Instant::now();
        let page = client.jobs(filter, JobPageRequest::first(PAGE)).await?;
        times.push(began.elapsed().as_secs_f64() * 1e3);
        anyhow::ensure!(page.items.len() == PAGE.min(TAG_JOBS), "jobs are missing");
    }
    Ok(at(&times, 50).unwrap_or(f64::NAN))
}

/// An operation that requeues many dead letters: how fast it is, what memory it takes, and how late
/// other jobs start meanwhile.
async fn requeue(args: &Args, stores: &Stores<'_>, report: &mut Report) -> anyhow::Result<()> {
    let dead = args.operations.dead;
    let store = stores.open().await?;
    bury(args, store.clone(), dead).await?;

    let late = Lateness::default();
    let engine = Engine::builder(store)
        .state(late.clone())
        .handler(note)
        .start()?;
    let client = engine.client();
    let quiet = starts(&client, &late, args.starts).await?;
    let memory = resident_mb();
    let mut request = OperationRequest::new(OperationKind::Requeue, Actor::named("bench"));
    request.all = true;
    let meter = Meter::start();
    let operation = client.create_operation(request).await?.id;
    let (mut busy, mut most) = (Vec::new(), memory);
    let ended = loop {
        busy.extend(starts(&client, &late, 1).await?);
        most = most.zip(resident_mb()).map(|(most, now)| most.max(now));
        let found = client.operation(operation).await?;
        let found = found.ok_or_else(|| anyhow::anyhow!("the operation is lost"))?;
        if found.operation.progress.status != OperationStatus::Running {
            break found;
        }
    };
    let cost = meter.stop();
    engine.stop().await;
    let changed = ended.operation.progress.changed;
    anyhow::ensure!(changed == dead as u64, "{changed} of {dead} were requeued");

    let name = format!("requeue of {} dead letters", thousands(dead as u64));
    report.alone(name, cost.per_second(dead), "jobs/s", "");
    if let Some((most, memory)) = most.zip(memory) {
        let figures = (most, memory);
        report.compare(
            "resident memory, operation",
            figures,
            "MB",
            "(baseline: before it)",
        );
    }
    for (name, percent) in [
        ("start during an operation, median", 50),
        ("start during an operation, p99", 99),
    ] {
        if let Some(both) = at(&busy, percent).zip(at(&quiet, percent)) {
            report.compare(name, both, "ms", "(baseline: without it)");
        }
    }
    Ok(())
}

/// Dead letters of a few causes.
async fn bury(args: &Args, store: Arc<dyn Store>, dead: usize) -> anyhow::Result<()> {
    let done = Arc::new(RunCounter::of(dead));
    let engine = Engine::builder(store.clone())
        .state(done.clone())
        .handler(fail)
        .concurrency(4 * args.batch)
        .start()?;
    fill(&store, args.batch, dead, plain).await?;
    done.wait().await;
    engine.stop().await;
    Ok(())
}

async fn fail(job: Bench, ctx: Context<Arc<RunCounter>>) -> Result<(), JobError> {
    let number = ctx.state().count() % 6;
    lifecycle::count(job, ctx).await?;
    Err(JobError::permanent(format!(
        "order {number} of customer 4711: {} is not known",
        [
            "tariff", "address", "product", "voucher", "currency", "account"
        ][number]
    )))
}

/// A job whose start is timed.
#[derive(Serialize, Deserialize)]
struct TimedJob {}

impl JobKind for TimedJob {
    const KIND: &'static str = "timed";
}

type Lateness = Arc<(Mutex<Vec<f64>>, tokio::sync::Notify)>;

async fn note(_: TimedJob, ctx: Context<Lateness>) -> Result<(), JobError> {
    let late = SystemClock.now().since(ctx.job().progress.run_at);
    let (all, started) = &**ctx.state();
    let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
    all.push(late.as_secs_f64() * 1e3);
    started.notify_one();
    Ok(())
}

/// Starts some jobs one after the other. Answers how late each was, in milliseconds.
async fn starts(client: &Client, late: &Lateness, count: usize) -> anyhow::Result<Vec<f64>> {
    let (all, started) = &**late;
    for _ in 0..count {
        client.enqueue(TimedJob {}.job().delay(EVERY)).await?;
        started.notified().await;
    }
    Ok(std::mem::take(
        &mut *all.lock().unwrap_or_else(PoisonError::into_inner),
    ))
}
