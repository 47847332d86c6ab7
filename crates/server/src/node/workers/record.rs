//! The stored records of workers, one document each.

use serde::{Deserialize, Serialize};
use steadfast_api::WorkerInfo;
use steadfast_core::{Kind, Queue, Tenant, Timestamp, WorkerName};
use steadfast_engine::WorkerPresence;
use steadfast_store::{Document, DocumentKind, DocumentPage, Store, StoreError};

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
    pub(super) fn follow(&mut self, before: &Self) {
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

/// Unique, because no name holds a space. Those of a tenant follow each other.
pub fn document_id(tenant: Option<&Tenant>, name: &WorkerName) -> String {
    format!("{}{name}", document_prefix(tenant))
}

/// The prefix of the ids of a tenant's workers.
fn document_prefix(tenant: Option<&Tenant>) -> String {
    format!("{} ", tenant.map_or("*", Tenant::as_str))
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
    let page = DocumentPage::Some {
        prefix,
        after,
        limit,
    };
    let documents = store.list_documents(DocumentKind::Worker, page).await?;
    let decoded = documents.iter();
    Ok(decoded
        .filter_map(|document| document.body.decode().ok())
        .collect())
}

/// The workers that may claim jobs of a tenant: its own, and those of all tenants.
pub async fn serving(store: &dyn Store, tenant: &Tenant) -> Result<Vec<WorkerState>, StoreError> {
    let mut workers = Vec::new();
    for of in [Some(tenant), None] {
        let page = DocumentPage::Some {
            prefix: document_prefix(of),
            after: None,
            limit: limits::WORKERS_PER_TENANT_MAX,
        };
        let documents = store.list_documents(DocumentKind::Worker, page);
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
    let documents = store
        .list_documents(DocumentKind::Worker, DocumentPage::All)
        .await?;
    let decoded = documents.into_iter().filter_map(|document| {
        let state = document.body.decode().ok()?;
        Some((document, state))
    });
    Ok(decoded.collect())
}
