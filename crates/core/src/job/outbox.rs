//! Jobs that the success of another job creates: why one cannot be created.

use std::fmt;

use super::dependencies::Dependencies;
use crate::{
    limits,
    values::{BatchId, JobId},
};

/// Why a job of an outbox cannot be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutboxRefusal {
    /// Which job of the outbox.
    pub index: usize,
    /// The reason.
    pub reason: OutboxRefusalReason,
}

/// The reason for which a job of an outbox cannot be created.
// Exhaustive on purpose: the API has a code for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutboxRefusalReason {
    /// A job that it is to run after is not there, or belongs to another tenant.
    UnknownPrerequisite(JobId),
    /// The batch that it is to be added to is not there, or belongs to another tenant.
    UnknownBatch(BatchId),
    /// The batch that it is to be added to is closed.
    BatchClosed(BatchId),
    /// The batch that it is to be added to has as many jobs as it may have.
    BatchFull(BatchId),
}

impl fmt::Display for OutboxRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.index + 1;
        write!(f, "job {number} to create on success: {}", self.reason)
    }
}

impl fmt::Display for OutboxRefusalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownPrerequisite(job) => write!(f, "{}", Dependencies::unknown(*job)),
            Self::UnknownBatch(batch) => write!(f, "batch {batch} does not exist"),
            Self::BatchClosed(batch) => {
                write!(f, "{batch} is closed: only its own jobs can add jobs to it")
            }
            Self::BatchFull(batch) => {
                write!(
                    f,
                    "{batch} has {} jobs: create another batch",
                    limits::BATCH_JOBS_MAX
                )
            }
        }
    }
}
