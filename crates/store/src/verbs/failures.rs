//! Failure groups: what failed for one reason, counted together.

mod stored_groups;
mod walk;

use std::collections::HashSet;

use async_trait::async_trait;
use steadfast_core::{
    AuditRecord, FailureEvent, FailureGroup, FailureKey, FailureMark, FailureState, JobId,
    Timestamp, limits::FAILURE_NEW_FOR,
};

use super::audit::save_audit;
use crate::{
    drivers::{
        Asker, Driver,
        driver_error::DriverError,
        transaction::{Reads, Transaction},
    },
    error::StoreError,
    store::{FailureCursor, FailureFilter, FailureStore, Page, PageRequest},
};
use stored_groups::StoredGroups;
use walk::FailureWalk;

#[async_trait]
impl<D: Driver> FailureStore for D {
    async fn list_failures(
        &self,
        filter: FailureFilter,
        page: PageRequest<FailureCursor>,
    ) -> Result<Page<FailureGroup, FailureCursor>, StoreError> {
        self.add_failure_counts().await?;
        let arguments = (filter, page);
        self.read("list_failures", Asker::Caller, arguments, |tx, it| {
            Box::pin(list(tx, &it.0, &it.1))
        })
        .await
    }

    async fn new_failures(&self, limit: usize) -> Result<Vec<FailureGroup>, StoreError> {
        self.add_failure_counts().await?;
        self.read("new_failures", Asker::Caller, limit, |tx, limit| {
            Box::pin(list_new(tx, *limit))
        })
        .await
    }

    async fn mark_failure(
        &self,
        key: FailureKey,
        mark: FailureMark,
        by: Option<String>,
        audit: Option<AuditRecord>,
    ) -> Result<Option<FailureGroup>, StoreError> {
        self.add_failure_counts().await?;
        let event = FailureEvent::Marked(mark, by);
        self.transact("mark_failure", 1, (key, event, audit), |tx, it| {
            Box::pin(change(tx, &it.0, &it.1, it.2.as_ref()))
        })
        .await
    }
}

/// Only one transaction at a time changes groups.
const LOCK: &str = "failure groups";

/// Adds some of what was counted to its groups. Answers whether there was anything to add.
pub(crate) async fn add_counts(tx: &mut dyn Transaction) -> Result<bool, DriverError> {
    tx.lock_names(&[LOCK.to_owned()]).await?;
    let tallies = tx.take_failure_counts().await?;
    if tallies.is_empty() {
        return Ok(false);
    }
    let mut keys: Vec<FailureKey> = tallies.keys().cloned().collect();
    keys.extend(tallies.keys().map(FailureKey::other));
    keys.sort_unstable();
    keys.dedup();
    let mut stored = StoredGroups::default();
    for group in tx.failure_groups(&keys).await? {
        stored.groups.insert(group.key.clone(), group);
    }
    let new = tallies
        .keys()
        .filter(|key| !stored.groups.contains_key(key));
    let mut tenants: Vec<&str> = new.map(|key| key.tenant.as_str()).collect();
    tenants.dedup();
    stored
        .counts
        .extend(tx.count_failure_groups(&tenants).await?);
    let now = tx.now();
    tx.save_failure_groups(&stored.add(tallies, now)).await?;
    Ok(true)
}

async fn change(
    tx: &mut dyn Transaction,
    key: &FailureKey,
    event: &FailureEvent,
    audit: Option<&AuditRecord>,
) -> Result<Option<FailureGroup>, DriverError> {
    // A transaction that is shared with others may have counted failures of the group.
    add_counts(tx).await?;
    let found = tx.failure_groups(std::slice::from_ref(key)).await?;
    let Some(stored) = found.into_iter().next() else {
        return Ok(None);
    };
    let Some(step) = FailureGroup::step(Some(&stored), key, event.clone(), tx.now()) else {
        return Ok(Some(stored));
    };
    tx.save_failure_groups(std::slice::from_ref(&step.group))
        .await?;
    save_audit(tx, audit).await?;
    Ok(Some(step.group))
}

/// Takes the text of some jobs out of groups that have one of them as their example.
pub(super) async fn remove_examples(
    tx: &mut dyn Transaction,
    keys: &[FailureKey],
    jobs: &HashSet<JobId>,
) -> Result<(), DriverError> {
    if keys.is_empty() {
        return Ok(());
    }
    while add_counts(tx).await? {}
    let mut groups = tx.failure_groups(keys).await?;
    groups.retain_mut(|group| group.remove_example(|job| jobs.contains(&job)));
    tx.save_failure_groups(&groups).await
}

async fn list(
    tx: &mut dyn Reads,
    filter: &FailureFilter,
    page: &PageRequest<FailureCursor>,
) -> Result<Page<FailureGroup, FailureCursor>, DriverError> {
    let now = tx.now();
    if let (Some(tenant), Some(fingerprint)) = (&filter.tenant, filter.fingerprint) {
        let key = FailureKey::new(tenant.clone(), fingerprint);
        let mut items = tx.failure_groups(&[key]).await?;
        items.retain(|group| {
            let after = page.after.as_ref();
            filter.matches(group, now)
                && after.is_none_or(|after| FailureCursor::of(group) < *after)
        });
        return Ok(Page { items, next: None });
    }
    let mut walk = FailureWalk::new(filter, page, now);
    while !walk.is_over() {
        let (tenant, below) = (filter.tenant.as_ref(), walk.below.as_ref());
        let rows = tx.failure_rows(tenant, below, FailureWalk::ROWS).await?;
        walk.take(rows);
    }
    Ok(walk.page())
}

async fn list_new(tx: &mut dyn Reads, limit: usize) -> Result<Vec<FailureGroup>, DriverError> {
    let now = tx.now();
    let mut groups = Vec::new();
    let states = [
        (FailureState::New, now.minus(FAILURE_NEW_FOR)),
        (FailureState::Regressed, Timestamp::EPOCH),
    ];
    for (state, since) in states {
        let found = tx.failures_in_state(state, since, limit).await?;
        groups.extend(found.into_iter().filter(|group| group.state(now) == state));
    }
    Ok(groups)
}
