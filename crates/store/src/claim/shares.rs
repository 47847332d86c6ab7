//! How much each tenant has had, so that the next job is one of the tenant that has had least.

use std::collections::HashMap;

use steadfast_core::{Gates, Share, Tenant};

use crate::limits::TENANT_SHARES_MAX;

/// How much each tenant has had.
#[derive(Default)]
pub(crate) struct Shares {
    of: HashMap<Tenant, Share>,
    /// How often any tenant was served.
    served: u64,
    /// What the tenant that is next has had: one that comes back starts here.
    least: Share,
    /// What the tenant that was served last has had.
    #[cfg(any(feature = "sqlite", test))]
    last: Share,
}

impl Shares {
    pub(crate) fn get(&self, tenant: &Tenant) -> Share {
        let share = self.of.get(tenant).copied().unwrap_or_default();
        share.resumed(self.least)
    }

    pub(crate) fn charge(&mut self, tenant: &Tenant, jobs: usize, gates: &Gates) {
        let share = self.get(tenant);
        self.least = self.least.max(share);
        self.served += 1;
        let share = share.after(jobs, gates.weight(tenant), self.served);
        #[cfg(any(feature = "sqlite", test))]
        {
            self.last = share;
        }
        self.of.insert(tenant.clone(), share);
        if self.of.len() > TENANT_SHARES_MAX {
            let least = self.least;
            self.of.retain(|_, share| *share > least);
            // So many have had more than the one before: from here on all are alike again, because to
            // look at them with each charge would cost more than fairness is worth.
            if self.of.len() > TENANT_SHARES_MAX / 2 {
                self.of.clear();
            }
        }
    }

    /// This tenant is next, so all others that wait have had as much.
    #[cfg(any(feature = "sqlite", test))]
    pub(super) fn pass(&mut self, next: &Tenant) {
        self.least = self.get(next);
    }

    /// No tenant waits, so none that comes back has missed anything.
    #[cfg(any(feature = "sqlite", test))]
    pub(super) fn pass_all(&mut self) {
        self.least = self.least.max(self.last);
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.of.len()
    }
}
