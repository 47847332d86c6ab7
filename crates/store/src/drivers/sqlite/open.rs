//! Opening a file: whose it is, whether it is whole, and whether we are too old for it.
//!
//! The first look is through SQLite in its `immutable` mode, which takes no locks, recovers no
//! journal and leaves nothing beside another application's database. A plain read of the header
//! would do the same and is forbidden: closing any handle of ours on the file would drop the
//! locks of every other connection of this process, and another process could then delete the
//! log under a store that is still open.

pub(crate) mod log_file;
pub(crate) mod log_mark;
pub(crate) mod migrate;
pub(crate) mod options;

use std::{
    fmt::Write as _,
    fs::{self, File},
    io::{self, ErrorKind, Read},
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _, config::DbConfig};

use super::driver_error::DriverError;
use crate::{
    error::OpenError,
    limits::{
        JOURNAL_MODE_RETRY, LOG_BYTES_KEPT, SCHEMA_VERSION_FIRST, SQLITE_VERSION_MIN,
        STATEMENTS_MAX,
    },
    tables::MoveMark,
};
use options::SqliteOptions;

const MAGIC: &[u8] = b"SQLite format 3\0";
const JOURNAL_MAGIC: &[u8] = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";

/// The writer's connection, on a file that is ours and up to date.
pub(super) fn open(path: &Path, options: &SqliteOptions) -> Result<Connection, OpenError> {
    check_sqlite()?;
    inspect(path, options)?;
    let opener = Opener {
        is_new: options.vfs_name().is_none() && !path.exists(),
        path,
        busy_timeout: options.busy_timeout,
        share: options.share,
        existing: options.existing,
        vfs: options.vfs_name(),
    };
    let conn = opener.prepare()?;
    opener.set_up(&conn, options.cache_bytes)?;
    // A process that died between its two numbers, or what was accepted as lost.
    let settled = log_mark::differs(&conn).and_then(|differs| match differs {
        true => log_mark::follow(&conn),
        false => Ok(()),
    });
    settled.map_err(|error| open_error(path, error))?;
    if !options.for_move {
        check_not_moved(path, &conn)?;
    }
    Ok(conn)
}

/// Refuses a store that is being moved, or was moved: its jobs would run twice, or not all of them.
fn check_not_moved(path: &Path, conn: &Connection) -> Result<(), OpenError> {
    let mark = || -> Result<_, rusqlite::Error> {
        let mut statement = conn.prepare(include_str!("../sql/shared/tables/move_marks.sql"))?;
        let mark = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        statement.query_row([], mark).optional()
    };
    let mark: Option<(String, String)> = mark().map_err(|error| open_error(path, error.into()))?;
    mark.map_or(Ok(()), |(side, mark)| {
        Err(OpenError::Moved {
            name: path.display().to_string(),
            reason: MoveMark::refusal(&side, &mark),
        })
    })
}

fn check_sqlite() -> Result<(), OpenError> {
    if rusqlite::version_number() < SQLITE_VERSION_MIN.0 {
        return Err(OpenError::UnsafeSqlite {
            found: rusqlite::version().to_owned(),
            least: SQLITE_VERSION_MIN.1,
        });
    }
    Ok(())
}

/// Refuses a file that is not ours, without touching it.
pub(super) fn inspect(path: &Path, options: &SqliteOptions) -> Result<(), OpenError> {
    let (share, vfs) = (options.share, options.vfs_name());
    match fs::metadata(path) {
        Ok(metadata) if metadata.len() == 0 => return check_empty(path),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io_error(path, error)),
        Ok(_) => {}
    }
    if was_empty(path) {
        return Ok(());
    }
    let has_log = with_suffix(path, "-wal").exists() || with_suffix(path, "-journal").exists();
    let read_only = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let by_uri = read_only | OpenFlags::SQLITE_OPEN_URI;
    let read_alone = || {
        let immutable = connect(Path::new(&immutable_uri(path)), by_uri, vfs);
        immutable
            .map_err(DriverError::from)
            .and_then(|conn| FileMarks::read(&conn))
    };
    match read_alone() {
        Ok(marks) if marks.misses_log && log_mark::is_log_empty(path) => {
            marks.check(path, share)?;
            // A process that closed the file between the two looks took the log with it.
            if read_alone().is_ok_and(|marks| marks.misses_log) {
                refuse_loss(path, options.accept_loss)?;
            }
        }
        // A crash during a checkpoint leaves a file that says anything, and a log that mends it.
        Ok(marks) if has_log && marks.is_ours => {}
        Ok(marks) => marks.check(path, share)?,
        Err(error) => match error.code() {
            Some(ErrorCode::NotADatabase) => return Err(not_a_database(path)),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::Unknown) | None if has_log => {}
            _ => return Err(open_error(path, error)),
        },
    }
    // The log may know of a newer schema than the file; a read-only look leaves both alone.
    if has_log {
        let conn = connect(path, read_only, vfs);
        if let Ok(marks) = conn
            .map_err(DriverError::from)
            .and_then(|conn| FileMarks::read(&conn))
        {
            marks.check(path, share)?;
        }
    }
    Ok(())
}

/// A file with nothing in it is new, unless a log is beside it: SQLite writes the header of a file
/// before it begins a log, and deletes the log of a file that is empty.
fn check_empty(path: &Path) -> Result<(), OpenError> {
    match log_mark::is_log_empty(path) {
        true => Ok(()),
        false => Err(OpenError::Corrupt {
            path: path.to_owned(),
            source: "it is empty, and its write-ahead log is not: it was cut or overwritten".into(),
        }),
    }
}

/// What is known about a file from its tables.
struct FileMarks {
    is_ours: bool,
    schema: Option<i64>,
    has_tables: bool,
    /// Something should follow in the log.
    misses_log: bool,
}

impl FileMarks {
    fn read(conn: &Connection) -> Result<Self, DriverError> {
        Ok(Self {
            is_ours: migrate::is_marked(conn)?,
            schema: migrate::version(conn)?,
            has_tables: conn
                .prepare(include_str!("open/schema_has_tables.sql"))?
                .exists([])?,
            misses_log: log_mark::misses_log(conn)?,
        })
    }

    fn check(&self, path: &Path, share: bool) -> Result<(), OpenError> {
        match self.schema {
            Some(schema) => check_version(path, schema),
            None if share || self.is_ours || !self.has_tables => Ok(()),
            None => Err(OpenError::Foreign {
                path: path.to_owned(),
                reason: "it contains tables of another application; `SqliteOptions::share` allows to share the file",
            }),
        }
    }
}

/// Statements are planned once. Left alone, SQLite plans one anew whenever a bound time or key
/// might make another plan look better, which costs more than running it.
pub(super) fn plan_statements_once(conn: &Connection) -> rusqlite::Result<()> {
    conn.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// Not a database: another application's file, or one of ours with a damaged header. No process
/// can have it open as a database, so here a plain read does no harm.
fn not_a_database(path: &Path) -> OpenError {
    let mut magic = Vec::new();
    let most = u64::try_from(MAGIC.len()).unwrap_or(u64::MAX);
    let read = File::open(path).and_then(|file| file.take(most).read_to_end(&mut magic));
    match read {
        Err(error) => io_error(path, error),
        Ok(_) if magic == MAGIC => OpenError::Corrupt {
            path: path.to_owned(),
            source: "its header is not valid".into(),
        },
        Ok(_) => OpenError::Foreign {
            path: path.to_owned(),
            reason: "it is not an SQLite file",
        },
    }
}

/// An error of the file system.
pub(super) fn io_error(path: &Path, error: io::Error) -> OpenError {
    let is_transient = error.kind() != ErrorKind::InvalidInput;
    OpenError::Io {
        path: path.to_owned(),
        is_transient,
        source: error.into(),
    }
}

/// An error of a file that is ours.
pub(super) fn open_error(path: &Path, error: DriverError) -> OpenError {
    let path = path.to_owned();
    match error.code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => OpenError::Corrupt {
            path,
            source: error.into(),
        },
        _ => OpenError::Io {
            path,
            is_transient: error.is_transient(),
            source: error.into(),
        },
    }
}

/// Whether the journal beside a file says that there was nothing in it before. A power failure
/// during the very first commit leaves any part of that commit, and SQLite takes it back.
fn was_empty(path: &Path) -> bool {
    let mut header = [0; JOURNAL_MAGIC.len() + 12];
    let read = File::open(with_suffix(path, "-journal"))
        .and_then(|mut journal| journal.read_exact(&mut header));
    // After the magic: the number of records, a nonce, and the pages that there were.
    let (magic, rest) = header.split_at(JOURNAL_MAGIC.len());
    read.is_ok() && magic == JOURNAL_MAGIC && rest[8..] == [0; 4]
}

/// The path as a URI, with everything escaped that a URI gives a meaning to.
fn immutable_uri(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                uri.push(char::from(*byte));
            }
            other => write!(uri, "%{other:02x}").unwrap_or_default(),
        }
    }
    uri + "?immutable=1"
}

fn check_version(path: &Path, found: i64) -> Result<(), OpenError> {
    let known = migrate::version_known();
    if (1..SCHEMA_VERSION_FIRST).contains(&found) {
        let name = path.display().to_string();
        return Err(OpenError::Preview { name, found });
    }
    if found > known {
        return Err(OpenError::Newer {
            path: path.to_owned(),
            found,
            known,
        });
    }
    Ok(())
}

fn refuse_loss(path: &Path, accept_loss: bool) -> Result<(), OpenError> {
    let log = log_file::path(path);
    if accept_loss {
        tracing::warn!(log = %log.display(), "opening without the missing log, as requested");
        return Ok(());
    }
    Err(OpenError::LogMissing {
        path: path.to_owned(),
        log,
    })
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// A connection through the file system that is named, or the usual one.
///
/// It leaves the log where it is when it closes: a node that was killed may have left numbers in the
/// log that differ ([`log_mark`]), and the file would be refused without it. Only the writer, which
/// has made them equal, folds the log into the file.
pub(super) fn connect(
    path: &Path,
    flags: OpenFlags,
    vfs: Option<&str>,
) -> rusqlite::Result<Connection> {
    let conn = match vfs {
        Some(vfs) => Connection::open_with_flags_and_vfs(path, flags, vfs),
        None => Connection::open_with_flags(path, flags),
    }?;
    log_mark::keep_log_on_close(&conn, true)?;
    Ok(conn)
}

/// Whether the file has a log, as far as the connection knows.
fn is_wal(conn: &Connection) -> Result<bool, DriverError> {
    let mode = conn.query_row("PRAGMA journal_mode", [], |row| row.get::<_, String>(0))?;
    Ok(mode == "wal")
}

pub(super) fn is_locked(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(
        code,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

struct Opener<'p> {
    path: &'p Path,
    /// There was no such file.
    is_new: bool,
    busy_timeout: Duration,
    share: bool,
    existing: bool,
    vfs: Option<&'p str>,
}

impl Opener<'_> {
    fn connect(&self) -> Result<Connection, OpenError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = connect(self.path, flags, self.vfs)
            .and_then(|conn| conn.busy_timeout(self.busy_timeout).map(|()| conn));
        conn.map_err(|error| open_error(self.path, error.into()))
    }

    /// Marks a new file as ours, switches it to WAL and brings it up to date.
    ///
    /// The mark comes first and reaches the file itself, not a log beside it: a crash at any
    /// later moment leaves a file that is known to be ours.
    fn prepare(&self) -> Result<Connection, OpenError> {
        if self.existing && self.is_new {
            return self.check_schema(None).and_then(|()| self.connect());
        }
        let mut conn = self.connect()?;
        if self.existing {
            let found = migrate::version(&conn).map_err(|error| open_error(self.path, error))?;
            self.check_schema(found)?;
        }
        if self.is_new {
            // While it is still empty; its log takes over the permissions.
            restrict_to_owner(self.path).map_err(|error| io_error(self.path, error))?;
        }
        self.mark(&conn)?;
        let failed = |error| open_error(self.path, error);
        if !is_wal(&conn).map_err(failed)? {
            self.switch_to_wal(&conn).map_err(failed)?;
            // After an error of the disk, a connection says that it has switched and goes on
            // without a log; a new one says what the file does.
            conn = self.connect()?;
            if !is_wal(&conn).map_err(failed)? {
                return Err(failed(DriverError::NotWal));
            }
        }
        let found = migrate::run(&conn).map_err(failed)?;
        check_version(self.path, found)?;
        Ok(conn)
    }

    /// Refuses a file with any schema but that of this program.
    fn check_schema(&self, found: Option<i64>) -> Result<(), OpenError> {
        let known = migrate::version_known();
        match found == Some(known) {
            true => Ok(()),
            false => Err(OpenError::OtherSchema {
                name: self.path.display().to_string(),
                found,
                known,
            }),
        }
    }

    fn mark(&self, conn: &Connection) -> Result<(), OpenError> {
        let marked = migrate::version(conn).map_err(|error| open_error(self.path, error))?;
        if marked.is_some() {
            return Ok(());
        }
        let begun = conn
            .execute_batch("BEGIN IMMEDIATE")
            .map_err(DriverError::from);
        // Another application may have made tables since the first look.
        let marks = begun.and_then(|()| FileMarks::read(conn));
        let marks = marks.map_err(|error| open_error(self.path, error))?;
        marks.check(self.path, self.share)?;
        migrate::mark(conn)
            .and_then(|()| Ok(conn.execute_batch("COMMIT")?))
            .map_err(|error| open_error(self.path, error))
    }

    fn switch_to_wal(&self, conn: &Connection) -> Result<(), DriverError> {
        let mut waited = Duration::ZERO;
        loop {
            let switched = conn.pragma_update_and_check(None, "journal_mode", "wal", |row| {
                row.get::<_, String>(0)
            });
            match switched {
                Ok(mode) if mode == "wal" => return Ok(()),
                Ok(mode) => return Err(DriverError::unreadable("journal mode", mode)),
                Err(error) if is_locked(&error) && waited < self.busy_timeout => {
                    std::thread::park_timeout(JOURNAL_MODE_RETRY);
                    waited += JOURNAL_MODE_RETRY;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn set_up(&self, conn: &Connection, cache_bytes: usize) -> Result<(), OpenError> {
        let cache_kib = i64::try_from(cache_bytes / 1024).unwrap_or(i64::MAX);
        let set = |name: &str, value: i64| conn.pragma_update(None, name, value);
        plan_statements_once(conn)
            .and_then(|()| conn.pragma_update(None, "synchronous", "full"))
            .and_then(|()| set("cache_size", -cache_kib))
            .and_then(|()| set("journal_size_limit", LOG_BYTES_KEPT))
            .map_err(|error| open_error(self.path, error.into()))
    }
}

/// Payloads, headers and secrets are stored as they are, unless the store is encrypted. By path,
/// because a handle of ours on the file must not be closed.
#[cfg(unix)]
pub(super) fn restrict_to_owner(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))
}

#[cfg(not(unix))]
pub(super) fn restrict_to_owner(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;

    #[test]
    fn a_statement_is_planned_once_whatever_its_parameters() {
        let conn = Connection::open_in_memory().unwrap();
        plan_statements_once(&conn).unwrap();
        let schema = "CREATE TABLE tick (at INTEGER); CREATE INDEX tick_at ON tick (at)";
        conn.execute_batch(schema).unwrap();
        let sql = "SELECT at FROM tick WHERE at <= ?1 ORDER BY at LIMIT ?2";
        let mut statement = conn.prepare(sql).unwrap();
        for now in 0..3 {
            assert!(!statement.exists([now, 10]).unwrap());
        }
        assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
    }
}
