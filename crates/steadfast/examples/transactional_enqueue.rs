//! How do I create a job if and only if my own change is committed?
//!
//! Keep your tables in the store's SQLite file and enqueue in the transaction that changes them.
//! A rollback leaves neither row nor job. After a commit, `wake` starts the job at once instead
//! of within a second.
//!
//! `cargo run -p steadfast --example transactional_enqueue`

#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use serde::{Deserialize, Serialize};
use steadfast::{
    Client, Context, Engine, JobError, JobEvent, JobKind, SqliteOptions, SqliteStore,
    job::JobFilter,
    store::rusqlite::{Connection, TransactionBehavior},
};

#[derive(Serialize, Deserialize)]
struct Ship {
    order: u32,
}

impl JobKind for Ship {
    const KIND: &'static str = "ship";
}

async fn ship(job: Ship, _: Context) -> Result<(), JobError> {
    println!("  shipping order {}", job.order);
    Ok(())
}

fn place_order(
    db: &mut Connection,
    store: &SqliteStore,
    client: &Client,
    order: u32,
    paid: bool,
) -> anyhow::Result<()> {
    // Immediate, because a transaction that begins as a reader may be refused the write lock.
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute("INSERT INTO orders (number) VALUES (?1)", [order])?;
    let job = client.prepare(Ship { order })?;
    store.enqueue_in(&transaction, &[job])?;
    // An early return drops the transaction, which rolls it back.
    anyhow::ensure!(paid, "order {order} is not paid");
    transaction.commit()?;
    store.wake();
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("shop.db");
    let store = SqliteStore::open(&path, SqliteOptions::default())?;
    let mut db = Connection::open(&path)?;
    db.execute_batch("CREATE TABLE orders (number INTEGER PRIMARY KEY)")?;

    let engine = Engine::builder(store.clone()).handler(ship).start()?;
    let client = engine.client();
    let mut notices = engine.subscribe();
    for (order, paid) in [(1, false), (2, true)] {
        match place_order(&mut db, &store, &client, order, paid) {
            Ok(()) => println!("order {order}: committed"),
            Err(error) => println!("order {order}: rolled back, because {error}"),
        }
        let rows: u32 = db.query_row("SELECT count(*) FROM orders", [], |row| row.get(0))?;
        let jobs = client.count(JobFilter::default(), 100).await?;
        println!("  orders: {rows}, jobs: {}", jobs.count);
    }
    while let Some(notice) = notices.next().await {
        match notice.event {
            JobEvent::Started { late, .. } if late.as_millis() < 500 => {
                println!("  started at once");
            }
            JobEvent::Started { late, .. } => println!("  started {late:?} late"),
            JobEvent::Succeeded => break,
            _ => {}
        }
    }
    engine.stop().await;
    Ok(())
}
