//! One try at running a job: its claim, its outcome, and the record it leaves.

use std::{fmt, str::FromStr, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    failure::{Failure, FailureClass},
    flow::TargetQuota,
    job::{
        Fence, Job, NewJob,
        confirm::{ConfirmAnswer, QuestionRecord},
        cost::Cost,
        log::LogLines,
        outbox::OutboxRefusal,
    },
    policy::RetryDelay,
    state::JobState,
    values::{JobId, Note, Payload, Timestamp, WorkerName, duration, string_enum},
};

/// The right to run a job, for as long as its lease lasts.
///
/// It cannot be copied: ending the attempt consumes it, so its holder cannot end an attempt twice.
#[derive(Debug, PartialEq)]
pub struct Claim {
    // Claims pass through many functions and channels; a job is too large to move each time.
    job: Arc<Job>,
}

/// An expired claim: its lease ran out and the job went on without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("claim {} of {job} has expired: the job is {state} under claim {}", .requested.0, .current.0)]
pub struct StaleFence {
    /// The job that was claimed.
    pub job: JobId,
    /// The claim that the caller named.
    pub requested: Fence,
    /// The newest claim of the job.
    pub current: Fence,
    /// Where the job stands now.
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
            requested: fence,
            current: job.progress.fence,
            state: job.progress.state,
        })
    }

    /// The claimed job.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// The claimed job, for parts that outlive the claim.
    pub fn share(&self) -> Arc<Job> {
        self.job.clone()
    }

    /// The number of this claim.
    pub fn fence(&self) -> Fence {
        self.job.progress.fence
    }

    /// The same claim with a lease that ends with the job's timeout at the latest: for a worker
    /// that only its lease can cut off.
    #[must_use]
    pub fn within_timeout(mut self) -> Self {
        let (until, deadline) = (self.job.progress.lease_until, self.job.deadline());
        if let Some((until, deadline)) = until.zip(deadline)
            && until > deadline.plus(NOT_CUT)
        {
            Arc::make_mut(&mut self.job).progress.lease_until = Some(deadline);
        }
        self
    }

    /// Ends the attempt. What follows is for [`after_attempt`](crate::after_attempt) to decide.
    pub fn end(self, outcome: Outcome, at: Timestamp) -> EndedAttempt {
        EndedAttempt {
            // A clock that was set back must not make an attempt end before it started.
            at: at.max(self.job.progress.started_at.unwrap_or(at)),
            job: self.job,
            outcome,
            outbox: Vec::new(),
            held: Duration::ZERO,
            worker_version: None,
            quota: None,
            usage: None,
            log: LogLines::default(),
        }
    }
}

/// A lease that ends with the timeout to the microsecond was cut to it. One that is as long from the
/// start lasts longer by this: if it runs out, its holder was not heard of once.
const NOT_CUT: Duration = Duration::from_micros(1); // not a limit: the least difference

impl Job {
    /// When the current attempt has run for as long as it may.
    pub fn deadline(&self) -> Option<Timestamp> {
        Some(self.progress.started_at?.plus(self.timeout?))
    }

    /// The end of a lease that lasts no longer than the current attempt may.
    pub fn within_timeout(&self, until: Timestamp) -> Timestamp {
        self.deadline()
            .map_or(until, |deadline| deadline.min(until))
    }

    /// Claims a waiting job for a worker: the attempt is counted, leased and fenced before anything
    /// starts. Without `lease`, the job's own applies.
    pub fn claim(mut self, worker: WorkerName, lease: Option<Duration>, now: Timestamp) -> Claim {
        let mut lease_until = now.plus(lease.unwrap_or(self.lease));
        if self.timeout.map(|timeout| now.plus(timeout)) == Some(lease_until) {
            lease_until = lease_until.plus(NOT_CUT);
        }
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

/// An attempt that is over, before it is decided what follows.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedAttempt {
    pub(crate) job: Arc<Job>,
    pub(crate) outcome: Outcome,
    pub(crate) at: Timestamp,
    pub(crate) outbox: Vec<NewJob>,
    pub(crate) held: Duration,
    pub(crate) worker_version: Option<String>,
    pub(crate) quota: Option<TargetQuota>,
    pub(crate) usage: Option<Cost>,
    pub(crate) log: LogLines,
}

impl EndedAttempt {
    /// The job as it was claimed.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// How the attempt ended.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// When it ended.
    pub fn ended_at(&self) -> Timestamp {
        self.at
    }

    /// Keeps the handler's newest note on its progress.
    pub fn set_note(&mut self, note: &Note) {
        Arc::make_mut(&mut self.job).progress.note = Some(note.to_text());
    }

    /// Sets the lines of its log that are not stored yet.
    pub fn set_log(&mut self, log: LogLines) {
        self.log = log;
    }

    /// The lines of its log that are not stored yet.
    pub fn unstored_log(&self) -> &LogLines {
        &self.log
    }

    /// Sets the version of the worker that ran it, which groups of failures name.
    pub fn set_worker_version(&mut self, version: Option<String>) {
        self.worker_version = version;
    }

    /// Sets what the destination said remains of its own limits.
    pub fn set_quota(&mut self, quota: Option<TargetQuota>) {
        self.quota = quota;
    }

    /// Sets what the attempt used.
    pub fn set_usage(&mut self, usage: Option<Cost>) {
        self.usage = usage.filter(|usage| !usage.is_empty());
    }

    /// Sets the jobs that are created if and only if this attempt succeeds.
    pub fn set_outbox(&mut self, outbox: Vec<NewJob>) {
        self.outbox = outbox;
    }

    /// Sets the same for a worker, whose report may come twice: the ids follow from the attempt,
    /// so that no job is created twice. Jobs without a trace continue that of this one.
    pub fn set_reported_outbox(&mut self, mut outbox: Vec<NewJob>) {
        let started_at = self.job.progress.started_at.unwrap_or(self.at);
        for (index, new) in outbox.iter_mut().enumerate() {
            let mut hash = Sha256::new();
            hash.update(self.job.id.bits().to_be_bytes());
            hash.update(self.job.progress.fence.0.to_be_bytes());
            hash.update((index as u64).to_be_bytes());
            let digest = hash.finalize();
            let mut first = [0; 8];
            first.copy_from_slice(&digest[..8]);
            new.id = JobId::new(started_at, u64::from_be_bytes(first));
        }
        if let Some(trace) = self.job.traceparent.clone() {
            let untraced = |new: NewJob| match new.has_traceparent() {
                true => new,
                false => new.with_traceparent(&trace),
            };
            outbox = outbox.into_iter().map(untraced).collect();
        }
        self.outbox = outbox;
    }

    /// Fails the attempt because a job that it creates on success cannot be created. The handler
    /// would ask for the same again, so the failure is permanent.
    pub fn refuse_outbox(&mut self, refusal: OutboxRefusal) {
        self.outcome = Outcome::Failure {
            failure: Failure::new(FailureClass::VALIDATION, refusal.to_string()),
            output: None,
        };
        self.outbox.clear();
    }

    /// Whether the called system refused the call, with status 429 or 503.
    pub fn is_refused(&self) -> bool {
        match &self.outcome {
            Outcome::Failure { failure, .. } => matches!(failure.http_status, Some(429 | 503)),
            _ => false,
        }
    }

    /// Cuts the Retry-After of a failure, and the time for which a quota counts, to what the settings
    /// allow.
    pub fn limit_retry_after(&mut self, most: Duration) {
        if let Some(quota) = &mut self.quota {
            quota.counts_for = quota.counts_for.min(most);
        }
        if let Outcome::Failure { failure, .. } = &mut self.outcome {
            failure.retry_after = failure.retry_after.map(|delay| delay.min(most));
        }
    }

    /// Sets for how long since its first attempt the job's destination was held, which `maxElapsed`
    /// does not count; see [`Gates::held_between`](crate::Gates::held_between).
    pub fn set_held_time(&mut self, held: Duration) {
        self.held = held;
    }

    /// Notes that a person asked to cancel the job while the attempt ran.
    pub fn set_cancel_requested(&mut self) {
        Arc::make_mut(&mut self.job).progress.cancel_requested = true;
    }
}

/// How an attempt ended.
// Exhaustive on purpose: every part that ends or observes attempts must handle each outcome.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The work is done.
    Success {
        /// The handler's result, if it gave one.
        output: Option<Payload>,
    },
    /// The work failed: an error, a panic, a timeout or a bad response.
    Failure {
        /// The failure.
        failure: Failure,
        /// The output that was recorded anyway, such as the response of an HTTP call.
        output: Option<Payload>,
    },
    /// A question was asked whether the last attempt took effect.
    Answered {
        /// The answer.
        answer: ConfirmAnswer,
        /// The result of the work if it is done, or the response to the question.
        output: Option<Payload>,
        /// Why the answer is unknown.
        failure: Option<Failure>,
    },
    /// The lease ran out: the worker may have done everything, or nothing.
    Lost,
    /// "Not now": try again after this delay, without counting this attempt.
    Snoozed(Duration),
    /// The handler itself cancelled the job.
    Cancelled {
        /// The handler's reason.
        message: String,
    },
    /// Given back at shutdown, without counting this attempt.
    Released {
        /// Whether the handler had started; if not, the attempt leaves no record.
        started: bool,
    },
}

impl Outcome {
    /// The status of the attempt's record; `None` if it leaves no record.
    pub fn status(&self) -> Option<AttemptStatus> {
        match self {
            Self::Success { .. } => Some(AttemptStatus::Success),
            Self::Failure { .. } => Some(AttemptStatus::Failed),
            Self::Answered { .. } => Some(AttemptStatus::Asked),
            Self::Lost => Some(AttemptStatus::Lost),
            Self::Snoozed(_) => Some(AttemptStatus::Snoozed),
            Self::Cancelled { .. } => Some(AttemptStatus::Cancelled),
            Self::Released { started } => started.then_some(AttemptStatus::Released),
        }
    }
}

string_enum! {
    /// How an attempt ended, in its record.
    // Exhaustive on purpose: stores, metrics and pages must handle each.
    AttemptStatus, "status" {
        /// The work is done.
        Success = "SUCCESS",
        /// The work failed: an error, a panic, a timeout or a bad response.
        Failed = "FAILED",
        /// Its lease ran out before its worker reported an end.
        Lost = "LOST",
        /// The handler asked to be called later; not counted as an attempt.
        Snoozed = "SNOOZED",
        /// The handler cancelled the job.
        Cancelled = "CANCELLED",
        /// Given back because the node or worker stopped; not counted as an attempt.
        Released = "RELEASED",
        /// A question whether the last attempt took effect; not counted as an attempt.
        Asked = "ASKED",
    }
}

/// The record of an attempt that has ended: exactly one, never overwritten.
// Exhaustive on purpose: every store reads and writes each field.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// The job it was an attempt of.
    pub job: JobId,
    /// The claim it ran under; unique within the job.
    pub fence: Fence,
    /// Numbered from 1; an attempt that was not counted shares its number with the next, and a
    /// question with the attempt that it is about.
    pub attempt: u32,
    /// How many attempts of the job belong to earlier retry budgets; more than the attempt before
    /// it has if a person retried the job in between.
    pub attempts_before: u32,
    /// How it ended.
    pub status: AttemptStatus,
    /// When it was claimed.
    pub started_at: Timestamp,
    /// When it ended; for a lost attempt, when a node noticed the expired lease.
    pub finished_at: Timestamp,
    /// Who ran it.
    pub worker: Option<WorkerName>,
    /// The failure; `None` for a success, a snooze or a release.
    pub failure: Option<Failure>,
    /// The handler's result or the recorded response, if there is one.
    pub output: Option<Payload>,
    /// The handler's last note on its progress, if it wrote one, as [`Note`](crate::Note) writes it.
    pub note: Option<String>,
    /// Why the job went on as it did; `None` for a success, which needs no explanation.
    pub decision: Option<Decision>,
    /// What it used, if that was reported.
    pub usage: Option<Cost>,
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
        self.attempts_before > 0
            && self.attempt == self.attempts_before + 1
            && self.status != AttemptStatus::Asked
    }

    /// The answer, if it was a question whether the last attempt took effect.
    pub fn answer(&self) -> Option<ConfirmAnswer> {
        let question = self.decision.as_ref()?.question.as_ref();
        question.map(|question| question.answer)
    }

    /// How long it took, from claim to end.
    pub fn duration(&self) -> Duration {
        self.finished_at.since(self.started_at)
    }
}

/// What decided how a job went on after an attempt, and the numbers behind it: enough to explain
/// the decision later, when the job's policy may have changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Decision {
    /// The deciding factor.
    #[serde(rename = "rule")]
    pub decided_by: DecidedBy,
    /// The index of the matching rule of the policy, from 0; `None` if none matched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matched: Option<usize>,
    /// How the delay before the retry came about; `None` unless the failure is retried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<RetryDelay>,
    /// When the next attempt is due; `None` if the job has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_run_at: Option<Timestamp>,
    /// How much of the retry budget was used, and what the policy allowed then. Snoozes and
    /// releases do not touch it; records from before it was kept lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<RetryBudget>,
    /// What the question brought; `None` for the record of an attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<QuestionRecord>,
}

impl Decision {
    pub(crate) fn by(decided_by: DecidedBy) -> Self {
        Self {
            decided_by,
            matched: None,
            delay: None,
            next_run_at: None,
            budget: None,
            question: None,
        }
    }
}

/// The retry budget, and how much of it was used, when a decision was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RetryBudget {
    /// Retries before the attempt that was decided upon.
    pub retries_used: u32,
    /// The policy's `maxRetries`.
    pub max_retries: u32,
    /// The policy's `maxElapsed`, if it had one.
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
    /// The deciding factor after an attempt.
    #[non_exhaustive]
    DecidedBy, "rule" {
        /// The policy's backoff: retry.
        Policy = "policy",
        /// A rule of the policy: retry or give up.
        Rule = "rule",
        /// The guarantee: an AT_MOST_ONCE job is not retried.
        AtMostOnce = "at_most_once",
        /// A person or the handler cancelled the job.
        Cancelled = "cancelled",
        /// The class of the failure: it is permanent.
        NonRetryable = "non_retryable",
        /// The policy's `maxRetries`: all are used.
        Exhausted = "exhausted",
        /// The policy's `maxElapsed`: it has passed.
        Expired = "expired",
        /// The guarantee: the attempt was lost, and an AT_MOST_ONCE job must not start again.
        OutcomeUnknown = "outcome_unknown",
        /// The handler: it asked to be called later.
        Snoozed = "snoozed",
        /// The node or worker: it stopped and gave the job back.
        Released = "released",
        /// It is open whether the attempt took effect: ask.
        Question = "question",
    }
}
