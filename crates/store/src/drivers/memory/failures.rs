//! Rows of failure groups.

use std::cmp::Reverse;

use async_trait::async_trait;
use steadfast_core::{FailureGroup, FailureKey, FailureState, Tenant, Timestamp};

use super::tables::Tables;
use super::transaction::{MemoryTransaction, finish};
use crate::{
    drivers::{
        driver_error::DriverError,
        transaction::{FailureReads, FailureRow, FailureWrites},
    },
    failures::FailureTallies,
    store::FailureCursor,
    verbs::failures::add_counts,
};

impl Tables {
    pub(super) fn count_failures(&mut self, tallies: FailureTallies, now: Timestamp) {
        if tallies.is_empty() {
            return;
        }
        self.failure_counts = tallies;
        // Nothing fails here.
        finish(add_counts(&mut self.seam(now))).ok();
    }
}

#[async_trait]
impl FailureReads for MemoryTransaction<'_> {
    async fn failure_groups(
        &mut self,
        keys: &[FailureKey],
    ) -> Result<Vec<FailureGroup>, DriverError> {
        let found = keys.iter().filter_map(|key| self.tables.failures.get(key));
        Ok(found.cloned().collect())
    }

    async fn failure_rows(
        &mut self,
        tenant: Option<&Tenant>,
        below: Option<&FailureCursor>,
        limit: usize,
    ) -> Result<Vec<FailureRow>, DriverError> {
        let groups = self.tables.failures.values();
        let groups = groups.filter(|it| tenant.is_none_or(|tenant| it.key.tenant == *tenant));
        let rows = groups.map(|group| FailureRow {
            cursor: FailureCursor::of(group),
            group: Some(group.clone()),
        });
        let mut rows: Vec<FailureRow> = rows
            .filter(|row| below.is_none_or(|below| row.cursor < *below))
            .collect();
        rows.sort_by(|one, other| other.cursor.cmp(&one.cursor));
        rows.truncate(limit);
        Ok(rows)
    }

    async fn failures_in_state(
        &mut self,
        state: FailureState,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<FailureGroup>, DriverError> {
        let groups = self.tables.failures.values();
        let groups = groups.filter(|it| it.stored_state() == state && it.state_since >= since);
        let mut found: Vec<&FailureGroup> = groups.collect();
        found.sort_by_key(|group| Reverse(group.state_since));
        Ok(found.into_iter().take(limit).cloned().collect())
    }

    async fn count_failure_groups(
        &mut self,
        tenants: &[&str],
    ) -> Result<Vec<(Tenant, usize)>, DriverError> {
        let mut counts: Vec<(Tenant, usize)> = Vec::new();
        for key in self.tables.failures.keys() {
            match counts.last_mut() {
                Some((tenant, count)) if *tenant == key.tenant => *count += 1,
                _ if tenants.contains(&key.tenant.as_str()) => {
                    counts.push((key.tenant.clone(), 1));
                }
                _ => {}
            }
        }
        Ok(counts)
    }
}

#[async_trait]
impl FailureWrites for MemoryTransaction<'_> {
    async fn take_failure_counts(&mut self) -> Result<FailureTallies, DriverError> {
        Ok(std::mem::take(&mut self.tables.failure_counts))
    }

    async fn save_failure_groups(&mut self, groups: &[FailureGroup]) -> Result<(), DriverError> {
        let groups = groups
            .iter()
            .map(|group| (group.key.clone(), group.clone()));
        self.tables.failures.extend(groups);
        Ok(())
    }
}
