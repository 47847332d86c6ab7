//! Counts of failures, which add up to the same in any order.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::FailureObservation;
use crate::{
    failure::Failure,
    limits,
    values::{JobId, Timestamp, truncate},
};

/// What was counted of the failures of one fingerprint: all of them, or those that one node has
/// seen. [`FailureTally::merge`] may be called in any order with the same result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FailureTally {
    /// When the first of them ended.
    pub first_seen: Timestamp,
    /// When the newest of them ended.
    pub last_seen: Timestamp,
    /// How many attempts failed.
    pub count: u64,
    /// The same by the hour.
    pub hours: HourCounts,
    /// How many jobs they were of. A job that failed otherwise in between counts again.
    pub jobs: u64,
    /// How many of those are dead letters; below zero in a part that counts only requeued ones.
    pub dead_letters: i64,
    /// The kinds of the jobs.
    #[serde(default)]
    pub kinds: NameSet,
    /// The queues of the jobs.
    #[serde(default)]
    pub queues: NameSet,
    /// The destinations of the jobs.
    pub destinations: NameSet,
    /// Versions of the workers that ran them.
    pub worker_versions: NameSet,
    /// The newest of them; `None` if none was counted.
    pub example: Option<FailureExample>,
}

/// One failure of a group, for people to look at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FailureExample {
    /// When the attempt ended.
    pub at: Timestamp,
    /// The job of the attempt.
    pub job: JobId,
    /// The number of the attempt.
    pub attempt: u32,
    /// The failure.
    pub failure: Failure,
}

impl FailureTally {
    fn empty() -> Self {
        Self {
            first_seen: Timestamp::MAX,
            last_seen: Timestamp::EPOCH,
            count: 0,
            hours: HourCounts::default(),
            jobs: 0,
            dead_letters: 0,
            kinds: NameSet::default(),
            queues: NameSet::default(),
            destinations: NameSet::default(),
            worker_versions: NameSet::default(),
            example: None,
        }
    }

    /// The tally of one failed attempt.
    pub fn of(observed: &FailureObservation) -> Self {
        let mut tally = Self::empty();
        tally.first_seen = observed.at;
        tally.last_seen = observed.at;
        tally.count = 1;
        tally.hours.add(observed.at, 1);
        tally.jobs = observed.is_first_of_job.into();
        tally.dead_letters = observed.is_dead_letter.into();
        tally.kinds.insert(observed.kind.as_str());
        tally.queues.insert(observed.queue.as_str());
        if let Some(destination) = &observed.destination {
            tally.destinations.insert(destination.as_str());
        }
        if let Some(version) = &observed.worker_version {
            tally.worker_versions.insert(version);
        }
        tally.example = Some(FailureExample {
            at: observed.at,
            job: observed.job,
            attempt: observed.attempt,
            failure: observed.failure.clone(),
        });
        tally
    }

    /// The tally of this many dead letters that were requeued, discarded or deleted.
    pub fn of_resolved(dead_letters: u32) -> Self {
        Self {
            dead_letters: -i64::from(dead_letters),
            ..Self::empty()
        }
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.count == 0 && self.dead_letters == 0
    }

    /// Adds what was counted elsewhere.
    pub fn merge(&mut self, other: &Self) {
        self.first_seen = self.first_seen.min(other.first_seen);
        self.last_seen = self.last_seen.max(other.last_seen);
        self.count = self.count.saturating_add(other.count);
        self.hours.merge(&other.hours);
        self.jobs = self.jobs.saturating_add(other.jobs);
        self.dead_letters = self.dead_letters.saturating_add(other.dead_letters);
        self.kinds.merge(&other.kinds);
        self.queues.merge(&other.queues);
        self.destinations.merge(&other.destinations);
        self.worker_versions.merge(&other.worker_versions);
        let order = |example: &FailureExample| (example.at, example.job, example.attempt);
        let (ours, theirs) = (self.example.as_ref(), other.example.as_ref());
        if theirs.map(order) > ours.map(order) {
            self.example = other.example.clone();
        }
    }
}

/// Counts of the last [`limits::FAILURE_HOURS_MAX`] hours that have any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<(Timestamp, u64)>", into = "Vec<(Timestamp, u64)>")]
pub struct HourCounts {
    /// By the number of the hour since 1970.
    counts: BTreeMap<i64, u64>,
}

const HOUR_MICROS: i64 = 60 * 60 * 1_000_000; // not a limit: an hour

impl HourCounts {
    fn add(&mut self, at: Timestamp, count: u64) {
        let hour = self.counts.entry(at.as_micros() / HOUR_MICROS).or_default();
        *hour = hour.saturating_add(count);
        self.forget_old();
    }

    fn merge(&mut self, other: &Self) {
        for (hour, count) in &other.counts {
            let hour = self.counts.entry(*hour).or_default();
            *hour = hour.saturating_add(*count);
        }
        self.forget_old();
    }

    fn forget_old(&mut self) {
        if let Some((newest, _)) = self.counts.last_key_value() {
            let oldest = newest - limits::FAILURE_HOURS_MAX + 1;
            self.counts = self.counts.split_off(&oldest);
        }
    }

    /// Forgets hours that have not come yet: a clock was ahead, and would hide the true ones.
    pub(super) fn forget_after(&mut self, now: Timestamp) {
        let next = now.plus(limits::CLOCK_STEP_MAX).as_micros() / HOUR_MICROS + 1;
        self.counts.split_off(&next);
    }

    /// The counts of the last hours, the oldest first and the current one last; 0 for an hour
    /// without any.
    pub fn until(&self, now: Timestamp) -> Vec<u64> {
        let newest = now.as_micros() / HOUR_MICROS;
        let hours = newest - limits::FAILURE_HOURS_MAX + 1..=newest;
        hours
            .map(|hour| self.counts.get(&hour).copied().unwrap_or(0))
            .collect()
    }
}

impl From<Vec<(Timestamp, u64)>> for HourCounts {
    fn from(hours: Vec<(Timestamp, u64)>) -> Self {
        let mut counts = Self::default();
        for (start, count) in hours {
            counts.add(start, count);
        }
        counts
    }
}

impl From<HourCounts> for Vec<(Timestamp, u64)> {
    fn from(hours: HourCounts) -> Self {
        let start = |hour: i64| Timestamp::from_micros(hour.saturating_mul(HOUR_MICROS));
        let hours = hours.counts.into_iter();
        hours.map(|(hour, count)| (start(hour), count)).collect()
    }
}

/// A few of the names that occurred, at most [`limits::FAILURE_NAMES_MAX`], and whether there were
/// more. Of too many the first in their order are kept, so that it does not matter who saw which.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct NameSet {
    /// The names that are kept.
    pub names: BTreeSet<String>,
    /// Whether others were left out.
    #[serde(default)]
    pub has_more: bool,
}

impl NameSet {
    fn insert(&mut self, name: &str) {
        let name = truncate(name.to_owned(), limits::DESTINATION_BYTES_MAX);
        self.names.insert(name);
        self.shorten();
    }

    fn merge(&mut self, other: &Self) {
        self.names.extend(other.names.iter().cloned());
        self.has_more |= other.has_more;
        self.shorten();
    }

    fn shorten(&mut self) {
        while self.names.len() > limits::FAILURE_NAMES_MAX {
            self.names.pop_last();
            self.has_more = true;
        }
    }
}
