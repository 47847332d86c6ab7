//! Limits concurrent use on this node: in total, and for each tenant.
//!
//! A limit that counts everybody lets one tenant keep out the others, and tells it of them. So a
//! tenant has less than the whole, and meets its own limit first.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use steadfast_core::Tenant;

/// Bounds one thing, for all callers and for each tenant. Callers who see all tenants count as one
/// more tenant.
pub struct TenantLimiter {
    most: usize,
    most_per_tenant: usize,
    held: Mutex<PermitCounts>,
}

#[derive(Default)]
struct PermitCounts {
    all: usize,
    by_tenant: HashMap<Option<Tenant>, usize>,
}

/// Why there is no permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitReached {
    /// The tenant has this many, which is its limit.
    Tenant(usize),
    /// There are as many as this node allows.
    Node,
}

/// One of them, until it is dropped.
pub struct TenantPermit {
    limiter: Arc<TenantLimiter>,
    tenant: Option<Tenant>,
}

impl TenantLimiter {
    pub fn new(most: usize, most_per_tenant: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            most_per_tenant,
            held: Mutex::default(),
        })
    }

    pub fn try_acquire(
        self: &Arc<Self>,
        tenant: Option<&Tenant>,
    ) -> Result<TenantPermit, LimitReached> {
        let tenant = tenant.cloned();
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let own = held.by_tenant.get(&tenant).copied().unwrap_or(0);
        if own >= self.most_per_tenant {
            return Err(LimitReached::Tenant(self.most_per_tenant));
        }
        if held.all >= self.most {
            return Err(LimitReached::Node);
        }
        held.all += 1;
        held.by_tenant.insert(tenant.clone(), own + 1);
        Ok(TenantPermit {
            limiter: self.clone(),
            tenant,
        })
    }
}

impl Drop for TenantPermit {
    fn drop(&mut self) {
        let held = self.limiter.held.lock();
        let mut held = held.unwrap_or_else(PoisonError::into_inner);
        held.all -= 1;
        if let Some(own) = held.by_tenant.get_mut(&self.tenant) {
            *own -= 1;
            if *own == 0 {
                held.by_tenant.remove(&self.tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_gets_a_share_and_released_permits_are_reused() {
        let limiter = TenantLimiter::new(3, 2);
        let (one, other) = (Tenant::new("one").unwrap(), Tenant::new("other").unwrap());
        let first = limiter.try_acquire(Some(&one)).unwrap();
        let _second = limiter.try_acquire(Some(&one)).unwrap();
        let refused = |tenant: Option<&Tenant>| limiter.try_acquire(tenant).err();
        assert_eq!(refused(Some(&one)), Some(LimitReached::Tenant(2)));
        let _third = limiter.try_acquire(Some(&other)).unwrap();
        assert_eq!(refused(Some(&other)), Some(LimitReached::Node));
        assert_eq!(refused(None), Some(LimitReached::Node));
        drop(first);
        let last = limiter.try_acquire(None).unwrap();
        drop(last);
        assert!(limiter.try_acquire(Some(&one)).is_ok());
    }
}
