//! Which gates apply to a job.

use std::{collections::HashMap, sync::Arc};

use crate::name::Tenant;

use super::{
    fair::Weight,
    gate::{Gate, GateId, GateLimits, GateScope},
    sublane::{Sublane, hash_number},
};

/// All gates, as one node knows them.
#[derive(Clone, Debug, Default)]
pub struct Gates {
    /// Changes whenever anything here does, and never returns.
    version: u64,
    set: HashMap<GateId, Arc<GateLimits>>,
    defaults: GateDefaults,
}

/// What holds for every key of a scope, unless a gate for that key says otherwise.
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
    fn of(&self, scope: GateScope) -> &GateLimits {
        match scope {
            GateScope::Queue => &self.queue,
            GateScope::Kind => &self.kind,
            GateScope::Tenant => &self.tenant,
            GateScope::Destination => &self.destination,
            GateScope::Key => &self.key,
        }
    }
}

/// A number for a gate that every node finds by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GateNumber(pub i64);

impl GateNumber {
    fn of(id: &GateId) -> Self {
        let tenant = id.tenant.as_ref().map_or("", Tenant::as_str);
        Self(hash_number(&[id.scope.as_str(), tenant, &id.key]))
    }
}

/// A gate that limits the jobs of a sublane.
#[derive(Clone, Debug, PartialEq)]
pub struct AppliedGate {
    /// Its number.
    pub number: GateNumber,
    /// Which gate it is.
    pub id: GateId,
    /// What it lets through.
    pub limits: Arc<GateLimits>,
}

impl Gates {
    /// The gates that are set, over the defaults. `version` must differ from that of any other
    /// content.
    pub fn new(version: u64, set: impl IntoIterator<Item = Gate>, defaults: GateDefaults) -> Self {
        let set = set
            .into_iter()
            .map(|gate| {
                let limits = gate.limits.or(defaults.of(gate.id.scope));
                (gate.id, Arc::new(limits))
            })
            .collect();
        Self {
            version,
            set,
            defaults,
        }
    }

    /// Changes whenever a gate does.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The gates that limit the jobs of a sublane: none for most.
    pub fn applying_to(&self, sublane: &Sublane) -> Vec<AppliedGate> {
        let ids = self.possible_ids(sublane);
        ids.filter_map(|id| {
            let default = self.defaults.of(id.scope);
            let limits = match self.set.get(&id) {
                Some(limits) => limits.clone(),
                // Defaults are those of gates for all tenants, and of keys.
                None if id.tenant.is_none() || id.scope == GateScope::Key => {
                    Arc::new(default.clone())
                }
                None => return None,
            };
            limits.limits_anything().then(|| AppliedGate {
                number: GateNumber::of(&id),
                id,
                limits,
            })
        })
        .collect()
    }

    /// What a tenant counts for beside others.
    pub fn weight(&self, tenant: &Tenant) -> Weight {
        let id = GateId {
            tenant: None,
            scope: GateScope::Tenant,
            key: tenant.as_str().to_owned(),
        };
        let set = self.set.get(&id).and_then(|limits| limits.weight);
        set.or(self.defaults.tenant.weight).unwrap_or_default()
    }

    fn possible_ids(&self, sublane: &Sublane) -> impl Iterator<Item = GateId> {
        let Sublane {
            tenant,
            queue,
            kind,
            destination,
            concurrency_key,
        } = sublane;
        let is_empty = self.set.is_empty() && self.defaults == GateDefaults::default();
        let both = |scope, key: &str| {
            [None, Some(tenant.clone())].map(|tenant| GateId {
                tenant,
                scope,
                key: key.to_owned(),
            })
        };
        let mut ids = Vec::new();
        if !is_empty {
            let [own, _] = both(GateScope::Tenant, tenant.as_str());
            ids.push(own);
            ids.extend(both(GateScope::Queue, queue.as_str()));
            ids.extend(both(GateScope::Kind, kind.as_str()));
            if let Some(destination) = destination {
                ids.extend(both(GateScope::Destination, destination.as_str()));
            }
            if let Some(key) = concurrency_key {
                let [_, own] = both(GateScope::Key, key.as_str());
                ids.push(own);
            }
        }
        ids.into_iter()
    }
}

impl GateLimits {
    /// These, with what they leave out from others.
    fn or(self, defaults: &Self) -> Self {
        Self {
            max_running: self.max_running.or(defaults.max_running),
            rate: self.rate.or(defaults.rate),
            ordered: self.ordered || defaults.ordered,
            retry_share: self.retry_share.or(defaults.retry_share),
            paused: self.paused.or_else(|| defaults.paused.clone()),
            weight: self.weight.or(defaults.weight),
            hold: self.hold.or(defaults.hold),
            share_retry_after: self.share_retry_after.or(defaults.share_retry_after),
            health: self.health.or(&defaults.health),
        }
    }

    fn limits_anything(&self) -> bool {
        self.most_running().is_some() || self.counts_starts() || self.paused.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        flow::Destination,
        name::{ConcurrencyKey, Kind, Queue},
    };

    fn sublane(tenant: &str) -> Sublane {
        Sublane {
            tenant: Tenant::new(tenant).unwrap(),
            queue: Queue::default(),
            kind: Kind::http(),
            destination: Destination::of_url("https://api.example.com/a"),
            concurrency_key: ConcurrencyKey::new("customer 7").ok(),
        }
    }

    fn gate(tenant: Option<&str>, scope: GateScope, key: &str, most: u32) -> Gate {
        Gate {
            id: GateId {
                tenant: tenant.map(|tenant| Tenant::new(tenant).unwrap()),
                scope,
                key: key.to_owned(),
            },
            limits: GateLimits {
                max_running: Some(most),
                ..GateLimits::default()
            },
        }
    }

    #[test]
    fn a_sublane_passes_the_gates_of_all_its_parts() {
        let set = [
            gate(None, GateScope::Destination, "https://api.example.com", 5),
            gate(Some("a"), GateScope::Queue, "default", 4),
            gate(None, GateScope::Queue, "other", 3),
            gate(Some("a"), GateScope::Key, "customer 7", 1),
            gate(None, GateScope::Tenant, "a", 9),
        ];
        let gates = Gates::new(1, set, GateDefaults::default());
        let most = |tenant| {
            let applied = gates.applying_to(&sublane(tenant));
            let mut most: Vec<_> = applied
                .iter()
                .filter_map(|gate| gate.limits.max_running)
                .collect();
            most.sort_unstable();
            most
        };
        assert_eq!(most("a"), [1, 4, 5, 9]);
        assert_eq!(most("b"), [5]);
    }

    #[test]
    fn a_default_holds_for_every_key_that_has_no_gate_of_its_own() {
        let mut defaults = GateDefaults::default();
        defaults.key.ordered = true;
        defaults.destination.max_running = Some(7);
        let set = [gate(Some("a"), GateScope::Key, "customer 7", 3)];
        let gates = Gates::new(1, set, defaults);
        let applied = gates.applying_to(&sublane("a"));
        let limits: Vec<_> = applied
            .iter()
            .map(|gate| (gate.id.scope, gate.limits.max_running, gate.limits.ordered))
            .collect();
        assert_eq!(
            limits,
            [
                (GateScope::Destination, Some(7), false),
                (GateScope::Key, Some(3), true)
            ]
        );
        assert!(Gates::default().applying_to(&sublane("a")).is_empty());
    }
}
