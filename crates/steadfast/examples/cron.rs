//! How do I run something on a schedule?
//!
//! A schedule creates one job per tick, and the job has retries like any other. Creating a
//! schedule that exists updates it, so a program can do it at every start; any number of nodes
//! fire a tick once. A preview shows the coming ticks and marks those that are moved by a change
//! to or from daylight saving time.
//!
//! `cargo run -p steadfast --example cron`

#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use serde::{Deserialize, Serialize};
use steadfast::{
    Context, Engine, JobError, JobEvent, JobKind, MemoryStore, ScheduleRequest, Timestamp,
    job::PageRequest, schedule::Dst,
};

#[derive(Serialize, Deserialize)]
struct Report {
    about: String,
}

impl JobKind for Report {
    const KIND: &'static str = "report";
}

async fn report(job: Report, ctx: Context) -> Result<(), JobError> {
    // The tick, not the present time: a retry an hour later still reports on the same hour.
    if let Some(run) = ctx.job().scheduled_run {
        println!("report on {} for {}", job.about, run.tick);
    }
    Ok(())
}

/// Half past two does not exist in Paris on 29 March 2026: at two the clock shows three.
fn preview() -> anyhow::Result<()> {
    let about = "last night".to_owned();
    let nightly = ScheduleRequest::cron("nightly", "30 2 * * *", Report { about });
    let from: Timestamp = "2026-03-27T12:00:00Z".parse()?;
    println!("every night at 02:30 in Paris, shown in UTC:");
    for tick in nightly.timezone("Europe/Paris").preview(from, 3)? {
        let mark = match tick.dst {
            Some(Dst::Gap) => "  <- the clock skips 02:30, so right after",
            Some(Dst::Fold) => "  <- the clock shows 02:30 twice, the first counts",
            None => "",
        };
        println!("  {}{mark}", tick.at);
    }
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    preview()?;

    let engine = Engine::builder(MemoryStore::default())
        .handler(report)
        .start()?;
    let client = engine.client();
    let mut notices = engine.subscribe();
    // Six fields begin with seconds, five with minutes.
    let about = "sales".to_owned();
    let every_second = ScheduleRequest::cron("sales", "* * * * * *", Report { about });
    let schedule = client
        .schedule(every_second.timezone("Europe/Paris"))
        .await?;
    println!("{} runs every second", schedule.name);

    let mut runs = 0;
    while runs < 3
        && let Some(notice) = notices.next().await
    {
        runs += u32::from(matches!(notice.event, JobEvent::Succeeded));
    }
    client.pause_schedule(schedule.id).await?;
    let ticks = client.ticks(schedule.id, PageRequest::first(100)).await?;
    println!("paused after {} ticks", ticks.items.len());
    engine.stop().await;
    Ok(())
}
