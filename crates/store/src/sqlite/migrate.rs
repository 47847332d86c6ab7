//! Forwards only: numbered scripts, each in a transaction of its own with the number it leads
//! to. Any number of processes may open a file at once; each step is taken by one of them.

use rusqlite::{Connection, OptionalExtension};

use super::fault::Fault;

const SCRIPTS: &[&str] = &[
    include_str!("migrations/0001_jobs.sql"),
    include_str!("migrations/0002_webhooks.sql"),
];

/// The schema this binary knows.
pub(super) fn version_known() -> i64 {
    i64::try_from(SCRIPTS.len()).unwrap_or(i64::MAX)
}

/// The schema of the file; `None` if we have never been there. It is kept in a table of ours,
/// because `user_version` belongs to the application whose file it may be.
pub(super) fn version(conn: &Connection) -> Result<Option<i64>, Fault> {
    if !is_there(conn)? {
        return Ok(None);
    }
    let mut statement = conn.prepare("SELECT version FROM steadfast_schema")?;
    Ok(statement.query_row([], |row| row.get(0)).optional()?)
}

/// Whether we have been there.
pub(super) fn is_there(conn: &Connection) -> Result<bool, Fault> {
    let mut statement = conn.prepare(include_str!("sql/schema_is_there.sql"))?;
    Ok(statement.exists([])?)
}

/// Leaves our mark: schema 0.
pub(super) fn mark(conn: &Connection) -> Result<(), Fault> {
    Ok(conn.execute_batch(include_str!("sql/schema_mark.sql"))?)
}

/// Brings the file to the schema this binary knows, and says which it has then: a newer one
/// is left alone.
pub(super) fn run(conn: &Connection) -> Result<i64, Fault> {
    loop {
        let found = version(conn)?.unwrap_or(0);
        if found >= version_known() {
            return Ok(found);
        }
        conn.execute_batch("BEGIN IMMEDIATE")?;
        let stepped = step(conn).and_then(|()| Ok(conn.execute_batch("COMMIT")?));
        if let Err(fault) = stepped {
            if !conn.is_autocommit() {
                conn.execute_batch("ROLLBACK")?;
            }
            return Err(fault);
        }
    }
}

/// Under the write lock, where nobody else can have taken the same step.
fn step(conn: &Connection) -> Result<(), Fault> {
    let found = version(conn)?.unwrap_or(0);
    let script = usize::try_from(found)
        .ok()
        .and_then(|found| SCRIPTS.get(found));
    if let Some(script) = script {
        conn.execute_batch(script)?;
        conn.execute("UPDATE steadfast_schema SET version = ?1", [found + 1])?;
    }
    Ok(())
}
