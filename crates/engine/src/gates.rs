//! What may start now: gates that people have set and the health of destinations, kept in the store
//! and cached by every node.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use steadfast_core::{Destination, DestinationHealth, Gate, GateDefaults, Gates};
use steadfast_store::{DocumentKind, Store, StoreError};

use crate::{
    document_cache::{DocumentCache, decode_documents},
    limits::DOCUMENTS_REFRESH_EVERY,
    role::{Next, Role},
};

/// The gates as this node knows them, at most two seconds old.
pub struct GateCache {
    set: DocumentCache<VersionedGates>,
    health: DocumentCache<VersionedHealth>,
    defaults: GateDefaults,
    /// What was put together last.
    latest: Mutex<Arc<Gates>>,
}

struct VersionedGates {
    version: u64,
    gates: Vec<Gate>,
}

struct VersionedHealth {
    version: u64,
    of: HashMap<Destination, Arc<DestinationHealth>>,
}

impl GateCache {
    pub fn new(store: &Arc<dyn Store>, defaults: GateDefaults) -> Self {
        let set =
            DocumentCache::with_version(store.clone(), DocumentKind::Gate, |documents, version| {
                VersionedGates {
                    version,
                    gates: decode_documents(documents).map(|(_, gate)| gate).collect(),
                }
            });
        let health = DocumentCache::with_version(
            store.clone(),
            DocumentKind::Destination,
            |documents, version| {
                let of = decode_documents::<DestinationHealth>(documents);
                let of = of.filter_map(|(document, health)| {
                    Some((Destination::new(&document.id).ok()?, Arc::new(health)))
                });
                VersionedHealth {
                    version,
                    of: of.collect(),
                }
            },
        );
        Self {
            set,
            health,
            defaults,
            latest: Mutex::default(),
        }
    }

    /// The gates that hold; the first caller waits until they are read.
    pub async fn get(&self) -> Result<Arc<Gates>, StoreError> {
        let (set, health) = (self.set.get().await?, self.health.get().await?);
        Ok(self.put_together(&set, &health))
    }

    /// The gates as they are now, for a caller that has changed them.
    pub async fn refresh(&self) -> Result<Arc<Gates>, StoreError> {
        let (set, health) = (
            self.set.refresh_if_changed().await?,
            self.health.get().await?,
        );
        Ok(self.put_together(&set, &health))
    }

    fn put_together(&self, set: &VersionedGates, health: &VersionedHealth) -> Arc<Gates> {
        // Both only grow, so no two contents have one sum. Gates that were never read have 0.
        let version = set.version + health.version + 1;
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if latest.version() < version {
            let health = health.of.iter();
            let health = health.map(|(to, health)| (to.clone(), health.clone()));
            let gates = Gates::new(version, set.gates.clone(), self.defaults.clone());
            *latest = Arc::new(gates.with_health(health));
        }
        latest.clone()
    }
}

#[async_trait]
impl Role for GateCache {
    fn name(&self) -> &'static str {
        "gates"
    }

    async fn tick(&self) -> Result<Next, StoreError> {
        self.set.refresh_if_changed().await?;
        self.health.refresh_if_changed().await?;
        Ok(Next::After(DOCUMENTS_REFRESH_EVERY))
    }
}
