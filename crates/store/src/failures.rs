//! Failures on their way to the counts of their groups.
//!
//! A batch of attempts that failed for one reason adds up to one tally, whichever store writes it.

use std::collections::BTreeMap;

use steadfast_core::{FailureKey, FailureObservation, FailureTally, Job};

/// What was counted in a transaction, one tally for each group.
#[derive(Default)]
pub(crate) struct FailureTallies(BTreeMap<FailureKey, FailureTally>);

impl FailureTallies {
    /// Adds a failed attempt.
    pub(crate) fn add(&mut self, observed: &FailureObservation) {
        self.merge(observed.key.clone(), &FailureTally::of(observed));
    }

    /// Takes away a dead letter, if a job was one and is none any more.
    pub(crate) fn resolve(&mut self, before: Option<FailureKey>, after: &Job) {
        if let Some(key) = before.filter(|_| !after.is_dead_letter()) {
            self.merge(key, &FailureTally::of_resolved(1));
        }
    }

    pub(crate) fn merge(&mut self, key: FailureKey, tally: &FailureTally) {
        let known = self.0.entry(key);
        known
            .and_modify(|known| known.merge(tally))
            .or_insert_with(|| tally.clone());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &FailureKey> {
        self.0.keys()
    }

    pub(crate) fn into_iter(self) -> impl Iterator<Item = (FailureKey, FailureTally)> {
        self.0.into_iter()
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&FailureKey, &FailureTally)> {
        self.0.iter()
    }
}

/// The group that counts a job among its dead letters.
pub(crate) fn dead_letter_key(job: &Job) -> Option<FailureKey> {
    let failure = job.progress.failure.as_ref();
    let fingerprint = failure.and_then(|failure| failure.fingerprint);
    let fingerprint = fingerprint.filter(|_| job.is_dead_letter())?;
    Some(FailureKey::new(job.tenant.clone(), fingerprint))
}
