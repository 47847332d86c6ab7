//! What goes wrong inside the driver, before a caller is told.

use deadpool_postgres::PoolError;
use tokio_postgres::error::SqlState;

use crate::StoreError;

/// A statement failed, no answer came, or a row says something that cannot be.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("{}", with_detail(.0))]
    Sql(#[from] tokio_postgres::Error),
    #[error("{0}")]
    Away(String),
    #[error("{0}")]
    Unreadable(String),
    /// Someone else was quicker; the same again will see what they did.
    #[error("others kept changing the same rows")]
    Overtaken,
}

impl Fault {
    /// A stored value that does not read back.
    pub(super) fn unreadable(what: &str, why: impl std::fmt::Display) -> Self {
        Self::Unreadable(format!("a stored {what} cannot be read: {why}"))
    }

    /// The database took everything back and says to try again.
    pub(super) fn is_worth_repeating(&self) -> bool {
        match self {
            Self::Sql(error) => error.code().is_some_and(|code| {
                *code == SqlState::T_R_SERIALIZATION_FAILURE
                    || *code == SqlState::T_R_DEADLOCK_DETECTED
            }),
            Self::Overtaken => true,
            Self::Away(_) | Self::Unreadable(_) => false,
        }
    }
}

impl From<PoolError> for Fault {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) => Self::Sql(error),
            PoolError::Timeout(_) => Self::Away("no connection became free in time".to_owned()),
            other => Self::Away(other.to_string()),
        }
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        let is_transient = match &fault {
            Fault::Sql(error) => is_transient(error),
            Fault::Away(_) | Fault::Overtaken => true,
            Fault::Unreadable(_) => false,
        };
        match is_transient {
            true => Self::Unavailable(fault.to_string()),
            false => Self::Broken(fault.to_string()),
        }
    }
}

/// Servers come back, standbys are promoted, locks are given back and disks are cleared; a
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
    let source = std::error::Error::source(error);
    error.is_closed() || source.is_none_or(|source| source.is::<std::io::Error>())
}

/// The library's text says only "db error"; what the database says is behind it.
fn with_detail(error: &tokio_postgres::Error) -> String {
    match (error.as_db_error(), std::error::Error::source(error)) {
        (Some(db), _) => format!("{} (SQLSTATE {})", db.message(), db.code().code()),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    }
}
