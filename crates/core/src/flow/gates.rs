//! The gates that apply to a job.

mod change;
mod defaults;
mod destination;
mod health;

use std::{collections::HashMap, sync::Arc};

use crate::values::{Destination, Tenant, Timestamp, hash_number};

use super::{
    fair::Weight,
    flow_key::FlowKey,
    gate::{Gate, GateId, GateLimits, GateScope},
    hold::{HoldMode, Pause},
};

use health::KnownHealth;

pub use change::GatesChange;
pub use defaults::GateDefaults;

/// All gates, as one node knows them.
#[derive(Clone, Debug, Default)]
pub struct Gates {
    /// As they were set, without defaults. Shared, because the health of destinations changes often
    /// and these do not.
    own: Arc<[Gate]>,
    set: Arc<HashMap<GateId, Arc<GateLimits>>>,
    defaults: Arc<GateDefaults>,
    /// The limits of the gates themselves, without defaults.
    holds: Arc<HashMap<GateId, HoldMode>>,
    limits_waiting: bool,
    health: HashMap<Destination, KnownHealth>,
}

/// A number for a gate that every node finds by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GateNumber(pub i64);

impl GateNumber {
    /// The number of a gate.
    pub fn of(id: &GateId) -> Self {
        Self::of_parts(id.scope.as_str(), id)
    }

    fn of_parts(scope: &str, id: &GateId) -> Self {
        let tenant = id.tenant.as_ref().map_or("", Tenant::as_str);
        Self(hash_number(&[scope, tenant, &id.key]))
    }
}

/// A gate that limits the jobs of a flow key.
#[derive(Clone, Debug, PartialEq)]
pub struct AppliedGate {
    /// Its number.
    pub number: GateNumber,
    /// The id of the gate.
    pub id: GateId,
    /// The limits.
    pub limits: Arc<GateLimits>,
}

impl Gates {
    /// The gates that are set, over the defaults.
    pub fn new(set: impl IntoIterator<Item = Gate>, defaults: GateDefaults) -> Self {
        let mut holds = HashMap::new();
        let of_defaults = [defaults.queue.max_waiting, defaults.tenant.max_waiting];
        let mut limits_waiting = of_defaults.iter().any(Option::is_some);
        let own: Arc<[Gate]> = set.into_iter().collect();
        let set = own
            .iter()
            .cloned()
            .map(|gate| {
                if let Some(hold) = gate.limits.hold {
                    holds.insert(gate.id.clone(), hold);
                }
                limits_waiting |= gate.limits.max_waiting.is_some();
                let limits = match gate.id.has_defaults() {
                    true => gate.limits.or(defaults.of(gate.id.scope)),
                    false => gate.limits,
                };
                (gate.id, Arc::new(limits))
            })
            .collect();
        Self {
            own,
            set: Arc::new(set),
            defaults: Arc::new(defaults),
            holds: Arc::new(holds),
            limits_waiting,
            health: HashMap::new(),
        }
    }

    /// The gates of single keys as they were set, without defaults.
    pub fn own(&self) -> &[Gate] {
        &self.own
    }

    /// Every gate that is set, over the defaults, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&GateId, &Arc<GateLimits>)> {
        self.set.iter()
    }

    /// A gate that is set for a single key, over the defaults, as claims see it.
    pub fn applied(&self, id: &GateId) -> Option<AppliedGate> {
        Some(AppliedGate {
            number: GateNumber::of(id),
            limits: self.set.get(id)?.clone(),
            id: id.clone(),
        })
    }

    /// Whether no job can be held back, because nothing is set and no destination has anything to say.
    pub fn is_empty(&self) -> bool {
        self.has_none_set() && self.health.is_empty()
    }

    fn has_none_set(&self) -> bool {
        self.set.is_empty() && *self.defaults == GateDefaults::default()
    }

    /// The gates that limit the jobs of a flow key: none for most. What follows from the health of
    /// the destination is one of them, and its learned pace is another, with the destination's id and
    /// numbers of their own.
    pub fn applying_to(&self, flow_key: &FlowKey) -> Vec<AppliedGate> {
        if self.is_empty() {
            return Vec::new();
        }
        let ids = self.possible_ids(flow_key);
        let set = ids.filter_map(|id| {
            let default = self.defaults.of(id.scope);
            let limits = match self.set.get(&id) {
                Some(limits) => limits.clone(),
                None if id.has_defaults() => Arc::new(default.clone()),
                None => return None,
            };
            limits.limits_anything().then(|| {
                let (number, id) = self.counted_at(id, flow_key);
                AppliedGate { number, id, limits }
            })
        });
        let learned = self.pace_gate(flow_key);
        set.chain(self.health_gates(flow_key))
            .chain(learned)
            .collect()
    }

    /// Where the jobs of a flow key count at a gate. Any tenant can give its jobs the name of a
    /// destination and let them run for a day, so what a tenant's workers do counts for that tenant
    /// only. Calls of nodes count for all tenants, and so do the jobs of the default tenant, which
    /// is the operator's own.
    fn counted_at(&self, id: GateId, flow_key: &FlowKey) -> (GateNumber, GateId) {
        let FlowKey { tenant, kind, .. } = flow_key;
        let is_for_all = id.scope != GateScope::Destination
            || id.tenant.is_some()
            || kind.is_call()
            || *tenant == Tenant::default();
        let destination = flow_key.destination.as_ref();
        let is_shared = || destination.is_some_and(|it| self.are_limits_shared(it));
        if is_for_all || is_shared() {
            return (GateNumber::of(&id), id);
        }
        let tenant = Some(tenant.clone());
        let own = GateId { tenant, ..id };
        (GateNumber::of_parts("tenant's part", &own), own)
    }

    /// Whether a person, or the health of a destination, holds back any jobs now.
    pub fn keep_back_any(&self, now: Timestamp) -> bool {
        let is_paused = |limits: &Arc<GateLimits>| {
            let pause = limits.paused.as_ref();
            pause.is_some_and(|pause| !pause.is_over(now))
        };
        let mut healths = self.health.values().flat_map(KnownHealth::iter);
        self.set.values().any(is_paused)
            || healths.any(|(_, health)| {
                let asks_to_wait = health.retry_after(now).is_some() || health.quota(now).is_some();
                health.keeps_back(HoldMode::Auto) || asks_to_wait
            })
    }

    /// Who has paused a tenant's queue, for this tenant or for all, and why.
    pub fn queue_pause(&self, tenant: &Tenant, queue: &str, now: Timestamp) -> Option<&Pause> {
        let [of_all, of_tenant] = both(tenant, GateScope::Queue, queue);
        let pause = |id: &GateId| self.set.get(id)?.paused.as_ref();
        let pauses = [pause(&of_tenant), pause(&of_all)];
        let mut pauses = pauses.into_iter().flatten();
        pauses.find(|pause| !pause.is_over(now))
    }

    /// Whether any gate limits how many jobs may wait.
    pub(super) fn limit_waiting(&self) -> bool {
        self.limits_waiting
    }

    /// How many jobs may wait at a gate, as it is set or by default.
    pub fn max_waiting(&self, id: &GateId) -> Option<u32> {
        match self.set.get(id) {
            Some(limits) => limits.max_waiting,
            None if id.has_defaults() => self.defaults.of(id.scope).max_waiting,
            None => None,
        }
    }

    /// The fair-share weight of a tenant.
    pub fn weight(&self, tenant: &Tenant) -> Weight {
        let id = GateId {
            tenant: None,
            scope: GateScope::Tenant,
            key: tenant.as_str().to_owned(),
        };
        let set = self.set.get(&id).and_then(|limits| limits.weight);
        set.or(self.defaults.tenant.weight).unwrap_or_default()
    }

    fn possible_ids(&self, flow_key: &FlowKey) -> impl Iterator<Item = GateId> {
        let FlowKey {
            tenant,
            queue,
            kind,
            destination,
            concurrency_key,
        } = flow_key;
        let both = |scope, key: &str| both(tenant, scope, key);
        let mut ids = Vec::new();
        if !self.has_none_set() {
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

/// The gate of a key for all tenants, and that for one.
fn both(tenant: &Tenant, scope: GateScope, key: &str) -> [GateId; 2] {
    [None, Some(tenant.clone())].map(|tenant| GateId {
        tenant,
        scope,
        key: key.to_owned(),
    })
}

impl GateLimits {
    fn limits_anything(&self) -> bool {
        self.most_running().is_some() || self.counts_starts() || self.paused.is_some()
    }
}

#[cfg(test)]
mod tests;
