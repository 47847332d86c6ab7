//! The log beside the file, and whether it can be emptied.
//!
//! A checkpoint moves the log into the file up to the oldest snapshot that any connection reads.
//! A backup or a shell that stays in a transaction therefore lets the log grow without end, while
//! everything seems to work. Readers of our own end their snapshots with each query.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use crate::limits::{LOG_BYTES_WARN, LOG_CHECK_EVERY, LOG_WARN_EVERY};

/// The path of the log of a file.
pub(crate) fn path(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

/// Its size. By name, because a handle of ours on the file must not be closed.
pub(crate) fn bytes(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|metadata| metadata.len())
}

/// Looks at the size of the log now and then, and warns now and then.
pub(crate) struct LogWatch {
    path: PathBuf,
    checked_at: Option<Instant>,
    warned_at: Option<Instant>,
}

impl LogWatch {
    pub(crate) fn new(file: &Path) -> Self {
        Self {
            path: path(file),
            checked_at: None,
            warned_at: None,
        }
    }

    /// Called after each transaction, and cheap: it mostly compares two times.
    pub(crate) fn check(&mut self) {
        let now = Instant::now();
        if is_within(self.checked_at, now, LOG_CHECK_EVERY) {
            return;
        }
        self.checked_at = Some(now);
        let Some(bytes) = bytes(&self.path).filter(|bytes| *bytes >= LOG_BYTES_WARN) else {
            return;
        };
        if is_within(self.warned_at, now, LOG_WARN_EVERY) {
            return;
        }
        self.warned_at = Some(now);
        tracing::warn!(
            bytes,
            path = %self.path.display(),
            "the write-ahead log of the store has grown to {} MiB and cannot be truncated: another process, such as a backup or a shell, holds an old snapshot of the file",
            bytes >> 20
        );
    }
}

fn is_within(then: Option<Instant>, now: Instant, span: std::time::Duration) -> bool {
    then.is_some_and(|then| now.duration_since(then) < span)
}
