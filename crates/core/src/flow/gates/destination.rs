//! The limits of a destination, as gates and defaults set them.

use crate::{
    flow::{GateLimits, Rate, RetryShare},
    values::{Destination, Tenant},
};

use super::{GateId, GateScope, Gates};

impl Gates {
    /// The limits under which a tenant's jobs call a destination, or the jobs of all tenants. If the
    /// tenant has a gate of its own, the stricter of each limit. `hold` is empty if nothing sets it:
    /// then calls and jobs of workers differ.
    pub fn destination_limits(
        &self,
        tenant: Option<&Tenant>,
        destination: &Destination,
    ) -> GateLimits {
        let for_all = self.of_destination(destination);
        let own = tenant.and_then(|tenant| {
            self.set.get(&GateId {
                tenant: Some(tenant.clone()),
                scope: GateScope::Destination,
                key: destination.as_str().to_owned(),
            })
        });
        let hold = match tenant {
            Some(tenant) => self.hold_set(tenant, destination),
            None => for_all.hold,
        };
        let limits = match own {
            Some(own) => for_all.stricter(own),
            None => for_all.clone(),
        };
        let defaults = [self.defaults.tenant.hold, self.defaults.destination.hold];
        GateLimits {
            hold: hold.or_else(|| defaults.into_iter().flatten().next()),
            ..limits
        }
    }
}

impl GateLimits {
    /// These, with each number of the other ones that allows less.
    fn stricter(&self, other: &Self) -> Self {
        let per_second = |rate: &Rate| f64::from(rate.limit) / rate.per.as_secs_f64();
        let rates = self.rate.into_iter().chain(other.rate);
        let shares = self.retry_share.into_iter().chain(other.retry_share);
        Self {
            max_running: self.max_running.into_iter().chain(other.max_running).min(),
            rate: rates.min_by(|one, other| per_second(one).total_cmp(&per_second(other))),
            retry_share: shares
                .min_by(|one, other| RetryShare::get(*one).total_cmp(&RetryShare::get(*other))),
            ordered: self.ordered || other.ordered,
            ..self.clone()
        }
    }
}
