//! Which groups take what was counted.

use std::collections::BTreeMap;

use steadfast_core::{
    FailureEvent, FailureGroup, FailureKey, FailureTally, Tenant, Timestamp,
    limits::FAILURE_GROUPS_MAX,
};

use crate::failures::FailureTallies;

/// The groups that tallies may be added to, as they are stored.
#[derive(Default)]
pub(super) struct StoredGroups {
    pub(super) groups: BTreeMap<FailureKey, FailureGroup>,
    /// How many groups a tenant has, at least if one of them may be new.
    pub(super) counts: BTreeMap<Tenant, usize>,
}

impl StoredGroups {
    /// Adds tallies, and answers with the groups that are to be written.
    pub(super) fn add(&mut self, tallies: FailureTallies, now: Timestamp) -> Vec<FailureGroup> {
        let mut changed = BTreeMap::new();
        for (key, tally) in tallies.into_iter() {
            let key = self.place(key, &tally);
            let event = FailureEvent::Counted(Box::new(tally));
            let stored = self.groups.get(&key);
            let Some(step) = FailureGroup::step(stored, &key, event, now) else {
                continue;
            };
            if stored.is_none() {
                *self.counts.entry(key.tenant.clone()).or_default() += 1;
            }
            self.groups.insert(key.clone(), step.group.clone());
            changed.insert(key, step.group);
        }
        changed.into_values().collect()
    }

    /// The group that takes a tally: its own, unless that would be one too many.
    fn place(&self, key: FailureKey, tally: &FailureTally) -> FailureKey {
        if self.groups.contains_key(&key) {
            return key;
        }
        let count = self.counts.get(&key.tenant).copied().unwrap_or(0);
        // Dead letters of a group that there is not were counted with the others.
        if count >= FAILURE_GROUPS_MAX || tally.count == 0 {
            return key.other();
        }
        key
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use steadfast_core::{
        Dice, Failure, FailureClass, FailureFingerprint, JobId, Kind, NewJob, Outcome, Payload,
        Preset, Subscriptions, Transition, WorkerName, after_attempt,
    };

    use super::*;

    fn failed(message: &str) -> Transition {
        let policy = Arc::new(Preset::Queue.policy());
        let kind = Kind::new("mail").unwrap();
        let job = NewJob::new(JobId::from_bits(1), kind, Payload::default(), policy);
        let job = job.into_job(Timestamp::EPOCH);
        let claim = job.claim(WorkerName::new("w").unwrap(), None, Timestamp::EPOCH);
        let outcome = Outcome::Failure {
            failure: Failure::new(FailureClass::VALIDATION, message),
            output: None,
        };
        let ended = claim.end(outcome, Timestamp::EPOCH);
        after_attempt(&ended, &Subscriptions::default(), Dice::TYPICAL)
    }

    #[test]
    fn what_would_be_one_group_too_many_is_counted_with_the_others() {
        let mut stored = StoredGroups::default();
        let messages = ["no disk", "no room", "no answer"];
        let observed = messages.map(|message| failed(message).observation.unwrap());
        let tenant = observed[0].key.tenant.clone();
        stored.counts.insert(tenant, FAILURE_GROUPS_MAX - 1);
        for (index, dead_letters) in [(0, 1), (1, 1), (2, 2)] {
            let mut tallies = FailureTallies::default();
            tallies.add(&observed[index]);
            let [group] = &stored.add(tallies, Timestamp::EPOCH)[..] else {
                panic!("one group is written");
            };
            let is_other = group.key.fingerprint == FailureFingerprint::OTHER;
            assert_eq!(
                (is_other, group.tally.dead_letters),
                (index > 0, dead_letters)
            );
        }
        let mut tallies = FailureTallies::default();
        tallies.merge(observed[1].key.clone(), &FailureTally::of_resolved(1));
        let other = &stored.add(tallies, Timestamp::EPOCH)[0];
        assert_eq!(other.key.fingerprint, FailureFingerprint::OTHER);
        assert_eq!(other.tally.dead_letters, 1);
    }
}
