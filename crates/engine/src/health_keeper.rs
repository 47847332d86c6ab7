//! Adds what this node has counted to what all nodes know of destinations, and lets time pass there.
//!
//! Every node does. A document is replaced only if it still is the one that the step was taken from,
//! and a report that was added already is recognised; so it does not matter which node takes a step.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use steadfast_core::{
    Destination, Gates, HealthChange, HealthEvent, HealthInput, IncidentCause, Tenant, Timestamp,
    explain,
};
use steadfast_store::{Store, StoreError};

use crate::{
    gates::GateCache,
    health_documents::{self, StepResult},
    health_tallies::{HealthTallies, UnsavedReport},
    limits::{
        DESTINATIONS_MAX, DESTINATIONS_PER_TENANT_MAX, HEALTH_REPORT_EVERY, HEALTH_STEPS_MAX,
    },
    role::{Next, Role},
};

pub struct HealthKeeper {
    store: Arc<dyn Store>,
    gates: Arc<GateCache>,
    tallies: Arc<HealthTallies>,
    node: String,
    /// When time alone may change something.
    steps: Mutex<HashMap<Destination, Timestamp>>,
}

#[async_trait]
impl Role for HealthKeeper {
    fn name(&self) -> &'static str {
        "health keeper"
    }

    async fn tick(&self) -> Result<Next, StoreError> {
        self.keep().await?;
        Ok(Next::AtWakeup {
            not_before: Duration::ZERO,
            at_latest: HEALTH_REPORT_EVERY,
        })
    }

    async fn wakeup(&self) {
        self.tallies.urgent().await;
    }
}

impl HealthKeeper {
    pub fn new(
        store: Arc<dyn Store>,
        gates: Arc<GateCache>,
        tallies: Arc<HealthTallies>,
        node: String,
    ) -> Self {
        Self {
            store,
            gates,
            tallies,
            node,
            steps: Mutex::default(),
        }
    }

    /// Reports what was counted and takes the steps that are due. Returns how many documents changed.
    pub async fn keep(&self) -> Result<usize, StoreError> {
        let gates = self.gates.get().await?;
        let now = self.store.now();
        let mut changed = 0;
        for unsaved in self.tallies.reports(&self.node, &gates, now) {
            let input = HealthInput {
                report: Some(&unsaved.report),
                ..HealthInput::default()
            };
            let result = match may_be_known(&gates, &unsaved) {
                true => self.step(&unsaved.destination, input, &gates).await?,
                false => StepResult::Unchanged,
            };
            // Others were faster each time: the same report is added in the next round.
            if !matches!(result, StepResult::Contended) {
                self.tallies.saved(&unsaved.destination);
            }
            changed += result.changes();
        }
        for destination in self.due_steps(&gates, now) {
            let input = HealthInput::default();
            let result = self.step(&destination, input, &gates).await?;
            changed += result.changes();
        }
        if changed > 0 {
            self.gates.refresh_health().await?;
        }
        Ok(changed)
    }

    async fn step(
        &self,
        destination: &Destination,
        input: HealthInput<'_>,
        gates: &Gates,
    ) -> Result<StepResult, StoreError> {
        let rules = gates.health_rules(destination);
        let result = health_documents::step(&*self.store, destination, input, &rules).await?;
        if let StepResult::Changed(change) = &result {
            log(destination, change, self.store.now());
        }
        Ok(result)
    }

    /// Destinations that time alone changes.
    fn due_steps(&self, gates: &Gates, now: Timestamp) -> Vec<Destination> {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let mut due = Vec::new();
        let mut kept = HashMap::new();
        for (destination, health) in gates.healths() {
            let rules = gates.health_rules(destination);
            let next = health.next_step_at(&rules, now);
            let planned = steps.remove(destination);
            let at = next.into_iter().chain(planned).min();
            let is_due = health.is_forgettable(now) || at.is_some_and(|at| at <= now);
            if is_due && due.len() < HEALTH_STEPS_MAX {
                let input = HealthInput::default();
                if health.is_forgettable(now) || health.step(input, &rules, now).is_some() {
                    due.push(destination.clone());
                }
            } else if let Some(at) = at {
                kept.insert(destination.clone(), at);
            }
        }
        *steps = kept;
        due
    }
}

/// There is an end to the destinations that are known: of one tenant, and in all.
fn may_be_known(gates: &Gates, unsaved: &UnsavedReport) -> bool {
    if gates.health(&unsaved.destination).is_some() {
        return true;
    }
    let has = |tenant: &Tenant| {
        let of_tenant = gates.healths();
        of_tenant
            .filter(|(_, health)| health.concerns(tenant))
            .count()
    };
    gates.health_count() < DESTINATIONS_MAX && has(&unsaved.tenant) < DESTINATIONS_PER_TENANT_MAX
}

fn log(destination: &Destination, change: &HealthChange, now: Timestamp) {
    match &change.event {
        Some(HealthEvent::Began(incident)) => {
            if let IncidentCause::Failures {
                attempts,
                failed,
                newest,
                ..
            } = &incident.cause
            {
                let newest = newest.as_deref();
                tracing::warn!(
                    %destination,
                    newest,
                    "{destination} does not work: {failed} of the last {attempts} attempts failed"
                );
            }
        }
        Some(HealthEvent::Ended(incident)) => {
            let lasted = explain::brief(incident.duration(now));
            tracing::info!(%destination, "{destination} works again, after {lasted}");
        }
        None => {}
    }
}
