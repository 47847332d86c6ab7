//! Adds what this node has counted to what all nodes know of destinations, and lets time pass there.
//!
//! Every node does. A document is replaced only if it still is the one that the step was taken from,
//! and a report that was added already is recognised; so it does not matter which node takes a step.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use steadfast_core::{
    Destination, Gates, HealthChange, HealthEvent, HealthInput, HealthStatus, IncidentCause,
    Tenant, Timestamp, explain,
};
use steadfast_store::{Store, StoreError};

use crate::{
    gates::GateCache,
    health_documents::{self, StepResult},
    health_tallies::{HealthTallies, UnsavedReport},
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
    steps: Mutex<HashMap<Destination, Timestamp>>,
    /// When the due jobs of destinations that are held were counted.
    counted_at: Mutex<HashMap<Destination, Timestamp>>,
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
            counted_at: Mutex::default(),
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
        let waiting = self.count_waiting(&gates, now).await?;
        for destination in self.due_steps(&gates, &waiting, now) {
            let input = HealthInput {
                waiting: waiting.get(&destination).copied(),
                ..HealthInput::default()
            };
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

    /// How many due jobs wait because of a destination's health, for some of those with an incident.
    async fn count_waiting(
        &self,
        gates: &Gates,
        now: Timestamp,
    ) -> Result<HashMap<Destination, u64>, StoreError> {
        let mut counts = HashMap::new();
        for destination in self.due_counts(gates, now) {
            let most = WAITING_COUNTED_MAX;
            let count = self.store.count_due(destination.clone(), None, most);
            counts.insert(destination, count.await?.count);
        }
        Ok(counts)
    }

    fn due_counts(&self, gates: &Gates, now: Timestamp) -> Vec<Destination> {
        let mut counted_at = lock(&self.counted_at);
        let kept_back = gates.healths().filter(|(destination, health)| {
            let mode = gates.usual_hold_mode(destination);
            health.incident().is_some() && health.keeps_back(mode)
        });
        let mut known = HashMap::new();
        let mut due = Vec::new();
        for (destination, health) in kept_back {
            // A time ahead was noted before the clock was set back.
            let last = counted_at
                .remove(destination)
                .filter(|last| *last <= now)
                .unwrap_or(Timestamp::EPOCH);
            known.insert(destination.clone(), last);
            let is_ramping = health.status(now) == HealthStatus::Ramping;
            if is_ramping || now.since(last) >= WAITING_COUNTED_EVERY {
                due.push((last, destination.clone()));
            }
        }
        due.sort_unstable();
        due.truncate(WAITING_COUNTS_MAX);
        let due: Vec<_> = due
            .into_iter()
            .map(|(_, destination)| destination)
            .collect();
        for destination in &due {
            known.insert(destination.clone(), now);
        }
        *counted_at = known;
        due
    }

    /// Destinations that time, or the number of jobs that wait, changes.
    fn due_steps(
        &self,
        gates: &Gates,
        waiting: &HashMap<Destination, u64>,
        now: Timestamp,
    ) -> Vec<Destination> {
        let mut steps = lock(&self.steps);
        let mut due = Vec::new();
        let mut kept = HashMap::new();
        for (destination, health) in gates.healths() {
            let rules = gates.health_rules(destination);
            let next = health.next_step_at(&rules, now);
            let planned = steps.remove(destination);
            let at = next.into_iter().chain(planned).min();
            let input = HealthInput {
                waiting: waiting.get(destination).copied(),
                ..HealthInput::default()
            };
            let is_due = health.is_forgettable(now)
                || input.waiting.is_some()
                || at.is_some_and(|at| at <= now);
            if is_due && due.len() < HEALTH_STEPS_MAX {
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use steadfast_core::{
        Claim, Failure, FailureClass, JobId, Kind, NewJob, Outcome, Payload, Preset, WorkerName,
    };
    use steadfast_store::{
        ClaimRequest, Document, DocumentSaveResult, JobStore as _, LayeredStore, ManualClock,
        MemoryStore, StoreLayer,
    };

    use super::*;
    use crate::{
        builder::EngineBuilder, limits::TALLIES_PER_TENANT_MAX, parts::Parts, request::JobRequest,
    };

    /// The answer to the first save is lost.
    struct LosesAnswer {
        memory: MemoryStore,
        saves: AtomicU64,
    }

    #[async_trait]
    impl StoreLayer for LosesAnswer {
        fn inner(&self) -> &dyn Store {
            &self.memory
        }

        async fn save_document(
            &self,
            document: Document,
            outbox: Vec<NewJob>,
        ) -> Result<DocumentSaveResult, StoreError> {
            let saved = self.inner().save_document(document, outbox).await;
            match self.saves.fetch_add(1, Ordering::SeqCst) {
                0 => Err(StoreError::unavailable("save a document", "for the test")),
                _ => saved,
            }
        }
    }

    fn partner() -> Destination {
        Destination::new("https://partner.example.com").unwrap()
    }

    fn refused() -> Outcome {
        Outcome::Failure {
            failure: Failure::new(FailureClass::CONNECTION, "refused"),
            output: None,
        }
    }

    /// Jobs that could not reach the partner.
    async fn fail(parts: &Parts, count: usize) {
        let jobs = (0..count)
            .map(|_| JobRequest::new("call", Payload::default()).destination(partner().as_str()));
        parts.client.enqueue_all(jobs).await.unwrap();
        let request = ClaimRequest::new(WorkerName::new("w").unwrap(), count);
        let claims = parts.store.claim(request).await.unwrap().claims;
        let end = |claim: Claim| {
            parts
                .settler
                .pending(claim.end(refused(), parts.store.now()))
        };
        let mut batch: Vec<_> = claims.into_iter().map(end).collect();
        parts.settler.settle(&mut batch).await.unwrap();
    }

    #[tokio::test]
    async fn a_report_whose_answer_was_lost_is_counted_once_and_a_node_that_dies_loses_no_more() {
        let clock = ManualClock::default();
        let store = Arc::new(LayeredStore(LosesAnswer {
            memory: MemoryStore::new(Arc::new(clock.clone())),
            saves: AtomicU64::new(0),
        }));
        let parts = EngineBuilder::new(store.clone()).parts().unwrap();
        fail(&parts, 10).await;
        assert!(parts.health_keeper.keep().await.is_err());
        fail(&parts, 3).await;
        clock.advance(HEALTH_REPORT_EVERY);
        parts.health_keeper.keep().await.unwrap();
        let ended = async |parts: &Parts| {
            let state = parts.client.destination(&partner(), None).await.unwrap();
            state.health.counts().ended()
        };
        assert_eq!(ended(&parts).await, 10);
        clock.advance(HEALTH_REPORT_EVERY);
        parts.health_keeper.keep().await.unwrap();
        assert_eq!(ended(&parts).await, 13);
        fail(&parts, 5).await;
        // What a node has not reported is lost with it; what it has is known to the next one.
        drop(parts);
        let next = EngineBuilder::new(store).parts().unwrap();
        assert_eq!(ended(&next).await, 13);
    }

    #[tokio::test]
    async fn one_tenant_with_very_many_destinations_does_not_keep_others_from_being_watched() {
        let tallies = HealthTallies::default();
        let gates = Gates::default();
        let now = Timestamp::from_millis(1_767_225_600_000);
        let add = |tenant: &str, number: usize| {
            let id = JobId::new(now, u64::try_from(number).unwrap());
            let policy = Arc::new(Preset::Http.policy());
            let kind = Kind::new("call").unwrap();
            let mut job = NewJob::new(id, kind, Payload::default(), policy);
            job.tenant = Tenant::new(tenant).unwrap();
            let host = format!("https://{tenant}-{number}.example.com");
            job.destination = Some(Destination::new(&host).unwrap());
            let worker = WorkerName::new("w").unwrap();
            let claim = job.into_job(now).claim(worker, None, now);
            tallies.add(&claim.end(refused(), now), &gates);
        };
        for number in 0..TALLIES_PER_TENANT_MAX + 10 {
            add("loud", number);
        }
        add("small", 0);
        let mut destinations = std::collections::HashSet::new();
        for round in 0..2 * TALLIES_PER_TENANT_MAX as u64 / 100 {
            let now = now.plus(HEALTH_REPORT_EVERY * u32::try_from(round).unwrap());
            for unsaved in tallies.reports("n", &gates, now) {
                tallies.saved(&unsaved.destination);
                destinations.insert(unsaved.destination);
            }
        }
        assert_eq!(destinations.len(), TALLIES_PER_TENANT_MAX + 1);
    }
}
