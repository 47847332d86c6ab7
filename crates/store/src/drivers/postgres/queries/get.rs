//! Reading single jobs, attempts, expired claims and steps.

use std::{
    collections::{HashMap, HashSet},
    time::Instant,
};

use steadfast_core::{Attempt, Claim, Fence, Job, JobId, Payload, StepName, Timestamp, WorkerName};
use tokio_postgres::Row;

use crate::drivers::postgres::{
    driver_error::{DriverError, pass_over},
    key::Key,
    names::job_rows,
    rows,
    session::Session,
    values::time,
};
use crate::{
    drivers::sql::encryption::Cell,
    drivers::sql::paging::row_limit,
    lane::LaneId,
    limits::{PAYLOAD_HEAD_CHARS, SEALED_LISTED_CHARS_MAX},
    listed_payload::listed,
    store::Page,
};

/// The jobs of these ids, in their order.
pub(crate) async fn jobs(
    session: &Session<'_>,
    ids: &[JobId],
) -> Result<Vec<Option<Job>>, DriverError> {
    let mut jobs = HashMap::with_capacity(ids.len());
    if let Some(found) = job_rows(session, by_id(session, ids).await?).await? {
        for row in &found.rows {
            // A caller that asks for one job learns what is wrong with it.
            let job = if ids.len() == 1 {
                Some(found.read_or_damaged(session, row)?)
            } else {
                found.read_if_readable(session, row)?
            };
            jobs.extend(job.map(|job| (job.id, job)));
        }
    }
    Ok(ids.iter().map(|id| jobs.get(id).cloned()).collect())
}

pub(crate) async fn short_payloads(
    session: &Session<'_>,
    ids: &[JobId],
    bytes_max: usize,
) -> Result<Vec<Option<Payload>>, DriverError> {
    let keys: Vec<Key> = ids.iter().map(|id| (*id).into()).collect();
    let sql = include_str!("get/payloads_short.sql");
    let mut payloads = HashMap::with_capacity(ids.len());
    let cipher = &session.shared.cipher;
    let stored_max = row_limit(cipher.stored_bytes(bytes_max));
    let (first, last) = Key::days(&keys);
    let found = session
        .query(sql, &[&keys, &stored_max, &first, &last])
        .await?;
    for row in found {
        let id = row.try_get::<_, Key>("id")?.job();
        let payload = cipher.open(Cell::Payload(id), row.try_get("payload")?)?;
        if payload.len() <= bytes_max {
            payloads.insert(id, Payload::from_stored(&payload));
        }
    }
    Ok(ids.iter().map(|id| payloads.get(id).cloned()).collect())
}

pub(crate) async fn attempts_of_jobs(
    session: &Session<'_>,
    jobs: &[JobId],
    limit: usize,
) -> Result<Page<Attempt, JobId>, DriverError> {
    let keys: Vec<Key> = jobs.iter().map(|id| (*id).into()).collect();
    let sql = include_str!("get/attempts_of_jobs.sql");
    let found = session.query(sql, &[&keys, &row_limit(limit)]).await?;
    // No job has more than the limit, so the last row is of another job than the first.
    let next = match found.get(limit) {
        Some(row) => Some(row.try_get::<_, Key>("job")?.job()),
        None => None,
    };
    let mut items = rows::attempts(session, &found)?.items;
    items.retain(|attempt| Some(attempt.job) != next);
    Ok(Page { items, next })
}

/// The jobs of these ids that can be read, as lists show them, in no order. `lanes` are those
/// of whose payloads something is shown.
pub(crate) async fn listed_jobs(
    session: &Session<'_>,
    ids: &[JobId],
    lanes: &[LaneId],
) -> Result<Vec<Job>, DriverError> {
    let keys: Vec<Key> = ids.iter().map(|id| (*id).into()).collect();
    let chars = i32::try_from(PAYLOAD_HEAD_CHARS).unwrap_or(i32::MAX);
    let sealed = i32::try_from(SEALED_LISTED_CHARS_MAX).unwrap_or(i32::MAX);
    let sql = include_str!("get/jobs_listed.sql");
    let (first, last) = Key::days(&keys);
    let found = session
        .query(sql, &[&keys, &lanes, &chars, &sealed, &first, &last])
        .await?;
    let jobs = read_readable(session, found).await?;
    Ok(jobs.into_iter().map(listed).collect())
}

/// Which of these ids are of jobs that cannot be read.
pub(crate) async fn unreadable_jobs(
    session: &Session<'_>,
    ids: &[JobId],
) -> Result<HashSet<JobId>, DriverError> {
    let mut unreadable = HashSet::new();
    if let Some(found) = job_rows(session, by_id(session, ids).await?).await? {
        for row in &found.rows {
            if found.read_if_readable(session, row)?.is_none() {
                unreadable.insert(row.try_get::<_, Key>(found.columns.id)?.job());
            }
        }
    }
    Ok(unreadable)
}

async fn by_id(session: &Session<'_>, ids: &[JobId]) -> Result<Vec<Row>, DriverError> {
    let keys: Vec<Key> = ids.iter().map(|id| (*id).into()).collect();
    let (first, last) = Key::days(&keys);
    let sql = include_str!("get/jobs.sql");
    session.query(sql, &[&keys, &first, &last]).await
}

async fn read_readable(session: &Session<'_>, rows: Vec<Row>) -> Result<Vec<Job>, DriverError> {
    let mut jobs = Vec::with_capacity(rows.len());
    if let Some(found) = job_rows(session, rows).await? {
        for row in &found.rows {
            jobs.extend(found.read_if_readable(session, row)?);
        }
    }
    Ok(jobs)
}

pub(crate) async fn expired_leases(
    session: &Session<'_>,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<Claim>, DriverError> {
    // It would find nothing, and say nothing of where the living begin.
    if limit == 0 {
        return Ok(Vec::new());
    }
    let sql = include_str!("get/expired_leases.sql");
    let sweeps = &session.shared.sweeps;
    let (low, started) = (sweeps.low(now), Instant::now());
    let params = (now.as_micros(), row_limit(limit), low.as_micros());
    let found = session
        .query(sql, &[&params.0, &params.1, &params.2])
        .await?;
    let first = found.first().map(|row| row.try_get("lease_until"));
    let first = first.transpose()?.map(time);
    sweeps.note(low, first, now, started.elapsed());
    let jobs = read_readable(session, found).await?;
    let mut claims = Vec::with_capacity(jobs.len());
    for job in jobs {
        let (id, fence) = (job.id, job.progress.fence);
        let claim = Claim::resume(job, fence);
        let claim = claim.map_err(|error| DriverError::unreadable("claim", error));
        claims.extend(pass_over(claim, &session.shared.damage, "job", id)?);
    }
    Ok(claims)
}

/// Running jobs of a worker that should be cancelled.
pub(crate) async fn cancel_requests(
    session: &Session<'_>,
    worker: &WorkerName,
    limit: usize,
) -> Result<Vec<(JobId, Fence)>, DriverError> {
    let sql = include_str!("get/cancel_requests.sql");
    let limit = row_limit(limit);
    let rows = session.query(sql, &[&worker.as_str(), &limit]).await?;
    let read = |row: &Row| {
        let fence = u32::try_from(row.try_get::<_, i64>("fence")?)
            .map_err(|error| DriverError::unreadable("fence", error))?;
        Ok((row.try_get::<_, Key>("id")?.job(), Fence(fence)))
    };
    rows.iter().map(read).collect()
}

/// The records that claims have left, one for each job, by job.
pub(crate) async fn records(
    session: &Session<'_>,
    of: impl Iterator<Item = (JobId, Fence)>,
) -> Result<HashMap<JobId, Attempt>, DriverError> {
    let (jobs, fences): (Vec<Key>, Vec<i64>) = of
        .map(|(job, fence)| (Key::from(job), i64::from(fence.0)))
        .unzip();
    let sql = include_str!("get/attempts_find.sql");
    let found = session.query(sql, &[&jobs, &fences]).await?;
    let records = rows::attempts(session, &found)?.items.into_iter();
    Ok(records.map(|record| (record.job, record)).collect())
}

pub(crate) async fn steps(
    session: &Session<'_>,
    job: JobId,
    only: Option<&StepName>,
    limit: usize,
) -> Result<Vec<(StepName, Payload)>, DriverError> {
    let sql = include_str!("get/steps.sql");
    let only = only.map(StepName::as_str);
    let rows = session
        .query(sql, &[&Key::from(job), &only, &row_limit(limit)])
        .await?;
    let mut found = Vec::new();
    for row in &rows {
        let (name, result) = (
            row.try_get::<_, &str>("step")?,
            row.try_get::<_, &str>("result")?,
        );
        let cell = Cell::Step(job, name);
        let result = session.shared.cipher.open(cell, result)?;
        // Only names are stored.
        let name = StepName::new(name).ok();
        found.extend(name.map(|name| (name, Payload::from_stored(&result))));
    }
    Ok(found)
}

/// Jobs that never started and may not start any more.
pub(crate) async fn expired_starts(
    session: &Session<'_>,
    limit: usize,
) -> Result<Vec<JobId>, DriverError> {
    let given = session.shared.clock.given();
    let sql = include_str!("get/expired_starts.sql");
    let rows = session.query(sql, &[&given, &row_limit(limit)]).await?;
    let id = |row: &Row| Ok(row.try_get::<_, Key>("id")?.job());
    rows.iter().map(id).collect()
}
