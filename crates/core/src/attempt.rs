//! One try at running a job: how it is held, how it ends, and what remains of it.

use std::{fmt, str::FromStr, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    Failure, Fence, Job, JobId, JobState, NewJob, Payload, RetryDelay, Timestamp, WorkerName,
    duration, failure::shortened, limits, string_enum,
};

/// A job that is ours to run, for as long as its lease lasts.
///
/// It cannot be copied: ending the attempt consumes it, so no attempt can be ended twice by
/// the one that holds it.
#[derive(Debug, PartialEq)]
pub struct Claim {
    // Claims pass through many hands; a job is too large to move each time.
    job: Arc<Job>,
}

/// The claim that was named does not hold any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("claim {} of {job} does not hold any more: the job is {state} under claim {}", .asked.0, .held.0)]
pub struct StaleFence {
    pub job: JobId,
    pub asked: Fence,
    pub held: Fence,
    pub state: JobState,
}

impl Claim {
    /// Takes up a claim again from a stored job, if `fence` is still its number.
    pub fn resume(job: Job, fence: Fence) -> Result<Self, StaleFence> {
        if job.progress.state == JobState::Running && job.progress.fence == fence {
            return Ok(Self { job: Arc::new(job) });
        }
        Err(StaleFence {
            job: job.id,
            asked: fence,
            held: job.progress.fence,
            state: job.progress.state,
        })
    }

    pub fn job(&self) -> &Job {
        &self.job
    }

    /// The job, to be read by whoever runs it.
    pub fn share(&self) -> Arc<Job> {
        self.job.clone()
    }

    pub fn fence(&self) -> Fence {
        self.job.progress.fence
    }

    /// The attempt is over.
    pub fn ended(self, outcome: Outcome, at: Timestamp) -> EndedAttempt {
        EndedAttempt {
            // A clock that was set back must not make an attempt end before it started.
            at: at.max(self.job.progress.started_at.unwrap_or(at)),
            job: self.job,
            outcome,
            outbox: Vec::new(),
        }
    }
}

impl Job {
    /// Claims a waiting job: counted, leased and fenced, before anything starts.
    pub fn claimed(mut self, worker: WorkerName, lease: Option<Duration>, now: Timestamp) -> Claim {
        let lease_until = now.plus(lease.unwrap_or(self.lease));
        let progress = &mut self.progress;
        progress.state = JobState::Running;
        progress.attempt = progress.attempt.saturating_add(1);
        progress.fence = progress.fence.next();
        progress.lease_until = Some(lease_until);
        progress.worker = Some(worker);
        progress.started_at = Some(now);
        progress.first_started_at = progress.first_started_at.or(Some(now));
        progress.note = None;
        Claim {
            job: Arc::new(self),
        }
    }
}

/// An attempt that is over but not yet decided upon.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedAttempt {
    pub(crate) job: Arc<Job>,
    pub(crate) outcome: Outcome,
    pub(crate) at: Timestamp,
    pub(crate) outbox: Vec<NewJob>,
}

impl EndedAttempt {
    pub fn job(&self) -> &Job {
        &self.job
    }

    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// Keeps what the handler last said about its progress.
    pub fn set_note(&mut self, note: String) {
        Arc::make_mut(&mut self.job).progress.note = Some(shortened(note, limits::NOTE_BYTES_MAX));
    }

    /// Jobs to be made if and only if this attempt succeeds.
    pub fn set_outbox(&mut self, outbox: Vec<NewJob>) {
        self.outbox = outbox;
    }

    /// Someone asked to cancel the job while the attempt ran.
    pub fn set_cancel_requested(&mut self) {
        Arc::make_mut(&mut self.job).progress.cancel_requested = true;
    }
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Success {
        output: Option<Payload>,
    },
    Failure {
        failure: Failure,
        output: Option<Payload>,
    },
    /// The lease ran out: whoever ran it may have done everything, or nothing.
    Lost,
    /// "Not now": try again later without counting this attempt.
    Snoozed(Duration),
    /// The handler itself called the job off.
    Cancelled {
        message: String,
    },
    /// Given back at shutdown. What was never started leaves no trace.
    Released {
        started: bool,
    },
}

impl Outcome {
    /// What the record of such an end says, if it leaves one.
    pub fn status(&self) -> Option<AttemptStatus> {
        match self {
            Self::Success { .. } => Some(AttemptStatus::Success),
            Self::Failure { .. } => Some(AttemptStatus::Failed),
            Self::Lost => Some(AttemptStatus::Lost),
            Self::Snoozed(_) => Some(AttemptStatus::Snoozed),
            Self::Cancelled { .. } => Some(AttemptStatus::Cancelled),
            Self::Released { started } => started.then_some(AttemptStatus::Released),
        }
    }
}

string_enum! {
    /// How an attempt ended, as its record says it.
    AttemptStatus, "status" {
        Success = "SUCCESS",
        Failed = "FAILED",
        Lost = "LOST",
        Snoozed = "SNOOZED",
        Cancelled = "CANCELLED",
        Released = "RELEASED",
    }
}

/// What remains of an attempt: exactly one record, never overwritten.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    pub job: JobId,
    pub fence: Fence,
    /// Numbered from 1; an attempt that was not counted shares its number with the next.
    pub attempt: u32,
    /// How many attempts of the job belong to earlier retry budgets; more than the attempt before
    /// it has if a person retried the job in between.
    pub attempts_before: u32,
    pub status: AttemptStatus,
    pub started_at: Timestamp,
    /// For a lost attempt, when that was found out.
    pub finished_at: Timestamp,
    pub worker: Option<WorkerName>,
    pub failure: Option<Failure>,
    pub output: Option<Payload>,
    pub note: Option<String>,
    /// Why the job went where it went; a success needs no explanation.
    pub decision: Option<Decision>,
}

impl Attempt {
    /// Retries of its budget before this attempt: 0 for the first one, and again for the first one
    /// after a manual retry.
    pub fn retry_count(&self) -> u32 {
        self.attempt
            .saturating_sub(self.attempts_before)
            .saturating_sub(1)
    }

    /// Whether a person retried the job and this was the first attempt after that.
    pub fn is_first_after_requeue(&self) -> bool {
        self.attempts_before > 0 && self.attempt == self.attempts_before + 1
    }

    pub fn duration(&self) -> Duration {
        self.finished_at.since(self.started_at)
    }
}

/// Which rule decided, and the numbers behind the next time: enough to explain the decision
/// later, when the job's policy may have changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    #[serde(rename = "rule")]
    pub decided_by: DecidedBy,
    /// Which of the policy's rules matched, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matched: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<RetryDelay>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_run_at: Option<Timestamp>,
    /// How much of the retry budget was used, and what the policy allowed then. Snoozes and
    /// releases do not touch it; records from before it was kept lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<RetryBudget>,
}

impl Decision {
    pub(crate) fn by(decided_by: DecidedBy) -> Self {
        Self {
            decided_by,
            matched: None,
            delay: None,
            next_run_at: None,
            budget: None,
        }
    }
}

/// What a policy allowed, and how much of it was used, when a decision was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RetryBudget {
    /// Retries before the attempt that was decided upon.
    pub retries_used: u32,
    /// The policy's `maxRetries`.
    pub max_retries: u32,
    /// The policy's `maxElapsed`.
    #[serde(
        default,
        with = "duration::text_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_elapsed: Option<Duration>,
}

impl RetryBudget {
    pub(crate) fn of(job: &Job) -> Self {
        Self {
            retries_used: job.progress.retries_used(),
            max_retries: job.policy.max_retries(),
            max_elapsed: job.policy.max_elapsed(),
        }
    }
}

string_enum! {
    /// The rule that decided what follows an attempt.
    DecidedBy, "rule" {
        /// The policy's backoff.
        Policy = "policy",
        /// A rule of the policy.
        Rule = "rule",
        AtMostOnce = "at_most_once",
        Cancelled = "cancelled",
        NonRetryable = "non_retryable",
        Exhausted = "exhausted",
        Expired = "expired",
        OutcomeUnknown = "outcome_unknown",
        Snoozed = "snoozed",
        Released = "released",
    }
}
