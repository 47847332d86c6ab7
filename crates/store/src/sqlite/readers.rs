//! Read-only connections beside the writer.
//!
//! In WAL mode they never wait for it, and see everything that was acknowledged before they
//! began. Each query is short, so that checkpoints can get past them.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use rusqlite::{Connection, OpenFlags};
use tokio::sync::Semaphore;

use super::{
    driver_error::DriverError,
    names::Names,
    open::{connect, plan_statements_once},
    options::SqliteOptions,
};
use crate::limits::{READER_BUSY_TIMEOUT, READER_CACHE_KIB};

pub(super) struct Readers {
    path: PathBuf,
    vfs: Option<String>,
    permits: Arc<Semaphore>,
    idle: Arc<Mutex<Vec<Reader>>>,
}

pub(super) struct Reader {
    pub conn: Connection,
    pub names: Names,
}

impl Readers {
    pub(super) fn new(path: PathBuf, options: &SqliteOptions) -> Self {
        Self {
            path,
            vfs: options.vfs_name().map(str::to_owned),
            permits: Arc::new(Semaphore::new(options.readers.max(1))),
            idle: Arc::default(),
        }
    }

    /// Runs a query on a thread that may block.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&mut Reader) -> Result<T, DriverError> + Send + 'static,
    ) -> Result<T, DriverError> {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let permit = permit.map_err(|_| DriverError::Closed)?;
        let (path, vfs) = (self.path.clone(), self.vfs.clone());
        let idle = Arc::clone(&self.idle);
        let permits = Arc::clone(&self.permits);
        let answer = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let idle_reader = lock(&idle).pop();
            let mut reader = match idle_reader {
                Some(reader) => reader,
                None => Reader::open(&path, vfs.as_deref())?,
            };
            // A connection that failed is not used again.
            let answer = query(&mut reader)?;
            let mut idle = lock(&idle);
            if !permits.is_closed() {
                idle.push(reader);
            }
            Ok::<T, DriverError>(answer)
        });
        answer.await?
    }

    /// Refuses further querys and lets go of the file.
    pub(super) fn close(&self) {
        self.permits.close();
        lock(&self.idle).clear();
    }
}

impl Reader {
    fn open(path: &Path, vfs: Option<&str>) -> Result<Self, DriverError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = connect(path, flags, vfs)?;
        conn.busy_timeout(READER_BUSY_TIMEOUT)?;
        conn.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
        plan_statements_once(&conn)?;
        Ok(Self {
            conn,
            names: Names::default(),
        })
    }
}

fn lock(idle: &Mutex<Vec<Reader>>) -> std::sync::MutexGuard<'_, Vec<Reader>> {
    idle.lock().unwrap_or_else(PoisonError::into_inner)
}
