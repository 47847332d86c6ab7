//! The lifecycle on PostgreSQL: nodes compared with as many bare loops, on an empty table and on one
//! that is full of what waits and what has ended.
//!
//! Both write to the same tables, one after the other, so they see the same indexes, settings
//! and backlog. A node is an engine with its own connections; all are in this process.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use steadfast::{Client, Engine, JobId, PostgresOptions, PostgresStore, store::BaseStore as _};
use tokio::task::JoinSet;

use super::{
    Args,
    figure::Report,
    lifecycle::{self, RunCounter},
    meter::Meter,
    postgres_bare::{Bare, Lane, connect, in_schema},
};

const EMPTY: [(usize, &str, &str); 3] = [
    (1, "lifecycle, 1 node", "ratio ≥ 0.60"),
    (2, "lifecycle, 2 nodes", ""),
    (4, "lifecycle, 4 nodes", ""),
];
const FULL: [(usize, &str, &str); 3] = [
    (1, "with a backlog, 1 node", "ratio ≥ 0.60"),
    (2, "with a backlog, 2 nodes", ""),
    (4, "with a backlog, 4 nodes", ""),
];

pub async fn figures(args: &Args, url: &str, report: &mut Report) -> anyhow::Result<()> {
    let bench = Bench::new(args, url).await?;
    let measured = bench.figures(report).await;
    bench.remove().await?;
    measured
}

struct Bench<'a> {
    args: &'a Args,
    url: &'a str,
    schema: String,
    lane: Lane,
    payload: String,
    now: i64,
    /// Ids of the bare loop, which must not meet those of a run before.
    next_id: AtomicUsize,
}

impl<'a> Bench<'a> {
    async fn new(args: &'a Args, url: &'a str) -> anyhow::Result<Self> {
        let schema = format!("steadfast_bench_{}", std::process::id());
        let store = open(url, &schema).await?;
        let client = Client::new(Arc::new(store.clone()));
        // The first job of a lane gives it its number.
        let id: JobId = client.enqueue(lifecycle::job()).await?;
        client.cancel(id).await?;
        let sql = in_schema("SELECT lane, policy FROM steadfast.job", &schema);
        let row = connect(url).await?.query_one(&sql, &[]).await?;
        Ok(Self {
            args,
            url,
            lane: Lane {
                lane: row.try_get(0)?,
                policy: row.try_get(1)?,
            },
            payload: lifecycle::payload()?,
            now: store.now().as_micros(),
            next_id: AtomicUsize::new(1),
            schema,
        })
    }

    async fn figures(&self, report: &mut Report) -> anyhow::Result<()> {
        for (rows, figures) in [(0, EMPTY), (self.args.backlog, FULL)] {
            self.fill(rows).await?;
            for (nodes, name, aim) in figures {
                self.vacuum().await?;
                let bare = self.bare(nodes).await?;
                self.vacuum().await?;
                let ours = self.ours(nodes).await?;
                report.compare(name, (ours, bare), "jobs/s", aim);
            }
        }
        Ok(())
    }

    /// That many rows that wait, and as many that have ended.
    async fn fill(&self, rows: usize) -> anyhow::Result<()> {
        let client = connect(self.url).await?;
        for sql in [
            include_str!("sql/backlog_waiting.sql"),
            include_str!("sql/backlog_finished.sql"),
        ] {
            let sql = in_schema(sql, &self.schema);
            let Lane { lane, policy } = self.lane;
            client
                .execute(
                    &sql,
                    &[&(rows as i64), &lane, &policy, &self.payload, &self.now],
                )
                .await?;
        }
        Ok(())
    }

    /// Rows of the measurement before must not be vacuumed during the next one.
    async fn vacuum(&self) -> anyhow::Result<()> {
        let sql = "VACUUM ANALYZE steadfast.job; VACUUM ANALYZE steadfast.attempt; CHECKPOINT";
        let client = connect(self.url).await?;
        for sql in in_schema(sql, &self.schema).split("; ") {
            client.batch_execute(sql).await?;
        }
        Ok(())
    }

    async fn bare(&self, loops: usize) -> anyhow::Result<f64> {
        let (share, batch) = (self.args.jobs / loops, self.args.batch);
        let wanted = share * loops;
        let mut all = Vec::new();
        for _ in 0..loops {
            all.push(Bare::open(self.url, &self.schema, self.lane, self.now).await?);
        }
        let settled = Arc::new(AtomicUsize::new(0));
        let meter = Meter::start();
        let mut inserting = JoinSet::new();
        for bare in all {
            let first = self.next_id.fetch_add(share, Ordering::Relaxed) as u128;
            let payload = self.payload.clone();
            inserting.spawn(async move {
                bare.insert(first, share, batch, &payload).await?;
                anyhow::Ok(bare)
            });
        }
        let mut draining = JoinSet::new();
        while let Some(bare) = inserting.join_next().await {
            let (bare, settled) = (bare??, settled.clone());
            draining.spawn(async move { bare.drain(batch, &settled, wanted).await });
        }
        while let Some(done) = draining.join_next().await {
            done??;
        }
        let cost = meter.stop();
        Ok(cost.per_second(settled.load(Ordering::Relaxed)))
    }

    async fn ours(&self, nodes: usize) -> anyhow::Result<f64> {
        let (share, batch) = (self.args.jobs / nodes, self.args.batch);
        let mut stores = Vec::new();
        for _ in 0..nodes {
            stores.push(open(self.url, &self.schema).await?);
        }
        let done = Arc::new(RunCounter::of(share * nodes));
        let meter = Meter::start();
        let mut filling = JoinSet::new();
        for store in &stores {
            let client = Client::new(Arc::new(store.clone()));
            filling.spawn(async move { lifecycle::fill(&client, share, batch).await });
        }
        while let Some(filled) = filling.join_next().await {
            filled??;
        }
        let engines: Result<Vec<Engine>, _> = stores
            .into_iter()
            .map(|store| {
                let builder = Engine::builder(store).state(done.clone());
                let builder = builder.handler(lifecycle::count);
                builder.concurrency(4 * batch).start()
            })
            .collect();
        let engines = engines?;
        done.wait().await;
        for engine in engines {
            engine.stop().await;
        }
        // Of a backlog, nodes take more than they need; that is work done as well.
        Ok(meter.stop().per_second(done.count()))
    }

    async fn remove(&self) -> anyhow::Result<()> {
        let sql = format!("DROP SCHEMA {} CASCADE", self.schema);
        Ok(connect(self.url).await?.batch_execute(&sql).await?)
    }
}

async fn open(url: &str, schema: &str) -> anyhow::Result<PostgresStore> {
    let options = PostgresOptions::default().schema(schema);
    Ok(PostgresStore::open(url, options).await?)
}
