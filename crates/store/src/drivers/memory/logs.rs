//! Rows of the logs of attempts.

use async_trait::async_trait;
use steadfast_core::{Fence, JobId, JobState};

use super::{tables::MemoryLog, transaction::MemoryTransaction};
use crate::drivers::{
    driver_error::DriverError,
    transaction::{LogReads, LogWrites, StoredLog},
};

#[async_trait]
impl LogReads for MemoryTransaction<'_> {
    async fn newest_logs(&mut self, jobs: &[JobId]) -> Result<Vec<StoredLog>, DriverError> {
        let logs = jobs.iter().filter_map(|id| {
            let stored = self.tables.jobs.get(id)?;
            let (fence, log) = stored.logs.last_key_value()?;
            let is_current = log.attempt == stored.job.progress.attempt;
            Some(read(*id, *fence, log, is_current))
        });
        Ok(logs.collect())
    }

    async fn logs_of_attempt(
        &mut self,
        job: JobId,
        attempt: u32,
        line: u64,
        limit: usize,
    ) -> Result<Vec<StoredLog>, DriverError> {
        let stored = self.tables.jobs.get(&job).into_iter();
        let logs = stored.flat_map(|stored| &stored.logs);
        let logs: Vec<_> = logs.filter(|(_, log)| log.attempt == attempt).collect();
        let first = logs.iter().rposition(|(_, log)| log.first_line <= line);
        let logs = logs.into_iter().skip(first.unwrap_or_default()).take(limit);
        Ok(logs
            .map(|(fence, log)| read(job, *fence, log, true))
            .collect())
    }
}

fn read(job: JobId, fence: Fence, log: &MemoryLog, is_current: bool) -> StoredLog {
    StoredLog {
        job,
        fence,
        is_current,
        first_line: log.first_line,
        body: Ok(log.body.clone()),
    }
}

#[async_trait]
impl LogWrites for MemoryTransaction<'_> {
    async fn save_attempt_log(
        &mut self,
        job: JobId,
        fence: Fence,
        first_line: u64,
        body: &str,
    ) -> Result<bool, DriverError> {
        let Some(stored) = self.tables.jobs.get_mut(&job) else {
            return Ok(false);
        };
        let progress = &stored.job.progress;
        let is_held = progress.state == JobState::Running && progress.fence == fence;
        if is_held {
            let log = stored.logs.entry(fence).or_insert(MemoryLog {
                attempt: progress.attempt,
                first_line,
                body: String::new(),
            });
            body.clone_into(&mut log.body);
        }
        Ok(is_held)
    }

    async fn delete_attempt_logs(&mut self, job: JobId, upto: Fence) -> Result<(), DriverError> {
        if let Some(stored) = self.tables.jobs.get_mut(&job) {
            stored.logs.retain(|fence, _| *fence > upto);
        }
        Ok(())
    }
}
