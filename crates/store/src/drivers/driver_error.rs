//! What goes wrong inside a driver.

#[cfg(feature = "sqlite")]
use std::any::Any;
#[cfg(feature = "postgres")]
use std::error::Error;
use std::{fmt::Display, sync::Arc};

#[cfg(feature = "postgres")]
use deadpool::managed::{HookError, PoolError};
#[cfg(feature = "postgres")]
use tokio_postgres::error::SqlState;

#[cfg(any(feature = "postgres", feature = "sqlite"))]
use crate::drivers::sql::columns::MissingColumn;
#[cfg(feature = "postgres")]
use crate::limits::POSTGRES_VERSION_MIN;
use crate::{
    damage::{DamageLog, DamagedRow},
    error::{ErrorSource, StoreError},
};

/// A stored value that does not read back.
#[derive(Debug, thiserror::Error)]
#[error("cannot decode a stored {what}: {source}")]
pub(crate) struct UnreadableValue {
    what: &'static str,
    source: ErrorSource,
}

impl UnreadableValue {
    pub(crate) fn new(what: &'static str, source: impl Into<ErrorSource>) -> Self {
        Self {
            what,
            source: source.into(),
        }
    }
}

/// A statement failed, no answer came, or a row cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DriverError {
    #[cfg(feature = "sqlite")]
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[cfg(feature = "postgres")]
    #[error("{}", with_detail(.0))]
    Postgres(#[from] tokio_postgres::Error),
    #[cfg(feature = "postgres")]
    #[error("no database connection became available in time")]
    NoConnection,
    #[cfg(feature = "postgres")]
    #[error("{0}")]
    Pool(String),
    #[cfg(feature = "postgres")]
    #[error("it did not respond in time")]
    Timeout,
    #[cfg(feature = "postgres")]
    #[error("the server closed the connection")]
    Disconnected,
    #[cfg(feature = "sqlite")]
    #[error("it was closed")]
    Closed,
    #[cfg(feature = "postgres")]
    #[error("the server does not accept writes")]
    ReadOnly,
    #[error(transparent)]
    Unreadable(#[from] UnreadableValue),
    /// Jobs are whole, and another process can read them.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    #[error(
        "jobs are encrypted with key `{0}`, which this process does not have; restart it with `--encryption-key-file`"
    )]
    MissingKey(String),
    /// The row that was asked for.
    #[error(transparent)]
    Damaged(Box<DamagedRow>),
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    #[error(transparent)]
    MissingColumn(#[from] MissingColumn),
    /// Another transaction was quicker; the same again will see what it did.
    #[error("other transactions kept changing the same rows")]
    Overtaken,
    #[error("a request was not run")]
    NotRun,
    #[cfg(feature = "sqlite")]
    #[error("it panicked: {0}")]
    Panicked(String),
    #[cfg(feature = "sqlite")]
    #[error("an I/O error prevented the switch to WAL mode")]
    NotWal,
    #[cfg(feature = "postgres")]
    #[error("it is older than PostgreSQL {}", POSTGRES_VERSION_MIN / 10_000)]
    TooOld,
    #[cfg(feature = "postgres")]
    #[error("its encoding is {0}, and must be UTF8")]
    WrongEncoding(String),
}

impl DriverError {
    pub(crate) fn unreadable(what: &'static str, source: impl Into<ErrorSource>) -> Self {
        UnreadableValue::new(what, source).into()
    }

    /// A panic that was caught, with its message.
    #[cfg(feature = "sqlite")]
    pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Self::Panicked(text.unwrap_or_else(|| "without a message".to_owned()))
    }

    /// SQLite's code, if SQLite failed.
    #[cfg(feature = "sqlite")]
    pub(crate) fn code(&self) -> Option<rusqlite::ErrorCode> {
        match self {
            Self::Sqlite(error) => error.sqlite_error_code(),
            _ => None,
        }
    }

    /// The server refuses to write. Nothing was written, and another server may take it.
    #[cfg(feature = "postgres")]
    pub(crate) fn is_read_only(&self) -> bool {
        match self {
            Self::Postgres(error) => error.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION),
            Self::ReadOnly => true,
            _ => false,
        }
    }

    /// The database rolled everything back, and the same again may succeed at once.
    #[cfg(feature = "postgres")]
    pub(crate) fn is_worth_repeating(&self) -> bool {
        match self {
            error if error.is_read_only() => true,
            Self::Postgres(error) => error.code().is_some_and(|code| {
                *code == SqlState::T_R_SERIALIZATION_FAILURE
                    || *code == SqlState::T_R_DEADLOCK_DETECTED
            }),
            Self::Overtaken => true,
            _ => false,
        }
    }

    /// Whether the same may succeed later.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(error) => error.sqlite_error_code().is_some_and(is_transient_code),
            #[cfg(feature = "postgres")]
            Self::Postgres(error) => is_transient(error),
            #[cfg(feature = "postgres")]
            Self::NoConnection
            | Self::Pool(_)
            | Self::Timeout
            | Self::Disconnected
            | Self::ReadOnly => true,
            Self::Overtaken => true,
            #[cfg(feature = "sqlite")]
            Self::Closed => true,
            _ => false,
        }
    }

    /// A row came and does not read back, as opposed to one that did not come.
    pub(crate) fn is_unreadable(&self) -> bool {
        match self {
            Self::Unreadable(_) => true,
            #[cfg(feature = "sqlite")]
            Self::Sqlite(error) => matches!(
                error,
                rusqlite::Error::FromSqlConversionFailure(..)
                    | rusqlite::Error::IntegralValueOutOfRange(..)
                    | rusqlite::Error::InvalidColumnType(..)
                    | rusqlite::Error::Utf8Error(..)
            ),
            #[cfg(feature = "postgres")]
            Self::Postgres(error) => error.code().is_none() && !is_lost(error),
            _ => false,
        }
    }

    pub(crate) fn in_operation(self, operation: &'static str) -> StoreError {
        shared_in_operation(&Arc::new(self), operation)
    }
}

/// Leaves out a row that cannot be read; other errors are errors.
pub(crate) fn pass_over<T>(
    read: Result<T, DriverError>,
    damage: &DamageLog,
    table: &'static str,
    id: impl Display,
) -> Result<Option<T>, DriverError> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_unreadable() => {
            damage.note(DamagedRow::new(table, id, error));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The same for an error that several callers get.
pub(crate) fn shared_in_operation(error: &Arc<DriverError>, operation: &'static str) -> StoreError {
    if let DriverError::Damaged(row) = &**error {
        return StoreError::of_damaged_row(operation, row);
    }
    StoreError::new(operation, error.is_transient(), Arc::clone(error) as _)
}

/// Locks are released, disks are cleared and mounted again; the rest stays as it is.
#[cfg(feature = "sqlite")]
fn is_transient_code(code: rusqlite::ErrorCode) -> bool {
    use rusqlite::ErrorCode;
    matches!(
        code,
        ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::DiskFull
            | ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::OutOfMemory
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::PermissionDenied
            | ErrorCode::ReadOnly
            | ErrorCode::OperationInterrupted
    )
}

#[cfg(feature = "postgres")]
impl From<PoolError<Self>> for DriverError {
    fn from(error: PoolError<Self>) -> Self {
        match error {
            PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
                error
            }
            PoolError::Timeout(_) => Self::NoConnection,
            other => Self::Pool(other.to_string()),
        }
    }
}

/// Servers come back, standbys are promoted, locks are released and disks are cleared; a
/// statement that the database does not understand stays as it is.
#[cfg(feature = "postgres")]
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
#[cfg(feature = "postgres")]
fn is_lost(error: &tokio_postgres::Error) -> bool {
    let source = error.source();
    error.is_closed() || source.is_none_or(|source| source.is::<std::io::Error>())
}

/// The library's text says only "db error"; the message of the database is behind it.
#[cfg(feature = "postgres")]
fn with_detail(error: &tokio_postgres::Error) -> String {
    match (error.as_db_error(), error.source()) {
        (Some(db), _) => format!("{} (SQLSTATE {})", db.message(), db.code().code()),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    }
}
