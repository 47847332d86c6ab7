//! What may start now: gates that people have set and the health of destinations, kept in the store
//! and cached by every node.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use steadfast_core::{
    DestinationHealth, Gate, GateDefaults, Gates, HealthSubject, HoldMode, Timestamp,
};
use steadfast_store::{DocumentKind, LaneStats, Store, StoreError};
use tokio::sync::watch;

use crate::{
    documents::cache::{DocumentCache, decode_documents},
    limits::{GATES_READS_MAX, GATES_REFRESH_EVERY},
    role::{Next, Role},
};

/// The gates as this node knows them, at most two seconds old.
pub struct GateCache {
    store: Arc<dyn Store>,
    set: DocumentCache<VersionedGates>,
    health: DocumentCache<VersionedHealth>,
    defaults: GateDefaults,
    latest: Mutex<Latest>,
    /// The newest version that may let jobs through which waited under those before.
    opened: watch::Sender<u64>,
}

/// The last combined gates, and the versions that they were made from.
#[derive(Default)]
struct Latest {
    gates: Arc<Gates>,
    set_version: u64,
    health_version: u64,
}

/// What a program or a settings file says of gates. What people set in the store comes before.
#[derive(Clone, Debug, Default)]
pub struct GateSettings {
    /// For every key of a scope.
    pub defaults: GateDefaults,
    /// For single keys.
    pub gates: Vec<Gate>,
}

impl GateSettings {
    /// The stored gates over those of the program.
    fn under(&self, stored: impl Iterator<Item = Gate>) -> Vec<Gate> {
        let own = self.gates.iter();
        let mut gates: HashMap<_, _> = own
            .map(|gate| (gate.id.clone(), gate.limits.clone()))
            .collect();
        for Gate { id, limits } in stored {
            let limits = match gates.get(&id) {
                Some(own) => limits.or(own),
                None => limits,
            };
            gates.insert(id, limits);
        }
        let gates = gates.into_iter();
        gates.map(|(id, limits)| Gate { id, limits }).collect()
    }
}

struct VersionedGates {
    version: u64,
    gates: Vec<Gate>,
}

struct VersionedHealth {
    version: u64,
    of: HashMap<HealthSubject, Arc<DestinationHealth>>,
}

impl GateCache {
    pub fn new(store: &Arc<dyn Store>, settings: GateSettings) -> Self {
        let defaults = settings.defaults.clone();
        let set = DocumentCache::with_version(
            store.clone(),
            DocumentKind::Gate,
            move |documents, version| {
                let stored = decode_documents(documents).map(|(_, gate)| gate);
                VersionedGates {
                    version,
                    gates: settings.under(stored),
                }
            },
        );
        let health = DocumentCache::with_version(
            store.clone(),
            DocumentKind::Destination,
            |documents, version| {
                let of = decode_documents::<DestinationHealth>(documents);
                let of = of.filter_map(|(document, health)| {
                    let subject = HealthSubject::from_document_id(&document.id)?;
                    Some((subject, Arc::new(health)))
                });
                VersionedHealth {
                    version,
                    of: of.collect(),
                }
            },
        );
        Self {
            store: store.clone(),
            set,
            health,
            defaults,
            latest: Mutex::default(),
            opened: watch::Sender::default(),
        }
    }

    /// The gates of single keys as they are set now, without defaults.
    pub async fn set_gates(&self) -> Result<Vec<Gate>, StoreError> {
        self.refresh_all().await?;
        let set = self.set.get().await?;
        Ok(set.gates.clone())
    }

    /// Returns when other gates hold than those of this version, and one of them may be open now.
    pub async fn opened_since(&self, version: u64) {
        let mut versions = self.opened.subscribe();
        // An error means that the sender is gone, and it is `self`.
        let _changed = versions.wait_for(|newest| *newest > version).await;
    }

    /// The gates that hold; the first caller waits until they are read.
    pub async fn get(&self) -> Result<Arc<Gates>, StoreError> {
        let latest = self.latest();
        match latest.version() {
            0 => self.refresh_all().await,
            _ => Ok(latest),
        }
    }

    /// The gates as they are now, for a caller that has changed them, or may have missed changes of
    /// others.
    ///
    /// Nodes on one store compare their versions, so one version must mean one content: gates and
    /// health are taken together as they stood at one time. What changes while it is read is read
    /// again.
    pub async fn refresh_all(&self) -> Result<Arc<Gates>, StoreError> {
        let mut reads = 1;
        loop {
            let versions = self.store.document_versions().await?;
            let set = self.set.refresh_if_older(&versions).await?;
            let health = self.health.refresh_if_older(&versions).await?;
            if self.knows(&set, &health) {
                return Ok(self.latest());
            }
            // What is listed can be newer than the version that was read before it.
            let after = self.store.document_versions().await?;
            let kinds = [DocumentKind::Gate, DocumentKind::Destination];
            let is_whole = kinds
                .iter()
                .all(|&kind| versions.of(kind) == after.of(kind));
            if is_whole || reads == GATES_READS_MAX {
                return Ok(self.put_together(&set, &health));
            }
            reads += 1;
        }
    }

    /// Reads the gates again, for a caller that has stored a change. What is stored stays stored: if
    /// they cannot be read just now, those that are known hold until this node reads them, as on other
    /// nodes. Without any, every job might start.
    pub async fn follow_change(&self) {
        if let Err(error) = self.refresh_all().await {
            tracing::warn!(%error, "cannot read changed gates; retrying later");
        }
    }

    /// The gates that were put together last; none if that has not happened yet.
    pub fn latest(&self) -> Arc<Gates> {
        self.lock().gates.clone()
    }

    fn knows(&self, set: &VersionedGates, health: &VersionedHealth) -> bool {
        let latest = self.lock();
        latest.gates.version() > 0
            && latest.set_version == set.version
            && latest.health_version == health.version
    }

    fn put_together(&self, set: &VersionedGates, health: &VersionedHealth) -> Arc<Gates> {
        let mut latest = self.lock();
        let is_newer = set.version >= latest.set_version && health.version >= latest.health_version;
        let is_same = set.version == latest.set_version && health.version == latest.health_version;
        let is_first = latest.gates.version() == 0;
        if is_first || (is_newer && !is_same) {
            // Both only grow, and are of one time, so no two contents have one sum. Gates that were never read have 0.
            let sum = set.version + health.version + 1;
            // A new version costs every claim, and most news of destinations is about counts.
            // Another node on the same store may have seen what was changed and undone meanwhile.
            let is_different = is_first
                || set.version != latest.set_version
                || health.version > latest.health_version + 1
                || !have_same_limits(&latest.gates, &health.of);
            let version = match is_different {
                true => sum,
                false => latest.gates.version(),
            };
            let known = health.of.iter();
            let known = known.map(|(subject, health)| (subject.clone(), health.clone()));
            let gates = Gates::new(version, set.gates.clone(), self.defaults.clone());
            *latest = Latest {
                gates: Arc::new(gates.with_health(known)),
                set_version: set.version,
                health_version: health.version,
            };
            if is_different {
                self.opened.send_replace(version);
            }
        }
        latest.gates.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the health of destinations means the same for claims as before.
fn have_same_limits(before: &Gates, now: &HashMap<HealthSubject, Arc<DestinationHealth>>) -> bool {
    let mode = match before.has_auto_hold() {
        true => HoldMode::Auto,
        false => HoldMode::Watch,
    };
    let unknown = DestinationHealth::default();
    let is_same = |one: &DestinationHealth, other: Option<&Arc<DestinationHealth>>| {
        one.has_same_limit(other.map_or(&unknown, AsRef::as_ref), mode)
    };
    let mut known = now.iter();
    let mut known_before = before.healths();
    let before = |of: &HealthSubject| before.health(&of.destination, of.tenant.as_ref());
    known.all(|(subject, health)| is_same(health, before(subject)))
        && known_before.all(|(subject, health)| is_same(health, now.get(&subject)))
}

/// Sets which lanes are paused by a gate.
pub fn mark_paused(gates: &Gates, lanes: &mut [LaneStats], now: Timestamp) {
    for lane in lanes {
        let pause = gates.queue_pause(&lane.tenant, lane.queue.as_str(), now);
        lane.paused = pause.is_some();
    }
}

#[async_trait]
impl Role for GateCache {
    fn name(&self) -> &'static str {
        "gates"
    }

    async fn tick(&self) -> Result<Next, StoreError> {
        self.refresh_all().await?;
        Ok(Next::After(GATES_REFRESH_EVERY))
    }
}

#[cfg(test)]
mod tests {
    use steadfast_core::{Destination, HealthInput, HealthRules, HoldCommand};
    use steadfast_store::{DocumentStore as _, MemoryStore};

    use super::*;
    use crate::flow::health_documents;

    #[tokio::test]
    async fn a_node_that_missed_a_hold_and_its_end_has_newer_gates_than_one_that_saw_the_hold() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let [one, other] = [(); 2].map(|()| GateCache::new(&store, GateSettings::default()));
        one.refresh_all().await.unwrap();
        let destination = Destination::new("https://partner.example.com").unwrap();
        let subject = HealthSubject::from(destination.clone());
        let command = HoldCommand::Hold {
            by: None,
            reason: None,
            until: None,
        };
        let input = HealthInput {
            command: Some(&command),
            ..HealthInput::default()
        };
        let rules = HealthRules::default();
        let step = health_documents::step(&*store, &subject, input, &rules);
        assert_eq!(step.await.unwrap().changes(), 1);
        let held = other.refresh_all().await.unwrap();
        assert!(held.health(&destination, None).is_some());
        let kind = DocumentKind::Destination;
        let deleted = store
            .delete_document(kind, subject.document_id(), None, None)
            .await;
        assert!(deleted.unwrap());
        let gates = one.refresh_all().await.unwrap();
        assert!(gates.health(&destination, None).is_none());
        assert!(gates.version() > held.version());
    }
}
