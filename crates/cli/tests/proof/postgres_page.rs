//! What docs/postgres.md shows of a program with the store in it. The book's check compares the lines.

use serde::{Deserialize, Serialize};
use steadfast::{
    Context, Engine, JobError, JobKind, PostgresOptions, PostgresStore, Preset, job::JobLabel,
};
use steadfast_store::testing::Server;
use tokio_postgres::NoTls;

#[derive(Serialize, Deserialize)]
struct Welcome {
    user: u32,
}

impl JobKind for Welcome {
    const KIND: &'static str = "welcome";
}

async fn welcome(_: Welcome, _: Context) -> Result<(), JobError> {
    Ok(())
}

#[tokio::test]
async fn a_job_of_the_programs_own_transaction_runs_in_it() -> anyhow::Result<()> {
    let address = Server::shared().url();
    let store = PostgresStore::open(&address, PostgresOptions::default()).await?;
    let engine = Engine::builder(store.clone()).handler(welcome).start()?;

    let (mut connection, driver) = tokio_postgres::connect(&address, NoTls).await?;
    tokio::spawn(driver);
    connection
        .batch_execute("CREATE TABLE customer (id bigint PRIMARY KEY, mail text)")
        .await?;
    let client = engine.client();
    let job = client.prepare(Welcome { user: 7 }.job().retry(Preset::Patient))?;
    let id = job.id;

    let transaction = connection.transaction().await?;
    let insert = "INSERT INTO customer (id, mail) VALUES (7, 'a@example.com')";
    transaction.execute(insert, &[]).await?;
    store.enqueue_in(&transaction, vec![job]).await?;
    transaction.commit().await?;

    let job = engine.finished(id).await?;
    assert_eq!(job.label(client.now()), JobLabel::Succeeded);
    engine.stop().await;
    Ok(())
}
