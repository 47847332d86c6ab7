//! The limits of keys without a gate of their own, and how they complete gates that are set.

use crate::{
    flow::{
        gate::{GateId, GateLimits, GateScope},
        patch::GatePatch,
    },
    values::Invalid,
};

/// The default limits of each scope, for keys without a gate of their own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GateDefaults {
    /// For every queue.
    pub queue: GateLimits,
    /// For every kind.
    pub kind: GateLimits,
    /// For every tenant.
    pub tenant: GateLimits,
    /// For every destination.
    pub destination: GateLimits,
    /// For every concurrency key.
    pub key: GateLimits,
}

impl GateDefaults {
    /// The defaults that settings give for some scopes.
    pub fn new(patches: impl IntoIterator<Item = (GateScope, GatePatch)>) -> Result<Self, Invalid> {
        let mut defaults = Self::default();
        for (scope, patch) in patches {
            let limits = patch.default_of(scope);
            let limits = limits.map_err(|error| error.within(scope.as_str()))?;
            match scope {
                GateScope::Queue => defaults.queue = limits,
                GateScope::Kind => defaults.kind = limits,
                GateScope::Tenant => defaults.tenant = limits,
                GateScope::Destination => defaults.destination = limits,
                GateScope::Key => defaults.key = limits,
            }
        }
        Ok(defaults)
    }

    pub(super) fn of(&self, scope: GateScope) -> &GateLimits {
        match scope {
            GateScope::Queue => &self.queue,
            GateScope::Kind => &self.kind,
            GateScope::Tenant => &self.tenant,
            GateScope::Destination => &self.destination,
            GateScope::Key => &self.key,
        }
    }
}

impl GateId {
    /// Defaults are those of gates for all tenants, and of keys.
    pub(super) fn has_defaults(&self) -> bool {
        self.tenant.is_none() || self.scope == GateScope::Key
    }
}

impl GateLimits {
    /// These, with what they leave out from others.
    #[must_use]
    pub fn or(self, defaults: &Self) -> Self {
        Self {
            max_running: self.max_running.or(defaults.max_running),
            max_waiting: self.max_waiting.or(defaults.max_waiting),
            rate: self.rate.or(defaults.rate),
            rates: match self.rates.is_empty() {
                true => defaults.rates.clone(),
                false => self.rates,
            },
            ordered: self.ordered || defaults.ordered,
            retry_share: self.retry_share.or(defaults.retry_share),
            paused: self.paused.or_else(|| defaults.paused.clone()),
            weight: self.weight.or(defaults.weight),
            hold: self.hold.or(defaults.hold),
            share_retry_after: self.share_retry_after.or(defaults.share_retry_after),
            pace: self.pace.or(defaults.pace),
            health: self.health.or(&defaults.health),
            destination: self.destination,
            learned: self.learned,
        }
    }
}
