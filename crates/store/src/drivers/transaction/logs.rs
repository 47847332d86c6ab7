//! Rows of the logs of attempts.

use async_trait::async_trait;
use steadfast_core::{Fence, JobId};

use crate::drivers::driver_error::DriverError;

/// The log of a claim.
pub(crate) struct StoredLog {
    pub job: JobId,
    pub fence: Fence,
    /// It belongs to the attempt that the job is in.
    pub is_current: bool,
    /// The number of its first line among those of the attempt.
    pub first_line: u64,
    /// The log as text, or why that cannot be read.
    pub body: Result<String, DriverError>,
}

/// Rows out.
#[async_trait]
pub(crate) trait LogReads: Send {
    /// The newest log of each of some jobs that have any.
    async fn newest_logs(&mut self, jobs: &[JobId]) -> Result<Vec<StoredLog>, DriverError>;

    /// Logs of the claims that have this number, oldest first, from the one with a line on.
    async fn logs_of_attempt(
        &mut self,
        job: JobId,
        attempt: u32,
        line: u64,
        limit: usize,
    ) -> Result<Vec<StoredLog>, DriverError>;
}

/// Rows in.
#[async_trait]
pub(crate) trait LogWrites {
    /// Writes the log of a claim, if it holds. Answers whether it does. The number of its first line
    /// is that of the first time.
    async fn save_attempt_log(
        &mut self,
        job: JobId,
        fence: Fence,
        first_line: u64,
        body: &str,
    ) -> Result<bool, DriverError>;

    /// Deletes the logs of claims up to this one.
    async fn delete_attempt_logs(&mut self, job: JobId, upto: Fence) -> Result<(), DriverError>;
}
