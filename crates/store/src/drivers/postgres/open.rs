//! Opening a database: reaching it, bringing its schema up to date, and the pool.

pub(crate) mod migrate;
pub(crate) mod options;
pub(crate) mod pooler;
pub(crate) mod tls;

use std::{sync::Arc, time::Duration};

use deadpool::{
    Runtime,
    managed::{Hook, HookError},
};
use tokio_postgres::{Client, Config};

use super::{
    driver_error::DriverError,
    servers::{
        Opened, Servers,
        manager::{ConnectionManager, PooledConnection},
    },
    session::{Pool, PoolContext, Session, SqlTexts},
};
use crate::{
    error::{ErrorSource, OpenError},
    limits::{SCHEMA_NAME_BYTES_MAX, SCHEMA_VERSION_FIRST},
};
use migrate::Schema;
use options::PostgresOptions;
use tls::TlsSettings;

/// The servers of an address.
pub(super) fn servers(url: &str, options: &PostgresOptions) -> Result<Arc<Servers>, OpenError> {
    // The address may hold a password.
    let refuse = |source: ErrorSource| OpenError::Address {
        name: "the PostgreSQL address".to_owned(),
        source,
    };
    let tls = TlsSettings::parse(url).map_err(|error| refuse(error.into()))?;
    let parsed: Result<Config, _> = tls.rest.parse();
    let mut config = parsed.map_err(|error| refuse(DriverError::Postgres(error).into()))?;
    config.ssl_mode(tls.mode);
    check_schema_name(&options.schema)?;
    let tls = tls.connector().map_err(|error| refuse(error.into()))?;
    Ok(Arc::new(Servers::new(&config, tls)))
}

/// The name becomes part of statements, so it is a plain one.
fn check_schema_name(name: &str) -> Result<(), OpenError> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let starts_plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    if starts_plain && name.len() <= SCHEMA_NAME_BYTES_MAX && name.chars().all(is_plain) {
        return Ok(());
    }
    Err(OpenError::Address {
        name: format!("schema {name:?}"),
        source: format!(
            "its name must be 1 to {SCHEMA_NAME_BYTES_MAX} characters from a–z 0–9 _ and not start with a digit"
        )
        .into(),
    })
}

/// The database in messages: everything but the password.
pub(super) fn name(servers: &Servers, schema: &str) -> String {
    let config = servers.first();
    let host = match config.and_then(|config| config.get_hosts().first()) {
        Some(tokio_postgres::config::Host::Tcp(host)) => host.clone(),
        #[cfg(unix)]
        Some(tokio_postgres::config::Host::Unix(path)) => path.display().to_string(),
        None => "localhost".to_owned(),
    };
    let database = config.and_then(|config| config.get_dbname().or(config.get_user()));
    let database = database.unwrap_or("postgres");
    format!("schema {schema} of PostgreSQL database {database} on {host}")
}

/// Brings the schema to what this binary knows.
pub(super) async fn migrate(servers: &Servers, texts: &SqlTexts) -> Result<Schema, OpenError> {
    let name = name(servers, texts.schema());
    let failed = |error| open_error(name.clone(), error);
    let mut client = connect(servers).await.map_err(failed)?;
    let schema = migrate::run(&mut client, texts).await.map_err(failed)?;
    let known = migrate::version_known();
    let found = schema.version;
    if (1..SCHEMA_VERSION_FIRST).contains(&found) {
        return Err(OpenError::Preview { name, found });
    }
    if schema.version > known {
        return Err(OpenError::NewerDatabase {
            name,
            found: schema.version,
            known,
        });
    }
    Ok(schema)
}

/// The schema, if it is what this binary knows. Nothing is changed.
pub(super) async fn find_schema(servers: &Servers, texts: &SqlTexts) -> Result<Schema, OpenError> {
    let name = name(servers, texts.schema());
    let find = async { migrate::find(&connect(servers).await?, texts).await };
    let found = find
        .await
        .map_err(|error| open_error(name.clone(), error))?;
    let known = migrate::version_known();
    let other = |found| OpenError::OtherSchema { name, found, known };
    match found {
        Some(schema) if schema.version == known => Ok(schema),
        found => Err(other(found.map(|schema| schema.version))),
    }
}

/// The mark of a store that is being moved, or was moved, with its side of the move.
pub(super) async fn move_mark(
    session: &Session<'_>,
) -> Result<Option<(String, String)>, DriverError> {
    let sql = include_str!("../sql/shared/tables/move_marks.sql");
    let rows = session.shared_query(sql, &[]).await?;
    let mark = rows
        .first()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
    mark.transpose()
}

pub(super) fn open_error(name: String, error: DriverError) -> OpenError {
    OpenError::Database {
        name,
        is_transient: error.is_transient(),
        source: error.into(),
    }
}

async fn connect(servers: &Servers) -> Result<Client, DriverError> {
    let Opened {
        client, connection, ..
    } = servers.connect().await?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection ended");
        }
    });
    Ok(client)
}

/// A commit waits for the disk, whatever the database or the role has as its default.
const DURABLE: &str = include_str!("open/durable.sql");

/// The settings of a connection (`SET`) or of a transaction (`SET LOCAL`).
pub(super) fn settings(set: &str, timeout: Duration) -> String {
    let lines = include_str!("open/settings.sql").lines();
    let mut settings: String = lines
        .filter_map(|line| line.strip_prefix("SET "))
        .map(|setting| format!("{set} {setting} "))
        .collect();
    settings += &format!("{set} statement_timeout = {};", timeout.as_millis());
    settings
}

pub(super) fn pool(
    servers: &Arc<Servers>,
    shared: &Arc<PoolContext>,
    options: &PostgresOptions,
) -> Result<Pool, OpenError> {
    let name = name(servers, shared.texts.schema());
    let settings: Arc<str> = match shared.settings.is_some() {
        true => "".into(),
        false => format!("{} {DURABLE}", settings("SET", options.timeout)).into(),
    };
    let context = Arc::clone(shared);
    let set_up = Hook::async_fn(move |client: &mut PooledConnection, _| {
        let (settings, shared) = (Arc::clone(&settings), Arc::clone(&context));
        Box::pin(async move {
            // It may lead to another server than before, which may lack the latest names and limits, and
            // whose attempts at gates may have earlier turns.
            shared.names.forget_stored();
            shared.due.forget_gates();
            shared.waiting_limits.forget();
            shared.clock.invalidate();
            let set = client.batch_execute(&settings).await;
            set.map_err(|error| HookError::Backend(error.into()))
        })
    });
    Pool::builder(ConnectionManager(Arc::clone(servers)))
        .runtime(Runtime::Tokio1)
        .max_size(options.connections.max(1))
        .wait_timeout(Some(options.timeout))
        .create_timeout(Some(options.timeout))
        .post_create(set_up)
        .build()
        .map_err(|error| OpenError::Address {
            name,
            source: error.into(),
        })
}
