//! One failed attempt, as groups count it.

use crate::{
    attempt::AttemptStatus,
    failure::{Failure, FailureFingerprint},
    flow::Destination,
    id::JobId,
    job::Job,
    time::Timestamp,
    transition::Transition,
};

/// One failed attempt, as groups count it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FailureObservation {
    /// Which group it belongs to.
    pub fingerprint: FailureFingerprint,
    /// When the attempt ended.
    pub at: Timestamp,
    /// Whose attempt it was.
    pub job: JobId,
    /// The number of the attempt.
    pub attempt: u32,
    /// What went wrong, without its trace.
    pub failure: Failure,
    /// Whether the job's failure before this one was another, or there was none: then the job is
    /// counted.
    pub is_first_of_job: bool,
    /// Whether the job is a dead letter now.
    pub is_dead_letter: bool,
    /// Which system the job calls.
    pub destination: Option<Destination>,
    /// The version of the worker or node that ran it, if it gave one.
    pub worker_version: Option<String>,
}

impl FailureObservation {
    /// What a transition, once it is written, adds to the counts of failures; `None` unless its
    /// attempt failed or was lost. `job` is the job as it was claimed.
    pub fn of(job: &Job, transition: &Transition) -> Option<Self> {
        let record = transition.record.as_ref()?;
        let is_failure = matches!(record.status, AttemptStatus::Failed | AttemptStatus::Lost);
        let failure = record.failure.as_ref().filter(|_| is_failure)?;
        let of = |failure| FailureFingerprint::of(failure, &job.kind, job.destination.as_ref());
        let fingerprint = of(failure);
        let before = job.progress.failure.as_ref().map(of);
        Some(Self {
            fingerprint,
            at: record.finished_at,
            job: job.id,
            attempt: record.attempt,
            failure: failure.without_trace(),
            is_first_of_job: before != Some(fingerprint),
            is_dead_letter: transition.to.is_dead_letter(),
            destination: job.destination.clone(),
            worker_version: None,
        })
    }
}
