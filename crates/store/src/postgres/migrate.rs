//! Forwards only: numbered scripts, in one transaction with the number they lead to. Any
//! number of nodes may start at once; an advisory lock lets one of them take the steps.
//!
//! Nodes of the version before may still be running, so a script only adds what they do not
//! look at.

use tokio_postgres::Client;

use super::{fault::Fault, rows::Key, session::Texts};

const SCRIPTS: &[&str] = &[
    include_str!("migrations/0001_jobs.sql"),
    include_str!("migrations/0002_enqueue.sql"),
];

/// What the scripts rely on.
const SERVER_VERSION_MIN: i32 = 130_000;

/// The schema as it was found.
pub(super) struct Schema {
    pub version: i64,
    /// Tells this installation from others with the same name.
    pub id: Key,
}

/// The schema this binary knows.
pub(super) fn version_known() -> i64 {
    i64::try_from(SCRIPTS.len()).unwrap_or(i64::MAX)
}

/// Brings the schema to what this binary knows, and says which it is then: a newer one is left
/// alone.
pub(super) async fn run(client: &mut Client, texts: &Texts) -> Result<Schema, Fault> {
    let look = Look::at(client, texts).await?;
    if look.server_version < SERVER_VERSION_MIN {
        let why = "it is older than PostgreSQL 13".to_owned();
        return Err(Fault::Unreadable(why));
    }
    if look.encoding != "UTF8" {
        let why = format!("its encoding is {}, and must be UTF8", look.encoding);
        return Err(Fault::Unreadable(why));
    }
    // Without a need for it, no right to create anything is needed either.
    if look.has_version {
        let found = version(client, texts).await?;
        if found.version >= version_known() {
            return Ok(found);
        }
    }
    let transaction = client.transaction().await?;
    let text = |sql| texts.of(sql);
    transaction
        .batch_execute(&text(include_str!("sql/schema_lock.sql")))
        .await?;
    let look = Look::at(transaction.client(), texts).await?;
    if !look.has_schema {
        let create = format!("CREATE SCHEMA {}", texts.schema());
        transaction.batch_execute(&create).await?;
    }
    transaction
        .batch_execute(&text(include_str!("sql/schema_mark.sql")))
        .await?;
    let found = version(transaction.client(), texts).await?;
    let done = usize::try_from(found.version).unwrap_or(usize::MAX);
    for script in SCRIPTS.iter().skip(done) {
        transaction.batch_execute(&text(script)).await?;
    }
    let reached = found.version.max(version_known());
    let schema = texts.schema();
    let update = format!("UPDATE {schema}.schema_version SET version = {reached}");
    transaction.batch_execute(&update).await?;
    transaction.commit().await?;
    Ok(Schema {
        version: reached,
        id: found.id,
    })
}

struct Look {
    has_schema: bool,
    has_version: bool,
    server_version: i32,
    encoding: String,
}

impl Look {
    async fn at(client: &Client, texts: &Texts) -> Result<Self, Fault> {
        let sql = texts.of(include_str!("sql/schema_is_there.sql"));
        let row = client.query_one(&*sql, &[]).await?;
        Ok(Self {
            has_schema: row.try_get(0)?,
            has_version: row.try_get(1)?,
            server_version: row.try_get(2)?,
            encoding: row.try_get(3)?,
        })
    }
}

pub(super) async fn version(client: &Client, texts: &Texts) -> Result<Schema, Fault> {
    let sql = texts.of(include_str!("sql/schema_version.sql"));
    let row = client.query_one(&*sql, &[]).await?;
    Ok(Schema {
        version: row.try_get(0)?,
        id: row.try_get(1)?,
    })
}
