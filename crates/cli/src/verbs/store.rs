//! Commands on a store itself, without a server.

pub mod backup;
pub mod check;
pub mod migrate;
pub mod moving;
pub mod restore;

use std::path::PathBuf;

use crate::{exit::usage, settings::StoreUrl};

/// The file of an SQLite store; other stores have other ways to copy them.
fn sqlite_file(store: StoreUrl) -> anyhow::Result<PathBuf> {
    match store {
        StoreUrl::Sqlite(path) => Ok(path),
        StoreUrl::Memory => Err(usage("memory: has nothing that outlives its node")),
        StoreUrl::Postgres(_) => Err(usage(
            "PostgreSQL has backups of its own: use pg_basebackup and the archived WAL, or pg_dump",
        )),
    }
}
