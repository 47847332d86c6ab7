//! The result of an operation for each of its jobs, and their next outcome.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{
    failure::FailureFingerprint,
    job::Job,
    lifecycle::command::RefusalReason,
    state::JobState,
    values::{JobId, string_enum},
};

string_enum! {
    /// The result of an operation for a job.
    #[non_exhaustive]
    OperationResult, "result" {
        /// It changed the job.
        Changed = "changed",
        /// The job no longer exists, or no longer matches the filter.
        Gone = "gone",
        /// The job had ended, and the command is for jobs that have not.
        AlreadyEnded = "already_ended",
        /// The job was running, and the command is for jobs that are not.
        Running = "running",
        /// The job was waiting, and the command is for jobs that have ended.
        Waiting = "waiting",
        /// The job had succeeded.
        Succeeded = "succeeded",
        /// The job was no dead letter.
        NotADeadLetter = "not_a_dead_letter",
        /// The job starts at most once, and may have started.
        StartsAtMostOnce = "starts_at_most_once",
        /// Another job has its unique key.
        UniqueKeyTaken = "unique_key_taken",
        /// The job waits for other jobs.
        WaitsForOthers = "waits_for_others",
        /// A job that it waits for has failed.
        PrerequisiteFailed = "prerequisite_failed",
        /// The endpoint of the delivery was deleted.
        EndpointDeleted = "endpoint_deleted",
        /// The changes do not fit the other fields of its policy.
        InvalidPolicy = "invalid_policy",
        /// The job did not allow it for another reason.
        Refused = "refused",
    }
}

impl From<RefusalReason> for OperationResult {
    fn from(reason: RefusalReason) -> Self {
        match reason {
            RefusalReason::AlreadyEnded => Self::AlreadyEnded,
            RefusalReason::Running => Self::Running,
            RefusalReason::Waiting => Self::Waiting,
            RefusalReason::Succeeded => Self::Succeeded,
            RefusalReason::NotADeadLetter => Self::NotADeadLetter,
            RefusalReason::StartsAtMostOnce => Self::StartsAtMostOnce,
            RefusalReason::UniqueKeyTaken => Self::UniqueKeyTaken,
            RefusalReason::Blocked => Self::WaitsForOthers,
            RefusalReason::PrerequisiteFailed => Self::PrerequisiteFailed,
            RefusalReason::EndpointDeleted => Self::EndpointDeleted,
            RefusalReason::InvalidPolicy => Self::InvalidPolicy,
            _ => Self::Refused,
        }
    }
}

string_enum! {
    /// How the next attempt of a job ended that an operation tries again.
    // Exhaustive on purpose: every outcome is counted.
    OperationOutcome, "outcome" {
        /// It succeeded.
        Succeeded = "succeeded",
        /// It failed as before.
        FailedAgain = "failed_again",
        /// It failed in another way.
        FailedOtherwise = "failed_otherwise",
        /// It will not be known: the job was cancelled, requeued once more or deleted.
        Unknown = "unknown",
    }
}

/// A job of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct OperationJob {
    /// The job.
    pub job: JobId,
    /// The result; `None` while the job is pending.
    pub result: Option<OperationResult>,
    /// Its attempts when it was worked on: the next one shows what came of it.
    pub attempts: u32,
    /// The fingerprint of its failure when it was worked on.
    pub fingerprint: Option<FailureFingerprint>,
    /// The outcome of the next attempt, if the operation watches it.
    pub outcome: Option<OperationOutcome>,
}

impl OperationJob {
    /// A job whose turn has not come.
    pub fn named(job: JobId) -> Self {
        Self {
            job,
            result: None,
            attempts: 0,
            fingerprint: None,
            outcome: None,
        }
    }

    /// A job that was left as it is.
    pub fn refused(job: JobId, result: OperationResult) -> Self {
        Self {
            result: Some(result),
            ..Self::named(job)
        }
    }

    /// A job that was changed, as it now is.
    pub fn changed(job: &Job) -> Self {
        Self {
            result: Some(OperationResult::Changed),
            attempts: job.progress.attempt,
            fingerprint: fingerprint(job),
            ..Self::named(job.id)
        }
    }

    /// How the next attempt ended, if it has, of the job as it is now; `None` in place of a job
    /// that is gone.
    pub fn outcome_of(&self, job: Option<&Job>) -> Option<OperationOutcome> {
        let Some(job) = job else {
            return Some(OperationOutcome::Unknown);
        };
        let progress = &job.progress;
        let is_same_budget = progress.attempts_before == self.attempts;
        match progress.state {
            JobState::Succeeded => Some(OperationOutcome::Succeeded),
            JobState::Cancelled => Some(OperationOutcome::Unknown),
            _ if !is_same_budget => Some(OperationOutcome::Unknown),
            JobState::Waiting if progress.attempt <= self.attempts => None,
            JobState::Running if progress.attempt <= self.attempts + 1 => None,
            _ if fingerprint(job) == self.fingerprint => Some(OperationOutcome::FailedAgain),
            _ => Some(OperationOutcome::FailedOtherwise),
        }
    }
}

fn fingerprint(job: &Job) -> Option<FailureFingerprint> {
    let failure = job.progress.failure.as_ref()?;
    let destination = job.destination.as_ref();
    Some(FailureFingerprint::of(failure, &job.kind, destination))
}
