//! Commands on a store itself, without a server.

pub mod backup;
pub mod check;
pub mod contents;
pub mod migrate;
pub mod moving;
pub mod restore;

use std::path::PathBuf;

use steadfast::store::CopyError;

use crate::{
    exit::{ExitError, usage},
    settings::{StoreUrl, not_durable},
};

/// The file of an SQLite store; other stores have other ways to copy them.
fn sqlite_file(store: StoreUrl) -> anyhow::Result<PathBuf> {
    match store {
        StoreUrl::Sqlite(path) => Ok(path),
        StoreUrl::Memory => Err(not_durable()),
        StoreUrl::Postgres(_) => Err(usage(
            "PostgreSQL has backups of its own: use pg_basebackup and the archived WAL, or pg_dump",
        )),
    }
}

/// The exit codes of a move: 4 without a source, 2 for a target that cannot be used.
fn copy_failed(error: CopyError) -> anyhow::Error {
    match error {
        CopyError::Missing(_) => ExitError::NotFound(error.to_string()).into(),
        CopyError::InUse(_) | CopyError::NotEmpty(_) => usage(error.to_string()),
        other => other.into(),
    }
}
