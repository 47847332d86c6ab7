//! Whether the log beside the file is gone: deleted, or left behind when the file was copied.
//!
//! Everything acknowledged since the last checkpoint is in the log alone, and SQLite opens a file
//! without its log as if nothing were missing. Therefore two numbers differ in the file itself
//! and are equal together with the log: after a checkpoint that emptied the log, one is written
//! and checkpointed, then the other is written to the log and stays there. Any later checkpoint,
//! by whomever, brings both into the file, so a file that was closed has equal numbers.
//!
//! Between the two writes the numbers differ although nothing is lost; then the log still exists,
//! because a checkpoint does not shorten it. A log that lost its end is not noticed.
//!
//! A copy that SQLite makes between the two writes (its backup, `VACUUM INTO`) has different numbers,
//! no log, and everything in it. It is told from a file without its log by the schema version in its
//! header: SQLite counts on from the version of the file that it writes to, so that connections to that
//! file notice. Only a copy over an earlier copy can have the version of the original, and only once.

use std::{
    ffi::c_int,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use rusqlite::{Connection, config::DbConfig, hooks::Wal};

use crate::drivers::sqlite::{driver_error::DriverError, log_file};
use crate::limits::{CHECKPOINT_PAGES, LOG_BYTES_MIN};

/// Whether the numbers differ as the connection sees them.
pub(crate) fn differs(conn: &Connection) -> Result<bool, DriverError> {
    let exists = conn
        .prepare(include_str!("log_mark/log_mark_exists.sql"))?
        .exists([])?;
    Ok(exists
        && conn
            .prepare(include_str!("log_mark/log_mark_differs.sql"))?
            .exists([])?)
}

/// Whether the file of the connection alone lacks what should follow in its log.
pub(crate) fn misses_log(conn: &Connection) -> Result<bool, DriverError> {
    Ok(differs(conn)?
        && conn
            .prepare(include_str!("log_mark/log_mark_misses.sql"))?
            .exists([])?)
}

/// Whether there is nothing in the log of a file. To be asked after the numbers were read: a
/// process that has just made them differ has a log.
pub(crate) fn is_log_empty(file: &Path) -> bool {
    log_file::bytes(&log_file::path(file)).unwrap_or(0) < LOG_BYTES_MIN
}

/// Whether the log stays beside the file when the last connection closes, and that is this one.
pub(crate) fn keep_log_on_close(conn: &Connection, keep: bool) -> rusqlite::Result<()> {
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep)?;
    Ok(())
}

/// Makes the numbers equal.
pub(crate) fn follow(conn: &Connection) -> Result<(), DriverError> {
    conn.execute(include_str!("log_mark/log_mark_follow.sql"), [])?;
    Ok(())
}

/// Checkpoints the log when it is large enough, and marks the file anew whenever that emptied it.
pub(crate) struct Checkpointer {
    /// Pages in the log after the last commit.
    pages: Arc<AtomicI64>,
    /// This process has not marked the file yet.
    is_first: bool,
    /// The numbers may differ in the log, too.
    is_followed: bool,
}

impl Checkpointer {
    /// In place of SQLite's own checkpoints.
    pub(crate) fn new(conn: &mut Connection) -> Result<Self, DriverError> {
        let pages = Arc::new(AtomicI64::new(0));
        let seen = Arc::clone(&pages);
        conn.wal_hook(Some(move |_: &mut Wal, count: c_int| {
            seen.store(count.into(), Ordering::Relaxed);
            Ok(())
        }))?;
        // Whoever opened the file has made the numbers equal.
        keep_log_on_close(conn, false)?;
        Ok(Self {
            pages,
            is_first: true,
            is_followed: true,
        })
    }

    /// Called after each commit, and cheap: it mostly compares two numbers. A checkpoint that
    /// fails is tried again later; nothing that was committed depends on it.
    pub(crate) fn run(&mut self, conn: &Connection) {
        let is_due = self.is_first || self.pages.load(Ordering::Relaxed) >= CHECKPOINT_PAGES;
        if self.is_followed && !is_due {
            return;
        }
        self.is_first = false;
        if let Err(error) = self.checkpoint(conn) {
            tracing::warn!(%error, "cannot checkpoint the write-ahead log");
        }
    }

    fn checkpoint(&mut self, conn: &Connection) -> Result<(), DriverError> {
        if !self.is_followed {
            return self.follow(conn);
        }
        if !checkpoint(conn)? {
            return Ok(());
        }
        // A log that closing would delete must be there for as long as the numbers differ in it.
        keep_log_on_close(conn, true)?;
        self.is_followed = false;
        conn.execute(include_str!("log_mark/log_mark_fold.sql"), [])?;
        let checkpointed = checkpoint(conn);
        self.follow(conn)?;
        checkpointed.map(drop)
    }

    fn follow(&mut self, conn: &Connection) -> Result<(), DriverError> {
        follow(conn)?;
        self.is_followed = true;
        keep_log_on_close(conn, false)?;
        Ok(())
    }

    /// Called before the connection is closed.
    pub(crate) fn end(&mut self, conn: &Connection) {
        if !self.is_followed
            && let Err(error) = self.follow(conn)
        {
            tracing::warn!(%error, "the log is kept beside the file");
        }
    }
}

/// Folds the log into the file, as far as readers allow. Answers whether it held nothing else.
fn checkpoint(conn: &Connection) -> Result<bool, DriverError> {
    let (is_busy, pages, folded) = conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
        let number = |column| row.get::<_, i64>(column);
        Ok((number(0)? != 0, number(1)?, number(2)?))
    })?;
    Ok(!is_busy && pages == folded)
}

#[cfg(test)]
mod tests {
    use super::{
        super::{migrate, open},
        *,
    };
    use crate::{drivers::sqlite::SqliteOptions, error::OpenError};
    use std::time::Duration;

    /// Whether the file differs without its log.
    fn differs_alone(file: &Path) -> bool {
        let alone = file.with_extension("alone");
        std::fs::copy(file, &alone).unwrap();
        differs(&Connection::open(alone).unwrap()).unwrap()
    }

    #[test]
    fn a_file_is_marked_anew_whenever_its_log_was_emptied() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("jobs.db");
        let mut conn = open(&file, &SqliteOptions::default()).unwrap();
        assert_eq!(
            migrate::version(&conn).unwrap(),
            Some(migrate::version_known())
        );
        let mut checkpointer = Checkpointer::new(&mut conn).unwrap();
        checkpointer.run(&conn);
        for _ in 0..3 {
            assert!(differs_alone(&file), "nothing would be noticed");
            assert!(!differs(&conn).unwrap());
            // By anybody.
            assert!(checkpoint(&conn).unwrap());
            assert!(!differs_alone(&file), "nothing is lost");
            checkpointer.run(&conn);
            assert!(!differs_alone(&file), "not without need");
            checkpointer
                .pages
                .store(CHECKPOINT_PAGES, Ordering::Relaxed);
            checkpointer.run(&conn);
            assert!(checkpointer.pages.load(Ordering::Relaxed) < CHECKPOINT_PAGES);
        }
    }

    #[test]
    fn a_copy_that_is_made_between_the_numbers_is_whole() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("jobs.db");
        let mut conn = open(&file, &SqliteOptions::default()).unwrap();
        let mut checkpointer = Checkpointer::new(&mut conn).unwrap();
        checkpointer.run(&conn);
        // As a reader sees it between the two writes, and as the file stays without its log.
        assert!(checkpoint(&conn).unwrap());
        conn.execute(include_str!("log_mark/log_mark_fold.sql"), [])
            .unwrap();
        assert!(checkpoint(&conn).unwrap());
        let lost = directory.path().join("lost.db");
        std::fs::copy(&file, &lost).unwrap();
        let lost = open(&lost, &SqliteOptions::default());
        assert!(
            matches!(lost, Err(OpenError::LogMissing { .. })),
            "{lost:?}"
        );

        let backup = directory.path().join("backup.db");
        // Also over an earlier copy.
        for _ in 0..3 {
            let mut target = Connection::open(&backup).unwrap();
            let copy = rusqlite::backup::Backup::new(&conn, &mut target).unwrap();
            copy.run_to_completion(100, Duration::ZERO, None).unwrap();
        }
        let vacuumed = directory.path().join("vacuumed.db");
        conn.execute("VACUUM INTO ?1", [vacuumed.to_str().unwrap()])
            .unwrap();
        for copy in [backup, vacuumed] {
            let copy = open(&copy, &SqliteOptions::default()).unwrap();
            assert!(!differs(&copy).unwrap());
        }
    }

    #[test]
    fn a_connection_that_closes_between_the_numbers_leaves_the_log() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("jobs.db");
        let mut conn = open(&file, &SqliteOptions::default()).unwrap();
        let mut checkpointer = Checkpointer::new(&mut conn).unwrap();
        // The disk was full for the second.
        let full = "CREATE TEMP TRIGGER full BEFORE UPDATE OF logged ON steadfast_log_mark
                    BEGIN SELECT RAISE(ABORT, 'disk full'); END";
        conn.execute_batch(full).unwrap();
        checkpointer.run(&conn);
        checkpointer.end(&conn);
        assert!(differs(&conn).unwrap());
        conn.close().unwrap();
        assert!(!is_log_empty(&file), "the file would be refused");
        let conn = open(&file, &SqliteOptions::default()).unwrap();
        assert!(!differs(&conn).unwrap());
    }

    #[test]
    fn no_look_at_a_file_takes_the_log_of_a_node_that_was_killed_between_the_numbers() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("jobs.db");
        let mut conn = open(&file, &SqliteOptions::default()).unwrap();
        Checkpointer::new(&mut conn).unwrap().run(&conn);
        assert!(checkpoint(&conn).unwrap());
        conn.execute(include_str!("log_mark/log_mark_fold.sql"), [])
            .unwrap();
        assert!(checkpoint(&conn).unwrap());
        // A process that is killed closes nothing.
        let killed = directory.path().join("killed.db");
        std::fs::copy(&file, &killed).unwrap();
        std::fs::copy(log_file::path(&file), log_file::path(&killed)).unwrap();

        let reader = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
        drop(crate::drivers::sqlite::open::connect(&killed, reader, None).unwrap());
        assert!(!crate::SqliteStore::is_in_use(&killed).unwrap());
        let backup = directory.path().join("backup.db");
        crate::SqliteCopy::make(&killed, &backup).unwrap();
        let conn = open(&killed, &SqliteOptions::default()).unwrap();
        assert!(!differs(&conn).unwrap());
    }
}
