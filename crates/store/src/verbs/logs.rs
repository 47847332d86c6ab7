//! The logs of attempts.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use async_trait::async_trait;
use steadfast_core::{AttemptLog, Fence, JobId, LogLines, limits::LOG_NUMBER_MAX};

use super::records::skip_corrupt;
use crate::{
    drivers::{
        Asker, Driver,
        driver_error::DriverError,
        transaction::{Reads, Transaction},
    },
    error::StoreError,
    limits::{LOG_ROWS, LOGS_AT_ONCE, LOGS_PER_JOB_MAX, LOGS_READ_AT_ONCE},
    store::{ClaimLog, LogStore, NewLogLines},
};

#[async_trait]
impl<D: Driver> LogStore for D {
    async fn append_logs(&self, lines: Vec<NewLogLines>) -> Result<Vec<bool>, StoreError> {
        let mut held = Vec::with_capacity(lines.len());
        for some in lines.chunks(LOGS_AT_ONCE) {
            let rows = some.len() * LOG_ROWS;
            let appended = self.transact("append_logs", rows, some.to_vec(), |tx, it| {
                Box::pin(append(tx, it))
            });
            held.extend(appended.await?);
        }
        Ok(held)
    }

    async fn attempt_logs(
        &self,
        job: JobId,
        attempt: u32,
        line: u64,
    ) -> Result<Vec<ClaimLog>, StoreError> {
        let arguments = (job, attempt, line);
        self.read("attempt_logs", Asker::Caller, arguments, |tx, it| {
            Box::pin(list(tx, it.0, it.1, it.2))
        })
        .await
    }
}

async fn append(tx: &mut dyn Transaction, logs: &[NewLogLines]) -> Result<Vec<bool>, DriverError> {
    let mut jobs: Vec<JobId> = logs.iter().map(|log| log.job).collect();
    jobs.sort_unstable();
    jobs.dedup();
    // Two requests of one attempt must not overwrite each other's lines. In one order, they do not
    // wait for each other.
    let names: Vec<String> = jobs.iter().map(|job| format!("log of {job}")).collect();
    tx.lock_names(&names).await?;
    let mut newest = HashMap::new();
    let mut unreadable = Vec::new();
    for stored in tx.newest_logs(&jobs).await? {
        let log = stored.body.and_then(|body| decode(&body));
        let Some(log) = skip_corrupt(tx, log, "log", stored.job)? else {
            unreadable.push((stored.job, stored.fence));
            continue;
        };
        let newest_log = (stored.is_current, stored.fence, stored.first_line, log);
        newest.insert(stored.job, newest_log);
    }
    // Each append writes the whole log, so those of one attempt are written together.
    let mut together: BTreeMap<(JobId, Fence), Vec<&LogLines>> = BTreeMap::new();
    for NewLogLines { job, fence, lines } in logs {
        together.entry((*job, *fence)).or_default().push(lines);
    }
    let mut held = BTreeSet::new();
    for ((job, fence), lines) in &together {
        // Another node may have the key to it, so it is not overwritten. The claim is held all the
        // same.
        if unreadable.contains(&(*job, *fence)) {
            held.insert((*job, *fence));
            continue;
        }
        let (first_line, mut log) = match newest.get(job) {
            Some((_, of, first_line, log)) if of == fence => (*first_line, log.clone()),
            // That of a claim that was not counted, whose number this one shares.
            Some((true, _, first_line, log)) => {
                let first_line = first_line.saturating_add(log.next());
                (first_line.min(LOG_NUMBER_MAX), AttemptLog::default())
            }
            _ => (0, AttemptLog::default()),
        };
        for some in lines {
            log.append((*some).clone());
        }
        let body = serde_json::to_string(&log);
        let body = body.map_err(|error| DriverError::unreadable("log", error))?;
        if tx.save_attempt_log(*job, *fence, first_line, &body).await? {
            held.insert((*job, *fence));
            if let Some(oldest) = fence.0.checked_sub(LOGS_PER_JOB_MAX) {
                tx.delete_attempt_logs(*job, Fence(oldest)).await?;
            }
            newest.insert(*job, (true, *fence, first_line, log));
        }
    }
    let claims = logs.iter().map(|log| (log.job, log.fence));
    Ok(claims.map(|claim| held.contains(&claim)).collect())
}

async fn list(
    tx: &mut dyn Reads,
    job: JobId,
    attempt: u32,
    line: u64,
) -> Result<Vec<ClaimLog>, DriverError> {
    let mut logs = Vec::new();
    for stored in tx
        .logs_of_attempt(job, attempt, line, LOGS_READ_AT_ONCE)
        .await?
    {
        let log = stored.body.and_then(|body| decode(&body));
        if let Some(log) = skip_corrupt(tx, log, "log", job)? {
            logs.push(ClaimLog {
                fence: stored.fence,
                first_line: stored.first_line,
                log,
            });
        }
    }
    Ok(logs)
}

fn decode(body: &str) -> Result<AttemptLog, DriverError> {
    serde_json::from_str(body).map_err(|error| DriverError::unreadable("log", error))
}
