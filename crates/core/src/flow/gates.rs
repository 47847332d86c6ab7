//! The gates that apply to a job.

use std::{collections::HashMap, sync::Arc, time::Duration};

use crate::{
    job::Job,
    values::{Destination, Invalid, Kind, Tenant, Timestamp, hash_number},
};

use super::{
    fair::Weight,
    gate::{Gate, GateId, GateLimits, GateScope},
    health::{DestinationHealth, DestinationLimit, HealthRules, HealthSubject, Incident},
    hold::{HoldMode, Pause, RetryAfterScope},
    patch::GatePatch,
    sublane::Sublane,
};

/// All gates, as one node knows them.
#[derive(Clone, Debug, Default)]
pub struct Gates {
    /// Changes whenever anything here does, and never returns.
    version: u64,
    set: HashMap<GateId, Arc<GateLimits>>,
    defaults: GateDefaults,
    /// The limits of the gates themselves, without defaults.
    holds: HashMap<GateId, HoldMode>,
    health: HashMap<Destination, KnownHealth>,
}

/// The health of one destination.
#[derive(Clone, Debug, Default)]
struct KnownHealth {
    for_all: Option<Arc<DestinationHealth>>,
    of_tenants: HashMap<Tenant, Arc<DestinationHealth>>,
}

impl KnownHealth {
    fn get(&self, tenant: Option<&Tenant>) -> Option<&Arc<DestinationHealth>> {
        match tenant {
            None => self.for_all.as_ref(),
            Some(tenant) => self.of_tenants.get(tenant),
        }
    }

    fn iter(&self) -> impl Iterator<Item = (Option<&Tenant>, &Arc<DestinationHealth>)> {
        let for_all = self.for_all.iter().map(|health| (None, health));
        let of_tenants = self.of_tenants.iter();
        for_all.chain(of_tenants.map(|(tenant, health)| (Some(tenant), health)))
    }
}

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
        Self::of_parts(id.scope.as_str(), id)
    }

    /// What follows from the health of a destination has states of its own. Jobs that are held, and
    /// jobs that only wait as they were asked to, pass different gates.
    fn of_health(id: &GateId, limit: &DestinationLimit) -> Self {
        let scope = match limit.holds() {
            true => "health",
            false => "retry-after",
        };
        Self::of_parts(scope, id)
    }

    fn of_parts(scope: &str, id: &GateId) -> Self {
        let tenant = id.tenant.as_ref().map_or("", Tenant::as_str);
        Self(hash_number(&[scope, tenant, &id.key]))
    }
}

/// A gate that limits the jobs of a sublane.
#[derive(Clone, Debug, PartialEq)]
pub struct AppliedGate {
    /// Its number.
    pub number: GateNumber,
    /// The id of the gate.
    pub id: GateId,
    /// The limits.
    pub limits: Arc<GateLimits>,
}

/// What is different from gates that held before, so that a store applies only that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GatesChange {
    /// The defaults are different, so any job may be affected.
    pub defaults: bool,
    /// Gates that were set, changed or deleted.
    pub set: Vec<GateId>,
    /// Destinations whose health means something else for claims.
    pub destinations: Vec<Destination>,
}

impl GatesChange {
    /// Whether gates or defaults are different, and not only the health of destinations.
    pub fn changes_set(&self) -> bool {
        self.defaults || !self.set.is_empty()
    }
}

impl Gates {
    /// The gates that are set, over the defaults. `version` must differ from that of any other
    /// content.
    pub fn new(version: u64, set: impl IntoIterator<Item = Gate>, defaults: GateDefaults) -> Self {
        let mut holds = HashMap::new();
        let set = set
            .into_iter()
            .map(|gate| {
                if let Some(hold) = gate.limits.hold {
                    holds.insert(gate.id.clone(), hold);
                }
                let limits = match gate.id.has_defaults() {
                    true => gate.limits.or(defaults.of(gate.id.scope)),
                    false => gate.limits,
                };
                (gate.id, Arc::new(limits))
            })
            .collect();
        Self {
            version,
            set,
            defaults,
            holds,
            health: HashMap::new(),
        }
    }

    /// The same gates, with the health of destinations. It is part of the content of `version`. Healthy
    /// destinations may be left out.
    #[must_use]
    pub fn with_health(
        mut self,
        health: impl IntoIterator<Item = (impl Into<HealthSubject>, Arc<DestinationHealth>)>,
    ) -> Self {
        self.health = HashMap::new();
        for (subject, health) in health {
            let HealthSubject {
                destination,
                tenant,
            } = subject.into();
            let known = self.health.entry(destination).or_default();
            match tenant {
                None => known.for_all = Some(health),
                Some(tenant) => {
                    known.of_tenants.insert(tenant, health);
                }
            }
        }
        self
    }

    /// The health of a destination, for all tenants or for one.
    pub fn health(
        &self,
        destination: &Destination,
        tenant: Option<&Tenant>,
    ) -> Option<&Arc<DestinationHealth>> {
        self.health.get(destination)?.get(tenant)
    }

    /// The health of a destination, for all tenants and for single ones.
    pub fn healths_of(
        &self,
        destination: &Destination,
    ) -> impl Iterator<Item = (Option<&Tenant>, &Arc<DestinationHealth>)> {
        let known = self.health.get(destination);
        known.into_iter().flat_map(KnownHealth::iter)
    }

    /// The current incident of a destination, for the jobs of a tenant.
    pub fn incident(&self, tenant: &Tenant, destination: &Destination) -> Option<&Incident> {
        let known = self.health.get(destination)?;
        let known = [known.get(None), known.get(Some(tenant))];
        let mut known = known.into_iter().flatten();
        known.find_map(|health| health.incident())
    }

    /// Of how many destinations something is known, counting those apart that tenants see in their
    /// own way.
    pub fn health_count(&self) -> usize {
        self.health.values().map(|known| known.iter().count()).sum()
    }

    /// Destinations of which something is known, in no order.
    pub fn known_destinations(&self) -> impl Iterator<Item = &Destination> {
        self.health.keys()
    }

    /// Everything that is known of destinations.
    pub fn healths(&self) -> impl Iterator<Item = (HealthSubject, &Arc<DestinationHealth>)> {
        self.health.iter().flat_map(|(destination, known)| {
            known.iter().map(|(tenant, health)| {
                let subject = HealthSubject {
                    destination: destination.clone(),
                    tenant: tenant.cloned(),
                };
                (subject, health)
            })
        })
    }

    /// When a destination counts as unhealthy.
    pub fn health_rules(&self, destination: &Destination) -> HealthRules {
        self.of_destination(destination).health.rules()
    }

    /// What follows for the jobs of a sublane if their destination is found unhealthy. What a tenant
    /// sets for its own jobs comes before what is set for the destination, and both before defaults.
    pub fn hold_mode(&self, tenant: &Tenant, destination: &Destination) -> HoldMode {
        let set = match self.holds.is_empty() {
            true => None,
            false => self.hold_set(tenant, destination),
        };
        let defaults = [self.defaults.tenant.hold, self.defaults.destination.hold];
        set.or_else(|| defaults.into_iter().flatten().next())
            .unwrap_or(HoldMode::Auto)
    }

    fn hold_set(&self, tenant: &Tenant, destination: &Destination) -> Option<HoldMode> {
        let [of_all, of_tenant] = both(tenant, GateScope::Destination, destination.as_str());
        let [tenants_own, _] = both(tenant, GateScope::Tenant, tenant.as_str());
        let ids = [of_tenant, tenants_own, of_all];
        ids.iter().find_map(|id| self.holds.get(id).copied())
    }

    /// The reaction for jobs of a tenant without a setting.
    pub fn usual_hold_mode(&self, destination: &Destination) -> HoldMode {
        let set = self.of_destination(destination).hold;
        let defaults = [
            set,
            self.defaults.tenant.hold,
            self.defaults.destination.hold,
        ];
        let mut set = defaults.into_iter().flatten();
        set.next().unwrap_or(HoldMode::Auto)
    }

    /// Whether any jobs are held by themselves if their destination is found unhealthy.
    pub fn has_auto_hold(&self) -> bool {
        let defaults = [self.defaults.tenant.hold, self.defaults.destination.hold];
        let mut set = self.holds.values().copied();
        set.any(|mode| mode == HoldMode::Auto)
            || defaults.contains(&Some(HoldMode::Auto))
            || defaults == [None, None]
    }

    /// The jobs that a `Retry-After` applies to which a job of a tenant received. The operator may
    /// know that the limits of a destination are the same for all its callers; a tenant may know
    /// that its own are not.
    pub fn retry_after_scope(
        &self,
        tenant: Option<&Tenant>,
        destination: &Destination,
    ) -> RetryAfterScope {
        match self.of_destination(destination).share_retry_after {
            Some(true) => return RetryAfterScope::All,
            Some(false) => return RetryAfterScope::Job,
            None => {}
        }
        let own = tenant.and_then(|tenant| {
            let [_, own] = both(tenant, GateScope::Destination, destination.as_str());
            self.set.get(&own)?.share_retry_after
        });
        match own {
            Some(false) => RetryAfterScope::Job,
            _ => RetryAfterScope::Tenant,
        }
    }

    /// For how long a job was held between two times, which `maxElapsed` does not count.
    pub fn held_between(&self, job: &Job, from: Timestamp, to: Timestamp) -> Duration {
        let known = job.destination.as_ref();
        let Some((destination, known)) =
            known.and_then(|destination| self.health.get_key_value(destination))
        else {
            return Duration::ZERO;
        };
        let mode = self.hold_mode(&job.tenant, destination);
        let for_all = known.get(None).into_iter();
        let for_all = for_all.flat_map(|it| it.holds(mode_for_all(&job.kind, mode)));
        let own = known.get(Some(&job.tenant)).into_iter();
        let own = own.flat_map(|it| it.holds(mode));
        let mut holds: Vec<_> = for_all.chain(own).collect();
        holds.sort_unstable();
        // What two of them have in common counts once.
        let (mut held, mut counted) = (Duration::ZERO, from);
        for (begin, end) in holds {
            let (begin, end) = (begin.max(counted), end.min(to));
            held += end.since(begin);
            counted = counted.max(end);
        }
        held
    }

    fn of_destination(&self, destination: &Destination) -> &GateLimits {
        if self.set.is_empty() {
            return &self.defaults.destination;
        }
        let id = GateId {
            tenant: None,
            scope: GateScope::Destination,
            key: destination.as_str().to_owned(),
        };
        let set = self.set.get(&id).map(Arc::as_ref);
        set.unwrap_or(&self.defaults.destination)
    }

    /// What follows from the health of their destination for the jobs of a sublane: for all tenants,
    /// and for its own. While it is held for all, no second probe is sent for the tenant alone; what
    /// the tenant was asked to wait for, or holds by hand, counts all the same.
    fn health_gates(&self, sublane: &Sublane) -> impl Iterator<Item = AppliedGate> {
        let destination = sublane.destination.as_ref();
        let known = destination.and_then(|destination| self.health.get_key_value(destination));
        let gates = known.map(|(destination, known)| {
            let mode = self.hold_mode(&sublane.tenant, destination);
            let scope = self.retry_after_scope(Some(&sublane.tenant), destination);
            let heeds_retry_after = scope != RetryAfterScope::Job;
            let mode_for_all = mode_for_all(&sublane.kind, mode);
            let for_all = known.get(None);
            let is_held_for_all = for_all.is_some_and(|health| health.keeps_back(mode_for_all));
            let own = known.get(Some(&sublane.tenant));
            let own_mode = if is_held_for_all { HoldMode::Off } else { mode };
            let tenant = Some(&sublane.tenant);
            [
                for_all.and_then(|it| Some((None, it.limit(mode_for_all, heeds_retry_after)?))),
                own.and_then(|it| Some((tenant, it.limit(own_mode, heeds_retry_after)?))),
            ]
            .map(|limit| {
                let (tenant, limit) = limit?;
                Some(health_gate(destination, tenant, limit))
            })
        });
        gates.into_iter().flatten().flatten()
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

    /// Changes whenever a gate does.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Whether no job can be held back, because nothing is set and no destination has anything to say.
    pub fn is_empty(&self) -> bool {
        self.has_none_set() && self.health.is_empty()
    }

    fn has_none_set(&self) -> bool {
        self.set.is_empty() && self.defaults == GateDefaults::default()
    }

    /// The gates that limit the jobs of a sublane: none for most. What follows from the health of
    /// the destination is one of them, with the destination's id and a number of its own.
    pub fn applying_to(&self, sublane: &Sublane) -> Vec<AppliedGate> {
        if self.is_empty() {
            return Vec::new();
        }
        let ids = self.possible_ids(sublane);
        let set = ids.filter_map(|id| {
            let default = self.defaults.of(id.scope);
            let limits = match self.set.get(&id) {
                Some(limits) => limits.clone(),
                None if id.has_defaults() => Arc::new(default.clone()),
                None => return None,
            };
            limits.limits_anything().then(|| AppliedGate {
                number: GateNumber::of(&id),
                id,
                limits,
            })
        });
        set.chain(self.health_gates(sublane)).collect()
    }

    /// The differences to earlier gates.
    pub fn change_since(&self, before: &Self) -> GatesChange {
        let set = self.set.iter();
        let set = set.filter(|(id, limits)| {
            before.set.get(id) != Some(limits) || before.holds.get(id) != self.holds.get(id)
        });
        let deleted = before
            .set
            .iter()
            .filter(|(id, _)| !self.set.contains_key(id));
        let none = Arc::default();
        let differs = |one: &Self, other: &Self, destination: &Destination| {
            one.healths_of(destination).any(|(tenant, health)| {
                let other = other.health(destination, tenant).unwrap_or(&none);
                !Arc::ptr_eq(health, other) && !health.means_the_same(other)
            })
        };
        let known = self.health.keys();
        let known = known.filter(|to| differs(self, before, to) || differs(before, self, to));
        let gone = before.health.keys();
        let gone = gone.filter(|to| !self.health.contains_key(*to) && differs(before, self, to));
        GatesChange {
            defaults: self.defaults != before.defaults,
            set: set.chain(deleted).map(|(id, _)| id.clone()).collect(),
            destinations: known.chain(gone).cloned().collect(),
        }
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
                health.keeps_back(HoldMode::Auto) || health.retry_after(now).is_some()
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

    fn possible_ids(&self, sublane: &Sublane) -> impl Iterator<Item = GateId> {
        let Sublane {
            tenant,
            queue,
            kind,
            destination,
            concurrency_key,
        } = sublane;
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

fn health_gate(
    destination: &Destination,
    tenant: Option<&Tenant>,
    limit: DestinationLimit,
) -> AppliedGate {
    let id = GateId {
        tenant: tenant.cloned(),
        scope: GateScope::Destination,
        key: destination.as_str().to_owned(),
    };
    AppliedGate {
        number: GateNumber::of_health(&id, &limit),
        id,
        limits: Arc::new(GateLimits {
            destination: Some(Arc::new(limit)),
            ..GateLimits::default()
        }),
    }
}

/// Health measured by calls of nodes holds back only calls of nodes. Whether other kinds of jobs work
/// there, only their tenants know.
fn mode_for_all(kind: &Kind, mode: HoldMode) -> HoldMode {
    if kind.is_call() { mode } else { HoldMode::Off }
}

/// The gate of a key for all tenants, and that for one.
fn both(tenant: &Tenant, scope: GateScope, key: &str) -> [GateId; 2] {
    [None, Some(tenant.clone())].map(|tenant| GateId {
        tenant,
        scope,
        key: key.to_owned(),
    })
}

impl GateId {
    /// Defaults are those of gates for all tenants, and of keys.
    fn has_defaults(&self) -> bool {
        self.tenant.is_none() || self.scope == GateScope::Key
    }
}

impl GateLimits {
    /// These, with what they leave out from others.
    #[must_use]
    pub fn or(self, defaults: &Self) -> Self {
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
            destination: self.destination,
        }
    }

    fn limits_anything(&self) -> bool {
        self.most_running().is_some() || self.counts_starts() || self.paused.is_some()
    }
}

#[cfg(test)]
mod tests;
