//! What goes wrong inside the driver.

use std::{any::Any, sync::Arc};

use rusqlite::ErrorCode;

use crate::{
    damage::DamagedRow,
    error::{ErrorSource, StoreError},
    sql::{columns::MissingColumn, values::UnreadableValue},
};

/// A statement failed, a row cannot be read, or the writer is gone.
#[derive(Debug, thiserror::Error)]
pub(super) enum DriverError {
    #[error(transparent)]
    Sql(#[from] rusqlite::Error),
    #[error(transparent)]
    Unreadable(#[from] UnreadableValue),
    /// The row that was asked for.
    #[error(transparent)]
    Damaged(Box<DamagedRow>),
    #[error(transparent)]
    MissingColumn(#[from] MissingColumn),
    #[error("it was closed")]
    Closed,
    #[error("a request was not run")]
    NotRun,
    #[error("it panicked: {0}")]
    Panicked(String),
    #[error("an I/O error prevented the switch to WAL mode")]
    NotWal,
}

impl DriverError {
    pub(super) fn unreadable(what: &'static str, source: impl Into<ErrorSource>) -> Self {
        UnreadableValue::new(what, source).into()
    }

    /// A panic that was caught, with its message.
    pub(super) fn panicked(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Self::Panicked(text.unwrap_or_else(|| "without a message".to_owned()))
    }

    /// SQLite's code, if SQLite failed.
    pub(super) fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Sql(error) => error.sqlite_error_code(),
            _ => None,
        }
    }

    /// A row came and does not read back.
    pub(super) fn is_unreadable(&self) -> bool {
        matches!(
            self,
            Self::Unreadable(_)
                | Self::Sql(
                    rusqlite::Error::FromSqlConversionFailure(..)
                        | rusqlite::Error::IntegralValueOutOfRange(..)
                        | rusqlite::Error::InvalidColumnType(..)
                        | rusqlite::Error::Utf8Error(..)
                )
        )
    }

    /// Whether the same may succeed later: locks are released, disks are cleared and mounted
    /// again; the rest stays as it is.
    pub(super) fn is_transient(&self) -> bool {
        matches!(self, Self::Closed)
            || matches!(
                self.code(),
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

    pub(super) fn in_operation(self, operation: &'static str) -> StoreError {
        shared_in_operation(&Arc::new(self), operation)
    }
}

/// The same for an error that several callers get.
pub(super) fn shared_in_operation(error: &Arc<DriverError>, operation: &'static str) -> StoreError {
    if let DriverError::Damaged(row) = &**error {
        return StoreError::of_damaged_row(operation, row);
    }
    StoreError::new(operation, error.is_transient(), Arc::clone(error) as _)
}
