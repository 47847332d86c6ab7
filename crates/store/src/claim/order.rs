//! Strips by tenant: the tenant that has had least first, then the higher priority, then the
//! earlier time.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
};

use steadfast_core::{Share, Tenant, Timestamp};

use super::DueRange;
use crate::limits::FEW_RANGES;

/// Within a tenant.
type Urgency = (Reverse<u8>, Timestamp, DueRange);

#[derive(Default)]
pub(super) struct TenantOrder {
    /// By what the tenant had had when it was put here, which may be less than it has had by now.
    order: BTreeSet<(Share, Tenant)>,
    tenants: HashMap<Tenant, Strips>,
}

struct Strips {
    /// Where the tenant is in the order.
    share: Share,
    by_urgency: UrgencyList,
}

/// In order. Most tenants have a few, for which the nodes of a tree would be mostly empty.
enum UrgencyList {
    Few(Vec<Urgency>),
    Many(BTreeSet<Urgency>),
}

impl UrgencyList {
    fn insert(&mut self, urgency: Urgency) {
        match self {
            Self::Few(list) => {
                if let Err(index) = list.binary_search(&urgency) {
                    list.reserve_exact(1);
                    list.insert(index, urgency);
                }
                if list.len() > FEW_RANGES {
                    *self = Self::Many(list.drain(..).collect());
                }
            }
            Self::Many(tree) => drop(tree.insert(urgency)),
        }
    }

    fn remove(&mut self, urgency: &Urgency) {
        match self {
            Self::Few(list) => {
                if let Ok(index) = list.binary_search(urgency) {
                    list.remove(index);
                }
            }
            Self::Many(tree) => drop(tree.remove(urgency)),
        }
    }

    fn first(&self) -> Option<&Urgency> {
        match self {
            Self::Few(list) => list.first(),
            Self::Many(tree) => tree.first(),
        }
    }
}

impl TenantOrder {
    pub(super) fn is_empty(&self) -> bool {
        self.tenants.is_empty()
    }

    pub(super) fn tenants(&self) -> usize {
        self.tenants.len()
    }

    pub(super) fn insert(
        &mut self,
        range: DueRange,
        tenant: &Tenant,
        share: Share,
        run_at: Timestamp,
    ) {
        let Self { order, tenants } = self;
        let ranges = tenants.entry(tenant.clone()).or_insert_with(|| {
            order.insert((share, tenant.clone()));
            Strips {
                share,
                by_urgency: UrgencyList::Few(Vec::new()),
            }
        });
        ranges.by_urgency.insert(urgency(range, run_at));
    }

    pub(super) fn remove(&mut self, range: DueRange, tenant: &Tenant, run_at: Timestamp) {
        let Some(ranges) = self.tenants.get_mut(tenant) else {
            return;
        };
        ranges.by_urgency.remove(&urgency(range, run_at));
        if ranges.by_urgency.first().is_none() {
            self.order.remove(&(ranges.share, tenant.clone()));
            self.tenants.remove(tenant);
        }
    }

    /// The tenant that has had least.
    pub(super) fn next_tenant(&mut self, share: impl Fn(&Tenant) -> Share) -> Option<Tenant> {
        loop {
            let (known, tenant) = self.order.first()?.clone();
            let share = share(&tenant);
            if share <= known {
                return Some(tenant);
            }
            self.order.pop_first();
            if let Some(ranges) = self.tenants.get_mut(&tenant) {
                ranges.share = share;
                self.order.insert((share, tenant));
            }
        }
    }

    pub(super) fn has(&self, tenant: &Tenant) -> bool {
        self.tenants.contains_key(tenant)
    }

    /// A range of the first tenant, with its time.
    pub(super) fn first(&self) -> Option<(DueRange, Timestamp)> {
        let (_, tenant) = self.order.first()?;
        self.first_of(tenant)
    }

    /// A tenant's most urgent range, with its time.
    pub(super) fn first_of(&self, tenant: &Tenant) -> Option<(DueRange, Timestamp)> {
        let (_, run_at, range) = self.tenants.get(tenant)?.by_urgency.first()?;
        Some((*range, *run_at))
    }
}

fn urgency(range: DueRange, run_at: Timestamp) -> Urgency {
    (Reverse(range.level.priority()), run_at, range)
}
