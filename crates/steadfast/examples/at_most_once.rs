//! What if running twice is worse than not running at all?
//!
//! `at_most_once` starts a job once, ever: a failure is final whatever the retry policy says.
//! If the node stops or dies while the job runs, it ends as `outcome_unknown`: the work may be
//! done or not, and only a person can find out. Steadfast never guesses.
//!
//! `cargo run -p steadfast --example at_most_once`

#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use std::time::Duration;

use serde::{Deserialize, Serialize};
use steadfast::{
    Context, Engine, JobError, JobEvent, JobKind, MemoryStore, PolicyPatch, explain,
    job::JobPageRequest,
};

#[derive(Serialize, Deserialize)]
struct Text {
    to: String,
}

impl JobKind for Text {
    const KIND: &'static str = "text";

    fn retry() -> PolicyPatch {
        PolicyPatch::default().max_retries(5)
    }
}

async fn text(job: Text, ctx: Context) -> Result<(), JobError> {
    println!("attempt {}: texting {}", ctx.attempt(), job.to);
    if job.to == "Bob" {
        // The network hangs, and the node stops before there is an answer.
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
    Err(JobError::failure("connection", "no answer: was it sent?"))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let engine = Engine::builder(MemoryStore::default())
        .handler(text)
        .start()?;
    let client = engine.client();
    let mut notices = engine.subscribe();

    let to = "Ada".to_owned();
    client.enqueue(Text { to }.job().at_most_once()).await?;
    while let Some(notice) = notices.next().await {
        if let JobEvent::Failed { .. } = notice.event {
            println!("no retry, although the policy allows five");
            break;
        }
    }

    let to = "Bob".to_owned();
    client.enqueue(Text { to }.job().at_most_once()).await?;
    while let Some(notice) = notices.next().await {
        if let JobEvent::Started { .. } = notice.event {
            break;
        }
    }
    println!("the node stops while Bob's text is on its way");
    engine.stop_now().await;

    // Both wait for a person, as dead letters. (A client works without an engine, too.)
    for listed in client.dead_letters(JobPageRequest::first(10)).await?.items {
        // Lists come without payloads.
        let Some(job) = client.job(listed.id).await? else {
            continue;
        };
        let Text { to } = job.payload.decode()?;
        let reason = job.progress.reason.map_or("", explain::reason);
        println!("dead letter to {to}: {reason}");
        // Even a person cannot start it a second time by accident.
        if let Err(refusal) = client.retry(job.id).await {
            println!("  retry? {refusal}");
        }
        client.discard(job.id).await?;
    }
    Ok(())
}
