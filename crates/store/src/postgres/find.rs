//! Looking up single jobs, attempts, expired claims and steps.

use std::collections::HashMap;

use steadfast_core::{Attempt, Claim, Fence, Job, JobId, Payload, StepName, Timestamp};

use tokio_postgres::Row;

use super::{
    fault::Fault,
    names::Needed,
    rows::{self, Key, limit},
    session::Session,
};

/// The jobs of these ids, in their order.
pub(super) async fn jobs(session: &Session<'_>, ids: &[JobId]) -> Result<Vec<Option<Job>>, Fault> {
    let (found, names) = by_id(session, ids).await?;
    let mut jobs = HashMap::with_capacity(found.len());
    for row in found {
        let job = rows::job(&names, &row)?;
        jobs.insert(job.id, job);
    }
    Ok(ids.iter().map(|id| jobs.get(id).cloned()).collect())
}

/// The jobs of these ids that can be read, in no order.
pub(super) async fn whole_jobs(session: &Session<'_>, ids: &[JobId]) -> Result<Vec<Job>, Fault> {
    let (found, names) = by_id(session, ids).await?;
    let mut jobs = Vec::with_capacity(found.len());
    for row in found {
        jobs.extend(rows::job_if_whole(&names, &row)?);
    }
    Ok(jobs)
}

async fn by_id(session: &Session<'_>, ids: &[JobId]) -> Result<(Vec<Row>, Needed), Fault> {
    let keys: Vec<Key> = ids.iter().map(|id| (*id).into()).collect();
    let sql = include_str!("sql/jobs.sql");
    let found = session.query(sql, &[&keys]).await?;
    let names = session.shared.names.of(session, &found).await?;
    Ok((found, names))
}

pub(super) async fn expired(
    session: &Session<'_>,
    now: Timestamp,
    most: usize,
) -> Result<Vec<Claim>, Fault> {
    let sql = include_str!("sql/expired.sql");
    let found = session
        .query(sql, &[&now.as_micros(), &limit(most)])
        .await?;
    let names = session.shared.names.of(session, &found).await?;
    let mut claims = Vec::new();
    for row in found {
        let Some(job) = rows::job_if_whole(&names, &row)? else {
            continue;
        };
        let fence = job.progress.fence;
        let claim = Claim::resume(job, fence);
        claims.push(claim.map_err(|error| Fault::unreadable("claim", error))?);
    }
    Ok(claims)
}

/// What remains of attempts, one for each job, by job.
pub(super) async fn records(
    session: &Session<'_>,
    of: impl Iterator<Item = (JobId, Fence)>,
) -> Result<HashMap<JobId, Attempt>, Fault> {
    let (jobs, fences): (Vec<Key>, Vec<i64>) = of
        .map(|(job, fence)| (Key::from(job), i64::from(fence.0)))
        .unzip();
    let sql = include_str!("sql/attempts_find.sql");
    let mut records = HashMap::new();
    for row in session.query(sql, &[&jobs, &fences]).await? {
        let record = rows::attempt(&row)?;
        records.insert(record.job, record);
    }
    Ok(records)
}

pub(super) async fn recall(
    session: &Session<'_>,
    job: JobId,
    step: &StepName,
) -> Result<Option<Payload>, Fault> {
    let sql = include_str!("sql/once_recall.sql");
    let found = session
        .query(sql, &[&Key::from(job), &step.as_str()])
        .await?;
    let kept = found.first().map(|row| row.try_get(0)).transpose()?;
    Ok(kept.map(Payload::from_stored))
}
