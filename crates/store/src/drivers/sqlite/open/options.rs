//! How a file is opened.

use std::{sync::Arc, time::Duration};

use crate::{
    clock::{Clock, SystemClock},
    drivers::sql::encryption::EncryptionKeys,
    limits::{BUSY_TIMEOUT_DEFAULT, READERS_DEFAULT, WRITER_CACHE_BYTES_DEFAULT},
};

/// How a file is opened.
#[derive(Clone)]
#[non_exhaustive]
pub struct SqliteOptions {
    /// The clock of the store.
    pub clock: Arc<dyn Clock>,
    /// Memory for the writer's pages. Readers have a little more of their own.
    pub cache_bytes: usize,
    /// Queries that may run at once; one more is kept for those of the node itself.
    pub readers: usize,
    /// How long to wait for other processes that hold the write lock.
    pub busy_timeout: Duration,
    /// Share a database that already has tables of another application, for jobs that commit
    /// together with its data. All our tables are called `steadfast_…`; the database is
    /// switched to WAL mode. Without this, such a file is refused.
    pub share: bool,
    /// Open a file whose log is gone, with what was acknowledged last: deleted, or left behind when
    /// the file was copied. Without this, such a file is refused.
    pub accept_loss: bool,
    /// Open a store that is being moved, or was moved, in order to move or check it. Without this, such
    /// a file is refused.
    pub for_move: bool,
    /// Open only a store that exists and has the schema of this program: nothing is created or
    /// migrated.
    pub existing: bool,
    /// The keys with which payloads, results, logs and settings are encrypted. Without any, they are
    /// stored as they are, and a store that has encrypted values is refused.
    pub encryption: Option<EncryptionKeys>,
    /// The name of the SQLite file system to use; tests have one that fails.
    #[cfg(feature = "_testing")]
    #[doc(hidden)]
    pub vfs: Option<String>,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            cache_bytes: WRITER_CACHE_BYTES_DEFAULT,
            readers: READERS_DEFAULT,
            busy_timeout: BUSY_TIMEOUT_DEFAULT,
            share: false,
            accept_loss: false,
            for_move: false,
            existing: false,
            encryption: None,
            #[cfg(feature = "_testing")]
            vfs: None,
        }
    }
}

impl SqliteOptions {
    /// Sets [`share`](Self::share).
    #[must_use]
    pub fn share(self, share: bool) -> Self {
        Self { share, ..self }
    }

    /// Sets [`accept_loss`](Self::accept_loss).
    #[must_use]
    pub fn accept_loss(self, accept_loss: bool) -> Self {
        Self {
            accept_loss,
            ..self
        }
    }

    /// Sets [`encryption`](Self::encryption).
    #[must_use]
    pub fn encryption(self, encryption: Option<EncryptionKeys>) -> Self {
        Self { encryption, ..self }
    }

    /// Sets [`for_move`](Self::for_move).
    #[must_use]
    pub fn for_move(self, for_move: bool) -> Self {
        Self { for_move, ..self }
    }

    /// Sets [`existing`](Self::existing).
    #[must_use]
    pub fn existing(self, existing: bool) -> Self {
        Self { existing, ..self }
    }

    /// Sets [`clock`](Self::clock).
    #[must_use]
    pub fn clock(self, clock: impl Clock) -> Self {
        Self {
            clock: Arc::new(clock),
            ..self
        }
    }

    /// Sets [`cache_bytes`](Self::cache_bytes).
    #[must_use]
    pub fn cache_bytes(self, cache_bytes: usize) -> Self {
        Self {
            cache_bytes,
            ..self
        }
    }

    /// Sets [`readers`](Self::readers).
    #[must_use]
    pub fn readers(self, readers: usize) -> Self {
        Self { readers, ..self }
    }

    /// Sets [`busy_timeout`](Self::busy_timeout).
    #[must_use]
    pub fn busy_timeout(self, busy_timeout: Duration) -> Self {
        Self {
            busy_timeout,
            ..self
        }
    }

    /// Sets the file system, by its name.
    #[cfg(feature = "_testing")]
    #[doc(hidden)]
    #[must_use]
    pub fn vfs(self, name: impl Into<String>) -> Self {
        Self {
            vfs: Some(name.into()),
            ..self
        }
    }

    #[cfg(feature = "_testing")]
    pub(crate) fn vfs_name(&self) -> Option<&str> {
        self.vfs.as_deref()
    }

    #[cfg(not(feature = "_testing"))]
    #[expect(clippy::unused_self, reason = "with `_testing` it is a field")]
    pub(crate) fn vfs_name(&self) -> Option<&str> {
        None
    }
}
