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

use crate::{failure::FailureFingerprint, limits, string_enum, time::Timestamp};

pub use observation::FailureObservation;
pub use tally::{FailureExample, FailureTally, HourCounts, NameSet};

string_enum! {
    /// What is known of the cause of a group of failures.
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
    /// What a person can say of a group of failures.
    // Exhaustive on purpose: every part that takes a mark must handle each.
    FailureMark, "state" {
        /// The cause is known.
        Known = "known",
        /// The cause is repaired: being seen again is worth an alert.
        Fixed = "fixed",
    }
}

string_enum! {
    /// What people want to know about a group of failures as soon as it happens.
    // Exhaustive on purpose: notifications must handle each.
    FailureAlert, "alert" {
        /// A failure of a cause that was never seen before.
        NewFailure = "new_failure",
        /// A failure of a cause that counted as repaired.
        Regressed = "regressed",
    }
}

/// All failures of one fingerprint, of one tenant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FailureGroup {
    /// What they have in common.
    pub fingerprint: FailureFingerprint,
    /// As it was written last; [`FailureGroup::state`] says what it is now.
    #[serde(rename = "state")]
    stored_state: FailureState,
    /// When the state was written.
    pub state_since: Timestamp,
    /// What was counted.
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
    Marked(FailureMark),
}

/// A change of a group, to be written and, if it has an alert, notified.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FailureStep {
    /// The group as it is to be stored.
    pub group: FailureGroup,
    /// What people want to know; `None` if this is nothing new.
    pub alert: Option<FailureAlert>,
}

impl FailureGroup {
    /// Decides how an event changes a group, which is `None` if it was never seen. The answer is
    /// `None` if there is nothing to write: a mark of what does not exist, or one that it has
    /// already, or counts of nothing.
    pub fn step(
        stored: Option<&Self>,
        fingerprint: FailureFingerprint,
        event: FailureEvent,
        now: Timestamp,
    ) -> Option<FailureStep> {
        match (stored, event) {
            (None, FailureEvent::Marked(_)) => None,
            (None, FailureEvent::Counted(tally)) => Self::first(fingerprint, *tally),
            (Some(stored), FailureEvent::Marked(mark)) => stored.marked(mark, now),
            (Some(stored), FailureEvent::Counted(tally)) => stored.counted(&tally, now),
        }
    }

    fn first(fingerprint: FailureFingerprint, tally: FailureTally) -> Option<FailureStep> {
        // Only dead letters of a group that was forgotten were counted.
        if tally.count == 0 {
            return None;
        }
        let group = Self {
            fingerprint,
            stored_state: FailureState::New,
            state_since: tally.first_seen,
            tally,
        };
        let alert = Some(FailureAlert::NewFailure);
        Some(FailureStep { group, alert })
    }

    fn marked(&self, mark: FailureMark, now: Timestamp) -> Option<FailureStep> {
        let state = match mark {
            FailureMark::Known => FailureState::Known,
            FailureMark::Fixed => FailureState::Fixed,
        };
        if self.stored_state == state {
            return None;
        }
        let mut group = self.clone();
        group.stored_state = state;
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
        let alert = is_back.then_some(FailureAlert::Regressed);
        Some(FailureStep { group, alert })
    }

    /// What is known of the cause. It stops being new by itself, [`limits::FAILURE_NEW_FOR`] after it
    /// was first seen.
    pub fn state(&self, now: Timestamp) -> FailureState {
        let is_old = now.since(self.tally.first_seen) >= limits::FAILURE_NEW_FOR;
        match self.stored_state {
            FailureState::New if is_old => FailureState::Known,
            state => state,
        }
    }

    /// Which groups are kept when there are more than [`limits::FAILURE_GROUPS_MAX`]: those with the
    /// higher rank. Dead letters that wait for a person come first, then what was seen lately.
    pub fn rank(&self) -> (bool, Timestamp) {
        (self.tally.dead_letters > 0, self.tally.last_seen)
    }
}

#[cfg(test)]
mod tests;
