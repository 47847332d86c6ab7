//! Read-only connections beside the writer.
//!
//! In WAL mode they never wait for it, and see everything that was acknowledged before they
//! began. Each question is short, so that checkpoints can get past them.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags};
use tokio::sync::Semaphore;

use super::{
    SqliteOptions,
    fault::Fault,
    names::Names,
    open::{connect, keep_statements},
};
use crate::StoreError;

/// Enough for the inner pages of every index; rows are seldom asked for twice.
const CACHE_KIB: i64 = 2 * 1024;
/// Only recovery after a crash makes a reader wait.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct Readers {
    path: PathBuf,
    vfs: Option<String>,
    room: Arc<Semaphore>,
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
            vfs: options.vfs.clone(),
            room: Arc::new(Semaphore::new(options.readers.max(1))),
            idle: Arc::default(),
        }
    }

    /// Asks a question on a thread that may block.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Reader) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let permit = Arc::clone(&self.room).acquire_owned().await;
        let permit = permit.map_err(|_| StoreError::Unavailable("it was closed".to_owned()))?;
        let (path, vfs) = (self.path.clone(), self.vfs.clone());
        let idle = Arc::clone(&self.idle);
        let room = Arc::clone(&self.room);
        let answer = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let waiting = lock(&idle).pop();
            let mut reader = match waiting {
                Some(reader) => reader,
                None => Reader::open(&path, vfs.as_deref())?,
            };
            // A connection that failed is not used again.
            let answer = question(&mut reader)?;
            let mut idle = lock(&idle);
            if !room.is_closed() {
                idle.push(reader);
            }
            Ok::<T, Fault>(answer)
        });
        match answer.await {
            Ok(answer) => Ok(answer?),
            Err(error) => Err(StoreError::Broken(format!("a reader failed: {error}"))),
        }
    }

    /// Refuses further questions and lets go of the file.
    pub(super) fn close(&self) {
        self.room.close();
        lock(&self.idle).clear();
    }
}

impl Reader {
    fn open(path: &Path, vfs: Option<&str>) -> Result<Self, Fault> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = connect(path, flags, vfs)?;
        conn.busy_timeout(PATIENCE)?;
        conn.pragma_update(None, "cache_size", -CACHE_KIB)?;
        keep_statements(&conn)?;
        Ok(Self {
            conn,
            names: Names::default(),
        })
    }
}

fn lock(idle: &Mutex<Vec<Reader>>) -> std::sync::MutexGuard<'_, Vec<Reader>> {
    idle.lock().unwrap_or_else(PoisonError::into_inner)
}
