//! The workers of a node: which queues and kinds they claim, and when they were last seen.
//!
//! Claims and heartbeats only note what they saw, in memory. One task writes it to the store, at most
//! every few seconds per worker, so that no claim waits for it and every node knows all workers.

mod record;
mod running;
mod save;
mod seen;

use std::sync::{Mutex, MutexGuard, PoisonError};

use steadfast_api::WorkerInfo;
use steadfast_core::{Job, Tenant, Timestamp, WorkerName};
use steadfast_store::{DocumentKind, DocumentPage, Store, StoreError};
use tokio::sync::Notify;

use crate::limits;

use save::NotedWorker;
use seen::{SeenWorker, SeenWorkers};

pub use record::{WorkerState, document_id, of_viewer, page, presences, serving};
pub use running::RunningJobs;

/// The workers that this node has seen.
#[derive(Default)]
pub struct Workers {
    seen: Mutex<SeenWorkers>,
    /// There is something to write.
    noted: Notify,
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
        for document in store
            .list_documents(DocumentKind::Worker, DocumentPage::All)
            .await?
        {
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

#[cfg(test)]
mod tests;
