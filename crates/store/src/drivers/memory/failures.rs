//! Groups of failures.

use std::cmp::Reverse;

use steadfast_core::{
    AuditRecord, FailureEvent, FailureGroup, FailureKey, FailureMark, FailureState, Timestamp,
};

use super::tables::Tables;
use crate::{
    failures::{FailureTallies, StoredGroups},
    store::{FailureCursor, FailureFilter, Page, PageRequest},
};

impl Tables {
    pub(super) fn count_failures(&mut self, tallies: FailureTallies, now: Timestamp) {
        if tallies.is_empty() {
            return;
        }
        let mut stored = StoredGroups::default();
        for key in tallies.keys() {
            if !self.failures.contains_key(key) {
                let groups = self.failures.range(key.other()..);
                let count = groups.take_while(|(it, _)| it.tenant == key.tenant).count();
                stored.counts.insert(key.tenant.clone(), count);
            }
            for key in [key.clone(), key.other()] {
                let group = self.failures.get(&key).cloned();
                stored.groups.extend(group.map(|group| (key, group)));
            }
        }
        for group in stored.add(tallies, now) {
            self.failures.insert(group.key.clone(), group);
        }
    }

    pub(super) fn mark_failure(
        &mut self,
        key: &FailureKey,
        mark: FailureMark,
        by: Option<String>,
        audit: Option<AuditRecord>,
        now: Timestamp,
    ) -> Option<FailureGroup> {
        let stored = self.failures.get(key)?;
        let event = FailureEvent::Marked(mark, by);
        if let Some(step) = FailureGroup::step(Some(stored), key, event, now) {
            self.failures.insert(key.clone(), step.group);
            self.save_audit(audit);
        }
        self.failures.get(key).cloned()
    }

    pub(super) fn list_failures(
        &self,
        filter: &FailureFilter,
        page: PageRequest<FailureCursor>,
        now: Timestamp,
    ) -> Page<FailureGroup, FailureCursor> {
        let groups = self.failures.values();
        let mut found: Vec<&FailureGroup> = groups
            .filter(|group| filter.matches(group, now))
            .filter(|group| {
                let after = page.after.as_ref();
                after.is_none_or(|after| FailureCursor::of(group) < *after)
            })
            .collect();
        found.sort_by_key(|group| Reverse(FailureCursor::of(group)));
        let has_more = found.len() > page.limit;
        found.truncate(page.limit);
        let last = found.last().filter(|_| has_more);
        Page {
            next: last.map(|group| FailureCursor::of(group)),
            items: found.into_iter().cloned().collect(),
        }
    }

    pub(super) fn new_failures(&self, limit: usize, now: Timestamp) -> Vec<FailureGroup> {
        let states = [FailureState::New, FailureState::Regressed];
        let of_state = |state| {
            let groups = self.failures.values();
            let mut found: Vec<&FailureGroup> =
                groups.filter(|group| group.state(now) == state).collect();
            found.sort_by_key(|group| Reverse(group.state_since));
            found.into_iter().take(limit).cloned()
        };
        states.into_iter().flat_map(of_state).collect()
    }
}
