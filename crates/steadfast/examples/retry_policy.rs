//! How do I say how often, and when, a failed job is tried again?
//!
//! With a retry policy on up to five levels: job, kind, queue, tenant and engine. Each level
//! sets only what it cares about, the rest comes from below; a preset replaces all below it.
//! Every policy can show its timetable without running anything.
//!
//! `cargo run -p steadfast --example retry_policy`

#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use std::time::Duration;

use serde::{Deserialize, Serialize};
use steadfast::{
    Context, Engine, JobError, JobEvent, JobKind, MemoryStore, PolicyPatch, Preset, explain,
    policy::Jitter,
};

#[derive(Serialize, Deserialize)]
struct Mail;

impl JobKind for Mail {
    const KIND: &'static str = "mail";
}

#[derive(Serialize, Deserialize)]
struct Import;

impl JobKind for Import {
    const KIND: &'static str = "import";

    /// The kind's level: five retries are six attempts in all.
    fn retry() -> PolicyPatch {
        PolicyPatch::default().max_retries(5)
    }
}

/// The file is locked until the fourth attempt.
async fn import(_: Import, ctx: Context) -> Result<(), JobError> {
    match ctx.attempt() {
        ..4 => Err(JobError::failure("locked", "the file is locked")),
        _ => Ok(()),
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let short = Duration::from_millis(100);
    let engine = Engine::builder(MemoryStore::default())
        // By default delays are spread at random: good for servers, bad for examples.
        .retry(PolicyPatch::exponential(short).jitter(Jitter::None))
        .queue_retry("bulk", PolicyPatch::linear(short * 3))
        .handler(import)
        .start()?;
    let client = engine.client();

    println!("What would happen to a job that always fails, counted from its first attempt:");
    for (level, request) in [
        ("engine", Mail.job()),
        ("queue", Mail.job().queue("bulk")),
        ("kind", Import.job()),
        ("job", Import.job().retry(PolicyPatch::fixed(short))),
        ("preset", Import.job().retry(Preset::Patient)),
    ] {
        // `prepare` checks a request and settles its policy, without storing anything.
        let preview = client.prepare(request)?.policy.preview();
        let starts: Vec<Duration> = preview.rows.iter().map(|row| row.at.typical).collect();
        let (least, most) = (preview.gives_up.min, preview.gives_up.max);
        println!("  {level:<6} attempts at {starts:?}; gives up at {least:?} to {most:?}");
    }

    println!("And what does happen:");
    let mut notices = engine.subscribe();
    client.enqueue(Import).await?;
    while let Some(notice) = notices.next().await {
        let attempt = notice.attempt;
        match notice.event {
            JobEvent::Retrying {
                failure,
                next_run_at,
            } => {
                let wait = explain::brief(next_run_at.since(client.now()));
                println!("  attempt {attempt} failed ({failure}), the next one is {wait} away");
            }
            JobEvent::Succeeded => {
                println!("  attempt {attempt} succeeded");
                break;
            }
            _ => {}
        }
    }
    engine.stop().await;
    Ok(())
}
