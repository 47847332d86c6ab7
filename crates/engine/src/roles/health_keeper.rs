//! Adds what this node has counted to what all nodes know of destinations, and lets time pass there.
//!
//! Every node does. A document is replaced only if it still is the one that the step was taken from,
//! and a report that was added already is recognised; so it does not matter which node takes a step.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use steadfast_core::{
    Gates, HealthChange, HealthEvent, HealthInput, HealthStatus, HealthSubject, IncidentCause,
    Timestamp, explain,
};
use steadfast_store::{Store, StoreError};

use crate::{
    flow::{
        gates::GateCache,
        health_documents::{self, StepResult},
        health_tallies::{HealthTallies, UnsavedReport},
    },
    limits::{
        DESTINATIONS_MAX, DESTINATIONS_PER_TENANT_MAX, HEALTH_REPORT_EVERY, HEALTH_STEPS_MAX,
        WAITING_COUNTED_EVERY, WAITING_COUNTED_MAX, WAITING_COUNTS_MAX,
    },
    role::{Next, Role},
};

pub struct HealthKeeper {
    store: Arc<dyn Store>,
    gates: Arc<GateCache>,
    tallies: Arc<HealthTallies>,
    node: String,
    /// When time alone may change something.
    steps: Mutex<HashMap<HealthSubject, Timestamp>>,
    counts: Mutex<IncidentCounts>,
    /// When the due jobs of destinations that are held were counted.
    counted_at: Mutex<HashMap<HealthSubject, Timestamp>>,
}

/// Incidents of destinations since the node started, if it was the first to detect them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IncidentCounts {
    /// Times at which one was found not to work.
    pub begun: u64,
    /// Times at which it was found to work again.
    pub ended: u64,
    /// Probes, or slow starts after one, that failed.
    pub probes_failed: u64,
    /// Times at which jobs that were held began to start again.
    pub released: u64,
}

impl IncidentCounts {
    fn add(&mut self, change: &HealthChange) {
        match change.event {
            Some(HealthEvent::Began(_)) => self.begun += 1,
            Some(HealthEvent::Ended(_)) => self.ended += 1,
            None => {}
        }
        self.probes_failed += u64::from(change.failed_probes);
        self.released += u64::from(change.is_released);
    }
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
            counts: Mutex::default(),
            counted_at: Mutex::default(),
        }
    }

    /// Incidents that this node detected.
    pub fn incident_counts(&self) -> IncidentCounts {
        *lock(&self.counts)
    }

    /// Reports what was counted and takes the steps that are due. Returns how many documents changed.
    pub async fn keep(&self) -> Result<usize, StoreError> {
        let gates = self.gates.get().await?;
        let now = self.store.now();
        let mut changed = 0;
        // Those about all tenants come first: what is found wrong for all need not be found for each.
        let mut held_for_all = HashSet::new();
        let mut is_refused = false;
        for unsaved in self.tallies.reports(&self.node, &gates, now) {
            let UnsavedReport {
                subject, report, ..
            } = &unsaved;
            is_refused |= unsaved.is_refused;
            let input = HealthInput {
                report: Some(report),
                ..HealthInput::default()
            };
            let is_covered =
                subject.tenant.is_some() && held_for_all.contains(&subject.destination);
            let result = match !is_covered && may_be_known(&gates, &unsaved) {
                true => self.step(subject, input, &gates).await?,
                false => StepResult::Unchanged,
            };
            if let StepResult::Changed(change) = &result
                && subject.tenant.is_none()
                && change.health.incident().is_some()
            {
                held_for_all.insert(subject.destination.clone());
            }
            // Others were faster each time: the same report is added in the next round.
            if !matches!(result, StepResult::Contended) {
                self.tallies.saved(subject);
            }
            changed += result.changes();
        }
        let waiting = self.count_waiting(&gates, now).await?;
        for subject in self.due_steps(&gates, &waiting, now) {
            let input = HealthInput {
                waiting: waiting.get(&subject).copied(),
                ..HealthInput::default()
            };
            let result = self.step(&subject, input, &gates).await?;
            changed += result.changes();
        }
        // What others found of a pace may be what this node has just found.
        if changed > 0 || is_refused {
            let gates = self.gates.refresh_all().await?;
            self.tallies.follow(&gates, self.store.now());
        }
        Ok(changed)
    }

    async fn step(
        &self,
        subject: &HealthSubject,
        input: HealthInput<'_>,
        gates: &Gates,
    ) -> Result<StepResult, StoreError> {
        let rules = gates.health_rules(&subject.destination);
        let result = health_documents::step(&*self.store, subject, input, &rules).await?;
        if let StepResult::Changed(change) = &result {
            lock(&self.counts).add(change);
            log(subject, change, self.store.now());
        }
        Ok(result)
    }

    /// How many due jobs wait because of a destination's health, for some of those with an incident.
    async fn count_waiting(
        &self,
        gates: &Gates,
        now: Timestamp,
    ) -> Result<HashMap<HealthSubject, u64>, StoreError> {
        let mut counts = HashMap::new();
        for subject in self.due_counts(gates, now) {
            let (destination, tenant) = (subject.destination.clone(), subject.tenant.clone());
            let due = self
                .store
                .due_minutes(destination, tenant, now, WAITING_COUNTED_MAX);
            counts.insert(subject, due.await?.jobs());
        }
        Ok(counts)
    }

    fn due_counts(&self, gates: &Gates, now: Timestamp) -> Vec<HealthSubject> {
        let mut counted_at = lock(&self.counted_at);
        let kept_back = gates.healths().filter(|(subject, health)| {
            let mode = match &subject.tenant {
                Some(tenant) => gates.hold_mode(tenant, &subject.destination),
                None => gates.usual_hold_mode(&subject.destination),
            };
            health.incident().is_some() && health.keeps_back(mode)
        });
        let mut known = HashMap::new();
        let mut due = Vec::new();
        for (subject, health) in kept_back {
            // A time ahead was noted before the clock was set back.
            let last = counted_at.remove(&subject).filter(|last| *last <= now);
            let last = last.unwrap_or(Timestamp::EPOCH);
            known.insert(subject.clone(), last);
            let is_ramping = health.status(now) == HealthStatus::Ramping;
            if is_ramping || now.since(last) >= WAITING_COUNTED_EVERY {
                due.push((last, subject));
            }
        }
        due.sort_unstable();
        due.truncate(WAITING_COUNTS_MAX);
        let due: Vec<_> = due.into_iter().map(|(_, subject)| subject).collect();
        known.extend(due.iter().map(|subject| (subject.clone(), now)));
        *counted_at = known;
        due
    }

    /// Changes caused by time, or by the number of waiting jobs.
    fn due_steps(
        &self,
        gates: &Gates,
        waiting: &HashMap<HealthSubject, u64>,
        now: Timestamp,
    ) -> Vec<HealthSubject> {
        let mut steps = lock(&self.steps);
        let mut due = Vec::new();
        let mut kept = HashMap::new();
        for (subject, health) in gates.healths() {
            let rules = gates.health_rules(&subject.destination);
            let next = health.next_step_at(&rules, now);
            let planned = steps.remove(&subject);
            let at = next.into_iter().chain(planned).min();
            let input = HealthInput {
                waiting: waiting.get(&subject).copied(),
                ..HealthInput::default()
            };
            let is_due = health.is_forgettable(now)
                || input.waiting.is_some()
                || at.is_some_and(|at| at <= now);
            if is_due && due.len() < HEALTH_STEPS_MAX {
                if health.is_forgettable(now) || health.step(input, &rules, now).is_some() {
                    due.push(subject);
                }
            } else if let Some(at) = at {
                kept.insert(subject, at);
            }
        }
        *steps = kept;
        // A map's order is another one each time, and simulations repeat what they did.
        due.sort_unstable();
        due
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// There is an end to the destinations that are known: of one tenant, and in all.
fn may_be_known(gates: &Gates, unsaved: &UnsavedReport) -> bool {
    let UnsavedReport {
        subject, tenant, ..
    } = unsaved;
    let known = gates.health(&subject.destination, subject.tenant.as_ref());
    if known.is_some() {
        return true;
    }
    let of_tenant = gates.healths().filter(|(subject, health)| {
        subject.tenant.as_ref() == Some(tenant)
            || (subject.tenant.is_none() && health.concerns(tenant))
    });
    gates.health_count() < DESTINATIONS_MAX && of_tenant.count() < DESTINATIONS_PER_TENANT_MAX
}

fn log(subject: &HealthSubject, change: &HealthChange, now: Timestamp) {
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
                    destination = %subject.destination,
                    tenantId = subject.tenant.as_ref().map(tracing::field::display),
                    newest,
                    "{subject} is unhealthy: {failed} of the last {attempts} attempts failed"
                );
            }
        }
        Some(HealthEvent::Ended(incident)) => {
            let lasted = explain::brief(incident.duration(now));
            tracing::info!(
                destination = %subject.destination,
                tenantId = subject.tenant.as_ref().map(tracing::field::display),
                "{subject} has recovered after {lasted}"
            );
        }
        None => {}
    }
}

#[cfg(test)]
mod tests;
