//! What the tests of the SQLite driver share.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use steadfast_core::{
    Claim, Dice, JobId, Kind, NewJob, Outcome, Payload, Preset, Transition, WorkerName,
    after_attempt,
};
use steadfast_store::{BaseStore as _, ClaimRequest, SqliteOptions, SqliteStore};
use tempfile::TempDir;

/// A file for one database, deleted at the end of the test.
pub struct TestDatabase {
    _directory: TempDir,
    pub file: PathBuf,
}

impl TestDatabase {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self {
            file: directory.path().join("jobs.db"),
            _directory: directory,
        }
    }

    pub fn open(&self) -> SqliteStore {
        SqliteStore::open(&self.file, SqliteOptions::default()).unwrap()
    }
}

static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// A job that is due.
pub fn job(store: &SqliteStore) -> NewJob {
    let random = NUMBERS.fetch_add(1, Ordering::Relaxed) << 2;
    NewJob::new(
        JobId::new(store.now(), random),
        Kind::new("mail").unwrap(),
        Payload::default(),
        Arc::new(Preset::Queue.policy()),
    )
}

pub fn jobs(store: &SqliteStore, count: usize) -> Vec<NewJob> {
    (0..count).map(|_| job(store)).collect()
}

pub fn request(max: usize) -> ClaimRequest {
    ClaimRequest::new(WorkerName::new("w1").unwrap(), max)
}

pub fn success(store: &SqliteStore, claim: Claim) -> Transition {
    let outcome = Outcome::Success { output: None };
    after_attempt(
        &claim.end(outcome, store.now()),
        &steadfast_core::Subscriptions::default(),
        Dice::new(0),
    )
}
