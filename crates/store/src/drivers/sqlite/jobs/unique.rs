//! Unique jobs.

use std::collections::HashMap;

use rusqlite::Connection;
use steadfast_core::{Job, JobId, NewJob, Tenant, Unique};

use crate::drivers::sqlite::{
    driver_error::DriverError,
    names::Names,
    rows::{JobRow, JobRowColumns},
    session::Session,
};
use crate::{error::EnqueueError, verbs::unique::UniquePlan};

/// What becomes of the unique jobs of a batch, but for those that exist by their idempotency key.
pub(crate) fn plan(
    session: &mut Session<'_>,
    jobs: &[NewJob],
    existing: &HashMap<usize, JobId>,
) -> Result<Result<UniquePlan, EnqueueError>, DriverError> {
    if jobs.iter().all(|job| job.unique().is_none()) {
        return Ok(Ok(UniquePlan::default()));
    }
    let others = jobs.iter().enumerate();
    let others = others.filter(|(index, _)| !existing.contains_key(index));
    let Session {
        conn, names, now, ..
    } = session;
    UniquePlan::new(others, *now, |job, unique| {
        find(conn, names, &job.tenant, unique)
    })
}

/// The unfinished job of a key: of several, the one that waits.
pub(crate) fn find(
    conn: &Connection,
    names: &mut Names,
    tenant: &Tenant,
    unique: &Unique,
) -> Result<Option<Job>, DriverError> {
    let mut statement = conn.prepare_cached(include_str!("unique/unique_find.sql"))?;
    let columns = JobRowColumns::find(&statement)?;
    let mut rows = statement.query([unique.number(tenant)])?;
    while let Some(row) = rows.next()? {
        let read = JobRow::read_if_readable(conn, names, &columns, row)?;
        let Some(JobRow { job, .. }) = read else {
            continue;
        };
        let own = job.unique();
        if job.tenant == *tenant && own.is_some_and(|own| own.key == unique.key) {
            return Ok(Some(job));
        }
    }
    Ok(None)
}
