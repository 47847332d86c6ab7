//! Rows of the logs of attempts.

use async_trait::async_trait;
use steadfast_core::{Fence, JobId};

use crate::drivers::driver_error::DriverError;

/// Rows out.
#[async_trait]
pub(crate) trait LogReads: Send {
    async fn attempt_log(
        &mut self,
        job: JobId,
        fence: Fence,
    ) -> Result<Option<String>, DriverError>;

    /// The logs of the claims that have this number, oldest first, each as text or why that cannot
    /// be read.
    async fn logs_of_attempt(
        &mut self,
        job: JobId,
        attempt: u32,
    ) -> Result<Vec<(Fence, Result<String, DriverError>)>, DriverError>;
}

/// Rows in.
#[async_trait]
pub(crate) trait LogWrites {
    /// Writes the log of a claim, if it holds. Answers whether it does.
    async fn save_attempt_log(
        &mut self,
        job: JobId,
        fence: Fence,
        body: &str,
    ) -> Result<bool, DriverError>;

    /// Deletes the logs of claims up to this one.
    async fn delete_attempt_logs(&mut self, job: JobId, upto: Fence) -> Result<(), DriverError>;
}
