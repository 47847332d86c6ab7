//! What can go wrong in a store, by what the caller can do about it.

use std::path::PathBuf;

use steadfast_core::{CommandRefusal, IdempotencyKey, JobId};

/// The store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The store is away for a while: try again later. Nothing was changed, or, where the
    /// answer was lost, repeating the call does no harm.
    #[error("the store does not answer: {0}")]
    Unavailable(String),
    /// The store answered with something that cannot be right. Trying again will not help.
    #[error("the store is broken: {0}")]
    Broken(String),
}

impl StoreError {
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }
}

/// The store could not be opened. The file was left as it was.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{} is not a Steadfast database{}: choose another file", path.display(), detail(why))]
    Foreign { path: PathBuf, why: String },
    #[error("{} is damaged: {why}; restore it from a backup", path.display())]
    Corrupt { path: PathBuf, why: String },
    #[error(
        "{} was written by a newer Steadfast (schema {found}, this one knows {known}): upgrade this binary",
        path.display()
    )]
    Newer {
        path: PathBuf,
        found: i64,
        known: i64,
    },
    #[error(
        "SQLite {found} can corrupt a database in WAL mode: version {least} or newer is needed"
    )]
    UnsafeSqlite { found: String, least: &'static str },
    #[error("cannot open {name}: {why}")]
    Database { name: String, why: String },
    #[error(
        "{name} was written by a newer Steadfast (schema {found}, this one knows {known}): upgrade this binary"
    )]
    NewerDatabase {
        name: String,
        found: i64,
        known: i64,
    },
    #[error("cannot open {}: {why}", path.display())]
    Io { path: PathBuf, why: String },
}

fn detail(why: &str) -> String {
    match why {
        "" => String::new(),
        why => format!(" ({why})"),
    }
}

/// Jobs were not stored; none of the batch was.
#[derive(Debug, thiserror::Error)]
pub enum EnqueueError {
    #[error("idempotency key {key:?} was used for another request, which made {job}")]
    Conflict {
        /// Which job of the batch.
        index: usize,
        key: IdempotencyKey,
        job: JobId,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A command was not carried out on a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    #[error("there is no {0}")]
    NotFound(JobId),
    #[error(transparent)]
    Refused(#[from] CommandRefusal),
}
