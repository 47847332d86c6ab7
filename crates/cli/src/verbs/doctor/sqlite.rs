//! Checks of an SQLite file that change nothing: `SqliteStore::open` would migrate it.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, config::DbConfig};
use steadfast::{
    SqliteStore, Timestamp,
    job::{JobFilter, PageRequest},
    store::{Clock as _, SystemClock},
};

use super::{Findings, permissions};
use crate::{
    exit::with_causes,
    limits::{CLOCK_SKEW_MAX, DISK_FAIL_BYTES, DISK_WARN_BYTES},
    settings::Settings,
    show::brief,
};

const MIB: u64 = 1 << 20; // not a limit: a unit

pub async fn check_file(path: &Path, settings: &Settings, findings: &mut Findings) {
    check_disk(path, findings);
    let directory = path.parent().filter(|it| !it.as_os_str().is_empty());
    if let Some(directory) = directory.filter(|it| !it.is_dir()) {
        let text = format!(
            "{} is not a directory: create it first",
            directory.display()
        );
        return findings.fail("store", text);
    }
    if !path.exists() {
        return findings.ok(
            "store",
            format!("{} does not exist yet; `serve` creates it", path.display()),
        );
    }
    match schema_versions(path) {
        Ok((found, known)) if found > known => {
            return findings.fail(
                "store",
                format!(
                    "schema {found} is newer than schema {known} of this release: upgrade steadfast"
                ),
            );
        }
        Ok((found, known)) if found < known => {
            findings.warn(
                "store",
                format!("schema {found}; `serve` or `migrate` updates it to {known}"),
            );
        }
        Ok((found, _)) => match settings.open_store().await {
            Ok(store) => {
                findings.ok("store", format!("{}, schema {found}", path.display()));
                check_clock(path, settings, findings).await;
                super::damage::check_rows(&*store, findings).await;
                super::recount::check_counters(&*store, findings).await;
            }
            Err(error) => findings.fail("store", with_causes(&error)),
        },
        Err(error) => {
            return findings.fail("store", format!("cannot read {}: {error}", path.display()));
        }
    }
    permissions::check_store_file(path, findings);
    check_integrity(path, findings);
    check_writable(path, findings);
}

fn check_disk(path: &Path, findings: &mut Findings) {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.map_or_else(|| PathBuf::from("."), Path::to_owned);
    match rustix::fs::statvfs(&parent) {
        Ok(stat) => {
            let free = stat.f_bavail.saturating_mul(stat.f_frsize);
            let sentence = format!("{} MiB free in {}", free / MIB, parent.display());
            match free {
                ..DISK_FAIL_BYTES => findings.fail("disk", sentence),
                DISK_FAIL_BYTES..DISK_WARN_BYTES => findings.warn("disk", sentence),
                _ => findings.ok("disk", sentence),
            }
        }
        Err(error) => findings.fail("disk", format!("cannot read {}: {error}", parent.display())),
    }
}

/// The schema of the file, and the schema of this version, which is what a new file gets.
fn schema_versions(path: &Path) -> anyhow::Result<(i64, i64)> {
    let version = |path: &Path| -> rusqlite::Result<i64> {
        let conn = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        conn.query_row("SELECT version FROM steadfast_schema", [], |row| row.get(0))
    };
    let fresh = tempfile::tempdir()?;
    let fresh = fresh.path().join("fresh.db");
    drop(SqliteStore::open(&fresh, Default::default())?);
    Ok((version(path)?, version(&fresh)?))
}

/// Compares the machine's clock with the times of the file and of the newest job.
async fn check_clock(path: &Path, settings: &Settings, findings: &mut Findings) {
    let now = SystemClock.now();
    let mut newest = None;
    if let Ok(modified) = std::fs::metadata(path).and_then(|metadata| metadata.modified()) {
        newest = Some(("the file was written", Timestamp::from(modified)));
    }
    // The file has the schema of this version, so opening changes nothing.
    if let Ok(store) = settings.open_store().await
        && let Ok(listed) = store
            .list_jobs(JobFilter::default(), PageRequest::first(1))
            .await
        && let Some(job) = listed.items.first()
        && newest.is_none_or(|(_, time)| job.created_at > time)
    {
        newest = Some(("the newest job was created", job.created_at));
    }
    match newest {
        Some((what, time)) if time.since(now) > CLOCK_SKEW_MAX => findings.fail(
            "clock",
            format!(
                "{now}, but {what} {} later: the clock was set back",
                brief(time.since(now))
            ),
        ),
        _ => findings.ok(
            "clock",
            format!("{now}; no file or job has a later timestamp"),
        ),
    }
}

fn check_integrity(path: &Path, findings: &mut Findings) {
    let checked =
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).and_then(|conn| {
            conn.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0))
        });
    match checked {
        Ok(verdict) if verdict == "ok" => findings.ok("integrity", "SQLite found no corruption"),
        Ok(verdict) => findings.fail("integrity", format!("corrupt: {verdict}; restore a backup")),
        Err(error) => findings.fail("integrity", format!("cannot check: {error}")),
    }
}

/// Takes the write lock and releases it.
fn check_writable(path: &Path, findings: &mut Findings) {
    let taken =
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE).and_then(|conn| {
            // It changes nothing, and leaves the log of a node that was killed beside the file.
            conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            conn.execute_batch("BEGIN IMMEDIATE; ROLLBACK")
        });
    match taken {
        Ok(()) => findings.ok("writable", "the write lock is free"),
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) => {
            findings.warn("writable", "another process is writing right now");
        }
        Err(error) => findings.fail("writable", error.to_string()),
    }
}
