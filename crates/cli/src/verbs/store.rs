//! Commands on a store itself, without a server.

pub mod backup;
pub mod check;
pub mod contents;
pub mod migrate;
pub mod moving;
pub mod restore;

use std::path::PathBuf;

use crate::{
    exit::usage,
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
