//! Destinations: their health, hold and release.

use std::{cmp::Reverse, sync::Arc};

use steadfast_core::{
    Destination, DestinationHealth, GateId, GatePatch, GateScope, Gates, HealthInput, HealthRules,
    HealthStatus, HealthSubject, HoldCommand, HoldMode, Invalid, LearnedPace, PaceMode,
    RetryAfterScope, Tenant, Timestamp, limits,
};

use super::{Client, ClientError};
use crate::{
    flow::health_documents::{self, StepResult},
    limits::{DESTINATIONS_MAX, PACES_SHOWN_MAX},
};

/// A system that jobs call, with its health and the settings in force.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DestinationState {
    /// The destination.
    pub destination: Destination,
    /// Its current health status.
    pub status: HealthStatus,
    /// The evidence: outcomes, incidents, who holds it, and what it asked for.
    pub health: Arc<DestinationHealth>,
    /// Whose attempts alone show it, and whose jobs alone it concerns; `None` if it is so for all.
    pub tenant: Option<Tenant>,
    /// What follows if it is found unhealthy: for the jobs of the tenant that was asked for, or
    /// where nothing is set for a tenant.
    pub hold: HoldMode,
    /// The jobs that a `Retry-After` or a quota applies to.
    pub retry_after_scope: RetryAfterScope,
    /// Whether the number of calls at once is learned.
    pub pace: PaceMode,
    /// What was learned: for all tenants, or for single ones.
    pub learned: Vec<(Option<Tenant>, LearnedPace)>,
    /// When it counts as unhealthy.
    pub rules: HealthRules,
}

/// The destinations to list.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DestinationFilter {
    /// Those where attempts of this tenant failed, and those with something to say for which its
    /// jobs wait.
    pub tenant: Option<Tenant>,
    /// Those with this status now.
    pub status: Option<HealthStatus>,
    /// Those that are not healthy now.
    pub is_troubled: bool,
}

/// How many destinations have each status. Those of which nothing is known are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DestinationCounts {
    /// Healthy now, after a recent incident.
    pub healthy: usize,
    /// Attempts fail, or a person holds it.
    pub held: usize,
    /// Attempts fail, and the next one shows whether that is still so.
    pub probing: usize,
    /// It answers again, and jobs start faster from second to second.
    pub ramping: usize,
}

impl DestinationFilter {
    /// Sets [`DestinationFilter::tenant`].
    #[must_use]
    pub fn with_tenant(mut self, tenant: Tenant) -> Self {
        self.tenant = Some(tenant);
        self
    }

    /// Sets [`DestinationFilter::status`].
    #[must_use]
    pub fn with_status(mut self, status: HealthStatus) -> Self {
        self.status = Some(status);
        self
    }

    /// Sets [`DestinationFilter::is_troubled`].
    #[must_use]
    pub fn with_trouble(mut self) -> Self {
        self.is_troubled = true;
        self
    }

    fn wants(&self, status: HealthStatus) -> bool {
        let is_right = self.status.is_none_or(|wanted| wanted == status);
        is_right && !(self.is_troubled && status == HealthStatus::Healthy)
    }
}

impl Client {
    /// Up to `max` destinations of which something is known, by name, behind `after`. Those whose
    /// attempts did not fail lately are not among them.
    pub async fn destinations(
        &self,
        filter: &DestinationFilter,
        after: Option<&Destination>,
        max: usize,
    ) -> Result<Vec<DestinationState>, ClientError> {
        let gates = self.gate_cache().refresh_all().await?;
        let (now, tenant) = (self.now(), filter.tenant.as_ref());
        let wanted = gates
            .known_destinations()
            .filter(|destination| after.is_none_or(|after| *destination > after))
            .filter(|destination| {
                let is_any = filter.status.is_none() && !filter.is_troubled;
                is_any || filter.wants(state_of(&gates, destination, tenant, now).status)
            });
        let (mut found, mut others) = (Vec::new(), Vec::new());
        for destination in wanted {
            let for_all = gates.health(destination, None);
            match tenant.is_none_or(|tenant| concerns(&gates, destination, tenant)) {
                true => found.push(destination.clone()),
                false if for_all.is_some_and(|health| !health.is_quiet()) => {
                    others.push(destination.clone());
                }
                false => {}
            }
        }
        if let Some(tenant) = tenant.filter(|_| !others.is_empty()) {
            let waited_for = self.store().waiting_destinations(tenant.clone(), others);
            found.extend(waited_for.await?);
        }
        found.sort_unstable();
        let found = found.iter().take(max);
        Ok(found
            .map(|destination| state_of(&gates, destination, tenant, now))
            .collect())
    }

    /// What a tenant may know of a destination: of one that it has nothing to do with, because no
    /// attempt of its own failed there and none of its jobs wait for it, only the settings.
    pub async fn destination_of(
        &self,
        tenant: &Tenant,
        destination: &Destination,
    ) -> Result<DestinationState, ClientError> {
        let mut state = self.destination(destination, Some(tenant)).await?;
        let is_own = state.tenant.as_ref() == Some(tenant);
        let is_known = is_own || state.health.concerns(tenant) || {
            let among = vec![destination.clone()];
            let waited_for = self.store().waiting_destinations(tenant.clone(), among);
            !waited_for.await?.is_empty()
        };
        if !is_known {
            state.health = Arc::default();
            state.learned.retain(|(of, _)| of.as_ref() == Some(tenant));
            state.status = state.health.status(self.now());
        }
        Ok(state)
    }

    /// The state of a destination; an unknown one is healthy. Its settings are those of its gate: [`Client::change_gate`] changes them.
    pub async fn destination(
        &self,
        destination: &Destination,
        tenant: Option<&Tenant>,
    ) -> Result<DestinationState, ClientError> {
        let gates = self.gate_cache().refresh_all().await?;
        Ok(state_of(&gates, destination, tenant, self.now()))
    }

    /// Starts no job for a destination, whosever it is, until it is released, or until a time.
    /// `by` and `reason` are for people. Held on this node at once, and on others within two seconds.
    pub async fn hold_destination(
        &self,
        destination: &Destination,
        by: Option<&str>,
        reason: Option<&str>,
        until: Option<Timestamp>,
    ) -> Result<DestinationState, ClientError> {
        let now = self.now();
        if let Some(until) = until.filter(|until| *until <= now) {
            let expected = format!("must be in the future; the current time is {now}");
            return Err(Invalid::new("until", until, expected).into());
        }
        check_text("by", by, limits::PAUSE_BY_BYTES_MAX)?;
        check_text("reason", reason, limits::PAUSE_REASON_BYTES_MAX)?;
        let command = HoldCommand::Hold {
            by: by.map(str::to_owned),
            reason: reason.map(str::to_owned),
            until,
        };
        self.command_destination(destination, &command).await
    }

    /// Lets jobs for a destination start again, faster from second to second, and forgets what it
    /// asked for. To release one that is not held changes nothing.
    pub async fn release_destination(
        &self,
        destination: &Destination,
        by: Option<&str>,
    ) -> Result<DestinationState, ClientError> {
        let by = by.map(str::to_owned);
        self.command_destination(destination, &HoldCommand::Release { by })
            .await
    }

    /// How many destinations have each status, as this node knows it.
    pub async fn destination_counts(&self) -> Result<DestinationCounts, ClientError> {
        let gates = self.gate_cache().get().await?;
        let now = self.now();
        let mut counts = DestinationCounts::default();
        for destination in gates.known_destinations() {
            match state_of(&gates, destination, None, now).status {
                HealthStatus::Healthy => counts.healthy += 1,
                HealthStatus::Held => counts.held += 1,
                HealthStatus::Probing => counts.probing += 1,
                HealthStatus::Ramping => counts.ramping += 1,
            }
        }
        Ok(counts)
    }

    /// The learned numbers of calls at once that are in force, by destination and tenant, as this
    /// node knows them.
    pub async fn learned_paces(&self) -> Result<Vec<(HealthSubject, u32)>, ClientError> {
        let gates = self.gate_cache().get().await?;
        let now = self.now();
        let mut paces = Vec::new();
        for destination in gates.known_destinations() {
            let learned = gates.learned_paces(destination, None);
            paces.extend(learned.map(|(tenant, pace)| {
                let subject = HealthSubject {
                    destination: destination.clone(),
                    tenant: tenant.cloned(),
                };
                (subject, pace.limit().at(now))
            }));
        }
        paces.sort_unstable();
        Ok(paces)
    }

    /// Changes some settings of a destination, which are those of its gate, and leaves the others;
    /// for jobs of a tenant, or of all.
    pub async fn change_destination(
        &self,
        tenant: Option<Tenant>,
        destination: &Destination,
        changes: &GatePatch,
    ) -> Result<(), ClientError> {
        let name = destination.as_str();
        let record = self.audit_record("destination.edit", name, tenant.as_ref());
        let id = GateId::new(tenant, GateScope::Destination, name)?;
        self.change_gate_as(record, id, changes, None).await?;
        Ok(())
    }

    async fn command_destination(
        &self,
        destination: &Destination,
        command: &HoldCommand,
    ) -> Result<DestinationState, ClientError> {
        let gates = self.gate_cache().refresh_all().await?;
        let is_known = gates.health(destination, None).is_some();
        if !is_known && gates.health_count() >= DESTINATIONS_MAX {
            let expected = format!(
                "must be one of the {DESTINATIONS_MAX} tracked destinations; pause its gate instead"
            );
            return Err(Invalid::new("destination", destination, expected).into());
        }
        let input = HealthInput {
            command: Some(command),
            ..HealthInput::default()
        };
        let action = match command {
            HoldCommand::Hold { .. } => "destination.hold",
            HoldCommand::Release { .. } => "destination.release",
        };
        // It is for the jobs of all tenants. Each of the documents is stored with the same record,
        // which is stored once.
        let record = self.audit_record(action, destination.as_str(), None);
        let record = match (record, command) {
            (
                Some(record),
                HoldCommand::Hold {
                    reason: Some(reason),
                    ..
                },
            ) => Some(record.with_detail(reason)),
            (record, _) => record,
        };
        let rules = gates.health_rules(destination);
        let mut subjects = vec![HealthSubject::from(destination.clone())];
        // Who releases a destination means what is held for single tenants as well.
        if matches!(command, HoldCommand::Release { .. }) {
            let of_tenants = gates.healths_of(destination);
            let of_tenants = of_tenants.filter_map(|(tenant, _)| tenant);
            subjects.extend(of_tenants.map(|tenant| HealthSubject::of_tenant(destination, tenant)));
        }
        subjects.sort_unstable();
        let mut stored = None;
        for subject in subjects {
            let record = record.as_ref();
            let step = health_documents::step_by(self.store(), &subject, input, &rules, record);
            let result = step.await?;
            if matches!(result, StepResult::Contended) {
                let what = format_args!("destination {destination}");
                return Err(ClientError::contended(what));
            }
            if let (StepResult::Changed(change), None) = (result, subject.tenant) {
                stored = Some(Arc::new(change.health));
            }
        }
        match (self.gate_cache().refresh_all().await, stored) {
            (Ok(gates), _) => Ok(state_of(&gates, destination, None, self.now())),
            // What is stored is no failure. The gates are read again within seconds.
            (Err(_), Some(health)) => Ok(DestinationState {
                status: health.status(self.now()),
                tenant: None,
                health,
                ..state_of(&gates, destination, None, self.now())
            }),
            (Err(error), None) => Err(error.into()),
        }
    }
}

fn check_text(field: &str, text: Option<&str>, most: usize) -> Result<(), Invalid> {
    match text.map(str::len).filter(|bytes| *bytes > most) {
        None => Ok(()),
        Some(bytes) => {
            let expected = format!("must be at most {most} bytes");
            Err(Invalid::new(field, format!("{bytes} bytes"), expected))
        }
    }
}

/// Whether a destination concerns a tenant.
fn concerns(gates: &Gates, destination: &Destination, tenant: &Tenant) -> bool {
    let for_all = gates.health(destination, None);
    gates.health(destination, Some(tenant)).is_some()
        || for_all.is_some_and(|health| health.concerns(tenant))
}

/// The learned paces, by tenant; of very many only some.
fn learned(
    gates: &Gates,
    destination: &Destination,
    tenant: Option<&Tenant>,
) -> Vec<(Option<Tenant>, LearnedPace)> {
    let mut paces: Vec<_> = gates.learned_paces(destination, tenant).collect();
    paces.sort_by_key(|(of, _)| *of);
    paces.truncate(PACES_SHOWN_MAX);
    let paces = paces.into_iter();
    paces
        .map(|(of, pace)| (of.cloned(), pace.clone()))
        .collect()
}

/// The most severe state: for one tenant, or for any.
fn state_of(
    gates: &Gates,
    destination: &Destination,
    tenant: Option<&Tenant>,
    now: Timestamp,
) -> DestinationState {
    let known = gates.healths_of(destination);
    let known = known.filter(|(of, _)| of.is_none() || tenant.is_none() || *of == tenant);
    let weight = |(of, health): &(Option<&Tenant>, &Arc<DestinationHealth>)| {
        let last = health.past_incidents().first().map(|last| last.began_at);
        let asks_to_wait = health.retry_after(now).is_some() || health.quota(now).is_some();
        let tenant = of.map(|tenant| Reverse(tenant.to_string()));
        (
            health.incident().is_some(),
            asks_to_wait,
            last,
            of.is_none(),
            tenant,
        )
    };
    let (of, health) = match known.max_by_key(weight) {
        Some((of, health)) => (of.cloned(), health.clone()),
        None => (None, Arc::default()),
    };
    DestinationState {
        destination: destination.clone(),
        status: health.status(now),
        hold: match tenant.or(of.as_ref()) {
            Some(tenant) => gates.hold_mode(tenant, destination),
            None => gates.usual_hold_mode(destination),
        },
        retry_after_scope: gates.retry_after_scope(tenant.or(of.as_ref()), destination),
        pace: gates.pace_mode(tenant.or(of.as_ref()), destination),
        learned: learned(gates, destination, tenant),
        health,
        tenant: of,
        rules: gates.health_rules(destination),
    }
}
