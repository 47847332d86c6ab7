//! What goes wrong inside the driver.

use std::{error::Error, sync::Arc};

use deadpool_postgres::PoolError;
use tokio_postgres::error::SqlState;

use crate::{
    damage::DamagedRow,
    error::{ErrorSource, StoreError},
    limits::POSTGRES_VERSION_MIN,
    sql::{columns::MissingColumn, values::UnreadableValue},
};

/// A statement failed, no answer came, or a row cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum DriverError {
    #[error("{}", with_detail(.0))]
    Sql(#[from] tokio_postgres::Error),
    #[error("no database connection became available in time")]
    NoConnection(#[source] PoolError),
    #[error("{0}")]
    Pool(#[source] PoolError),
    #[error("it did not respond in time")]
    Timeout,
    #[error("the server closed the connection")]
    Closed,
    #[error("the server does not accept writes")]
    ReadOnly,
    #[error(transparent)]
    Unreadable(#[from] UnreadableValue),
    /// The row that was asked for.
    #[error(transparent)]
    Damaged(Box<DamagedRow>),
    #[error(transparent)]
    MissingColumn(#[from] MissingColumn),
    /// Another transaction was quicker; the same again will see what it did.
    #[error("other transactions kept changing the same rows")]
    Overtaken,
    #[error("it is older than PostgreSQL {}", POSTGRES_VERSION_MIN / 10_000)]
    TooOld,
    #[error("its encoding is {0}, and must be UTF8")]
    WrongEncoding(String),
}

impl DriverError {
    pub(super) fn unreadable(what: &'static str, source: impl Into<ErrorSource>) -> Self {
        UnreadableValue::new(what, source).into()
    }

    /// The server refuses to write. Nothing was written, and another server may take it.
    pub(super) fn is_read_only(&self) -> bool {
        match self {
            Self::Sql(error) => error.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION),
            Self::ReadOnly => true,
            _ => false,
        }
    }

    /// The database rolled everything back, and the same again may succeed at once.
    pub(super) fn is_worth_repeating(&self) -> bool {
        match self {
            error if error.is_read_only() => true,
            Self::Sql(error) => error.code().is_some_and(|code| {
                *code == SqlState::T_R_SERIALIZATION_FAILURE
                    || *code == SqlState::T_R_DEADLOCK_DETECTED
            }),
            Self::Overtaken => true,
            _ => false,
        }
    }

    /// Whether the same may succeed later.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Sql(error) => is_transient(error),
            Self::NoConnection(_)
            | Self::Pool(_)
            | Self::Timeout
            | Self::Closed
            | Self::ReadOnly
            | Self::Overtaken => true,
            Self::Unreadable(_)
            | Self::Damaged(_)
            | Self::MissingColumn(_)
            | Self::TooOld
            | Self::WrongEncoding(_) => false,
        }
    }

    /// A row came and does not read back, as opposed to one that did not come.
    pub(super) fn is_unreadable(&self) -> bool {
        match self {
            Self::Unreadable(_) => true,
            Self::Sql(error) => error.code().is_none() && !is_lost(error),
            _ => false,
        }
    }

    pub(super) fn in_operation(self, operation: &'static str) -> StoreError {
        if let Self::Damaged(row) = &self {
            return StoreError::of_damaged_row(operation, row);
        }
        StoreError::new(operation, self.is_transient(), Arc::new(self))
    }
}

impl From<PoolError> for DriverError {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) => Self::Sql(error),
            PoolError::Timeout(_) => Self::NoConnection(error),
            other => Self::Pool(other),
        }
    }
}

/// Servers come back, standbys are promoted, locks are released and disks are cleared; a
/// statement that the database does not understand stays as it is.
fn is_transient(error: &tokio_postgres::Error) -> bool {
    // The classes of codes: connection, no permission to log in, transaction rolled back, out
    // of resources, object in use, operator intervention, system error.
    const CLASSES: [&str; 7] = ["08", "28", "40", "53", "55", "57", "58"];
    match error.code() {
        None => is_lost(error),
        Some(code) => {
            *code == SqlState::READ_ONLY_SQL_TRANSACTION
                || CLASSES.iter().any(|class| code.code().starts_with(class))
        }
    }
}

/// A statement never reached the database, or its answer never reached us; as opposed to an
/// answer that came and cannot be read.
fn is_lost(error: &tokio_postgres::Error) -> bool {
    let source = error.source();
    error.is_closed() || source.is_none_or(|source| source.is::<std::io::Error>())
}

/// The library's text says only "db error"; the message of the database is behind it.
fn with_detail(error: &tokio_postgres::Error) -> String {
    match (error.as_db_error(), error.source()) {
        (Some(db), _) => format!("{} (SQLSTATE {})", db.message(), db.code().code()),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    }
}
