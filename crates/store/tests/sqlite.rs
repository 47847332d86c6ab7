//! The SQLite driver against the contract.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;

use async_trait::async_trait;
use steadfast_store::{
    EncryptionKeys, ManualClock, SqliteOptions, SqliteStore, Store,
    conformance::{Durable, Harness},
    conformance_tests,
};
use tempfile::TempDir;

/// A directory of its own for each case, gone when the case is over.
struct Sqlite(TempDir, Option<EncryptionKeys>);

impl Sqlite {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap(), None)
    }

    fn encrypted() -> Self {
        let key = "one:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
        Self(
            tempfile::tempdir().unwrap(),
            Some(EncryptionKeys::parse(key).unwrap()),
        )
    }

    fn open(&self, clock: ManualClock) -> Arc<dyn Store> {
        let file = self.0.path().join("steadfast.db");
        let options = SqliteOptions::default()
            .clock(clock)
            .encryption(self.1.clone());
        Arc::new(SqliteStore::open(file, options).unwrap())
    }
}

#[async_trait]
impl Harness for Sqlite {
    async fn fresh(&self, clock: ManualClock) -> Arc<dyn Store> {
        self.open(clock)
    }
}

#[async_trait]
impl Durable for Sqlite {
    async fn reopen(&self, clock: ManualClock) -> Arc<dyn Store> {
        self.open(clock)
    }
}

conformance_tests!(durable Sqlite::new());

mod encrypted {
    use super::*;

    conformance_tests!(durable Sqlite::encrypted());
}
