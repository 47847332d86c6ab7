//! What can go wrong in a store, by what the caller can do about it.

use std::{error::Error, fmt, path::PathBuf, sync::Arc};

use steadfast_core::{
    BatchId, CommandRefusal, IdempotencyKey, Invalid, JobId, Tenant, UniqueConflict, WaitingRefusal,
};

use crate::damage::DamagedRow;

/// The cause of an error, of whatever library.
pub type ErrorSource = Box<dyn Error + Send + Sync>;

/// The store could not do what it was asked. It says which operation failed, why (its
/// [`source`](Error::source)), and whether trying again may help.
#[derive(Clone, Debug)]
pub struct StoreError {
    operation: &'static str,
    is_transient: bool,
    /// Shared, because all requests of one failed transaction have the same cause.
    source: Arc<dyn Error + Send + Sync>,
    damaged: Option<Arc<DamagedRow>>,
}

impl StoreError {
    /// The store is unavailable for a while: try again later. Nothing was changed, or, if the
    /// answer was lost, repeating the call does no harm.
    pub fn unavailable(operation: &'static str, source: impl Into<ErrorSource>) -> Self {
        Self::new(operation, true, Arc::from(source.into()))
    }

    /// The store answered with something that cannot be right. Trying again will not help.
    pub fn broken(operation: &'static str, source: impl Into<ErrorSource>) -> Self {
        Self::new(operation, false, Arc::from(source.into()))
    }

    pub(crate) fn new(
        operation: &'static str,
        is_transient: bool,
        source: Arc<dyn Error + Send + Sync>,
    ) -> Self {
        Self {
            operation,
            is_transient,
            source,
            damaged: None,
        }
    }

    /// The row that was asked for is there and cannot be read.
    pub(crate) fn of_damaged_row(operation: &'static str, row: &DamagedRow) -> Self {
        let row = Arc::new(row.clone());
        Self {
            operation,
            is_transient: false,
            source: Arc::clone(&row) as _,
            damaged: Some(row),
        }
    }

    /// The row that cannot be read, if the caller asked for one that is damaged.
    pub fn damaged_row(&self) -> Option<&DamagedRow> {
        self.damaged.as_deref()
    }

    /// The verb that failed, such as `claim`.
    pub fn operation(&self) -> &'static str {
        self.operation
    }

    /// Whether the same call may succeed later.
    pub fn is_transient(&self) -> bool {
        self.is_transient
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            operation, source, ..
        } = self;
        if let Some(damaged) = &self.damaged {
            write!(f, "corrupt row ({operation}): {damaged}")
        } else if self.is_transient {
            write!(f, "the store is unavailable ({operation}): {source}")
        } else {
            write!(f, "the store failed ({operation}): {source}")
        }
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.source)
    }
}

/// The store could not be opened. The file was left as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file belongs to another application.
    #[error("{} is not a Steadfast database ({reason}): choose another file", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// How that shows.
        reason: &'static str,
    },
    /// The file is ours and damaged.
    #[error("{} is corrupt: {source}; restore it from a backup", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// How that shows.
        source: ErrorSource,
    },
    /// The file is ours, and the log that belongs beside it is gone.
    #[error(
        "{} is missing its write-ahead log, {}, which may contain the last acknowledged writes: it was deleted, or not copied with the file \
         (if the node was killed while another program closed the file, nothing is missing); \
         restore the log next to the file, or accept the loss (`SqliteOptions::accept_loss`)",
        path.display(), log.display()
    )]
    LogMissing {
        /// The file.
        path: PathBuf,
        /// Where its log should be.
        log: PathBuf,
    },
    /// The file has a newer schema.
    #[error(
        "{} was written by a newer Steadfast (schema {found}; this binary supports up to {known}): upgrade this binary",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The schema of the file.
        found: i64,
        /// The newest schema of this binary.
        known: i64,
    },
    /// The store was made by a version from before the first release.
    #[error(
        "{name} was made by a preview of Steadfast (schema {found}) and cannot be read by this version: \
         use a new store. To keep its jobs, serve it with the program that made it, export them with \
         `steadfast jobs list --json`, and create them in the new store with `steadfast jobs create --from`"
    )]
    Preview {
        /// The file or database.
        name: String,
        /// Its schema.
        found: i64,
    },
    /// There is no store with the schema of this program, and none may be made.
    #[error("{name} {}", other_schema(*found, *known))]
    OtherSchema {
        /// The file or database.
        name: String,
        /// Its schema, if it is a store.
        found: Option<i64>,
        /// The schema of this program.
        known: i64,
    },
    /// The store is being moved to another one, or was moved.
    #[error("{name} cannot be used: {reason}")]
    Moved {
        /// The file or database.
        name: String,
        /// How far the move is, and what to do.
        reason: String,
    },
    /// The store is encrypted, and the keys that were given are not those it needs.
    #[error("{name} cannot be opened: {reason}")]
    EncryptionKey {
        /// The file or database.
        name: String,
        /// Which key is missing or wrong.
        reason: String,
    },
    /// The linked SQLite has a defect that loses data.
    #[error(
        "SQLite {found} can corrupt a database in WAL mode: version {least} or newer is required"
    )]
    UnsafeSqlite {
        /// Its version.
        found: String,
        /// The first version without the defect.
        least: &'static str,
    },
    /// The address of a database or an option cannot be used.
    #[error("cannot open {name}: {source}")]
    Address {
        /// What cannot be used. The address itself may hold a password.
        name: String,
        /// Why.
        source: ErrorSource,
    },
    /// The database cannot be reached, or is none that can be used.
    #[error("cannot open {name}: {source}")]
    Database {
        /// The database, without its password.
        name: String,
        /// Trying again may help.
        is_transient: bool,
        /// Why.
        source: ErrorSource,
    },
    /// The database has a newer schema.
    #[error(
        "{name} was written by a newer Steadfast (schema {found}; this binary supports up to {known}): upgrade this binary"
    )]
    NewerDatabase {
        /// The database.
        name: String,
        /// Its schema.
        found: i64,
        /// The newest schema of this binary.
        known: i64,
    },
    /// The file cannot be read or written.
    #[error("cannot open {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Trying again may help.
        is_transient: bool,
        /// Why.
        source: ErrorSource,
    },
}

fn other_schema(found: Option<i64>, known: i64) -> String {
    match found {
        None => "is not a Steadfast store".to_owned(),
        Some(found) => format!(
            "has schema {found}, and this program reads schema {known}: use the program that its \
             nodes run, or `steadfast migrate`"
        ),
    }
}

impl OpenError {
    /// Whether opening the same store may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Database { is_transient, .. } | Self::Io { is_transient, .. } => *is_transient,
            Self::Foreign { .. }
            | Self::Corrupt { .. }
            | Self::LogMissing { .. }
            | Self::Newer { .. }
            | Self::Preview { .. }
            | Self::OtherSchema { .. }
            | Self::Moved { .. }
            | Self::EncryptionKey { .. }
            | Self::UnsafeSqlite { .. }
            | Self::Address { .. }
            | Self::NewerDatabase { .. } => false,
        }
    }
}

/// Jobs were not stored; none of the batch was.
///
/// Exhaustive, because callers must tell these cases apart.
#[derive(Debug, thiserror::Error)]
pub enum EnqueueError {
    /// An idempotency key was used before, for another request.
    #[error(
        "idempotency key {key:?} was already used for a different request, which created {job}"
    )]
    Conflict {
        /// Which job of the batch.
        index: usize,
        /// The key.
        key: IdempotencyKey,
        /// The job that has it. Schedules share their keys with jobs: if there is no such job, it
        /// is the schedule whose id has the same bits.
        job: JobId,
    },
    /// Another job has its unique key.
    #[error("{conflict}: {job}")]
    NotUnique {
        /// Which job of the batch.
        index: usize,
        /// The job that has the key.
        job: JobId,
        /// Why it could not be taken.
        conflict: UniqueConflict,
    },
    /// A job that it is to wait for is not there, or belongs to another tenant.
    #[error("prerequisite {job} does not exist")]
    UnknownPrerequisite {
        /// Which job of the batch.
        index: usize,
        /// The job that is not there.
        job: JobId,
    },
    /// The batch that it is to be added to is not there, or belongs to another tenant.
    #[error("batch {batch} does not exist")]
    UnknownBatch {
        /// Which job of the request.
        index: usize,
        /// The batch that is not there.
        batch: BatchId,
    },
    /// The batch that it is to be added to takes no more jobs.
    #[error("{batch} accepts no more jobs: {reason}")]
    BatchRefused {
        /// Which job of the request.
        index: usize,
        /// The batch.
        batch: BatchId,
        /// It is closed or full.
        reason: Invalid,
    },
    /// The tenant has as many lanes, or places where jobs wait, as it may.
    #[error("tenant {tenant} has reached its limit of {most} {what}")]
    TenantFull {
        /// The tenant.
        tenant: Tenant,
        /// What there are too many of, for people.
        what: &'static str,
        /// How many there may be.
        most: usize,
    },
    /// Too many jobs of a queue or tenant wait.
    #[error(transparent)]
    WaitingFull(#[from] WaitingRefusal),
    /// The store could not do it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl EnqueueError {
    /// Whether the same call may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Conflict { .. }
            | Self::NotUnique { .. }
            | Self::UnknownPrerequisite { .. }
            | Self::UnknownBatch { .. }
            | Self::BatchRefused { .. }
            | Self::TenantFull { .. } => false,
            Self::WaitingFull(_) => true,
            Self::Store(error) => error.is_transient(),
        }
    }
}

/// A command was not carried out on a job.
///
/// Exhaustive, because callers must tell these cases apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// There is no such job.
    #[error("there is no {0}")]
    NotFound(JobId),
    /// The job is not in a state that allows it.
    #[error(transparent)]
    Refused(#[from] CommandRefusal),
}
