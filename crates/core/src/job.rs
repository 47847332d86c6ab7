//! A job: what was asked, which never changes by itself, and how far it has come.

mod new;

use std::{collections::BTreeMap, fmt, str::FromStr, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    Failure, IdempotencyKey, Invalid, JobId, Kind, Payload, Queue, RetryPolicy, ScheduleId, Tenant,
    Timestamp, Webhook, WorkerName, limits,
};

pub use new::{NewJob, RunAt};

/// One durable unit of work.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub id: JobId,
    pub tenant: Tenant,
    pub queue: Queue,
    pub kind: Kind,
    pub payload: Payload,
    pub priority: Priority,
    pub policy: Arc<RetryPolicy>,
    pub guarantee: Guarantee,
    /// How long one attempt may take.
    pub timeout: Option<Duration>,
    /// How long a claim holds without being renewed.
    pub lease: Duration,
    pub idempotency_key: Option<IdempotencyKey>,
    pub scheduled_run: Option<ScheduledRun>,
    /// Where news of this job goes; of a delivery, where it is delivered.
    pub webhook: Option<Arc<Webhook>>,
    pub tags: Tags,
    pub created_at: Timestamp,
    pub progress: JobProgress,
}

pub type Tags = BTreeMap<String, String>;

/// Which tick of which schedule a job is the run of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduledRun {
    pub schedule: ScheduleId,
    pub tick: Timestamp,
}

/// How far a job has come: everything that claims, transitions and commands may change.
#[derive(Clone, Debug, PartialEq)]
pub struct JobProgress {
    pub state: JobState,
    /// When the job may be claimed, or was when it last was.
    pub run_at: Timestamp,
    /// Attempts counted so far; a claim adds one, a snooze or release takes it back.
    pub attempt: u32,
    /// Attempts that belong to earlier retry budgets, before a manual retry.
    pub attempts_before: u32,
    /// Claims so far. A claim's number proves that the claim still holds.
    pub fence: Fence,
    pub lease_until: Option<Timestamp>,
    pub worker: Option<WorkerName>,
    /// Someone asked to cancel while the job was running.
    pub cancel_requested: bool,
    pub snoozes: u32,
    /// The last delay between attempts, for decorrelated jitter.
    pub last_delay: Option<Duration>,
    /// When the first attempt of this retry budget started.
    pub first_started_at: Option<Timestamp>,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    /// The newest failure.
    pub failure: Option<Failure>,
    /// Why the job ended as it did, where it did not succeed.
    pub reason: Option<EndReason>,
    /// When somebody dealt with a dead letter by discarding it.
    pub resolved_at: Option<Timestamp>,
    /// What the handler last said about its progress.
    pub note: Option<String>,
}

impl JobProgress {
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

    /// Retries used up in the present budget.
    pub fn retries_used(&self) -> u32 {
        self.attempt
            .saturating_sub(self.attempts_before)
            .saturating_sub(1)
    }
}

impl Job {
    /// Retries so far: attempts after the first of this retry budget.
    pub fn retry_count(&self) -> u32 {
        self.progress.retries_used()
    }

    pub fn is_dead_letter(&self) -> bool {
        self.progress.is_dead_letter()
    }

    /// Whether a failure of the attempt that runs now would be the last, because of its guarantee
    /// or because no retry is left. `maxElapsed` and the failure itself may end the job earlier.
    pub fn is_last_attempt(&self) -> bool {
        let used = self.progress.retries_used();
        self.guarantee == Guarantee::AtMostOnce
            || self.policy.gives_up(used, Duration::ZERO).is_some()
    }

    /// Whether retention may delete the job: it ended before the time given and is no dead
    /// letter. A job with an idempotency key stays for at least a day after it was created, and
    /// a discarded one counts as ended when it was discarded.
    pub fn may_be_pruned(&self, ended_before: Timestamp, now: Timestamp) -> bool {
        let progress = &self.progress;
        let ended_at = progress.resolved_at.or(progress.finished_at);
        let is_key_in_use =
            self.idempotency_key.is_some() && now.since(self.created_at) < limits::DAY;
        progress.state.is_final()
            && !progress.is_dead_letter()
            && ended_at.is_some_and(|ended_at| ended_at < ended_before)
            && !is_key_in_use
    }

    /// The word people are shown.
    pub fn label(&self, now: Timestamp) -> JobLabel {
        let JobProgress {
            state,
            run_at,
            attempt,
            attempts_before,
            ..
        } = self.progress;
        match state {
            JobState::Waiting if run_at <= now => JobLabel::Ready,
            JobState::Waiting if attempt > attempts_before => JobLabel::Retrying,
            JobState::Waiting => JobLabel::Scheduled,
            JobState::Running => JobLabel::Running,
            JobState::Succeeded => JobLabel::Succeeded,
            JobState::Failed => JobLabel::Failed,
            JobState::Cancelled => JobLabel::Cancelled,
        }
    }
}

/// The number of a claim: it proves that the claim still holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fence(pub u32);

impl Fence {
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// 0 to 9, higher first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u8")]
pub struct Priority(u8);

impl Priority {
    pub fn new(value: u8) -> Result<Self, Invalid> {
        let most = crate::limits::PRIORITY_MAX;
        if value > most {
            let expected = format!("must be between 0 and {most}");
            return Err(Invalid::new("priority", value, expected));
        }
        Ok(Self(value))
    }

    pub const fn get(self) -> u8 {
        self.0
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self(crate::limits::PRIORITY_DEFAULT)
    }
}

impl TryFrom<u8> for Priority {
    type Error = Invalid;

    fn try_from(value: u8) -> Result<Self, Invalid> {
        Self::new(value)
    }
}

/// An enum whose variants are words, the same in Rust, SQL and JSON. The caller imports `std::fmt`
/// and `std::str::FromStr`.
#[doc(hidden)]
#[macro_export]
macro_rules! string_enum {
    ($(#[$doc:meta])* $name:ident, $field:literal { $($(#[$word_doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(::serde::Serialize, ::serde::Deserialize)]
        pub enum $name {
            $($(#[$word_doc])* #[serde(rename = $word)] $variant),+
        }

        impl $name {
            /// All of them, in order.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The word that is stored and sent for it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = $crate::Invalid;

            fn from_str(text: &str) -> Result<Self, $crate::Invalid> {
                Self::ALL.iter().copied().find(|word| word.as_str() == text).ok_or_else(|| {
                    let expected = concat!("must be one of", $(" ", $word),+);
                    $crate::Invalid::new($field, format!("{text:?}"), expected)
                })
            }
        }
    };
}

string_enum! {
    /// Where a job stands, as stored.
    JobState, "state" {
        Waiting = "waiting",
        Running = "running",
        Succeeded = "succeeded",
        Failed = "failed",
        Cancelled = "cancelled",
    }
}

impl JobState {
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }
}

string_enum! {
    /// What people are shown: derived from state, `runAt`, attempt and now.
    JobLabel, "label" {
        Scheduled = "scheduled",
        Ready = "ready",
        Running = "running",
        Retrying = "retrying",
        Succeeded = "succeeded",
        Failed = "failed",
        Cancelled = "cancelled",
    }
}

string_enum! {
    /// How often a job may start.
    Guarantee, "type" {
        /// Runs until it succeeds or the policy gives up.
        AtLeastOnce = "AT_LEAST_ONCE",
        /// Starts at most once, ever.
        AtMostOnce = "AT_MOST_ONCE",
    }
}

string_enum! {
    /// Why a job ended without success.
    EndReason, "reason" {
        AtMostOnce = "at_most_once",
        Cancelled = "cancelled",
        Rule = "rule",
        NonRetryable = "non_retryable",
        Exhausted = "exhausted",
        Expired = "expired",
        OutcomeUnknown = "outcome_unknown",
    }
}
