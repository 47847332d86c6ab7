//! How do I test a handler that is retried an hour later, without waiting an hour?
//!
//! With a `TestEngine`: the same decisions and the same handlers, in memory, on a clock that only
//! moves when you move it. Jobs run one after the other and jitter is the same in every run, so
//! a test never flickers.
//!
//! `cargo run -p steadfast --example testing_handlers`, or `cargo test` with the same words.

#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use std::time::Duration;

use serde::{Deserialize, Serialize};
use steadfast::{
    Context, EngineBuilder, JobError, JobKind, JobState, PolicyPatch, policy::Jitter,
    testing::TestEngine,
};

const HOUR: Duration = Duration::from_secs(3_600);

#[derive(Serialize, Deserialize)]
struct Invoice;

impl JobKind for Invoice {
    const KIND: &'static str = "invoice";

    fn retry() -> PolicyPatch {
        PolicyPatch::exponential(HOUR).jitter(Jitter::None)
    }
}

/// What handlers share is passed in, so that a test can pass another one.
struct Printer {
    jams: u32,
}

async fn print(_: Invoice, ctx: Context<Printer>) -> Result<(), JobError> {
    if ctx.attempt() <= ctx.state().jams {
        return Err(JobError::failure("paper_jam", "open the lid"));
    }
    Ok(())
}

fn engine(jams: u32) -> anyhow::Result<TestEngine> {
    // What sets up the real engine sets up this one, too.
    let set_up = |builder: EngineBuilder| builder.state(Printer { jams }).handler(print);
    Ok(TestEngine::new(set_up)?)
}

/// Step by step: nothing runs but what is due.
async fn retries_wait_an_hour_then_two() -> anyhow::Result<()> {
    let engine = engine(2)?;
    let id = engine.client().enqueue(Invoice).await?;
    assert_eq!(engine.run_due().await?, 1);
    assert_eq!(engine.run_due().await?, 0, "the retry is an hour away");
    assert_eq!(engine.advance(HOUR).await?, 1);
    assert_eq!(engine.advance(HOUR).await?, 0, "the next one two hours");
    assert_eq!(engine.advance(HOUR).await?, 1);
    assert_eq!(engine.job(id).await?.progress.state, JobState::Succeeded);
    Ok(())
}

/// All at once, and then the history of it.
async fn gives_up_after_three_retries() -> anyhow::Result<()> {
    let engine = engine(99)?;
    let start = engine.now();
    let id = engine.client().enqueue(Invoice).await?;
    assert_eq!(engine.run_to_end().await?, 4);
    let attempts = engine.attempts(id).await?;
    let starts = attempts.iter().map(|one| one.started_at.since(start));
    assert_eq!(
        starts.collect::<Vec<_>>(),
        [0, 1, 3, 7].map(|hours| hours * HOUR)
    );
    assert_eq!(engine.job(id).await?.progress.state, JobState::Failed);
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    retries_wait_an_hour_then_two().await?;
    println!("ok: retries wait an hour, then two");
    gives_up_after_three_retries().await?;
    println!("ok: gives up after three retries, seven hours later");
    Ok(())
}

/// In your own crate the functions above are themselves the tests.
#[cfg(test)]
#[tokio::test]
async fn a_jammed_printer_is_tried_again() -> anyhow::Result<()> {
    retries_wait_an_hour_then_two().await
}
