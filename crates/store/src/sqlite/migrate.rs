//! Forwards only: numbered scripts, each in a transaction of its own with the number it leads
//! to. Any number of processes may open a file at once; each step is taken by one of them.

use rusqlite::{Connection, OptionalExtension};

use super::driver_error::DriverError;

const SCRIPTS: &[&str] = &[
    include_str!("migrations/0001_jobs.sql"),
    include_str!("migrations/0002_webhooks.sql"),
    include_str!("migrations/0003_attempt_budget.sql"),
    include_str!("migrations/0004_waiting_counts.sql"),
    include_str!("migrations/0005_cancel_requests.sql"),
    include_str!("migrations/0006_document_versions.sql"),
    include_str!("migrations/0007_log_mark.sql"),
    include_str!("migrations/0008_unsuccessful_jobs.sql"),
    include_str!("migrations/0009_workers.sql"),
    include_str!("migrations/0010_flow.sql"),
    include_str!("migrations/0011_unused_names.sql"),
    include_str!("migrations/0012_tags.sql"),
    include_str!("migrations/0013_queue_pauses.sql"),
    include_str!("migrations/0014_failures.sql"),
    include_str!("migrations/0015_unique.sql"),
    include_str!("migrations/0016_operations.sql"),
    include_str!("migrations/0017_links.sql"),
    include_str!("migrations/0018_batches.sql"),
    include_str!("migrations/0019_unfinished_batches.sql"),
];

/// The schema this binary knows.
pub(super) fn version_known() -> i64 {
    i64::try_from(SCRIPTS.len()).unwrap_or(i64::MAX)
}

/// The schema of the file; `None` if the file is not ours yet. It is stored in a table of ours,
/// because `user_version` belongs to the application whose file it may be.
pub(super) fn version(conn: &Connection) -> Result<Option<i64>, DriverError> {
    if !is_marked(conn)? {
        return Ok(None);
    }
    let mut statement = conn.prepare(include_str!("sql/schema_version.sql"))?;
    Ok(statement
        .query_row([], |row| row.get("version"))
        .optional()?)
}

/// Whether the file has our mark.
pub(super) fn is_marked(conn: &Connection) -> Result<bool, DriverError> {
    let mut statement = conn.prepare(include_str!("sql/schema_is_marked.sql"))?;
    Ok(statement.exists([])?)
}

/// Marks the file as ours: schema 0.
pub(super) fn mark(conn: &Connection) -> Result<(), DriverError> {
    Ok(conn.execute_batch(include_str!("sql/schema_mark.sql"))?)
}

/// Brings the file to the schema this binary knows. Answers which it has then: a newer one is
/// left alone.
pub(super) fn run(conn: &Connection) -> Result<i64, DriverError> {
    loop {
        let found = version(conn)?.unwrap_or(0);
        if found >= version_known() {
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
    let script = usize::try_from(found)
        .ok()
        .and_then(|found| SCRIPTS.get(found));
    if let Some(script) = script {
        conn.execute_batch(script)?;
        conn.execute(include_str!("sql/schema_set_version.sql"), [found + 1])?;
    }
    Ok(())
}
