//! Rows of the logs of attempts.

use async_trait::async_trait;
use steadfast_core::{Fence, JobId, JobState};

use super::transaction::MemoryTransaction;
use crate::drivers::{
    driver_error::DriverError,
    transaction::{LogReads, LogWrites},
};

#[async_trait]
impl LogReads for MemoryTransaction<'_> {
    async fn attempt_log(
        &mut self,
        job: JobId,
        fence: Fence,
    ) -> Result<Option<String>, DriverError> {
        let stored = self.tables.jobs.get(&job);
        let log = stored.and_then(|stored| stored.logs.get(&fence));
        Ok(log.map(|(_, body)| body.clone()))
    }

    async fn logs_of_attempt(
        &mut self,
        job: JobId,
        attempt: u32,
    ) -> Result<Vec<(Fence, Result<String, DriverError>)>, DriverError> {
        let stored = self.tables.jobs.get(&job).into_iter();
        let logs = stored.flat_map(|stored| &stored.logs);
        let logs = logs.filter(|(_, (number, _))| *number == attempt);
        Ok(logs
            .map(|(fence, (_, body))| (*fence, Ok(body.clone())))
            .collect())
    }
}

#[async_trait]
impl LogWrites for MemoryTransaction<'_> {
    async fn save_attempt_log(
        &mut self,
        job: JobId,
        fence: Fence,
        body: &str,
    ) -> Result<bool, DriverError> {
        let Some(stored) = self.tables.jobs.get_mut(&job) else {
            return Ok(false);
        };
        let progress = &stored.job.progress;
        let is_held = progress.state == JobState::Running && progress.fence == fence;
        if is_held {
            stored
                .logs
                .insert(fence, (progress.attempt, body.to_owned()));
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
