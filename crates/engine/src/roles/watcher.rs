//! Checks the alert rules and reports each change once. Needs no leader: an alert's state is
//! written under its revision together with its deliveries, so of all nodes that see a change,
//! one writes and sends it.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use steadfast_core::{
    AlertChange, AlertMetrics, AlertObservation, AlertSettings, AlertState, AlertStatus,
    AlertSubject, AlertUnit, ClosedBy, Destination, EventType, FailureGroup, Gates, Kind, Payload,
    Queue, Room, Subscriptions, Tenant, Timestamp,
};
use steadfast_store::{
    Document, DocumentKind, DocumentPage, DocumentSaveResult, LaneStats, StartQuery, StartSnapshot,
    Store, StoreError,
};

use crate::{
    documents::{
        cache::{DocumentCache, decode_documents},
        endpoints::Endpoints,
        node_state::NodeState,
        policy_levels::PolicyLevels,
    },
    flow::gates::{GateCache, mark_paused},
    limits,
    role::{Next, Role, health::NodeHealth},
    roles::{
        certifier::{self, KeptCertificates},
        forecast_recorder::{ForecastRecorder, UpcomingByQueue},
    },
};

pub struct Watcher {
    store: Arc<dyn Store>,
    endpoints: Arc<DocumentCache<Endpoints>>,
    gates: Arc<GateCache>,
    states: DocumentCache<HashMap<String, StoredState>>,
    certificates: DocumentCache<KeptCertificates>,
    forecasts: ForecastRecorder,
    settings: AlertSettings,
    health: Arc<NodeHealth>,
    every: Duration,
}

#[async_trait]
impl Role for Watcher {
    fn name(&self) -> &'static str {
        "watcher"
    }

    async fn tick(&self) -> Result<Next, StoreError> {
        self.watch().await?;
        Ok(Next::After(self.every))
    }
}

impl Watcher {
    pub fn new(
        store: Arc<dyn Store>,
        endpoints: Arc<DocumentCache<Endpoints>>,
        gates: Arc<GateCache>,
        levels: Arc<PolicyLevels>,
        settings: AlertSettings,
        health: Arc<NodeHealth>,
        every: Duration,
    ) -> Self {
        Self {
            forecasts: ForecastRecorder::new(store.clone(), levels),
            states: DocumentCache::new(store.clone(), DocumentKind::Alert, stored_states),
            certificates: certifier::cache(store.clone()),
            store,
            endpoints,
            gates,
            settings,
            health,
            every,
        }
    }

    /// Checks every rule of every tenant once and returns how many states changed.
    pub async fn watch(&self) -> Result<usize, StoreError> {
        let versions = self.store.document_versions().await?;
        let endpoints = self.endpoints.refresh_if_older(&versions).await?;
        let subscriptions = endpoints.subscriptions();
        // The states come first: a decision on an outdated one is refused when it is written.
        let stored = self.states.refresh_if_older(&versions).await?;
        let now = self.store.now();
        let since = now.minus(self.settings.window);
        let mut lanes = self.store.lane_stats(None, since).await?;
        let gates = self.gates.refresh_all().await?;
        mark_paused(&gates, &mut lanes, now);
        self.leave_out_kept_back(&gates, &mut lanes, now).await?;
        let states = stored.values().filter_map(|stored| stored.state.as_ref());
        let mut changed = 0;
        self.forget_resolved(&stored, now).await?;
        let destinations = destination_observations(states.clone(), &gates);
        let failures = self.store.new_failures(limits::NEW_FAILURES_MAX).await?;
        let upcoming = self.forecasts.refresh_or_keep(now).await;
        let mut observed = observations(states.clone(), &lanes, &upcoming);
        add_failures(&mut observed, &failures, &self.settings, now);
        self.add_node_problems(&mut observed, states, now).await?;
        add_fragile(
            &mut observed,
            &*self.certificates.refresh_if_older(&versions).await?,
        );
        for observation in observed.into_iter().chain(destinations) {
            for rule in observation.rules() {
                let id = observation.state_id(rule);
                let stored = stored.get(&id);
                let state = stored.and_then(|stored| stored.state.as_ref());
                if let Some(change) = rule.step(&self.settings, state, &observation, now) {
                    let revision = stored.map_or(0, |stored| stored.revision);
                    let is_ours = self.save(id, revision, change, &subscriptions).await?;
                    changed += usize::from(is_ours);
                }
            }
        }
        Ok(changed)
    }

    /// Adds the nodes that cannot use their certificates, had to correct stored times, or whose store
    /// is slow. Their records are only read while there is such a node, or an alert of one: a thousand
    /// nodes must not read a thousand records at every check.
    async fn add_node_problems<'a>(
        &self,
        observed: &mut Vec<AlertObservation>,
        mut states: impl Iterator<Item = &'a AlertState>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let is_open = |state: &AlertState| {
            state.rule.unit() == AlertUnit::Nodes && state.status != AlertStatus::Ok
        };
        let health = &self.health;
        let has_own = health.certificate_problem().is_some()
            || health.correction().is_some()
            || health.store_problem().is_some();
        if !has_own && !states.any(is_open) {
            return Ok(());
        }
        let nodes = self
            .store
            .list_documents(DocumentKind::Node, DocumentPage::All)
            .await?;
        let nodes = decode_documents::<NodeState>(nodes).map(|(_, node)| node);
        let observed = of_jobs(observed, &Tenant::default());
        for node in nodes.filter(|node| node.is_alive(now)) {
            let name = &node.name;
            if let Some(problem) = node.certificate_problem {
                observed.add_certificate_problem(format!("node {name}: {problem}"));
            }
            if let Some(correction) = node.correction {
                observed.add_correction(format!("node {name}: {correction}"));
            }
            if let Some(problem) = node.store_problem {
                observed.add_store_problem(format!("node {name}: {problem}"));
            }
        }
        Ok(())
    }

    /// Jobs that a person, or the health of their destination, keeps back are not late: of queues
    /// that look overdue, the first job that may start counts.
    async fn leave_out_kept_back(
        &self,
        gates: &Arc<Gates>,
        lanes: &mut [LaneStats],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if !gates.keep_back_any(now) {
            return Ok(());
        }
        let above = self.settings.overdue.above;
        let is_late = |lane: &&LaneStats| {
            let due = lane.oldest_ready.filter(|_| !lane.paused);
            due.is_some_and(|due| now.since(due) > above)
        };
        let queues = lanes.iter().filter(is_late);
        let queues = queues.map(|lane| (lane.tenant.clone(), lane.queue.clone()));
        let queues: BTreeSet<(Tenant, Queue)> = queues.collect();
        for (tenant, queue) in queues.into_iter().take(limits::OVERDUE_QUEUES_MAX) {
            let first = StartQuery::FirstOf(tenant.clone(), queue.clone());
            let Some(reading) = self.store.explain_start(first).await? else {
                continue;
            };
            let due = match is_kept_back(&reading, now) {
                true => None,
                false => Some(reading.job.progress.run_at),
            };
            let of_queue = |lane: &&mut LaneStats| lane.tenant == tenant && lane.queue == queue;
            for lane in lanes.iter_mut().filter(of_queue) {
                let oldest = lane.oldest_ready;
                lane.oldest_ready = due.and_then(|due| oldest.map(|oldest| oldest.max(due)));
            }
        }
        Ok(())
    }

    /// Deletes states that have long been resolved. If the rule is broken again, it begins anew,
    /// here or on the node that has just changed the state.
    async fn forget_resolved(
        &self,
        stored: &HashMap<String, StoredState>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let is_old = |state: &AlertState| {
            state.status == AlertStatus::Ok && now.since(state.since) > limits::ALERT_STATES_KEPT
        };
        let old = stored
            .iter()
            .filter(|(_, it)| it.state.as_ref().is_some_and(is_old));
        for (id, StoredState { revision, .. }) in old.take(limits::ALERT_STATES_DELETED_MAX) {
            self.store
                .delete_document(DocumentKind::Alert, id.clone(), Some(*revision), None)
                .await?;
        }
        Ok(())
    }

    /// Writes a change and its deliveries, unless another node was first; logs it if written.
    async fn save(
        &self,
        id: String,
        revision: u64,
        change: AlertChange,
        subscriptions: &Subscriptions,
    ) -> Result<bool, StoreError> {
        let body = match Payload::encode(&change.state) {
            Ok(body) => body,
            Err(error) => {
                tracing::error!(id, %error, "cannot store the state of an alert");
                return Ok(false);
            }
        };
        let document = Document {
            kind: DocumentKind::Alert,
            id,
            body,
            revision,
        };
        let outbox = change
            .webhook_event()
            .map(|event| subscriptions.deliver(&event))
            .unwrap_or_default();
        let saved = self.store.save_document(document, outbox.into()).await?;
        let is_ours = matches!(saved, DocumentSaveResult::Done(_));
        if is_ours {
            log(&change);
        }
        Ok(is_ours)
    }
}

/// Whether a person, or the health of its destination, keeps a job from starting. A limit that is
/// reached does not: jobs behind it are late.
fn is_kept_back(reading: &StartSnapshot, now: Timestamp) -> bool {
    let is_retry = reading.job.progress.is_retry();
    let mut rooms = reading
        .gates
        .iter()
        .map(|gate| gate.gate.limits.room(&gate.state, is_retry, now));
    rooms.any(|room| match room {
        Room::Closed(ClosedBy::Quota { quota, .. }) => quota.remaining == 0,
        Room::Closed(by) => !matches!(
            by,
            ClosedBy::MaxRunning
                | ClosedBy::Pace { .. }
                | ClosedBy::Rate(_)
                | ClosedBy::RetryShare(_)
        ),
        Room::For(_) => false,
    })
}

/// The state of an alert as a document holds it. One that cannot be read is overwritten.
struct StoredState {
    revision: u64,
    state: Option<AlertState>,
}

fn stored_states(documents: Vec<Document>) -> HashMap<String, StoredState> {
    let states = documents.into_iter().map(|document| {
        let Document { id, revision, .. } = document;
        let state = document.body.decode().map_err(|error| {
            tracing::error!(id, %error, "resetting an alert whose state cannot be decoded");
        });
        let state = state.ok();
        (id, StoredState { revision, state })
    });
    states.collect()
}

/// The figures of each tenant that has jobs, or alerts that may have to be resolved.
fn observations<'a>(
    states: impl Iterator<Item = &'a AlertState>,
    lanes: &[LaneStats],
    upcoming: &UpcomingByQueue,
) -> Vec<AlertObservation> {
    let mut found: BTreeMap<(Tenant, AlertSubject), BTreeMap<Queue, AlertMetrics>> = states
        .filter(|state| state.destination.is_none())
        .map(|state| ((state.tenant.clone(), state.subject), BTreeMap::new()))
        .collect();
    for lane in lanes {
        let subject = AlertSubject::of(&lane.kind, &lane.queue);
        let queues = found.entry((lane.tenant.clone(), subject)).or_default();
        *queues.entry(lane.queue.clone()).or_default() += AlertMetrics {
            dead_letters: lane.dead_letters,
            recent: lane.recent,
            // Jobs of a paused queue are late on purpose.
            oldest_ready: lane.oldest_ready.filter(|_| !lane.paused),
            upcoming: upcoming
                .get(&(lane.tenant.clone(), lane.queue.clone()))
                .filter(|_| !lane.paused)
                .copied(),
            ..AlertMetrics::default()
        };
    }
    let found = found.into_iter();
    found
        .map(|((tenant, subject), queues)| AlertObservation::new(tenant, subject, queues))
        .collect()
}

/// Adds causes of failures of jobs to what was observed, in the order of tenants. Those of deliveries have alerts of their own: one about a
/// notification that fails would make another.
fn add_failures(
    observed: &mut [AlertObservation],
    failures: &[FailureGroup],
    settings: &AlertSettings,
    now: Timestamp,
) {
    let webhook = Kind::webhook();
    for group in failures {
        let mut kinds = group.tally.kinds.names.iter();
        if !kinds.any(|kind| kind != webhook.as_str()) {
            continue;
        }
        let tenant = &group.key.tenant;
        // A tenant with failures has lanes.
        let place = observed.binary_search_by(|it| {
            let of_tenant = it.tenant.cmp(tenant);
            of_tenant.then(it.subject.cmp(&AlertSubject::Jobs))
        });
        if let Ok(place) = place {
            observed[place].add_failure(group, settings, now);
        }
    }
}

/// Adds kept certificates of systems that do not recover.
fn add_fragile(observed: &mut Vec<AlertObservation>, kept: &KeptCertificates) {
    for (_, kept) in kept {
        if let Some(sentence) = certifier::fragility(kept) {
            of_jobs(observed, &kept.tenant).add_fragile(sentence);
        }
    }
}

/// What was observed of the jobs of a tenant; added if nothing was.
fn of_jobs<'a>(
    observed: &'a mut Vec<AlertObservation>,
    tenant: &Tenant,
) -> &'a mut AlertObservation {
    let is_of_jobs =
        |it: &AlertObservation| it.tenant == *tenant && it.subject == AlertSubject::Jobs;
    let place = observed.iter().position(is_of_jobs).unwrap_or_else(|| {
        let subject = AlertSubject::Jobs;
        let observation = AlertObservation::new(tenant.clone(), subject, BTreeMap::new());
        observed.push(observation);
        observed.len() - 1
    });
    &mut observed[place]
}

/// The destinations that do not work, for each tenant whose attempts failed there, and those with
/// alerts that may have to be resolved.
fn destination_observations<'a>(
    states: impl Iterator<Item = &'a AlertState>,
    gates: &Gates,
) -> Vec<AlertObservation> {
    let open = states.filter(|state| state.status != AlertStatus::Ok);
    let mut found: BTreeSet<(Tenant, Destination)> = open
        .filter_map(|state| Some((state.tenant.clone(), state.destination.clone()?)))
        .collect();
    for (subject, health) in gates.healths() {
        let tenants = health.incident().into_iter().flat_map(|it| &it.tenants);
        found.extend(tenants.map(|tenant| (tenant.clone(), subject.destination.clone())));
    }
    let found = found.into_iter();
    found
        .map(|(tenant, destination)| {
            let incident = gates.incident(&tenant, &destination);
            AlertObservation::of_destination(tenant, destination.clone(), incident)
        })
        .collect()
}

fn log(change: &AlertChange) {
    let Some(event) = change.event else {
        return;
    };
    let AlertState {
        tenant,
        rule,
        subject,
        ..
    } = &change.state;
    let sentence = change.sentence(event);
    match event {
        EventType::AlertResolved => {
            tracing::info!(tenantId = %tenant, %rule, %subject, "{sentence}");
        }
        _ => tracing::warn!(tenantId = %tenant, %rule, %subject, "{sentence}"),
    }
}
