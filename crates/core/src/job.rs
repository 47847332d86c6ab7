//! A job: what its creator asked for, which never changes by itself, and how far it has come.

pub(crate) mod attempt;
pub(crate) mod confirm;
pub(crate) mod cost;
pub(crate) mod dependencies;
mod extras;
pub(crate) mod log;
mod new;
pub(crate) mod outbox;
mod run_at;
pub(crate) mod start_deadline;
pub(crate) mod tally;
pub(crate) mod unique;
mod unique_decision;
pub(crate) mod webhook;

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    failure::Failure,
    job::{
        start_deadline::StartDeadline,
        unique::Unique,
        webhook::{Webhook, WebhookTarget},
    },
    limits,
    policy::RetryPolicy,
    state::{EndReason, Guarantee, JobLabel, JobState},
    values::{
        BatchId, ConcurrencyKey, Destination, EndpointId, IdempotencyKey, Invalid, JobId, Kind,
        Payload, Queue, ScheduleId, Tags, Tenant, Timestamp, Traceparent, WorkerName,
    },
};

pub use extras::{JobExtras, NewJobExtras};
pub use new::NewJob;
pub use run_at::RunAt;
pub use unique_decision::{UniqueConflict, UniqueDecision};

/// One durable unit of work, as stored.
// Exhaustive on purpose: every store reads and writes each field.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Unique, and later ids sort later.
    pub id: JobId,
    /// The tenant; `default` unless the creator names another.
    pub tenant: Tenant,
    /// Where it waits; `default` unless the creator names another.
    pub queue: Queue,
    /// The kind, which selects the handler.
    pub kind: Kind,
    /// The handler's input, as JSON; `null` if it needs none.
    pub payload: Payload,
    /// From 0 to 9; of the due jobs, higher ones are claimed first.
    pub priority: Priority,
    /// When a failed attempt is retried: complete, whatever presets and defaults it came from.
    pub policy: Arc<RetryPolicy>,
    /// How often it may start; at least once by default.
    pub guarantee: Guarantee,
    /// How long one attempt may take. `None`: the default of its kind, if that has one.
    pub timeout: Option<Duration>,
    /// How long a claim holds without being renewed.
    pub lease: Duration,
    /// The key that its creator gave, so that repeating the request creates no second job.
    pub idempotency_key: Option<IdempotencyKey>,
    /// Set if a schedule created it.
    pub scheduled_run: Option<ScheduledRun>,
    /// Where events of this job are sent; for a delivery, where it is delivered.
    pub webhook: Option<Arc<Webhook>>,
    /// The system that it calls; for HTTP jobs and deliveries, the origin of their address.
    pub destination: Option<Destination>,
    /// The concurrency key: jobs of a tenant with the same key are limited together.
    pub concurrency_key: Option<ConcurrencyKey>,
    /// The creator's own labels, for finding the job again.
    pub tags: Tags,
    /// Its place in a distributed trace, if its creator gave one.
    pub traceparent: Option<Traceparent>,
    /// Fields that only some jobs have.
    pub extras: Option<Box<JobExtras>>,
    /// When it was stored, by the store's clock; never before a job that it waits for.
    pub created_at: Timestamp,
    /// How far it has come.
    pub progress: JobProgress,
}

/// The schedule and the tick that created a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduledRun {
    /// The schedule that created the job.
    pub schedule: ScheduleId,
    /// The moment the run is for, which may be earlier than its creation.
    pub tick: Timestamp,
}

/// How far a job has come: everything that claims, transitions and commands may change.
// Exhaustive on purpose: every store reads and writes each field.
#[derive(Clone, Debug, PartialEq)]
pub struct JobProgress {
    /// Where the job stands.
    pub state: JobState,
    /// From when the job may be claimed; once it is claimed, from when it could be.
    pub run_at: Timestamp,
    /// Attempts counted so far; a claim adds one, a snooze or release takes it back.
    pub attempt: u32,
    /// Attempts that belong to earlier retry budgets, before a manual retry.
    pub attempts_before: u32,
    /// Claims so far. A claim's number proves that the claim still holds.
    pub fence: Fence,
    /// When the claim expires unless its holder renews it; `None` unless the job is running.
    pub lease_until: Option<Timestamp>,
    /// Who holds the claim; `None` unless the job is running.
    pub worker: Option<WorkerName>,
    /// A person asked to cancel the job while it was running.
    pub cancel_requested: bool,
    /// How often its handler has snoozed it, in this retry budget.
    pub snoozes: u32,
    /// The last delay between attempts, for decorrelated jitter; `None` before the first retry.
    pub last_delay: Option<Duration>,
    /// When the first attempt of this retry budget started, from which `maxElapsed` counts.
    pub first_started_at: Option<Timestamp>,
    /// When the newest attempt started; `None` before the first.
    pub started_at: Option<Timestamp>,
    /// When the job ended; `None` until then.
    pub finished_at: Option<Timestamp>,
    /// The newest failure; a success clears it.
    pub failure: Option<Failure>,
    /// Why the job ended without success; `None` if it succeeded or has not ended.
    pub reason: Option<EndReason>,
    /// When a person discarded the dead letter; `None` if no person has.
    pub resolved_at: Option<Timestamp>,
    /// The handler's newest note on its progress, as [`Note`](crate::Note) writes it; each claim
    /// clears it.
    pub note: Option<String>,
}

impl JobProgress {
    /// A job that was never claimed and is due at `run_at`.
    pub fn waiting(run_at: Timestamp) -> Self {
        Self {
            state: JobState::Waiting,
            run_at,
            attempt: 0,
            attempts_before: 0,
            fence: Fence::default(),
            lease_until: None,
            worker: None,
            cancel_requested: false,
            snoozes: 0,
            last_delay: None,
            first_started_at: None,
            started_at: None,
            finished_at: None,
            failure: None,
            reason: None,
            resolved_at: None,
            note: None,
        }
    }

    /// Whether the job ended `failed` and no person has dealt with it yet.
    pub fn is_dead_letter(&self) -> bool {
        self.state == JobState::Failed && self.resolved_at.is_none()
    }

    /// Whether the next attempt is a retry, for gates that limit those.
    pub fn is_retry(&self) -> bool {
        self.attempt > self.attempts_before
    }

    /// How often it was asked whether the last attempt took effect; `None` if that is not open.
    pub fn questions_asked(&self) -> Option<u32> {
        let failure = self.failure.as_ref().filter(|_| !self.state.is_final());
        failure.and_then(|failure| failure.questions)
    }

    /// Retries used up in the current budget.
    pub fn retries_used(&self) -> u32 {
        self.attempt
            .saturating_sub(self.attempts_before)
            .saturating_sub(1)
    }
}

impl Job {
    /// Whether one of its tags is this one, written `name:value`.
    pub fn has_tag(&self, tag: &str) -> bool {
        // Names may hold colons too.
        tag.match_indices(':').any(|(at, _)| {
            let value = self.tags.get(&tag[..at]);
            value.is_some_and(|value| *value == tag[at + 1..])
        })
    }

    /// The endpoint that it delivers to, if it is a delivery to one.
    pub fn endpoint(&self) -> Option<EndpointId> {
        let target = self.webhook.as_ref().map(|webhook| &webhook.target);
        match target {
            Some(WebhookTarget::Endpoint { endpoint }) if self.kind == Kind::webhook() => {
                Some(*endpoint)
            }
            _ => None,
        }
    }

    /// Retries so far: attempts after the first of this retry budget.
    pub fn retry_count(&self) -> u32 {
        let attempts = self.attempt_number();
        let of_budget = attempts.saturating_sub(self.progress.attempts_before);
        of_budget.saturating_sub(1)
    }

    /// Whether the job ended `failed` and no person has dealt with it yet.
    pub fn is_dead_letter(&self) -> bool {
        self.progress.is_dead_letter()
    }

    /// Whether a failure of the attempt that runs now would be the last, because of its guarantee
    /// or because no retry is left. `maxElapsed` and the failure itself may end the job earlier.
    pub fn is_last_attempt(&self) -> bool {
        let used = self.progress.retries_used();
        self.guarantee == Guarantee::AtMostOnce
            || self.policy.end_reason(used, Duration::ZERO).is_some()
    }

    /// Whether retention may delete the job: it ended before the time given and is no dead
    /// letter. A job with an idempotency key is kept for
    /// [a while](limits::IDEMPOTENCY_KEY_RETENTION_MIN) after its creation, and a discarded one
    /// counts as ended when it was discarded.
    pub fn may_be_pruned(&self, ended_before: Timestamp, now: Timestamp) -> bool {
        let progress = &self.progress;
        let ended_at = progress.resolved_at.or(progress.finished_at);
        let is_key_in_use = self.idempotency_key.is_some()
            && now.since(self.created_at) < limits::IDEMPOTENCY_KEY_RETENTION_MIN;
        progress.state.is_final()
            && !progress.is_dead_letter()
            && ended_at.is_some_and(|ended_at| ended_at < ended_before)
            && !is_key_in_use
    }

    /// The label of the job at the given time.
    pub fn label(&self, now: Timestamp) -> JobLabel {
        let JobProgress { state, run_at, .. } = self.progress;
        match state {
            JobState::Waiting if run_at <= now => JobLabel::Ready,
            JobState::Waiting if self.progress.is_retry() => JobLabel::Retrying,
            JobState::Waiting => JobLabel::Scheduled,
            JobState::Running => JobLabel::Running,
            JobState::Succeeded => JobLabel::Succeeded,
            JobState::Failed => JobLabel::Failed,
            JobState::Cancelled => JobLabel::Cancelled,
        }
    }

    /// The unique key and its rules.
    pub fn unique(&self) -> Option<&Unique> {
        self.extras.as_ref()?.unique.as_ref()
    }

    /// The batch that it is counted in.
    pub fn batch(&self) -> Option<BatchId> {
        self.extras.as_ref()?.batch
    }

    /// Until when it may start its first attempt.
    pub fn start_deadline(&self) -> Option<StartDeadline> {
        self.extras.as_ref()?.start_deadline
    }

    /// Whether it is too late for it to start its first attempt.
    pub fn has_missed_start(&self, now: Timestamp) -> bool {
        let deadline = self.start_deadline();
        deadline.is_some_and(|deadline| deadline.is_missed(&self.progress, now))
    }
}

/// The number of a claim: it proves that the claim still holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fence(pub u32);

impl Fence {
    /// The number of the claim after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// From 0 to 9; of the due jobs, higher ones are claimed first. The default is 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u8")]
pub struct Priority(u8);

impl Priority {
    /// Refuses values above [`limits::PRIORITY_MAX`].
    pub fn new(value: u8) -> Result<Self, Invalid> {
        let most = limits::PRIORITY_MAX;
        if value > most {
            let expected = format!("must be between 0 and {most}");
            return Err(Invalid::new("priority", value, expected));
        }
        Ok(Self(value))
    }

    /// The number, from 0 to 9.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self(limits::PRIORITY_DEFAULT)
    }
}

impl TryFrom<u8> for Priority {
    type Error = Invalid;

    fn try_from(value: u8) -> Result<Self, Invalid> {
        Self::new(value)
    }
}
