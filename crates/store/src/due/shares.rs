//! How much each tenant has had.

use std::collections::HashMap;

use steadfast_core::{Gates, Share, Tenant};

use crate::limits::TENANT_SHARES_MAX;

/// How much each tenant has had.
#[derive(Default)]
pub(super) struct Shares {
    of: HashMap<Tenant, Share>,
    /// What the tenant that was served last had had: one that comes back starts here.
    least: Share,
}

impl Shares {
    pub(super) fn get(&self, tenant: &Tenant) -> Share {
        let share = self.of.get(tenant).copied().unwrap_or_default();
        share.resumed(self.least)
    }

    pub(super) fn charge(&mut self, tenant: &Tenant, jobs: usize, gates: &Gates) {
        let share = self.get(tenant);
        self.least = self.least.max(share);
        let share = share.after(jobs, gates.weight(tenant));
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

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.of.len()
    }
}
