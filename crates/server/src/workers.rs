//! Which workers there are: who asked for jobs of which queues and kinds, and when.
//!
//! Claims only note what they saw, in memory. One task writes it to the store, at most every few
//! seconds per worker, so that no claim waits for it and every node knows all workers.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};
use steadfast_api::WorkerInfo;
use steadfast_core::{Kind, Payload, Queue, Tenant, Timestamp, WorkerName};
use steadfast_store::{Document, DocumentKind, DocumentSaveResult, Store, StoreError};
use tokio::sync::Notify;

use crate::limits;

/// What is known of a worker, as it is stored.
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
}

impl WorkerState {
    /// Whether it was seen lately.
    pub fn is_alive(&self, now: Timestamp) -> bool {
        now.since(self.last_seen) < limits::WORKER_SILENT_AFTER
    }
}

/// The workers that this node has seen.
#[derive(Default)]
pub struct Workers {
    seen: Mutex<HashMap<String, SeenWorker>>,
    /// There is something to write.
    noted: Notify,
}

struct SeenWorker {
    state: WorkerState,
    /// The revision of its document; 0 if this node has not written it yet.
    revision: u64,
    is_noted: bool,
}

/// Unique, because no name holds a space.
fn document_id(tenant: Option<&Tenant>, name: &WorkerName) -> String {
    format!("{} {name}", tenant.map_or("*", Tenant::as_str))
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
        let id = document_id(tenant, name);
        let mut seen = self.lock();
        if let Some(known) = seen.get(&id) {
            let age = now.since(known.state.last_seen);
            if age < limits::WORKER_WRITE_EVERY && now >= known.state.last_seen {
                return;
            }
        } else if seen.len() >= limits::WORKERS_MAX {
            return;
        }
        let state = describe();
        let entry = seen.entry(id).or_insert_with(|| SeenWorker {
            state: state.clone(),
            revision: 0,
            is_noted: true,
        });
        let first_seen = entry.state.first_seen;
        entry.state = WorkerState {
            first_seen,
            ..state
        };
        entry.is_noted = true;
        self.noted.notify_one();
    }

    /// Notes that a worker that has claimed before still works.
    pub fn note_again(&self, tenant: Option<&Tenant>, name: &WorkerName, now: Timestamp) {
        let known = self.lock().get(&document_id(tenant, name)).map(|known| {
            let mut state = known.state.clone();
            state.last_seen = now;
            state
        });
        if let Some(state) = known {
            self.note(tenant, name, now, || state);
        }
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
                tracing::debug!(%error, "cannot record which workers there are");
            }
        }
    }

    async fn write(&self, store: &dyn Store) -> Result<(), StoreError> {
        let noted: Vec<(String, WorkerState, u64)> = {
            let mut seen = self.lock();
            let noted = seen.iter_mut().filter(|(_, worker)| worker.is_noted);
            let take = |(id, worker): (&String, &mut SeenWorker)| {
                worker.is_noted = false;
                (id.clone(), worker.state.clone(), worker.revision)
            };
            noted.map(take).collect()
        };
        let mut room = None;
        for (id, mut state, mut revision) in noted {
            if revision == 0 {
                let room = match &mut room {
                    Some(room) => room,
                    None => room.insert(Room::read(store).await?),
                };
                match room.admit(store, &id, &state).await? {
                    Some(known) => {
                        revision = known.0;
                        state.first_seen = known.1.min(state.first_seen);
                    }
                    // It stays in memory, so that it is not asked about with every claim.
                    None => continue,
                }
            }
            let revision = save(store, &id, &mut state, revision).await?;
            if let Some(worker) = self.lock().get_mut(&id) {
                worker.revision = revision;
                worker.state.first_seen = state.first_seen;
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
                .delete_document(DocumentKind::Worker, document.id)
                .await?;
        }
        self.lock().retain(|_, worker| !is_over(&worker.state));
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, SeenWorker>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
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

/// Writes a worker over whatever is stored, and returns the revision that it then has.
async fn save(
    store: &dyn Store,
    id: &str,
    state: &mut WorkerState,
    mut revision: u64,
) -> Result<u64, StoreError> {
    // Two nodes that a worker asks in turn may come at the same moment; once more is enough, and
    // what is lost then is a time that is a few seconds newer.
    for _ in 0..2 {
        let Ok(body) = Payload::encode(&*state) else {
            break;
        };
        let document = Document {
            kind: DocumentKind::Worker,
            id: id.to_owned(),
            body,
            revision,
        };
        match store.save_document(document, Vec::new()).await? {
            DocumentSaveResult::Done(saved) => return Ok(saved.revision),
            DocumentSaveResult::Outdated(None) => revision = 0,
            DocumentSaveResult::Outdated(Some(stored)) => {
                revision = stored.revision;
                if let Ok(stored) = stored.body.decode::<WorkerState>() {
                    state.first_seen = stored.first_seen.min(state.first_seen);
                }
            }
        }
    }
    Ok(revision)
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

    /// The revision and the beginning of a worker that may be written; `None` if its tenant has too
    /// many that are alive.
    async fn admit(
        &mut self,
        store: &dyn Store,
        id: &str,
        state: &WorkerState,
    ) -> Result<Option<(u64, Timestamp)>, StoreError> {
        if let Some((document, known)) = self.stored.iter().find(|(it, _)| it.id == id) {
            return Ok(Some((document.revision, known.first_seen)));
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
                .delete_document(DocumentKind::Worker, oldest.clone())
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
        Ok(Some((0, state.first_seen)))
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
        });
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
