//! Unique jobs. A transaction that decides about a key holds an advisory lock on its number, so that
//! of two nodes the second sees what the first has stored.

use std::collections::HashMap;

use steadfast_core::{Job, JobId, NewJob, Tenant, Timestamp, Unique};

use crate::drivers::postgres::{
    driver_error::DriverError,
    names::{NumberedJob, job_rows},
    session::Session,
    values::time,
};
use crate::{error::EnqueueError, verbs::unique::UniquePlan};

/// What becomes of the unique jobs of a batch, but for those that exist by their idempotency key.
pub(crate) async fn plan(
    session: &Session<'_>,
    jobs: &[NumberedJob<'_>],
    existing: &HashMap<usize, JobId>,
) -> Result<Result<UniquePlan, EnqueueError>, DriverError> {
    let others = jobs.iter().map(|numbered| numbered.job).enumerate();
    let others: Vec<(usize, &NewJob)> = others
        .filter(|(index, job)| job.unique().is_some() && !existing.contains_key(index))
        .collect();
    if others.is_empty() {
        return Ok(Ok(UniquePlan::default()));
    }
    let numbers = others.iter().filter_map(|(_, job)| {
        let unique = job.unique()?;
        Some(unique.number(&job.tenant))
    });
    let holders = Holders::lock(session, numbers.collect()).await?;
    UniquePlan::new(others, holders.now, |job, unique| {
        Ok(holders.of(&job.tenant, unique).cloned())
    })
}

/// The unfinished jobs of unique keys that a transaction has locked.
pub(crate) struct Holders {
    pub now: Timestamp,
    pub jobs: Vec<Job>,
}

impl Holders {
    pub(crate) async fn lock(
        session: &Session<'_>,
        mut numbers: Vec<i64>,
    ) -> Result<Self, DriverError> {
        let mut now = session.shared.clock.now();
        let mut jobs = Vec::new();
        if numbers.is_empty() {
            return Ok(Self { now, jobs });
        }
        numbers.sort_unstable();
        numbers.dedup();
        let sql = include_str!("unique/unique_lock.sql");
        session.query(sql, &[&numbers]).await?;
        // Another statement, which sees what was committed before the locks were got.
        let given = session.shared.clock.given();
        let sql = include_str!("unique/unique_find.sql");
        let rows = session.query(sql, &[&given, &numbers]).await?;
        if let Some(found) = job_rows(session, rows).await? {
            for row in &found.rows {
                now = time(row.try_get("now")?);
                jobs.extend(found.read_if_readable(session, row)?);
            }
        }
        Ok(Self { now, jobs })
    }

    /// The one of a key: of several, the one that waits.
    pub(crate) fn of(&self, tenant: &Tenant, unique: &Unique) -> Option<&Job> {
        let has_key = |job: &&Job| {
            let own = job.unique();
            job.tenant == *tenant && own.is_some_and(|own| own.key == unique.key)
        };
        let jobs = self.jobs.iter().filter(has_key);
        jobs.min_by_key(|job| (job.progress.state, job.id))
    }
}
