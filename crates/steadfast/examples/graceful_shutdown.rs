//! What does a stop do to running jobs?
//!
//! Nothing new is started, and handlers get the signal to stop at once. What ends within the
//! grace period ends normally; the rest is given back without counting the attempt, and starts
//! again on the next node. Servers end with `engine.run_until_signal().await?`, which does all
//! this on SIGTERM or SIGINT, and stops at once on the second one; here `stop` stands in for the
//! signal.
//!
//! `cargo run -p steadfast --example graceful_shutdown`

#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use std::time::Duration;

use serde::{Deserialize, Serialize};
use steadfast::{Context, Engine, JobError, JobEvent, JobKind, MemoryStore, job::PageRequest};
use tokio::time::sleep;

#[derive(Serialize, Deserialize)]
enum Work {
    Short,
    Long,
    Listening,
}

impl JobKind for Work {
    const KIND: &'static str = "work";
}

async fn work(job: Work, ctx: Context) -> Result<(), JobError> {
    match job {
        // Ends within the grace period, and never knows of the stop.
        Work::Short => sleep(Duration::from_millis(200)).await,
        // Does not end in time. It is cut off at the `await` it is waiting at.
        Work::Long => sleep(Duration::from_secs(3_600)).await,
        // Saves its work at the signal, and asks to be run again without losing an attempt.
        Work::Listening => tokio::select! {
            () = sleep(Duration::from_secs(3_600)) => {}
            reason = ctx.stopped() => {
                println!("listening: asked to stop ({reason:?}), saving my work");
                return Err(JobError::Release);
            }
        },
    }
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let engine = Engine::builder(MemoryStore::default())
        .handler(work)
        .grace(Duration::from_secs(1))
        .start()?;
    let client = engine.client();
    let mut notices = engine.subscribe();
    let jobs = [
        ("short", client.enqueue(Work::Short).await?),
        ("long", client.enqueue(Work::Long).await?),
        ("listening", client.enqueue(Work::Listening).await?),
    ];
    let mut started = 0;
    while started < jobs.len()
        && let Some(notice) = notices.next().await
    {
        started += usize::from(matches!(notice.event, JobEvent::Started { .. }));
    }

    println!("stopping, with {} attempts running", engine.in_flight());
    engine.stop().await;
    println!("stopped");

    for (name, id) in jobs {
        let Some(job) = client.job(id).await? else {
            continue;
        };
        let records = client.attempts(id, PageRequest::first(1)).await?.items;
        let status = records.first().map(|record| record.status.to_string());
        println!(
            "{name}: {}, now {}, attempts counted: {}",
            status.unwrap_or_default(),
            job.label(client.now()),
            job.progress.attempt,
        );
    }
    Ok(())
}
