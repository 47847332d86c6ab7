//! A copy of a file as it is at one moment, while a node writes to it: for backups and restores.
//!
//! SQLite's backup copies some pages at a time, and begins again when another connection has written
//! meanwhile; under load it would never end. So the connection holds one snapshot until all pages
//! are copied. The writer does not wait for it, but its log cannot be emptied until then and grows.
//!
//! The copy has a temporary name until it is complete, verified and synced: a file with the final
//! name is always a whole store.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use rusqlite::{
    Connection, OpenFlags,
    backup::{Backup, StepResult},
};

use super::{
    driver_error::DriverError,
    open::{self, connect, log_file, migrate, options::SqliteOptions, with_suffix},
};
use crate::{
    error::{ErrorSource, OpenError},
    limits::COPY_PAGES,
};

/// A complete copy of a store, under a temporary name beside its target. It is deleted unless it is
/// [published](SqliteCopy::publish).
#[derive(Debug)]
pub struct SqliteCopy {
    path: PathBuf,
    target: PathBuf,
    jobs: u64,
}

/// A file was not copied. The target was not changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// There is no such file.
    #[error("{} does not exist", .0.display())]
    Missing(PathBuf),
    /// The file is damaged, or a part of it is missing.
    #[error("{} is incomplete or corrupt ({reason}): use another copy", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// How that shows.
        reason: ErrorSource,
    },
    /// The file cannot be read as a store.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A node or another program has the target open.
    #[error("{} is in use: stop its node first, or choose a file that does not exist", .0.display())]
    InUse(PathBuf),
    /// The target has contents.
    #[error("{} is not empty: choose a file that does not exist", .0.display())]
    NotEmpty(PathBuf),
    /// A log of another file is where the target's will be, and SQLite would read it.
    #[error("{} is left over from a deleted file: delete it first", .0.display())]
    LogLeftOver(PathBuf),
    /// The copy cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl SqliteCopy {
    /// Copies a store, which may be in use, for a target that must not exist or be empty. Blocks
    /// until the copy is complete and SQLite has found no error in it.
    pub fn make(from: &Path, target: &Path) -> Result<Self, CopyError> {
        check_target(target)?;
        let source = open_source(from)?;
        let mut copy = Self {
            path: with_suffix(target, &format!(".{}.partial", std::process::id())),
            target: target.to_owned(),
            jobs: 0,
        };
        // What a process with the same number left behind when it was killed.
        copy.remove();
        create_private(&copy.path).map_err(|source| io_error(&copy.path, source))?;
        copy_pages(&source, &copy.path).map_err(|error| failed(from, error))?;
        drop(source);
        copy.jobs = verify(&copy.path).map_err(|error| failed(from, error))?;
        Ok(copy)
    }

    /// Where the copy is until it is published. It can be opened as a store.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many jobs it has.
    pub fn jobs(&self) -> u64 {
        self.jobs
    }

    /// Gives the copy its name, durably. No connection to it may be open.
    pub fn publish(self) -> Result<(), CopyError> {
        check_target(&self.target)?;
        let sync = |path: &Path| File::open(path).and_then(|file| file.sync_all());
        sync(&self.path).map_err(|source| io_error(&self.path, source))?;
        let parent = self.target.parent();
        let directory = parent.filter(|it| !it.as_os_str().is_empty());
        fs::rename(&self.path, &self.target)
            .and_then(|()| sync(directory.unwrap_or(Path::new("."))))
            .map_err(|source| io_error(&self.target, source))
    }

    fn remove(&self) {
        for suffix in ["", "-journal", "-wal", "-shm"] {
            // Most of them never existed, and a temporary file that stays does no harm.
            let _ = fs::remove_file(with_suffix(&self.path, suffix));
        }
    }
}

impl Drop for SqliteCopy {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Whether any process has a file open as a database.
pub(crate) fn is_in_use(path: &Path) -> Result<bool, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let taken = connect(path, flags, None).and_then(|conn| {
        conn.busy_timeout(std::time::Duration::ZERO)?;
        // Every connection to a file with a log holds a shared lock for as long as it is open.
        conn.pragma_update_and_check(None, "locking_mode", "exclusive", |_| Ok(()))?;
        conn.execute_batch("BEGIN EXCLUSIVE; ROLLBACK")
    });
    match taken {
        Ok(()) => Ok(false),
        Err(error) if open::is_locked(&error) => Ok(true),
        Err(error) => Err(open::open_error(path, error.into())),
    }
}

fn check_target(target: &Path) -> Result<(), CopyError> {
    match fs::metadata(target) {
        Ok(metadata) if metadata.len() == 0 => {}
        Ok(_) if is_in_use(target).unwrap_or(false) => {
            return Err(CopyError::InUse(target.to_owned()));
        }
        Ok(_) => return Err(CopyError::NotEmpty(target.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(io_error(target, error)),
    }
    for log in [log_file::path(target), with_suffix(target, "-journal")] {
        if log.exists() {
            return Err(CopyError::LogLeftOver(log));
        }
    }
    Ok(())
}

/// A connection that holds a snapshot of a store.
fn open_source(path: &Path) -> Result<Connection, CopyError> {
    let corrupt = |reason: &str| CopyError::Corrupt {
        path: path.to_owned(),
        reason: reason.into(),
    };
    match fs::metadata(path) {
        Ok(metadata) if metadata.len() == 0 => return Err(corrupt("it is empty")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(CopyError::Missing(path.to_owned()));
        }
        _ => {}
    }
    open::inspect(path, &SqliteOptions::default().share(true)).map_err(refused)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let snapshot = connect(path, flags, None).map_err(DriverError::from);
    let snapshot = snapshot.and_then(|conn| {
        conn.execute_batch("BEGIN")?;
        let version = migrate::version(&conn)?;
        Ok((conn, version))
    });
    match snapshot.map_err(|error| failed(path, error))? {
        (conn, Some(version)) if version > 0 => Ok(conn),
        _ => Err(CopyError::Open(OpenError::Foreign {
            path: path.to_owned(),
            reason: "it contains no store",
        })),
    }
}

fn copy_pages(source: &Connection, to: &Path) -> Result<(), DriverError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut copy = connect(to, flags, None)?;
    // It is synced once, before it gets its name.
    copy.pragma_update(None, "synchronous", "off")?;
    let backup = Backup::new(source, &mut copy)?;
    loop {
        match backup.step(COPY_PAGES)? {
            StepResult::Done => break,
            StepResult::More => {}
            other => return Err(DriverError::unreadable("copy", format!("{other:?}"))),
        }
    }
    drop(backup);
    // One file, which needs no log beside it.
    let mode: String =
        copy.pragma_update_and_check(None, "journal_mode", "delete", |row| row.get(0))?;
    match mode.as_str() {
        "delete" => Ok(()),
        _ => Err(DriverError::unreadable("journal mode", mode)),
    }
}

/// Opens a copy and reads all of it. Answers how many jobs it has.
fn verify(path: &Path) -> Result<u64, DriverError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = connect(path, flags, None)?;
    let verdict: String = conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if verdict != "ok" {
        return Err(DriverError::unreadable("page", verdict));
    }
    let jobs: i64 = conn.query_row(include_str!("file_copy/jobs_count.sql"), [], |row| {
        row.get("count")
    })?;
    Ok(u64::try_from(jobs).unwrap_or_default())
}

fn create_private(path: &Path) -> io::Result<()> {
    drop(File::options().write(true).create_new(true).open(path)?);
    open::restrict_to_owner(path)
}

fn refused(error: OpenError) -> CopyError {
    match error {
        OpenError::Corrupt { path, source } => CopyError::Corrupt {
            path,
            reason: source,
        },
        other => CopyError::Open(other),
    }
}

fn failed(path: &Path, error: DriverError) -> CopyError {
    if error.is_unreadable() {
        return CopyError::Corrupt {
            path: path.to_owned(),
            reason: error.into(),
        };
    }
    refused(open::open_error(path, error))
}

fn io_error(path: &Path, source: io::Error) -> CopyError {
    CopyError::Io {
        path: path.to_owned(),
        source,
    }
}
