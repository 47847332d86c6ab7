//! The logs of attempts.

use async_trait::async_trait;
use steadfast_core::{AttemptLog, Fence, JobId};

use super::records::skip_corrupt;
use crate::{
    drivers::{
        Asker, Driver,
        driver_error::DriverError,
        transaction::{Reads, Transaction},
    },
    error::StoreError,
    limits::{LOGS_AT_ONCE, LOGS_PER_JOB_MAX},
    store::{LogStore, NewLogLines},
};

#[async_trait]
impl<D: Driver> LogStore for D {
    async fn append_logs(&self, lines: Vec<NewLogLines>) -> Result<Vec<bool>, StoreError> {
        let mut held = Vec::with_capacity(lines.len());
        for some in lines.chunks(LOGS_AT_ONCE) {
            let appended = self.transact("append_logs", some.len(), some.to_vec(), |tx, it| {
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
    ) -> Result<Vec<(Fence, AttemptLog)>, StoreError> {
        self.read("attempt_logs", Asker::Caller, (job, attempt), |tx, it| {
            Box::pin(list(tx, it.0, it.1))
        })
        .await
    }
}

async fn append(tx: &mut dyn Transaction, logs: &[NewLogLines]) -> Result<Vec<bool>, DriverError> {
    // Two requests of one attempt must not overwrite each other's lines. In one order, they do not
    // wait for each other.
    let mut jobs: Vec<JobId> = logs.iter().map(|log| log.job).collect();
    jobs.sort_unstable();
    jobs.dedup();
    for job in jobs {
        tx.lock_name(&format!("log of {job}")).await?;
    }
    let mut held = Vec::with_capacity(logs.len());
    for NewLogLines { job, fence, lines } in logs {
        let stored = tx.attempt_log(*job, *fence).await;
        let stored = skip_corrupt(tx, stored, "log", job)?.flatten();
        let mut log = match stored {
            Some(body) => skip_corrupt(tx, decode(&body), "log", job)?.unwrap_or_default(),
            None => AttemptLog::default(),
        };
        log.append(lines.clone());
        let body = serde_json::to_string(&log);
        let body = body.map_err(|error| DriverError::unreadable("log", error))?;
        let is_held = tx.save_attempt_log(*job, *fence, &body).await?;
        if is_held && let Some(oldest) = fence.0.checked_sub(LOGS_PER_JOB_MAX) {
            tx.delete_attempt_logs(*job, Fence(oldest)).await?;
        }
        held.push(is_held);
    }
    Ok(held)
}

async fn list(
    tx: &mut dyn Reads,
    job: JobId,
    attempt: u32,
) -> Result<Vec<(Fence, AttemptLog)>, DriverError> {
    let mut logs = Vec::new();
    for (fence, body) in tx.logs_of_attempt(job, attempt).await? {
        let log = body.and_then(|body| decode(&body));
        if let Some(log) = skip_corrupt(tx, log, "log", job)? {
            logs.push((fence, log));
        }
    }
    Ok(logs)
}

fn decode(body: &str) -> Result<AttemptLog, DriverError> {
    serde_json::from_str(body).map_err(|error| DriverError::unreadable("log", error))
}
