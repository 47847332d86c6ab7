//! Reading single jobs, expired claims and steps.

use rusqlite::{Connection, OptionalExtension, params};
use steadfast_core::{Attempt, Claim, Fence, Job, JobId, Payload, StepName, Timestamp, WorkerName};

use crate::drivers::sqlite::{
    driver_error::{DriverError, pass_over},
    names::Names,
    readers::Reader,
    rows::{self, JobRow, JobRowColumns},
    values::{job_id, job_key},
};
use crate::{
    drivers::sql::encryption::{Cell, Cipher},
    drivers::sql::paging::row_limit,
    store::Page,
};

pub(crate) fn job(
    conn: &Connection,
    names: &mut Names,
    id: JobId,
) -> Result<Option<JobRow>, DriverError> {
    let mut statement = conn.prepare_cached(include_str!("get/job.sql"))?;
    let mut rows = statement.query([job_key(id)])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let columns = JobRowColumns::find(row.as_ref())?;
    JobRow::read_or_damaged(conn, names, &columns, row).map(Some)
}

pub(crate) fn jobs(reader: &mut Reader, ids: &[JobId]) -> Result<Vec<Option<Job>>, DriverError> {
    let Reader { conn, names } = reader;
    ids.iter()
        .map(|id| match job(conn, names, *id) {
            Ok(found) => Ok(found.map(|row| row.job)),
            // A caller that asks for one job learns what is wrong with it.
            Err(DriverError::Damaged(_)) if ids.len() > 1 => Ok(None),
            Err(error) => Err(error),
        })
        .collect()
}

pub(crate) fn attempts_of_jobs(
    reader: &mut Reader,
    jobs: &[JobId],
    limit: usize,
) -> Result<Page<Attempt, JobId>, DriverError> {
    let sql = include_str!("get/attempts_of_jobs.sql");
    let mut statement = reader.conn.prepare_cached(sql)?;
    let mut items = Vec::new();
    let mut rows_read = 0;
    for job in jobs {
        let found = statement.query(params![job_key(*job), row_limit(limit)])?;
        let found = rows::attempts(found, &reader.names)?;
        rows_read += found.items.len() + found.damaged;
        if rows_read > limit {
            let next = Some(*job);
            return Ok(Page { items, next });
        }
        items.extend(found.items);
    }
    Ok(Page { items, next: None })
}

pub(crate) fn short_payloads(
    reader: &mut Reader,
    ids: &[JobId],
    bytes_max: usize,
) -> Result<Vec<Option<Payload>>, DriverError> {
    let sql = include_str!("get/payload_short.sql");
    let mut statement = reader.conn.prepare_cached(sql)?;
    let cipher = reader.names.cipher();
    let mut payloads = Vec::with_capacity(ids.len());
    for id in ids {
        let params = params![job_key(*id), row_limit(cipher.stored_bytes(bytes_max))];
        let stored = statement.query_row(params, |row| row.get::<_, String>("payload"));
        let payload = match stored.optional()? {
            Some(stored) => cipher.open(Cell::Payload(*id), &stored)?.into_owned(),
            None => {
                payloads.push(None);
                continue;
            }
        };
        let is_short = payload.len() <= bytes_max;
        payloads.push(is_short.then(|| Payload::from_stored(&payload)));
    }
    Ok(payloads)
}

pub(crate) fn expired_leases(
    reader: &mut Reader,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<Claim>, DriverError> {
    let Reader { conn, names } = reader;
    let mut statement = conn.prepare_cached(include_str!("get/expired_leases.sql"))?;
    let columns = JobRowColumns::find(&statement)?;
    let mut rows = statement.query(params![now.as_micros(), row_limit(limit)])?;
    let mut claims = Vec::new();
    while let Some(row) = rows.next()? {
        let Some(JobRow { job, .. }) = JobRow::read_if_readable(conn, names, &columns, row)? else {
            continue;
        };
        let (id, fence) = (job.id, job.progress.fence);
        let claim = Claim::resume(job, fence);
        let claim = claim.map_err(|error| DriverError::unreadable("claim", error));
        claims.extend(pass_over(claim, &names.damage(), "job", id)?);
    }
    Ok(claims)
}

/// Running jobs of a worker that should be cancelled.
pub(crate) fn cancel_requests(
    conn: &Connection,
    worker: &WorkerName,
    limit: usize,
) -> Result<Vec<(JobId, Fence)>, DriverError> {
    let mut statement = conn.prepare_cached(include_str!("get/cancel_requests.sql"))?;
    let mut rows = statement.query(params![worker.as_str(), row_limit(limit)])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let id = job_id(row.get("id")?);
        found.push((id, Fence(row.get("fence")?)));
    }
    Ok(found)
}

pub(crate) fn steps(
    conn: &Connection,
    cipher: &Cipher,
    job: JobId,
    only: Option<&StepName>,
    limit: usize,
) -> Result<Vec<(StepName, Payload)>, DriverError> {
    let mut statement = conn.prepare_cached(include_str!("get/steps.sql"))?;
    let mut rows = statement.query(params![
        job_key(job),
        only.map(StepName::as_str),
        row_limit(limit)
    ])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let name: String = row.get("step")?;
        let result: String = row.get("result")?;
        let result = cipher.open(Cell::Step(job, &name), &result)?;
        // Only names are stored.
        let name = StepName::new(&name).ok();
        found.extend(name.map(|name| (name, Payload::from_stored(&result))));
    }
    Ok(found)
}

/// Jobs that never started and may not start any more.
pub(crate) fn expired_starts(
    conn: &Connection,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<JobId>, DriverError> {
    let mut statement = conn.prepare_cached(include_str!("get/expired_starts.sql"))?;
    let params = params![now.as_micros(), row_limit(limit)];
    let found = statement.query_map(params, |row| Ok(job_id(row.get("id")?)))?;
    Ok(found.collect::<Result<_, _>>()?)
}
