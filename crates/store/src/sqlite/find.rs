//! Looking up single jobs, expired claims and steps.

use rusqlite::{Connection, OptionalExtension, params};
use steadfast_core::{Claim, Job, JobId, Payload, StepName, Timestamp};

use super::{
    fault::Fault,
    names::Names,
    readers::Reader,
    rows::{JobRow, job_key},
};

pub(super) fn job(
    conn: &Connection,
    names: &mut Names,
    id: JobId,
) -> Result<Option<JobRow>, Fault> {
    let mut statement = conn.prepare_cached(include_str!("sql/job.sql"))?;
    let mut rows = statement.query([job_key(id)])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    JobRow::read(conn, names, row).map(Some)
}

pub(super) fn jobs(reader: &mut Reader, ids: &[JobId]) -> Result<Vec<Option<Job>>, Fault> {
    let Reader { conn, names } = reader;
    ids.iter()
        .map(|id| Ok(job(conn, names, *id)?.map(|row| row.job)))
        .collect()
}

pub(super) fn expired(
    reader: &mut Reader,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<Claim>, Fault> {
    let Reader { conn, names } = reader;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = conn.prepare_cached(include_str!("sql/expired.sql"))?;
    let mut rows = statement.query(params![now.as_micros(), limit])?;
    let mut claims = Vec::new();
    while let Some(row) = rows.next()? {
        let Some(JobRow { job, .. }) = JobRow::read_if_whole(conn, names, row)? else {
            continue;
        };
        let fence = job.progress.fence;
        let claim = Claim::resume(job, fence);
        claims.push(claim.map_err(|error| Fault::unreadable("claim", error))?);
    }
    Ok(claims)
}

pub(super) fn recall(
    conn: &Connection,
    job: JobId,
    step: &StepName,
) -> Result<Option<Payload>, Fault> {
    let kept = conn
        .prepare_cached(include_str!("sql/once_recall.sql"))?
        .query_row(params![job_key(job), step.as_str()], |row| {
            Ok(Payload::from_stored(row.get_ref(0)?.as_str()?))
        })
        .optional()?;
    Ok(kept)
}
