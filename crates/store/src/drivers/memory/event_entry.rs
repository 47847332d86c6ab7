//! An event that a worker of the store has yet to handle.

use steadfast_core::{BatchId, JobId, JobState};

pub(super) enum EventEntry {
    /// A job has ended that others wait for.
    Dependency {
        job: JobId,
        dependant: Option<JobId>,
        worked_to: Option<JobId>,
    },
    /// A job of a batch has gone from one state to another.
    Batch {
        batch: BatchId,
        from: JobState,
        to: JobState,
    },
}
