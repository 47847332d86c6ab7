//! The stores of a run: files in a directory, or schemas of a database.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use steadfast::{
    Client, JobKind as _, JobRequest, PostgresOptions, PostgresStore, SqliteOptions, SqliteStore,
    store::Store,
};

use super::{lifecycle, postgres_bare::connect};

/// Where the stores of this run are: files in a directory, or schemas of a database.
pub struct Stores<'a> {
    pub url: Option<&'a str>,
    dir: &'a Path,
    count: AtomicUsize,
}

impl<'a> Stores<'a> {
    pub fn new(url: Option<&'a str>, dir: &'a Path) -> Self {
        Self {
            url,
            dir,
            count: AtomicUsize::new(0),
        }
    }

    /// Whether the database is in this process.
    pub fn are_files(&self) -> bool {
        self.url.is_none()
    }

    /// A new one, which is empty.
    pub async fn open(&self) -> anyhow::Result<Arc<dyn Store>> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        Ok(match self.url {
            Some(url) => Arc::new(open_schema(url, &schema(number)).await?),
            None => {
                let file = self.dir.join(format!("store-{number}.db"));
                Arc::new(SqliteStore::open(file, SqliteOptions::default())?)
            }
        })
    }

    /// The schema that the next store gets.
    pub fn next_schema(&self) -> String {
        schema(self.count.fetch_add(1, Ordering::Relaxed))
    }

    pub async fn remove(&self) -> anyhow::Result<()> {
        let Some(url) = self.url else { return Ok(()) };
        let client = connect(url).await?;
        for number in 0..self.count.load(Ordering::Relaxed) {
            let sql = format!("DROP SCHEMA IF EXISTS {} CASCADE", schema(number));
            client.batch_execute(&sql).await?;
        }
        Ok(())
    }
}

fn schema(number: usize) -> String {
    format!("steadfast_bench_{}_{number}", std::process::id())
}

pub async fn open_schema(url: &str, schema: &str) -> anyhow::Result<PostgresStore> {
    let options = PostgresOptions::default().schema(schema);
    Ok(PostgresStore::open(url, options).await?)
}

/// Stores jobs, `batch` at a time.
pub async fn fill(
    store: &Arc<dyn Store>,
    batch: usize,
    jobs: usize,
    job: impl Fn(usize) -> JobRequest,
) -> anyhow::Result<()> {
    let client = Client::new(store.clone());
    for start in (0..jobs).step_by(batch) {
        let end = jobs.min(start + batch);
        client.enqueue_all((start..end).map(&job)).await?;
    }
    Ok(())
}

pub fn plain(_: usize) -> JobRequest {
    lifecycle::job().job()
}
