//! Incidents of a destination, and its `Retry-After`.

use std::{collections::BTreeSet, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    explain::{count_of, with_most_recent},
    flow::quota::LimitHeader,
    limits,
    values::{JobId, Tenant, Timestamp},
};

/// A time in which a destination did not work, or was held by a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Incident {
    /// When it was noticed.
    pub began_at: Timestamp,
    /// When it was over; `None` until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Why it began.
    pub cause: IncidentCause,
    /// Times at which a probe, or a ramp after one, has failed; where attempts go on, those at which
    /// one would have.
    #[serde(default)]
    pub failed_probes: u32,
    /// Attempts that failed because of the destination after it began.
    #[serde(default)]
    pub failed_attempts: u64,
    /// The most due jobs that waited for its end at one time.
    #[serde(default)]
    pub jobs_delayed: u64,
    /// Jobs that ended `failed` because of the destination after it began; `None` if they were not
    /// counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_letters: Option<u64>,
    /// When jobs began to start again, if they have gone on doing so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovered_at: Option<Timestamp>,
    /// Whether no due job waited for it when it ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_caught_up: bool,
    /// The tenants whose attempts failed, up to [`limits::HEALTH_TENANTS_MAX`](crate::limits::HEALTH_TENANTS_MAX).
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub tenants: BTreeSet<Tenant>,
    /// Who released it, if a person did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released_by: Option<String>,
    /// When jobs began to follow their policies again because it lasted too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_up_at: Option<Timestamp>,
}

/// Why an incident began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum IncidentCause {
    /// Too many attempts failed.
    Failures {
        /// Attempts that ended within the window.
        attempts: u32,
        /// Those of them that failed because of the destination.
        failed: u32,
        /// How many different jobs they were of, at least.
        jobs: u32,
        /// The newest failure: its class, status and message, shortened.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        newest: Option<String>,
    },
    /// A person held it.
    ByHand {
        /// Who; `None` if that is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// For people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

impl IncidentCause {
    /// The cause in words, with or without the newest failure.
    pub fn describe(&self, shows_newest: bool) -> String {
        match self {
            Self::Failures {
                attempts,
                failed,
                jobs,
                newest,
            } => {
                // No more jobs than these are kept.
                let at_least = match *jobs {
                    limits::HEALTH_MIN_JOBS_MAX.. => "at least ",
                    _ => "",
                };
                let jobs = count_of((*jobs).into(), "job", "jobs");
                let text = format!("{failed} of {attempts} attempts of {at_least}{jobs} failed");
                with_most_recent(&text, newest.as_deref().filter(|_| shows_newest))
            }
            Self::ByHand { by, reason } => {
                let by = by.as_ref().map_or(String::new(), |by| format!(" by {by}"));
                match reason {
                    Some(reason) => format!("held{by}: {reason}"),
                    None => format!("held{by}"),
                }
            }
        }
    }
}

impl Incident {
    pub(super) fn new(cause: IncidentCause, now: Timestamp) -> Self {
        Self {
            began_at: now,
            ended_at: None,
            cause,
            failed_probes: 0,
            failed_attempts: 0,
            jobs_delayed: 0,
            dead_letters: Some(0),
            recovered_at: None,
            has_caught_up: false,
            tenants: BTreeSet::new(),
            released_by: None,
            given_up_at: None,
        }
    }

    /// Attempts that holding has saved, at least: each job that waited would have failed once.
    pub fn attempts_saved(&self) -> u64 {
        self.jobs_delayed
    }

    /// Attempts that holding would have saved where attempts went on: those that failed, but for
    /// the probes.
    pub fn avoidable_attempts(&self) -> u64 {
        self.failed_attempts
            .saturating_sub(self.failed_probes.into())
    }

    /// How long it took from the recovery of the destination until no due job waited for it.
    pub fn caught_up_in(&self) -> Option<Duration> {
        let (recovered_at, ended_at) = (self.recovered_at?, self.ended_at?);
        self.has_caught_up.then(|| ended_at.since(recovered_at))
    }

    /// How long it has lasted.
    pub fn duration(&self, now: Timestamp) -> Duration {
        self.ended_at.unwrap_or(now).since(self.began_at)
    }
}

/// Who holds a destination, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ManualHold {
    /// Who; `None` if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Since when.
    pub since: Timestamp,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A `Retry-After` that counts for all jobs of a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SharedRetryAfter {
    /// No job should call before.
    pub until: Timestamp,
    /// The job that received it.
    pub job: JobId,
    /// When it did.
    pub at: Timestamp,
    /// The status it came with.
    pub status: u16,
    /// The header that said so.
    #[serde(default, skip_serializing_if = "LimitHeader::is_retry_after")]
    pub header: LimitHeader,
    /// Whether a call of a node received it, and not only a worker says so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_call: bool,
}

impl SharedRetryAfter {
    /// The one that ends later.
    pub(super) fn later(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        one.into_iter()
            .chain(other)
            .max_by_key(|retry_after| retry_after.until)
    }

    /// The same wait, if the clock has been set back since.
    pub(super) fn not_in_future(mut self, now: Timestamp) -> Self {
        if self.at > now {
            self.until = now.plus(self.until.since(self.at));
            self.at = now;
        }
        self
    }
}

/// A time in which jobs were held: `maxElapsed` does not count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HoldInterval {
    pub from: Timestamp,
    pub to: Timestamp,
    /// Held for all, whatever their setting.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_hand: bool,
}

impl HoldInterval {
    /// One interval for two, as long as both together: it begins a little later than the first did.
    pub(super) fn joined(self, next: Self) -> Self {
        Self {
            from: next.from.minus(self.to.since(self.from)),
            ..next
        }
    }
}
