//! One failed attempt, as groups count it.

use crate::{
    failure::Failure,
    failure_group::FailureKey,
    job::{
        JobProgress,
        attempt::{Attempt, EndedAttempt},
    },
    values::{Destination, JobId, Kind, Queue, Timestamp},
};

/// One failed attempt, as groups count it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FailureObservation {
    /// The group that it belongs to.
    pub key: FailureKey,
    /// When the attempt ended.
    pub at: Timestamp,
    /// The job of the attempt.
    pub job: JobId,
    /// The job's kind.
    pub kind: Kind,
    /// The job's queue.
    pub queue: Queue,
    /// The number of the attempt.
    pub attempt: u32,
    /// The failure, without its trace.
    pub failure: Failure,
    /// Whether the job's failure before this one was another, or there was none: then the job is
    /// counted.
    pub is_first_of_job: bool,
    /// Whether the job is a dead letter now.
    pub is_dead_letter: bool,
    /// The destination of the job.
    pub destination: Option<Destination>,
    /// The version of the worker or node that ran it, if it gave one.
    pub worker_version: Option<String>,
}

impl FailureObservation {
    /// What an attempt, once it is written, adds to the counts of failures; `None` unless it left a
    /// failure with a fingerprint. `to` is what became of the job.
    pub(crate) fn of(
        ended: &EndedAttempt,
        record: Option<&Attempt>,
        to: &JobProgress,
    ) -> Option<Self> {
        let job = ended.job();
        let record = record?;
        let failure = record.failure.as_ref()?;
        let fingerprint = failure.fingerprint?;
        let before = job.progress.failure.as_ref();
        Some(Self {
            key: FailureKey::new(job.tenant.clone(), fingerprint),
            at: record.finished_at,
            job: job.id,
            kind: job.kind.clone(),
            queue: job.queue.clone(),
            attempt: record.attempt,
            failure: failure.without_trace(),
            is_first_of_job: before.and_then(|it| it.fingerprint) != Some(fingerprint),
            is_dead_letter: to.is_dead_letter(),
            destination: job.destination.clone(),
            worker_version: ended.worker_version.clone(),
        })
    }
}
