//! How do I keep a retry from doing a thing twice?
//!
//! Between jobs: an idempotency key. The same key and request return the job that exists.
//! Within a job: `ctx.once`. A step that has succeeded is not run again in later attempts; its
//! result is stored and returned. Requests to other systems carry the job's id as their key.
//!
//! `cargo run -p steadfast --example once`

#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use std::time::Duration;

use serde::{Deserialize, Serialize};
use steadfast::{
    Context, Engine, JobError, JobEvent, JobId, JobKind, MemoryStore, PolicyPatch,
    job::CreateResult,
};

#[derive(Clone, Serialize, Deserialize)]
struct Order {
    number: u32,
}

impl JobKind for Order {
    const KIND: &'static str = "order";

    fn retry() -> PolicyPatch {
        PolicyPatch::fixed(Duration::from_millis(100))
    }
}

async fn fulfil(order: Order, ctx: Context) -> Result<(), JobError> {
    println!("attempt {}", ctx.attempt());
    let receipt = ctx.once("charge", charge(order.number, ctx.id())).await?;
    ship(&receipt, ctx.attempt())?;
    println!("  shipped with receipt {receipt}");
    Ok(())
}

/// A crash right after the charge could forget it, so the bank gets a key that is the same in
/// every attempt.
async fn charge(order: u32, key: JobId) -> Result<String, JobError> {
    let _idempotency_key = key.to_string();
    println!("  charging the card for order {order}");
    Ok(format!("R-{order}"))
}

fn ship(receipt: &str, attempt: u32) -> Result<(), JobError> {
    match attempt {
        1 => {
            println!("  no van for {receipt}, try again later");
            Err(JobError::failure("no_van", "all vans are out"))
        }
        _ => Ok(()),
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let engine = Engine::builder(MemoryStore::default())
        .handler(fulfil)
        .start()?;
    let client = engine.client();
    let mut notices = engine.subscribe();

    // A customer presses the button twice.
    let order = Order { number: 7 };
    for _ in 0..2 {
        let request = order.job().idempotency_key("order-7");
        match client.create(request).await? {
            CreateResult::New(job) => println!("created {}", job.id),
            CreateResult::Existing(job) | CreateResult::Unique(job, _) => {
                println!("there already is {}", job.id);
            }
        }
    }
    // The same key for another request is a mistake.
    let other = Order { number: 8 }.job().idempotency_key("order-7");
    if let Err(error) = client.enqueue(other).await {
        println!("refused: {error}");
    }

    while let Some(notice) = notices.next().await {
        if let JobEvent::Succeeded = notice.event {
            println!("done in {} attempts, charged once", notice.attempt);
            break;
        }
    }
    engine.stop().await;
    Ok(())
}
