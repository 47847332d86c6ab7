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

    /// Logs of the attempt with this number, oldest first, from the one with a line on and a few
    /// at a time. There are several if attempts were not counted: they share their number with the
    /// next, and the numbers of its lines go on.
    async fn attempt_logs(
        &self,
        job: JobId,
        attempt: u32,
        line: u64,
    ) -> Result<Vec<ClaimLog>, StoreError>;
}

/// The log of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClaimLog {
    /// The fence of the claim.
    pub fence: Fence,
    /// The number that its line 0 has among those of the attempt. It never changes.
    pub first_line: u64,
    /// The lines, by the numbers of their writer.
    pub log: AttemptLog,
}

impl ClaimLog {
    /// The number of the attempt's next line.
    pub fn next(&self) -> u64 {
        self.first_line.saturating_add(self.log.next())
    }
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
