//! What a large backlog costs: claims must not feel it, and memory must not grow with it.

use std::{path::Path, sync::Arc, time::Duration};

use steadfast::{
    Client, JobKind as _, SqliteOptions, SqliteStore, Store as _, WorkerName, store::ClaimRequest,
};

use super::{
    Args,
    figure::Report,
    lifecycle,
    meter::{self, Meter},
};

const SMALL: usize = 10_000;
const CLAIMS: usize = 90;
const CLAIM_SIZE: usize = 100;

pub async fn claims(args: &Args, dir: &Path, report: &mut Report) -> anyhow::Result<()> {
    let small = claim_cost(args, &dir.join("small.db"), SMALL).await?;
    let large = claim_cost(args, &dir.join("large.db"), args.backlog).await?;
    report.beside(
        "claim from the backlog, CPU",
        (large, small),
        "µs/job",
        "ratio ≤ 1.50 (bare: 10,000 rows)",
    );
    if let Some(resident) = meter::resident_mb() {
        report.alone("resident memory, backlog", resident, "MB", "< 100 MB");
    }
    Ok(())
}

/// CPU per claimed job, with a fifth as many jobs of the highest priority in the future.
async fn claim_cost(args: &Args, path: &Path, rows: usize) -> anyhow::Result<f64> {
    let store = SqliteStore::open(path, SqliteOptions::default())?;
    let client = Client::new(Arc::new(store.clone()));
    let future = lifecycle::job()
        .job()
        .priority(9)
        .delay(Duration::from_secs(86_400));
    for _ in 0..rows / 5 / args.batch {
        let batch = std::iter::repeat_n(future.clone(), args.batch);
        client.enqueue_all(batch).await?;
    }
    lifecycle::fill(&client, rows, args.batch).await?;
    let meter = Meter::start();
    for _ in 0..CLAIMS {
        let claimed = store.claim(request()?).await?;
        anyhow::ensure!(claimed.claims.len() == CLAIM_SIZE, "the backlog ran dry");
    }
    let cost = meter.stop();
    let jobs = CLAIMS * CLAIM_SIZE;
    Ok(cost
        .cpu_micros_each(jobs)
        .unwrap_or(1e6 / cost.per_second(jobs)))
}

fn request() -> anyhow::Result<ClaimRequest> {
    Ok(ClaimRequest {
        worker: WorkerName::new("bench")?,
        tenant: None,
        queues: Vec::new(),
        kinds: Vec::new(),
        max: CLAIM_SIZE,
        lease: None,
    })
}
