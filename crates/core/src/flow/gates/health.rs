//! The health of destinations, and what follows from it for jobs: whether they are held, for how long,
//! and the gate that holds them.

use std::{collections::HashMap, sync::Arc, time::Duration};

use super::{AppliedGate, GateNumber, Gates, both};
use crate::{
    flow::{
        flow_key::FlowKey,
        gate::{GateId, GateLimits, GateScope},
        health::{DestinationHealth, DestinationLimit, HealthRules, HealthSubject, Incident},
        hold::{HoldMode, RetryAfterScope},
        pace::{LearnedPace, PaceLimit, PaceMode},
    },
    job::Job,
    values::{Destination, Kind, Tenant, Timestamp},
};

/// The health of one destination.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownHealth {
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

    pub(super) fn iter(&self) -> impl Iterator<Item = (Option<&Tenant>, &Arc<DestinationHealth>)> {
        let for_all = self.for_all.iter().map(|health| (None, health));
        let of_tenants = self.of_tenants.iter();
        for_all.chain(of_tenants.map(|(tenant, health)| (Some(tenant), health)))
    }
}

impl Gates {
    /// The same gates, with the health of destinations. Healthy destinations may be left out.
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

    /// What follows for a tenant's HTTP jobs and webhooks if their destination is found unhealthy.
    /// What a tenant sets for its own jobs comes before what is set for the destination, and both
    /// before defaults.
    pub fn hold_mode(&self, tenant: &Tenant, destination: &Destination) -> HoldMode {
        self.hold_mode_of(&Kind::http(), tenant, destination)
    }

    /// The same for jobs of any kind. Where nothing is set, only calls are held: what a worker calls
    /// a destination may be a name for something that it can do without.
    pub fn hold_mode_of(
        &self,
        kind: &Kind,
        tenant: &Tenant,
        destination: &Destination,
    ) -> HoldMode {
        let set = match self.holds.is_empty() {
            true => None,
            false => self.hold_set(tenant, destination),
        };
        let defaults = [self.defaults.tenant.hold, self.defaults.destination.hold];
        let usual = match kind.is_call() {
            true => HoldMode::Auto,
            false => HoldMode::Watch,
        };
        set.or_else(|| defaults.into_iter().flatten().next())
            .unwrap_or(usual)
    }

    pub(super) fn hold_set(&self, tenant: &Tenant, destination: &Destination) -> Option<HoldMode> {
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

    /// The jobs that a `Retry-After` or a quota applies to which a job of a tenant received. The
    /// operator may know that the limits of a destination are the same for all its callers; a tenant
    /// may know that its own are not.
    pub fn retry_after_scope(
        &self,
        tenant: Option<&Tenant>,
        destination: &Destination,
    ) -> RetryAfterScope {
        let own = tenant.and_then(|tenant| {
            let [_, own] = both(tenant, GateScope::Destination, destination.as_str());
            self.set.get(&own)?.share_retry_after
        });
        match (self.of_destination(destination).share_retry_after, own) {
            (_, Some(false)) | (Some(false), _) => RetryAfterScope::Job,
            (Some(true), _) => RetryAfterScope::All,
            (None, _) => RetryAfterScope::Tenant,
        }
    }

    /// Whether the operator says that the limits of a destination are the same for all its callers.
    pub(super) fn are_limits_shared(&self, destination: &Destination) -> bool {
        self.retry_after_scope(None, destination) == RetryAfterScope::All
    }

    /// Whose learned pace limits these jobs, and learns from them; `None` if none does. Limits that
    /// are the same for all callers are learned from the calls of nodes only, and limit only those: a
    /// tenant can name any destination and let its own workers say what they like. A tenant may have
    /// its own pace learned or not, but not that of all.
    pub fn pace_subject(
        &self,
        kind: &Kind,
        tenant: &Tenant,
        destination: &Destination,
    ) -> Option<HealthSubject> {
        let for_all = self.of_destination(destination).pace;
        let is_shared = kind.is_call() && self.are_limits_shared(destination);
        let own = || {
            let [_, own] = both(tenant, GateScope::Destination, destination.as_str());
            self.set.get(&own)?.pace
        };
        let pace = match is_shared {
            true => for_all,
            false => own().or(for_all),
        };
        (pace == Some(PaceMode::Learn)).then(|| match is_shared {
            true => HealthSubject::from(destination.clone()),
            false => HealthSubject::of_tenant(destination, tenant),
        })
    }

    /// Whether the pace of a destination is learned, for the HTTP jobs and webhooks of a tenant, or for
    /// a tenant without a setting of its own.
    pub fn pace_mode(&self, tenant: Option<&Tenant>, destination: &Destination) -> PaceMode {
        let learns = match tenant {
            Some(tenant) => self
                .pace_subject(&Kind::http(), tenant, destination)
                .is_some(),
            None => self.of_destination(destination).pace == Some(PaceMode::Learn),
        };
        match learns {
            true => PaceMode::Learn,
            false => PaceMode::Off,
        }
    }

    /// The learned paces of a destination that are in force, by tenant: all, or those that count for
    /// the HTTP jobs and webhooks of one.
    pub fn learned_paces<'g>(
        &'g self,
        destination: &'g Destination,
        tenant: Option<&'g Tenant>,
    ) -> impl Iterator<Item = (Option<&'g Tenant>, &'g LearnedPace)> {
        let is_in_force = move |of: Option<&Tenant>| match of.or(tenant) {
            None => self.of_destination(destination).pace == Some(PaceMode::Learn),
            Some(tenant) => {
                let subject = self.pace_subject(&Kind::http(), tenant, destination);
                subject.is_some_and(|subject| subject.tenant.as_ref() == of)
            }
        };
        self.healths_of(destination)
            .filter(move |(of, _)| of.is_none() || tenant.is_none() || *of == tenant)
            .filter(move |(of, _)| is_in_force(*of))
            .filter_map(|(of, health)| Some((of, health.pace()?)))
    }

    /// The gate of the learned pace, if it is learned.
    pub(super) fn pace_gate(&self, flow_key: &FlowKey) -> Option<AppliedGate> {
        let FlowKey { tenant, kind, .. } = flow_key;
        let destination = flow_key.destination.as_ref()?;
        let HealthSubject {
            destination,
            tenant,
        } = self.pace_subject(kind, tenant, destination)?;
        let health = self.health(&destination, tenant.as_ref());
        let pace = health.and_then(|health| health.pace());
        let id = GateId {
            tenant,
            scope: GateScope::Destination,
            key: destination.as_str().to_owned(),
        };
        Some(AppliedGate {
            number: GateNumber::of_parts("pace", &id),
            id,
            limits: Arc::new(GateLimits {
                learned: Some(pace.map_or(PaceLimit::START, LearnedPace::limit)),
                ..GateLimits::default()
            }),
        })
    }

    /// For how long a job was held between two times, which `maxElapsed` does not count.
    pub fn held_between(&self, job: &Job, from: Timestamp, to: Timestamp) -> Duration {
        let known = job.destination.as_ref();
        let Some((destination, known)) =
            known.and_then(|destination| self.health.get_key_value(destination))
        else {
            return Duration::ZERO;
        };
        let mode = self.hold_mode_of(&job.kind, &job.tenant, destination);
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

    pub(super) fn of_destination(&self, destination: &Destination) -> &GateLimits {
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

    /// What follows from the health of their destination for the jobs of a flow key: for all tenants,
    /// and for its own. While it is held for all, no second probe is sent for the tenant alone; what
    /// the tenant was asked to wait for, or holds by hand, counts all the same.
    pub(super) fn health_gates(&self, flow_key: &FlowKey) -> impl Iterator<Item = AppliedGate> {
        let destination = flow_key.destination.as_ref();
        let known = destination.and_then(|destination| self.health.get_key_value(destination));
        let gates = known.map(|(destination, known)| {
            let mode = self.hold_mode_of(&flow_key.kind, &flow_key.tenant, destination);
            let scope = self.retry_after_scope(Some(&flow_key.tenant), destination);
            let heeds_retry_after = scope != RetryAfterScope::Job;
            let mode_for_all = mode_for_all(&flow_key.kind, mode);
            let for_all = known.get(None);
            let is_held_for_all = for_all.is_some_and(|health| health.keeps_back(mode_for_all));
            let own = known.get(Some(&flow_key.tenant));
            let own_mode = if is_held_for_all { HoldMode::Off } else { mode };
            let tenant = Some(&flow_key.tenant);
            let quota = |of: Option<&Arc<DestinationHealth>>| {
                of.filter(|_| heeds_retry_after)?.quota_limit()
            };
            [
                for_all.and_then(|it| Some((None, it.limit(mode_for_all, heeds_retry_after)?))),
                own.and_then(|it| Some((tenant, it.limit(own_mode, heeds_retry_after)?))),
                quota(for_all).map(|limit| (None, limit)),
                quota(own).map(|limit| (tenant, limit)),
            ]
            .map(|limit| {
                let (tenant, limit) = limit?;
                Some(health_gate(destination, tenant, limit))
            })
        });
        gates.into_iter().flatten().flatten()
    }
}

impl GateNumber {
    /// What follows from the health of a destination has states of its own.
    fn of_health(id: &GateId, limit: &DestinationLimit) -> Self {
        Self::of_parts(limit.state_name(), id)
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
