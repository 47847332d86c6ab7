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
        for unsaved in self.tallies.reports(&self.node, &gates, now) {
            let UnsavedReport {
                subject, report, ..
            } = &unsaved;
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
        if changed > 0 {
            self.gates.refresh_all().await?;
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
            let count = self
                .store
                .count_due(destination, tenant, WAITING_COUNTED_MAX);
            counts.insert(subject, count.await?.count);
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
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use steadfast_core::{
        Claim, Destination, Failure, FailureClass, GateDefaults, GateState, HoldMode, JobId, Kind,
        NewJob, Outcome, Payload, Preset, Queue, Room, Sublane, Tenant, WorkerName,
    };
    use steadfast_store::{
        ClaimRequest, Document, DocumentSaveResult, JobStore as _, LayeredStore, ManualClock,
        MemoryStore, Outbox, StoreLayer,
    };

    use super::*;
    use crate::{
        builder::EngineBuilder, client::request::JobRequest, config::EngineConfig,
        limits::TALLIES_PER_TENANT_MAX, parts::Parts,
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
            outbox: Outbox,
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

    /// HTTP jobs of a tenant, as a node or a worker has ended them.
    async fn end_calls(parts: &Parts, tenant: &str, outcome: &Outcome, is_reported: bool) {
        let payload = format!(r#"{{"url": "{}/orders"}}"#, partner());
        let payload = Payload::from_json(&payload).unwrap();
        let jobs = (0..30).map(|_| JobRequest::new("http", payload.clone()).tenant(tenant));
        parts.client.enqueue_all(jobs).await.unwrap();
        let request = ClaimRequest {
            tenant: Some(Tenant::new(tenant).unwrap()),
            ..ClaimRequest::new(WorkerName::new("w").unwrap(), 30)
        };
        let claims = parts.store.claim(request).await.unwrap().claims;
        assert_eq!(claims.len(), 30);
        let end = |claim: Claim| {
            let ended = claim.end(outcome.clone(), parts.store.now());
            match is_reported {
                true => parts.settler.reported(ended),
                false => parts.settler.pending(ended),
            }
        };
        let mut batch: Vec<_> = claims.into_iter().map(end).collect();
        parts.settler.settle(&mut batch).await.unwrap();
        parts.health_keeper.keep().await.unwrap();
    }

    /// Whether jobs of a tenant are kept from starting, HTTP jobs and others.
    async fn are_kept(parts: &Parts, tenant: &str) -> [bool; 2] {
        let gates = parts.gates.refresh_all().await.unwrap();
        ["http", "call"].map(|kind| {
            let gates = gates.applying_to(&Sublane {
                tenant: Tenant::new(tenant).unwrap(),
                queue: Queue::default(),
                kind: Kind::new(kind).unwrap(),
                destination: Some(partner()),
                concurrency_key: None,
            });
            let rooms = gates.iter().map(|gate| {
                let room = gate
                    .limits
                    .room(&GateState::default(), false, parts.store.now());
                matches!(room, Room::Closed(_))
            });
            rooms.max().unwrap_or(false)
        })
    }

    fn holding_parts(clock: &ManualClock) -> Parts {
        let store = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
        let mut defaults = GateDefaults::default();
        defaults.destination.hold = Some(HoldMode::Auto);
        EngineBuilder::new(store)
            .config(EngineConfig::default().with_gate_defaults(defaults))
            .parts()
            .unwrap()
    }

    #[tokio::test]
    async fn what_workers_report_holds_a_destination_for_their_own_tenant_only() {
        let clock = ManualClock::default();
        let parts = holding_parts(&clock);
        end_calls(&parts, "loud", &refused(), true).await;
        assert_eq!(are_kept(&parts, "loud").await, [true; 2]);
        assert_eq!(are_kept(&parts, "other").await, [false; 2]);
        let known = parts.client.destination(&partner(), None).await.unwrap();
        assert_eq!(known.tenant, Tenant::new("loud").ok());
        clock.advance(HEALTH_REPORT_EVERY);
        let wait = Failure::http(429, "wait").with_retry_after(Duration::from_secs(60));
        let limited = Outcome::Failure {
            failure: wait,
            output: None,
        };
        end_calls(&parts, "limited", &limited, true).await;
        assert_eq!(are_kept(&parts, "limited").await, [true; 2]);
        assert_eq!(are_kept(&parts, "other").await, [false; 2]);
        // The destination itself has sent it to a node, and then to another tenant as well.
        clock.advance(HEALTH_REPORT_EVERY);
        end_calls(&parts, "third", &limited, false).await;
        assert_eq!(are_kept(&parts, "third").await, [true; 2]);
        assert_eq!(are_kept(&parts, "other").await, [false; 2]);
        clock.advance(HEALTH_REPORT_EVERY);
        end_calls(&parts, "fourth", &limited, false).await;
        assert_eq!(are_kept(&parts, "other").await, [true; 2]);
    }

    #[tokio::test]
    async fn calls_that_fail_for_one_tenant_hold_its_jobs_and_those_of_several_hold_all_calls() {
        let clock = ManualClock::default();
        let parts = holding_parts(&clock);
        end_calls(&parts, "first", &refused(), false).await;
        assert_eq!(are_kept(&parts, "first").await, [true; 2]);
        assert_eq!(are_kept(&parts, "third").await, [false; 2]);
        clock.advance(HEALTH_REPORT_EVERY);
        end_calls(&parts, "second", &refused(), false).await;
        assert_eq!(are_kept(&parts, "third").await, [true, false]);
        let known = parts.client.destination(&partner(), None).await.unwrap();
        assert_eq!(known.tenant, None);
        let release = parts.client.release_destination(&partner(), None).await;
        assert_eq!(release.unwrap().status, HealthStatus::Ramping);
        assert_eq!(are_kept(&parts, "first").await, [false; 2]);
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
            tallies.add(&claim.end(refused(), now), false, &gates);
        };
        for number in 0..TALLIES_PER_TENANT_MAX + 10 {
            add("loud", number);
        }
        add("small", 0);
        let mut destinations = std::collections::HashSet::new();
        for round in 0..2 * TALLIES_PER_TENANT_MAX as u64 / 100 {
            let now = now.plus(HEALTH_REPORT_EVERY * u32::try_from(round).unwrap());
            for unsaved in tallies.reports("n", &gates, now) {
                tallies.saved(&unsaved.subject);
                destinations.insert(unsaved.subject);
            }
        }
        assert_eq!(destinations.len(), TALLIES_PER_TENANT_MAX + 1);
    }
}
