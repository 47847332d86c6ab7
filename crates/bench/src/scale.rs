//! The cost of a large backlog: it must not slow down claims, and memory must not grow with it.

use std::{path::Path, sync::Arc, time::Duration};

use steadfast::{
    Client, JobKind as _, SqliteOptions, SqliteStore,
    node::WorkerName,
    store::{ClaimRequest, JobStore as _},
};

use super::{
    Args,
    figure::Report,
    lifecycle,
    meter::{self, Meter},
};

const SMALL: usize = 10_000; // not a limit: the shape of the measurement
const ROUNDS: usize = 3; // not a limit: the shape of the measurement
const CLAIMS: usize = 90; // not a limit: the shape of the measurement
const CLAIM_SIZE: usize = 100; // not a limit: the shape of the measurement

pub async fn claims(args: &Args, dir: &Path, report: &mut Report) -> anyhow::Result<()> {
    let mut small = Vec::new();
    for round in 0..ROUNDS {
        let (store, _) = backlog(args, &dir.join(format!("small-{round}.db")), SMALL).await?;
        small.push(claim_cost(&store).await?);
    }
    let (store, _client) = backlog(args, &dir.join("large.db"), args.backlog).await?;
    let mut large = Vec::new();
    for _ in 0..ROUNDS {
        large.push(claim_cost(&store).await?);
    }
    let mean = |costs: &[f64]| costs.iter().sum::<f64>() / ROUNDS as f64;
    report.compare(
        "claim from the backlog, CPU",
        (mean(&large), mean(&small)),
        "µs/job",
        "ratio ≤ 1.50 (baseline: 10,000 rows)",
    );
    if let Some(resident) = meter::resident_mb() {
        report.alone("resident memory, backlog", resident, "MB", "< 100 MB");
    }
    Ok(())
}

/// Jobs that are due, and a fifth as many of the highest priority in the future.
async fn backlog(args: &Args, path: &Path, rows: usize) -> anyhow::Result<(SqliteStore, Client)> {
    let store = SqliteStore::open(path, SqliteOptions::default())?;
    let client = Client::new(Arc::new(store.clone()));
    let future = lifecycle::job()
        .job()
        .priority(9)
        .delay(Duration::from_secs(86_400));
    for start in (0..rows / 5).step_by(args.batch) {
        let size = args.batch.min(rows / 5 - start);
        client
            .enqueue_all(std::iter::repeat_n(future.clone(), size))
            .await?;
    }
    lifecycle::fill(&client, rows, args.batch).await?;
    Ok((store, client))
}

/// CPU per claimed job.
async fn claim_cost(store: &SqliteStore) -> anyhow::Result<f64> {
    let meter = Meter::start();
    for _ in 0..CLAIMS {
        let claimed = store.claim(request()?).await?;
        anyhow::ensure!(
            claimed.claims.len() == CLAIM_SIZE,
            "the backlog ran dry: choose a larger one"
        );
    }
    let cost = meter.stop();
    let jobs = CLAIMS * CLAIM_SIZE;
    Ok(cost
        .cpu_micros_each(jobs)
        .unwrap_or(1e6 / cost.per_second(jobs)))
}

fn request() -> anyhow::Result<ClaimRequest> {
    Ok(ClaimRequest::new(WorkerName::new("bench")?, CLAIM_SIZE))
}
