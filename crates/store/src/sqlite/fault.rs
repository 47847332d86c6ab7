//! What goes wrong inside the driver, before a caller is told.

use rusqlite::ErrorCode;

use crate::StoreError;

/// A statement failed, or a row says something that cannot be.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error(transparent)]
    Sql(#[from] rusqlite::Error),
    #[error("{0}")]
    Unreadable(String),
}

impl Fault {
    /// A stored value that does not read back.
    pub(super) fn unreadable(what: &str, why: impl std::fmt::Display) -> Self {
        Self::Unreadable(format!("a stored {what} cannot be read: {why}"))
    }

    /// What SQLite says that went wrong, if it was SQLite that did.
    pub(super) fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Sql(error) => error.sqlite_error_code(),
            Self::Unreadable(_) => None,
        }
    }

    /// What to tell one of the callers: is it worth trying again?
    pub(super) fn to_store_error(&self) -> StoreError {
        match self {
            Self::Sql(error) if is_transient(error) => StoreError::Unavailable(error.to_string()),
            fault => StoreError::Broken(fault.to_string()),
        }
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        fault.to_store_error()
    }
}

/// Locks are given back, disks are cleared and mounted again; the rest stays as it is.
fn is_transient(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
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
    )
}
