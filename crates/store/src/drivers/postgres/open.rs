//! Opening a database: reaching it, bringing its schema up to date, and the pool.

pub(crate) mod migrate;
pub(crate) mod options;
pub(crate) mod pooler;
pub(crate) mod tls;

use std::{sync::Arc, time::Duration};

use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use tokio_postgres::{Client, Config, config::TargetSessionAttrs};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{
    driver_error::DriverError,
    session::{PoolContext, Session, SqlTexts},
};
use crate::{
    error::{ErrorSource, OpenError},
    limits::{CONNECT_TIMEOUT, PEER_SILENCE_MAX, SCHEMA_NAME_BYTES_MAX, SCHEMA_VERSION_FIRST},
};
use migrate::Schema;
use options::PostgresOptions;
use tls::TlsSettings;

/// Where a database is, and how it is reached.
#[derive(Clone)]
pub(super) struct Address {
    pub config: Config,
    pub tls: MakeRustlsConnect,
}

pub(super) fn address(url: &str, options: &PostgresOptions) -> Result<Address, OpenError> {
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
    if config.get_application_name().is_none() {
        config.application_name("steadfast");
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    config.keepalives_idle(PEER_SILENCE_MAX);
    config.tcp_user_timeout(PEER_SILENCE_MAX);
    // Of several servers, the one that can be written to: after a failover, another than before.
    config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    let tls = tls.connector().map_err(|error| refuse(error.into()))?;
    Ok(Address { config, tls })
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
pub(super) fn name(address: &Address, schema: &str) -> String {
    let config = &address.config;
    let host = match config.get_hosts().first() {
        Some(tokio_postgres::config::Host::Tcp(host)) => host.clone(),
        #[cfg(unix)]
        Some(tokio_postgres::config::Host::Unix(path)) => path.display().to_string(),
        None => "localhost".to_owned(),
    };
    let database = config
        .get_dbname()
        .or(config.get_user())
        .unwrap_or("postgres");
    format!("schema {schema} of PostgreSQL database {database} on {host}")
}

/// Brings the schema to what this binary knows.
pub(super) async fn migrate(address: &Address, texts: &SqlTexts) -> Result<Schema, OpenError> {
    let name = name(address, texts.schema());
    let failed = |error| open_error(name.clone(), error);
    let mut client = connect(address).await.map_err(failed)?;
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
pub(super) async fn find_schema(address: &Address, texts: &SqlTexts) -> Result<Schema, OpenError> {
    let name = name(address, texts.schema());
    let find = async { migrate::find(&connect(address).await?, texts).await };
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

async fn connect(address: &Address) -> Result<Client, DriverError> {
    let (client, connection) = address.config.connect(address.tls.clone()).await?;
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
    address: Address,
    shared: &Arc<PoolContext>,
    options: &PostgresOptions,
) -> Result<Pool, OpenError> {
    let name = name(&address, shared.texts.schema());
    let is_pooled = shared.settings.is_some();
    // A transaction that was dropped rolls itself back, so there is nothing to clean.
    let recycling_method = RecyclingMethod::Fast;
    let Address { config, tls } = address;
    let manager = Manager::from_config(config, tls, ManagerConfig { recycling_method });
    let settings: Arc<str> = match is_pooled {
        true => "".into(),
        false => format!("{} {DURABLE}", settings("SET", options.timeout)).into(),
    };
    let context = Arc::clone(shared);
    let set_up = Hook::async_fn(move |client: &mut deadpool_postgres::ClientWrapper, _| {
        let (settings, shared) = (Arc::clone(&settings), Arc::clone(&context));
        Box::pin(async move {
            // It may lead to another server than before, which may lack the latest names and limits, and
            // whose attempts at gates may have earlier turns.
            shared.names.forget_stored();
            shared.due.forget_gates();
            shared.waiting_limits.forget();
            shared.clock.invalidate();
            let set = client.batch_execute(&settings).await;
            set.map_err(HookError::Backend)
        })
    });
    let trusted = Arc::clone(shared);
    let check_trust = Hook::sync_fn(move |_, metrics| {
        if trusted.trust.is_trusted(metrics.created) {
            return Ok(());
        }
        Err(HookError::message(
            "it may be to a server that lost its role",
        ))
    });
    Pool::builder(manager)
        .runtime(Runtime::Tokio1)
        .max_size(options.connections.max(1))
        .wait_timeout(Some(options.timeout))
        .create_timeout(Some(options.timeout))
        .post_create(set_up)
        .pre_recycle(check_trust)
        .build()
        .map_err(|error| OpenError::Address {
            name,
            source: error.into(),
        })
}
