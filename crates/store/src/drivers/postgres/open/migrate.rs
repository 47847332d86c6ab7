//! Forwards only: numbered scripts, in one transaction with the number they lead to. Any
//! number of nodes may start at once; an advisory lock lets one of them take the steps.
//!
//! Nodes of the version before may still be running, so a script only adds what they do not
//! use.

use tokio_postgres::Client;

use crate::drivers::postgres::{driver_error::DriverError, key::Key, session::SqlTexts};
use crate::limits::{POSTGRES_VERSION_MIN, SCHEMA_VERSION_FIRST};

const SCRIPTS: &[&str] = &[include_str!("../schema/schema.sql")];

/// The schema as it was found.
pub(crate) struct Schema {
    pub version: i64,
    /// Tells this installation from others with the same name.
    pub id: Key,
}

/// The schema this binary knows.
pub(crate) fn version_known() -> i64 {
    SCHEMA_VERSION_FIRST + i64::try_from(SCRIPTS.len()).unwrap_or(i64::MAX) - 1
}

/// Brings the schema to what this binary knows. Answers which it is then: a newer one, and that of a
/// preview, is left alone.
pub(crate) async fn run(client: &mut Client, texts: &SqlTexts) -> Result<Schema, DriverError> {
    let database = DatabaseInfo::read(client, texts).await?;
    if database.server_version < POSTGRES_VERSION_MIN {
        return Err(DriverError::TooOld);
    }
    if database.encoding != "UTF8" {
        return Err(DriverError::WrongEncoding(database.encoding));
    }
    // If there is nothing to do, no permission to create anything is needed either.
    if database.has_version {
        let found = version(client, texts).await?;
        if found.version != 0 && missing_scripts(found.version).is_empty() {
            return Ok(found);
        }
    }
    let transaction = client.transaction().await?;
    let text = |sql| texts.of(sql);
    transaction
        .batch_execute(&text(include_str!("migrate/schema_lock.sql")))
        .await?;
    let database = DatabaseInfo::read(transaction.client(), texts).await?;
    if !database.has_schema {
        let create = format!("CREATE SCHEMA {}", texts.schema());
        transaction.batch_execute(&create).await?;
    }
    transaction
        .batch_execute(&text(include_str!("migrate/schema_mark.sql")))
        .await?;
    let found = version(transaction.client(), texts).await?;
    for script in missing_scripts(found.version) {
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

/// The schema, if there is one; nothing is created.
pub(crate) async fn find(client: &Client, texts: &SqlTexts) -> Result<Option<Schema>, DriverError> {
    let database = DatabaseInfo::read(client, texts).await?;
    match database.has_version {
        true => version(client, texts).await.map(Some),
        false => Ok(None),
    }
}

/// The scripts that a schema lacks: none, if it is a newer one or that of a preview.
fn missing_scripts(version: i64) -> &'static [&'static str] {
    let done = match version {
        0 => Some(0),
        version => usize::try_from(version - SCHEMA_VERSION_FIRST + 1).ok(),
    };
    done.and_then(|done| SCRIPTS.get(done..))
        .unwrap_or_default()
}

/// What is there before a migration.
struct DatabaseInfo {
    has_schema: bool,
    has_version: bool,
    server_version: i32,
    encoding: String,
}

impl DatabaseInfo {
    async fn read(client: &Client, texts: &SqlTexts) -> Result<Self, DriverError> {
        let sql = texts.of(include_str!("migrate/schema_inspect.sql"));
        let row = client.query_one(&*sql, &[]).await?;
        Ok(Self {
            has_schema: row.try_get("has_schema")?,
            has_version: row.try_get("has_version")?,
            server_version: row.try_get("server_version")?,
            encoding: row.try_get("encoding")?,
        })
    }
}

pub(crate) async fn version(client: &Client, texts: &SqlTexts) -> Result<Schema, DriverError> {
    let sql = texts.of(include_str!("migrate/schema_version.sql"));
    let row = client.query_one(&*sql, &[]).await?;
    Ok(Schema {
        version: row.try_get("version")?,
        id: row.try_get("id")?,
    })
}
