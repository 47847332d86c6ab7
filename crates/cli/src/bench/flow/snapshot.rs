//! Throughput while another session holds an old snapshot, so that no dead row can be removed.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use steadfast::{
    Client,
    node::WorkerName,
    store::{ClaimRequest, JobStore as _},
};

use super::{
    super::{
        figure::Report,
        lifecycle,
        postgres_bare::{connect, in_schema},
    },
    Stores, nodes, open_schema,
};

const BATCH: usize = 500; // not a limit: the shape of the measurement
const WINDOWS: u32 = 10; // not a limit: the shape of the measurement
/// As often as an engine looks for leases that have expired.
const SWEEP_EVERY: Duration = Duration::from_secs(1); // not a limit: the shape of the measurement

pub async fn throughput(
    stores: &Stores<'_>,
    time: Duration,
    report: &mut Report,
) -> anyhow::Result<()> {
    let Some(url) = stores.url else { return Ok(()) };
    let schema = stores.next_schema();
    let store = open_schema(url, &schema).await?;
    let client = Client::new(Arc::new(store.clone()));
    lifecycle::fill(&client, BATCH, BATCH).await?;
    let holder = connect(url).await?;
    let sql = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM steadfast.job";
    holder.batch_execute(&in_schema(sql, &schema)).await?;

    let before = index_bytes(url, &schema).await?;
    let window = time / WINDOWS;
    let (mut rates, mut jobs) = (Vec::new(), 0_usize);
    for _ in 0..WINDOWS {
        let started = Instant::now();
        let (mut count, mut swept) = (0_usize, None::<Instant>);
        while started.elapsed() < window {
            lifecycle::fill(&client, BATCH, BATCH).await?;
            let request = ClaimRequest::new(WorkerName::new("bench")?, BATCH);
            let claims = store.claim(request).await?.claims;
            anyhow::ensure!(claims.len() == BATCH, "{} were claimed", claims.len());
            nodes::settle(&store, claims).await?;
            if swept.is_none_or(|at| at.elapsed() >= SWEEP_EVERY) {
                store.expired_leases(BATCH).await?;
                swept = Some(Instant::now());
            }
            count += BATCH;
        }
        rates.push(count as f64 / started.elapsed().as_secs_f64());
        jobs += count;
    }
    let grown = index_bytes(url, &schema).await? - before;
    holder.batch_execute("COMMIT").await?;
    let first = rates.first().copied().unwrap_or(f64::NAN);
    let names = [
        ("old snapshot, half of the time", rates.len() / 2),
        ("old snapshot, the last tenth", rates.len() - 1),
    ];
    for (name, index) in names {
        let rate = rates.get(index).copied().unwrap_or(f64::NAN);
        let aim = "ratio ≥ 0.80 (beside: the first tenth)";
        report.beside(name, (rate, first), "jobs/s", aim);
    }
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
