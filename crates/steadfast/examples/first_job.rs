//! What is the least I need?
//!
//! An input with a name (`JobKind`), an async function that handles it, and an engine on a
//! store. `enqueue` returns once the job is on disk; from then on it runs until it succeeds or
//! its retry policy gives up, whatever happens to this process meanwhile.
//!
//! `cargo run -p steadfast --example first_job`

#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use serde::{Deserialize, Serialize};
use steadfast::{Context, Engine, JobError, JobKind, SqliteOptions, SqliteStore};

/// The input of the job. It is stored as JSON.
#[derive(Serialize, Deserialize)]
struct Welcome {
    user: String,
}

/// The name joins stored jobs and their handler; do not change it while jobs wait.
impl JobKind for Welcome {
    const KIND: &'static str = "welcome";
}

/// The handler. `Ok` ends the job; after an error it is tried again later.
async fn welcome(job: Welcome, ctx: Context) -> Result<(), JobError> {
    println!("attempt {}: welcome, {}!", ctx.attempt(), job.user);
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let store = SqliteStore::open(dir.path().join("jobs.db"), SqliteOptions::default())?;
    let engine = Engine::builder(store).handler(welcome).start()?;

    println!("enqueueing a job");
    let user = "Ada".to_owned();
    let id = engine.client().enqueue(Welcome { user }).await?;

    // A server would call `engine.run_until_signal().await` here. We wait for the one job.
    let job = engine.finished(id).await?;
    println!("{id} {}", job.label(engine.client().now()));
    engine.stop().await;
    Ok(())
}
