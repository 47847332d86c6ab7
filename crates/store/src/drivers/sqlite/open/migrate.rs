//! Forwards only: numbered scripts, each in a transaction of its own with the number it leads
//! to. Any number of processes may open a file at once; each step is taken by one of them.

use rusqlite::{Connection, OptionalExtension};

use crate::drivers::sqlite::driver_error::DriverError;
use crate::limits::SCHEMA_VERSION_FIRST;

const SCRIPTS: &[&str] = &[include_str!("../schema/schema.sql")];

/// The schema this binary knows.
pub(crate) fn version_known() -> i64 {
    SCHEMA_VERSION_FIRST + i64::try_from(SCRIPTS.len()).unwrap_or(i64::MAX) - 1
}

/// The schema of the file; `None` if the file is not ours yet. It is stored in a table of ours,
/// because `user_version` belongs to the application whose file it may be.
pub(crate) fn version(conn: &Connection) -> Result<Option<i64>, DriverError> {
    if !is_marked(conn)? {
        return Ok(None);
    }
    let mut statement = conn.prepare(include_str!("migrate/schema_version.sql"))?;
    Ok(statement
        .query_row([], |row| row.get("version"))
        .optional()?)
}

/// Whether the file has our mark.
pub(crate) fn is_marked(conn: &Connection) -> Result<bool, DriverError> {
    let mut statement = conn.prepare(include_str!("migrate/schema_is_marked.sql"))?;
    Ok(statement.exists([])?)
}

/// Marks the file as ours: schema 0.
pub(crate) fn mark(conn: &Connection) -> Result<(), DriverError> {
    Ok(conn.execute_batch(include_str!("migrate/schema_mark.sql"))?)
}

/// Brings the file to the schema this binary knows. Answers which it has then: a newer one, and one of
/// a preview, is left alone.
pub(crate) fn run(conn: &Connection) -> Result<i64, DriverError> {
    loop {
        let found = version(conn)?.unwrap_or(0);
        if next_script(found).is_none() {
            return Ok(found);
        }
        conn.execute_batch("BEGIN IMMEDIATE")?;
        let stepped = step(conn).and_then(|()| Ok(conn.execute_batch("COMMIT")?));
        if let Err(error) = stepped {
            if !conn.is_autocommit() {
                conn.execute_batch("ROLLBACK")?;
            }
            return Err(error);
        }
    }
}

/// Under the write lock, where no other process can take the same step.
fn step(conn: &Connection) -> Result<(), DriverError> {
    let found = version(conn)?.unwrap_or(0);
    if let Some((script, version)) = next_script(found) {
        conn.execute_batch(script)?;
        conn.execute(include_str!("migrate/schema_set_version.sql"), [version])?;
    }
    Ok(())
}

/// The script that follows a version, and the version that it leads to.
fn next_script(found: i64) -> Option<(&'static str, i64)> {
    let next = match found {
        0 => SCHEMA_VERSION_FIRST,
        found => found + 1,
    };
    let index = usize::try_from(next - SCHEMA_VERSION_FIRST).ok()?;
    SCRIPTS.get(index).map(|script| (*script, next))
}
