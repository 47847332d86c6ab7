//! Strips by tenant: the tenant that has had least first, then the higher priority, then the
//! earlier time.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
};

use steadfast_core::{Share, Tenant, Timestamp};

use super::Strip;

/// Within a tenant.
type Urgency = (Reverse<u8>, Timestamp, Strip);

#[derive(Default)]
pub(super) struct TenantOrder {
    /// By what the tenant had had when it was put here, which may be less than it has had by now.
    order: BTreeSet<(Share, Tenant)>,
    tenants: HashMap<Tenant, Strips>,
}

struct Strips {
    /// Where the tenant is in the order.
    share: Share,
    by_urgency: BTreeSet<Urgency>,
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
        strip: Strip,
        tenant: &Tenant,
        share: Share,
        run_at: Timestamp,
    ) {
        let Self { order, tenants } = self;
        let strips = tenants.entry(tenant.clone()).or_insert_with(|| {
            order.insert((share, tenant.clone()));
            Strips {
                share,
                by_urgency: BTreeSet::new(),
            }
        });
        strips.by_urgency.insert(urgency(strip, run_at));
    }

    pub(super) fn remove(&mut self, strip: Strip, tenant: &Tenant, run_at: Timestamp) {
        let Some(strips) = self.tenants.get_mut(tenant) else {
            return;
        };
        strips.by_urgency.remove(&urgency(strip, run_at));
        if strips.by_urgency.is_empty() {
            self.order.remove(&(strips.share, tenant.clone()));
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
            if let Some(strips) = self.tenants.get_mut(&tenant) {
                strips.share = share;
                self.order.insert((share, tenant));
            }
        }
    }

    /// A strip of the first tenant, with its time.
    pub(super) fn first(&self) -> Option<(Strip, Timestamp)> {
        let (_, tenant) = self.order.first()?;
        self.first_of(tenant)
    }

    /// A tenant's most urgent strip, with its time.
    pub(super) fn first_of(&self, tenant: &Tenant) -> Option<(Strip, Timestamp)> {
        let (_, run_at, strip) = self.tenants.get(tenant)?.by_urgency.first()?;
        Some((*strip, *run_at))
    }
}

fn urgency(strip: Strip, run_at: Timestamp) -> Urgency {
    (Reverse(strip.level.priority()), run_at, strip)
}
