//! The contract of the logs of attempts.

use async_trait::async_trait;
use steadfast_core::{AttemptLog, Fence, JobId, LogLines};

use super::BaseStore;
use crate::error::StoreError;

/// Lines that handlers and workers log while they run a job. They are deleted with the job.
#[async_trait]
pub trait LogStore: BaseStore {
    /// Adds lines to the logs of attempts whose claims hold. Answers for each whether it does;
    /// lines that are stored already are not stored twice.
    ///
    /// Of each attempt the newest lines are kept, as [`AttemptLog`] says, and of a job the logs of its
    /// newest [`LOGS_PER_JOB_MAX`](crate::limits::LOGS_PER_JOB_MAX) claims.
    async fn append_logs(&self, lines: Vec<NewLogLines>) -> Result<Vec<bool>, StoreError>;

    /// The logs of the attempt with this number, oldest first. There are several if attempts
    /// were not counted: they share their number with the next.
    async fn attempt_logs(
        &self,
        job: JobId,
        attempt: u32,
    ) -> Result<Vec<(Fence, AttemptLog)>, StoreError>;
}

/// Lines of a running attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewLogLines {
    /// The job that is running.
    pub job: JobId,
    /// The fence of the claim that holds it.
    pub fence: Fence,
    /// The lines.
    pub lines: LogLines,
}
