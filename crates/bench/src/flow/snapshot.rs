//! Throughput while another session holds an old snapshot, so that no dead row can be removed.
//!
//! Three stores take turns: without a gate, at one that counts what runs, and at one that counts
//! starts. Small claims at gates, because each of them reads the state of the gate.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use steadfast::{
    Client, PostgresStore,
    node::WorkerName,
    store::{BaseStore as _, ClaimRequest, JobStore as _},
};
use steadfast_core::{GateLimits, Rate};

use super::{
    super::{
        figure::Report,
        lifecycle,
        postgres_bare::{connect, in_schema},
        stores::{Stores, open_schema},
    },
    nodes, queue_gate,
};

const BATCH: usize = 500; // not a limit: the shape of the measurement
const BATCH_AT_GATE: usize = 50; // not a limit: the shape of the measurement
const WINDOWS: u32 = 10; // not a limit: the shape of the measurement
/// As often as an engine looks for leases that have expired.
const SWEEP_EVERY: Duration = Duration::from_secs(1); // not a limit: the shape of the measurement

struct Side {
    name: &'static str,
    schema: String,
    store: PostgresStore,
    batch: usize,
    jobs: usize,
    rates: Vec<f64>,
}

impl Side {
    async fn open(
        stores: &Stores<'_>,
        url: &str,
        name: &'static str,
        limits: Option<GateLimits>,
    ) -> anyhow::Result<Self> {
        let schema = stores.next_schema();
        let store = open_schema(url, &schema).await?;
        let batch = limits.as_ref().map_or(BATCH, |_| BATCH_AT_GATE);
        if let Some(limits) = limits {
            store.set_gate_settings(queue_gate("default", limits)?);
        }
        let mut side = Self {
            name,
            schema,
            store,
            batch,
            jobs: 0,
            rates: Vec::new(),
        };
        // What is first prepared and read counts for no window.
        side.run(Duration::ZERO).await?;
        side.rates.clear();
        Ok(side)
    }

    /// Creates, claims and settles for one window, at least once.
    async fn run(&mut self, window: Duration) -> anyhow::Result<()> {
        let client = Client::new(Arc::new(self.store.clone()));
        let started = Instant::now();
        let (mut count, mut swept) = (0_usize, None::<Instant>);
        while count == 0 || started.elapsed() < window {
            lifecycle::fill(&client, self.batch, self.batch).await?;
            let mut left = self.batch;
            while left > 0 {
                let request = ClaimRequest::new(WorkerName::new("bench")?, left);
                // The database's clock may be known as a little earlier than it is.
                let claims = self.store.claim(request).await?.claims;
                left -= claims.len();
                nodes::settle(&self.store, claims).await?;
            }
            if swept.is_none_or(|at| at.elapsed() >= SWEEP_EVERY) {
                self.store.expired_leases(BATCH).await?;
                swept = Some(Instant::now());
            }
            count += self.batch;
        }
        self.rates
            .push(count as f64 / started.elapsed().as_secs_f64());
        self.jobs += count;
        Ok(())
    }

    fn report(&self, report: &mut Report) {
        let first = self.rates.first().copied().unwrap_or(f64::NAN);
        for (when, index) in [
            ("half of the time", self.rates.len() / 2),
            ("the last tenth", self.rates.len() - 1),
        ] {
            let rate = self.rates.get(index).copied().unwrap_or(f64::NAN);
            let name = format!("old snapshot, {}, {when}", self.name);
            let aim = "ratio ≥ 0.80 (baseline: the first tenth)";
            report.compare(name, (rate, first), "jobs/s", aim);
        }
    }
}

pub async fn throughput(
    stores: &Stores<'_>,
    time: Duration,
    report: &mut Report,
) -> anyhow::Result<()> {
    let Some(url) = stores.url else { return Ok(()) };
    let wide = i64::from(u16::MAX);
    let running = GateLimits {
        max_running: Some(1_000_000), // not a limit: wide enough for all
        ..GateLimits::default()
    };
    let rate = GateLimits {
        rate: Some(Rate::new(wide, Duration::from_secs(1), wide)?),
        ..GateLimits::default()
    };
    let mut sides = [
        Side::open(stores, url, "no gate", None).await?,
        Side::open(stores, url, "maxRunning", Some(running)).await?,
        Side::open(stores, url, "rate", Some(rate)).await?,
    ];
    let holder = connect(url).await?;
    let sql = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM steadfast.job";
    holder
        .batch_execute(&in_schema(sql, &sides[0].schema))
        .await?;

    let before = index_bytes(url, &sides[0].schema).await?;
    let window = time / WINDOWS / u32::try_from(sides.len())?;
    let jobs_before = sides[0].jobs;
    for _ in 0..WINDOWS {
        for side in &mut sides {
            side.run(window).await?;
        }
    }
    let grown = index_bytes(url, &sides[0].schema).await? - before;
    holder.batch_execute("COMMIT").await?;
    for side in &sides {
        side.report(report);
    }
    let jobs = sides[0].jobs - jobs_before;
    report.alone(
        "index of due jobs, growth",
        grown as f64 / jobs as f64,
        "bytes/job",
        "one entry for each job",
    );
    Ok(())
}

/// The size of the index that claims read.
async fn index_bytes(url: &str, schema: &str) -> anyhow::Result<i64> {
    let sql = in_schema("SELECT pg_relation_size('steadfast.job_due')", schema);
    let row = connect(url).await?.query_one(&sql, &[]).await?;
    Ok(row.try_get(0)?)
}
