//! The workers of a node: which queues and kinds they claim, and when they were last seen.
//!
//! Claims and heartbeats only note what they saw, in memory. One task writes it to the store, at most
//! every few seconds per worker, so that no claim waits for it and every node knows all workers.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};
use steadfast_api::WorkerInfo;
use steadfast_core::{Job, Kind, Payload, Queue, Tenant, Timestamp, WorkerName};
use steadfast_engine::WorkerPresence;
use steadfast_store::{Document, DocumentKind, DocumentSaveResult, Outbox, Store, StoreError};
use tokio::sync::Notify;

use crate::limits;

/// The stored record of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerState {
    pub name: WorkerName,
    /// The tenant whose jobs it claims; those of all if `None`.
    pub tenant: Option<Tenant>,
    pub queues: Vec<Queue>,
    pub kinds: Vec<Kind>,
    #[serde(default)]
    pub info: WorkerInfo,
    pub first_seen: Timestamp,
    pub last_seen: Timestamp,
    /// Since when its program has this version.
    #[serde(default)]
    pub version_since: Option<Timestamp>,
}

impl WorkerState {
    /// Keeps what was known of it before: when it was first seen, and since when its version is
    /// what it is.
    fn follow(&mut self, before: &Self) {
        self.first_seen = before.first_seen.min(self.first_seen);
        self.version_since = match before.info.version == self.info.version {
            true => before.version_since.or(Some(before.first_seen)),
            false => self.version_since.or(Some(self.last_seen)),
        };
    }

    /// Whether it was seen recently.
    pub fn is_alive(&self, now: Timestamp) -> bool {
        now.since(self.last_seen) < limits::WORKER_SILENT_AFTER
    }
}

/// The workers that this node has seen.
#[derive(Default)]
pub struct Workers {
    seen: Mutex<SeenWorkers>,
    /// There is something to write.
    noted: Notify,
}

/// By tenant, and then by the id of the document.
#[derive(Default)]
struct SeenWorkers(HashMap<Option<Tenant>, HashMap<String, SeenWorker>>);

struct SeenWorker {
    state: WorkerState,
    /// The revision of its document; 0 if this node has not written it yet.
    revision: u64,
    is_noted: bool,
    /// Only its name is known here: another node, or this one before it was started anew, has seen
    /// it claim.
    is_name_only: bool,
}

/// Unique, because no name holds a space. Those of a tenant follow each other.
pub fn document_id(tenant: Option<&Tenant>, name: &WorkerName) -> String {
    format!("{}{name}", document_prefix(tenant))
}

/// The prefix of the ids of a tenant's workers.
pub fn document_prefix(tenant: Option<&Tenant>) -> String {
    format!("{} ", tenant.map_or("*", Tenant::as_str))
}

impl SeenWorkers {
    fn get(&self, tenant: Option<&Tenant>, id: &str) -> Option<&SeenWorker> {
        self.0.get(&tenant.cloned())?.get(id)
    }

    /// Whether there is room for one more of this tenant. Those that are gone make room.
    fn has_room(&mut self, tenant: Option<&Tenant>, now: Timestamp) -> bool {
        if self.count() >= limits::WORKERS_MAX {
            for workers in self.0.values_mut() {
                workers.retain(|_, worker| worker.state.is_alive(now));
            }
            self.0.retain(|_, workers| !workers.is_empty());
        }
        let workers = self.0.entry(tenant.cloned()).or_default();
        if workers.len() >= limits::WORKERS_PER_TENANT_MAX {
            workers.retain(|_, worker| worker.state.is_alive(now));
        }
        workers.len() < limits::WORKERS_PER_TENANT_MAX && self.count() < limits::WORKERS_MAX
    }

    fn count(&self) -> usize {
        self.0.values().map(HashMap::len).sum()
    }
}

impl Workers {
    /// Notes that a worker was seen, unless it was a moment ago. `describe` is called only if it
    /// is to be written.
    pub fn note(
        &self,
        tenant: Option<&Tenant>,
        name: &WorkerName,
        now: Timestamp,
        describe: impl FnOnce() -> WorkerState,
    ) {
        self.note_as(tenant, name, now, false, |_| describe());
    }

    /// Notes that a worker that has claimed before still works.
    pub fn note_again(&self, tenant: Option<&Tenant>, name: &WorkerName, now: Timestamp) {
        self.note_as(tenant, name, now, true, |known| WorkerState {
            last_seen: now,
            ..known.cloned().unwrap_or_else(|| WorkerState {
                name: name.clone(),
                tenant: tenant.cloned(),
                queues: Vec::new(),
                kinds: Vec::new(),
                info: WorkerInfo::default(),
                first_seen: now,
                last_seen: now,
                version_since: None,
            })
        });
    }

    /// Whether a worker was seen to claim for this tenant.
    pub fn knows(&self, tenant: Option<&Tenant>, name: &WorkerName) -> bool {
        let seen = self.lock();
        let known = seen.get(tenant, &document_id(tenant, name));
        known.is_some_and(|known| !known.is_name_only)
    }

    /// The version of the program that runs a job, if its worker was seen to claim here and gave one.
    pub fn version(&self, job: &Job) -> Option<String> {
        let (name, seen) = (job.progress.worker.as_ref()?, self.lock());
        // A worker claims for one tenant, or for all.
        let mut known = [Some(&job.tenant), None].into_iter();
        known.find_map(|tenant| {
            let known = seen.get(tenant, &document_id(tenant, name))?;
            known.state.info.version.clone()
        })
    }

    fn note_as(
        &self,
        tenant: Option<&Tenant>,
        name: &WorkerName,
        now: Timestamp,
        is_name_only: bool,
        describe: impl FnOnce(Option<&WorkerState>) -> WorkerState,
    ) {
        let id = document_id(tenant, name);
        let mut seen = self.lock();
        let known = seen.get(tenant, &id);
        if let Some(known) = known {
            let age = now.since(known.state.last_seen);
            let is_recent = age < limits::WORKER_WRITE_EVERY && now >= known.state.last_seen;
            if is_recent && (is_name_only || !known.is_name_only) {
                return;
            }
        }
        let state = describe(known.map(|known| &known.state));
        if known.is_none() && !seen.has_room(tenant, now) {
            return;
        }
        let workers = seen.0.entry(tenant.cloned()).or_default();
        let entry = workers.entry(id).or_insert_with(|| SeenWorker {
            state: state.clone(),
            revision: 0,
            is_noted: true,
            is_name_only,
        });
        let mut state = state;
        state.follow(&entry.state);
        entry.state = state;
        entry.is_noted = true;
        entry.is_name_only &= is_name_only;
        self.noted.notify_one();
    }

    /// Writes what was noted, and deletes what is to be forgotten, until it is dropped.
    pub async fn run(&self, store: &dyn Store) {
        let mut check = tokio::time::interval(limits::WORKERS_CHECKED_EVERY);
        loop {
            let outcome = tokio::select! {
                () = self.noted.notified() => {
                    tokio::time::sleep(limits::WORKER_WRITE_PAUSE).await;
                    self.write(store).await
                }
                _ = check.tick() => self.forget(store).await,
            };
            if let Err(error) = outcome {
                tracing::debug!(%error, "cannot record worker presence");
            }
        }
    }

    async fn write(&self, store: &dyn Store) -> Result<(), StoreError> {
        let noted: Vec<NotedWorker> = {
            let mut seen = self.lock();
            let all = seen.0.values_mut().flatten();
            let noted = all.filter(|(_, worker)| worker.is_noted);
            let take = |(id, worker): (&String, &mut SeenWorker)| {
                worker.is_noted = false;
                NotedWorker {
                    id: id.clone(),
                    state: worker.state.clone(),
                    revision: worker.revision,
                    is_name_only: worker.is_name_only,
                }
            };
            noted.map(take).collect()
        };
        let mut room = None;
        for mut worker in noted {
            if worker.is_name_only && !worker.find(store).await? {
                continue;
            }
            let is_written = worker.save(store, &mut room).await?;
            let mut seen = self.lock();
            let workers = seen.0.get_mut(&worker.state.tenant);
            if let Some(known) = workers.and_then(|workers| workers.get_mut(&worker.id)) {
                known.revision = if is_written { worker.revision } else { 0 };
                known.state.first_seen = worker.state.first_seen;
                known.state.version_since = worker.state.version_since;
                if known.is_name_only {
                    known.is_name_only = false;
                    known.state = worker.state;
                }
            }
        }
        Ok(())
    }

    async fn forget(&self, store: &dyn Store) -> Result<(), StoreError> {
        let now = store.now();
        let is_over =
            |state: &WorkerState| now.since(state.last_seen) > limits::WORKER_FORGOTTEN_AFTER;
        for document in store.list_documents(DocumentKind::Worker).await? {
            // One that cannot be read, too: its worker writes it anew.
            let state = document.body.decode::<WorkerState>();
            if state.is_ok_and(|state| !is_over(&state)) {
                continue;
            }
            store
                .delete_document(DocumentKind::Worker, document.id, None, None)
                .await?;
        }
        let mut seen = self.lock();
        for workers in seen.0.values_mut() {
            workers.retain(|_, worker| !is_over(&worker.state));
        }
        seen.0.retain(|_, workers| !workers.is_empty());
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, SeenWorkers> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Workers that are stored, in the order of their documents: those of a tenant, or of all.
pub async fn page(
    store: &dyn Store,
    tenant: Option<&Tenant>,
    after: Option<String>,
    limit: usize,
) -> Result<Vec<WorkerState>, StoreError> {
    let prefix = tenant.map(|tenant| document_prefix(Some(tenant)));
    let prefix = prefix.unwrap_or_default();
    let documents = store
        .page_documents(DocumentKind::Worker, prefix, after, limit)
        .await?;
    let decoded = documents.iter();
    Ok(decoded
        .filter_map(|document| document.body.decode().ok())
        .collect())
}

/// The workers that may claim jobs of a tenant: its own, and those of all tenants.
pub async fn serving(store: &dyn Store, tenant: &Tenant) -> Result<Vec<WorkerState>, StoreError> {
    let mut workers = Vec::new();
    for of in [Some(tenant), None] {
        let prefix = document_prefix(of);
        let most = limits::WORKERS_PER_TENANT_MAX;
        let documents = store.page_documents(DocumentKind::Worker, prefix, None, most);
        let documents = documents.await?;
        workers.extend(documents.iter().filter_map(|it| it.body.decode().ok()));
    }
    Ok(workers)
}

/// The workers that may claim jobs which a viewer sees: of a tenant, or of all.
pub async fn of_viewer(
    store: &dyn Store,
    tenant: Option<&Tenant>,
) -> Result<Vec<WorkerState>, StoreError> {
    match tenant {
        Some(tenant) => serving(store, tenant).await,
        None => {
            let all = list(store).await?.into_iter();
            Ok(all.map(|(_, state)| state).collect())
        }
    }
}

/// Workers as explanations need them.
pub fn presences(states: Vec<WorkerState>, now: Timestamp) -> Vec<WorkerPresence> {
    let presences = states.into_iter().map(|state| WorkerPresence {
        is_alive: state.is_alive(now),
        name: state.name,
        tenant: state.tenant,
        queues: state.queues,
        kinds: state.kinds,
        last_seen: state.last_seen,
    });
    presences.collect()
}

/// All workers that are stored, with their documents.
pub async fn list(store: &dyn Store) -> Result<Vec<(Document, WorkerState)>, StoreError> {
    let documents = store.list_documents(DocumentKind::Worker).await?;
    let decoded = documents.into_iter().filter_map(|document| {
        let state = document.body.decode().ok()?;
        Some((document, state))
    });
    Ok(decoded.collect())
}

/// A worker that is to be written.
struct NotedWorker {
    id: String,
    state: WorkerState,
    revision: u64,
    is_name_only: bool,
}

impl NotedWorker {
    /// Takes over what is stored of a worker whose name alone is known. Answers whether it is known.
    async fn find(&mut self, store: &dyn Store) -> Result<bool, StoreError> {
        let document = store
            .get_document(DocumentKind::Worker, self.id.clone())
            .await?;
        let Some(document) = document else {
            return Ok(false);
        };
        let Ok(stored) = document.body.decode::<WorkerState>() else {
            return Ok(false);
        };
        self.revision = document.revision;
        self.state = WorkerState {
            last_seen: self.state.last_seen.max(stored.last_seen),
            ..stored
        };
        Ok(true)
    }

    /// Writes it over whatever is stored, if its tenant has room for it. Answers whether it did.
    async fn save(
        &mut self,
        store: &dyn Store,
        room: &mut Option<Room>,
    ) -> Result<bool, StoreError> {
        // Two nodes that a worker asks in turn may come at the same moment, and another worker may
        // have taken its place; once more is enough, and what is lost then is a time that is a few
        // seconds newer.
        for _ in 0..2 {
            if self.revision == 0 {
                let room = match room {
                    Some(room) => room,
                    None => room.insert(Room::read(store).await?),
                };
                // One that is not admitted stays in memory, so that it is not asked about with
                // every claim.
                let Some(revision) = room.admit(store, &self.id, &mut self.state).await? else {
                    return Ok(false);
                };
                self.revision = revision;
            }
            let Ok(body) = Payload::encode(&self.state) else {
                return Ok(false);
            };
            let document = Document {
                kind: DocumentKind::Worker,
                id: self.id.clone(),
                body,
                revision: self.revision,
            };
            match store.save_document(document, Outbox::default()).await? {
                DocumentSaveResult::Done(saved) => {
                    self.revision = saved.revision;
                    return Ok(true);
                }
                DocumentSaveResult::Outdated(None) => {
                    self.revision = 0;
                    *room = None;
                }
                DocumentSaveResult::Outdated(Some(stored)) => {
                    self.revision = stored.revision;
                    if let Ok(stored) = stored.body.decode::<WorkerState>() {
                        self.state.follow(&stored);
                    }
                }
            }
        }
        Ok(false)
    }
}

/// How many workers each tenant may still have.
struct Room {
    stored: Vec<(Document, WorkerState)>,
}

impl Room {
    async fn read(store: &dyn Store) -> Result<Self, StoreError> {
        Ok(Self {
            stored: list(store).await?,
        })
    }

    /// The revision of a worker that may be written, which follows what is stored of it; `None` if
    /// its tenant has too many that are alive.
    async fn admit(
        &mut self,
        store: &dyn Store,
        id: &str,
        state: &mut WorkerState,
    ) -> Result<Option<u64>, StoreError> {
        if let Some((document, known)) = self.stored.iter().find(|(it, _)| it.id == id) {
            state.follow(known);
            return Ok(Some(document.revision));
        }
        let of_tenant = |it: &&(Document, WorkerState)| it.1.tenant == state.tenant;
        if self.stored.iter().filter(of_tenant).count() >= limits::WORKERS_PER_TENANT_MAX {
            let now = store.now();
            let gone = self.stored.iter().filter(of_tenant);
            let gone = gone.filter(|(_, state)| !state.is_alive(now));
            let Some((oldest, _)) = gone.min_by_key(|(_, state)| state.last_seen) else {
                return Ok(None);
            };
            let oldest = oldest.id.clone();
            store
                .delete_document(DocumentKind::Worker, oldest.clone(), None, None)
                .await?;
            self.stored.retain(|(document, _)| document.id != oldest);
        }
        let document = Document {
            kind: DocumentKind::Worker,
            id: id.to_owned(),
            body: Payload::default(),
            revision: 0,
        };
        self.stored.push((document, state.clone()));
        Ok(Some(0))
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use steadfast_store::{ManualClock, MemoryStore};

    use super::*;

    fn note(workers: &Workers, name: &str, now: Timestamp) {
        let tenant = Tenant::default();
        let name = WorkerName::new(name).unwrap();
        workers.note(Some(&tenant), &name, now, || WorkerState {
            name: name.clone(),
            tenant: Some(tenant.clone()),
            queues: Vec::new(),
            kinds: Vec::new(),
            info: WorkerInfo::default(),
            first_seen: now,
            last_seen: now,
            version_since: None,
        });
    }

    #[test]
    fn the_time_of_a_version_is_that_of_its_first_claim() {
        let at = Timestamp::from_millis;
        let seen = |version: &str, now: i64| -> WorkerState {
            let state = serde_json::json!({
                "name": "w", "queues": [], "kinds": [], "info": {"version": version},
                "firstSeen": at(now), "lastSeen": at(now),
            });
            serde_json::from_value(state).unwrap()
        };
        let mut known = seen("1", 10);
        for (version, now, since) in [("1", 20, 10), ("2", 30, 30), ("2", 40, 30), ("1", 50, 50)] {
            let mut next = seen(version, now);
            next.follow(&known);
            assert_eq!(next.version_since, Some(at(since)), "{version} at {now}");
            assert_eq!(next.first_seen, at(10));
            known = next;
        }
    }

    #[tokio::test]
    async fn a_worker_is_written_now_and_then_and_forgotten_after_a_day() {
        let clock = ManualClock::default();
        let store = MemoryStore::new(Arc::new(clock.clone()));
        let (one, other) = (Workers::default(), Workers::default());
        let first = clock.advance(Duration::ZERO);
        note(&one, "w", first);
        one.write(&store).await.unwrap();
        let stored = async || list(&store).await.unwrap();
        assert_eq!(stored().await[0].0.revision, 1);
        let soon = clock.advance(Duration::from_secs(14));
        note(&one, "w", soon);
        one.write(&store).await.unwrap();
        assert_eq!(stored().await[0].0.revision, 1);
        // Another node sees it later, and knows since when it is there.
        let later = clock.advance(Duration::from_secs(1));
        note(&other, "w", later);
        other.write(&store).await.unwrap();
        note(&one, "w", later);
        one.write(&store).await.unwrap();
        let (document, state) = stored().await.remove(0);
        assert_eq!(document.revision, 3);
        assert_eq!((state.first_seen, state.last_seen), (first, later));
        let now = clock.advance(limits::WORKER_SILENT_AFTER);
        assert!(!state.is_alive(now));
        one.forget(&store).await.unwrap();
        assert_eq!(stored().await.len(), 1);
        clock.advance(limits::WORKER_FORGOTTEN_AFTER);
        one.forget(&store).await.unwrap();
        assert_eq!(stored().await.len(), 0);
    }

    #[tokio::test]
    async fn an_evicted_worker_returns_only_if_there_is_room() {
        let clock = ManualClock::default();
        let store = MemoryStore::new(Arc::new(clock.clone()));
        let (one, other) = (Workers::default(), Workers::default());
        note(&one, "first", clock.advance(Duration::ZERO));
        one.write(&store).await.unwrap();
        let now = clock.advance(limits::WORKER_SILENT_AFTER);
        for number in 0..limits::WORKERS_PER_TENANT_MAX {
            note(&other, &format!("w{number}"), now);
        }
        other.write(&store).await.unwrap();
        note(&one, "first", now);
        one.write(&store).await.unwrap();
        let all = list(&store).await.unwrap();
        assert_eq!(all.len(), limits::WORKERS_PER_TENANT_MAX);
        assert!(all.iter().all(|(_, state)| state.name.as_str() != "first"));
    }

    #[tokio::test]
    async fn a_heartbeat_keeps_a_worker_alive_that_claimed_on_another_node() {
        let clock = ManualClock::default();
        let store = MemoryStore::new(Arc::new(clock.clone()));
        let (one, other) = (Workers::default(), Workers::default());
        note(&one, "w", clock.advance(Duration::ZERO));
        one.write(&store).await.unwrap();
        let now = clock.advance(Duration::from_secs(60));
        let tenant = Tenant::default();
        for (name, tenant) in [
            ("w", Some(&tenant)),
            ("w", None),
            ("never seen", Some(&tenant)),
        ] {
            let name = WorkerName::new(&name.replace(' ', "-")).unwrap();
            other.note_again(tenant, &name, now);
        }
        other.write(&store).await.unwrap();
        let all = list(&store).await.unwrap();
        assert_eq!(all.len(), 1, "only what has claimed is a worker");
        assert_eq!(all[0].1.last_seen, now);
        assert!(all[0].1.first_seen < now);
    }

    #[test]
    fn one_tenant_cannot_use_up_the_limit_of_the_node() {
        let workers = Workers::default();
        let now = Timestamp::EPOCH;
        for number in 0..limits::WORKERS_MAX {
            note(&workers, &format!("w{number}"), now);
        }
        let name = WorkerName::new("w").unwrap();
        workers.note_again(Some(&Tenant::new("other").unwrap()), &name, now);
        assert_eq!(workers.lock().count(), limits::WORKERS_PER_TENANT_MAX + 1);
    }

    #[tokio::test]
    async fn workers_that_are_gone_make_room() {
        let clock = ManualClock::default();
        let store = MemoryStore::new(Arc::new(clock.clone()));
        let workers = Workers::default();
        let now = clock.advance(Duration::ZERO);
        for number in 0..=limits::WORKERS_PER_TENANT_MAX {
            note(&workers, &format!("w{number}"), now);
        }
        workers.write(&store).await.unwrap();
        let stored = async || list(&store).await.unwrap().len();
        assert_eq!(stored().await, limits::WORKERS_PER_TENANT_MAX);
        let now = clock.advance(limits::WORKER_SILENT_AFTER);
        note(&workers, "new", now);
        workers.write(&store).await.unwrap();
        assert_eq!(stored().await, limits::WORKERS_PER_TENANT_MAX);
        let all = list(&store).await.unwrap();
        assert!(all.iter().any(|(_, state)| state.name.as_str() == "new"));
    }
}
