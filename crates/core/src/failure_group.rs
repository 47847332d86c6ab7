//! Failures of one cause, counted together.
//!
//! Nodes count apart and add up later, in any order and perhaps at the same time, so a
//! [`FailureTally`] is made of parts whose sum does not depend on the order. What a person has
//! said of a cause, and what follows when it comes back, is the [`FailureGroup`] around it, which
//! one writer at a time changes with [`FailureGroup::step`].

mod observation;
mod tally;

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{
    failure::FailureFingerprint,
    limits,
    values::{JobId, Tenant, Timestamp, hash_number, string_enum},
};

pub use observation::FailureObservation;
pub use tally::{FailureExample, FailureTally, HourCounts, NameSet};

string_enum! {
    /// The state of a group of failures.
    // Exhaustive on purpose: pages and filters must handle each.
    FailureState, "state" {
        /// First seen lately, and no person has looked at it.
        New = "new",
        /// A person has looked at it, or it has been there for a while.
        Known = "known",
        /// A person says that it is repaired, and it was not seen since.
        Fixed = "fixed",
        /// Seen again after it was repaired.
        Regressed = "regressed",
    }
}

string_enum! {
    /// A person's mark on a group of failures.
    // Exhaustive on purpose: every part that takes a mark must handle each.
    FailureMark, "state" {
        /// A mark was a mistake: the cause is still unknown.
        New = "new",
        /// The cause is known.
        Known = "known",
        /// The cause is repaired: being seen again is worth an alert.
        Fixed = "fixed",
    }
}

string_enum! {
    /// An event of a group of failures that fires an alert.
    // Exhaustive on purpose: notifications must handle each.
    FailureAlert, "alert" {
        /// A failure of a cause that was never seen before.
        NewFailure = "new_failure",
        /// A failure of a cause that counted as repaired.
        Regressed = "regressed",
    }
}

/// The key of a group: the failures of a tenant with this fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FailureKey {
    /// The tenant of the failed jobs.
    pub tenant: Tenant,
    /// The fingerprint of the failures.
    pub fingerprint: FailureFingerprint,
}

impl FailureKey {
    /// The group of a tenant with this fingerprint.
    pub fn new(tenant: Tenant, fingerprint: FailureFingerprint) -> Self {
        Self {
            tenant,
            fingerprint,
        }
    }

    /// The group in which failures of the tenant are counted that would make one too many.
    #[must_use]
    pub fn other(&self) -> Self {
        Self::new(self.tenant.clone(), FailureFingerprint::OTHER)
    }

    /// The number by which a store finds the jobs of the group; every node finds it by itself.
    pub fn number(&self) -> i64 {
        hash_number(&[self.tenant.as_str(), &self.fingerprint.to_string()])
    }
}

/// All failures of one fingerprint, of one tenant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FailureGroup {
    /// The tenant and the fingerprint.
    #[serde(flatten)]
    pub key: FailureKey,
    /// As it was written last; [`FailureGroup::state`] says what it is now.
    #[serde(rename = "state")]
    stored_state: FailureState,
    /// When the state was written.
    pub state_since: Timestamp,
    /// Who marked it last, if a person did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marked_by: Option<String>,
    /// The counts.
    #[serde(flatten)]
    pub tally: FailureTally,
}

/// Something that happened to a group of failures.
// Exhaustive on purpose: every writer of groups must handle each.
#[derive(Clone, Debug, PartialEq)]
pub enum FailureEvent {
    /// Failures, or dead letters that were requeued or discarded, were counted.
    Counted(Box<FailureTally>),
    /// A person has said what it is.
    Marked(FailureMark, Option<String>),
}

/// A change of a group, to be written and, if it has an alert, notified.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FailureStep {
    /// The group as it is to be stored.
    pub group: FailureGroup,
    /// The event that fires an alert, if any.
    pub alert: Option<FailureAlert>,
}

impl FailureGroup {
    /// Decides how an event changes a group, which is `None` if it was never seen. The answer is
    /// `None` if there is nothing to write: a mark of what does not exist, or one that it has
    /// already, or counts of nothing.
    pub fn step(
        stored: Option<&Self>,
        key: &FailureKey,
        event: FailureEvent,
        now: Timestamp,
    ) -> Option<FailureStep> {
        match (stored, event) {
            (None, FailureEvent::Marked(..)) => None,
            (None, FailureEvent::Counted(tally)) => Self::first(key.clone(), *tally),
            (Some(stored), FailureEvent::Marked(mark, by)) => stored.marked(mark, by, now),
            (Some(stored), FailureEvent::Counted(tally)) => stored.counted(&tally, now),
        }
    }

    fn first(key: FailureKey, mut tally: FailureTally) -> Option<FailureStep> {
        // Only dead letters of a group that was forgotten were counted.
        if tally.count == 0 {
            return None;
        }
        tally.dead_letters = tally.dead_letters.max(0);
        let group = Self {
            key,
            stored_state: FailureState::New,
            state_since: tally.first_seen,
            marked_by: None,
            tally,
        };
        let alert = Some(FailureAlert::NewFailure);
        Some(FailureStep { group, alert })
    }

    fn marked(&self, mark: FailureMark, by: Option<String>, now: Timestamp) -> Option<FailureStep> {
        let state = match mark {
            FailureMark::New => FailureState::New,
            FailureMark::Known => FailureState::Known,
            FailureMark::Fixed => FailureState::Fixed,
        };
        if self.stored_state == state {
            return None;
        }
        let mut group = self.clone();
        group.stored_state = state;
        group.marked_by = by;
        // A failure that was counted already is none that came back, whatever the clocks say.
        group.state_since = now.max(self.tally.last_seen);
        Some(FailureStep { group, alert: None })
    }

    fn counted(&self, tally: &FailureTally, now: Timestamp) -> Option<FailureStep> {
        if tally.is_empty() {
            return None;
        }
        let mut group = self.clone();
        // What a node counted before the mark may be added after it.
        let is_back = self.stored_state == FailureState::Fixed
            && tally.count > 0
            && tally.last_seen > self.state_since;
        if is_back {
            group.stored_state = FailureState::Regressed;
            group.state_since = tally.last_seen;
        }
        group.tally.hours.forget_after(now);
        group.tally.merge(tally);
        // Dead letters that were counted in the group of all others may be taken from this one.
        group.tally.dead_letters = group.tally.dead_letters.max(0);
        let alert = is_back.then_some(FailureAlert::Regressed);
        Some(FailureStep { group, alert })
    }

    /// The state at this time. A group stops being new by itself, [`limits::FAILURE_NEW_FOR`] after it
    /// was first seen.
    pub fn state(&self, now: Timestamp) -> FailureState {
        let is_old = now.since(self.tally.first_seen) >= limits::FAILURE_NEW_FOR;
        match self.stored_state {
            FailureState::New if is_old => FailureState::Known,
            state => state,
        }
    }

    /// The state as it is stored, which does not change by itself.
    pub fn stored_state(&self) -> FailureState {
        self.stored_state
    }

    /// The message without its changing parts; empty if nothing was counted.
    pub fn pattern(&self) -> String {
        let example = self.tally.example.as_ref();
        example.map_or_else(String::new, |example| example.failure.pattern())
    }

    /// The pattern; the class of a failure that says nothing, such as a lost attempt.
    pub fn summary(&self) -> String {
        match (self.pattern(), &self.tally.example) {
            (pattern, Some(example)) if pattern.is_empty() => example.failure.class.to_string(),
            (pattern, _) => pattern,
        }
    }

    /// Takes the text out of the example if it is of such a job, which is to be erased. Answers whether
    /// it was.
    pub fn remove_example(&mut self, is_erased: impl Fn(JobId) -> bool) -> bool {
        match &mut self.tally.example {
            Some(example) if is_erased(example.job) => {
                example.failure.message = String::new();
                example.failure.trace = None;
                true
            }
            _ => false,
        }
    }

    /// Whether retention may delete it: no dead letter waits, and it was not seen since.
    pub fn may_be_pruned(&self, seen_before: Timestamp) -> bool {
        self.tally.dead_letters == 0 && self.tally.last_seen < seen_before
    }
}

#[cfg(test)]
mod tests;
