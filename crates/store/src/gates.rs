//! The gates that hold: what people have set and the health of destinations, which are documents,
//! over what the program says.
//!
//! A store reads its own gates. A change through this store holds for its next claim. Changes of
//! others are found by the version of the documents, which is looked at every second, so they hold
//! within two.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use steadfast_core::{DestinationHealth, Gate, GateDefaults, GateId, Gates, HealthSubject};

use crate::{
    limits::GATES_AGE_MAX,
    store::{Document, DocumentKind, DocumentVersions},
};

/// The kinds of documents that gates follow from.
pub(crate) const GATE_KINDS: [DocumentKind; 2] = [DocumentKind::Gate, DocumentKind::Destination];

/// What a program or a settings file says of gates. What people set in the store comes before.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GateSettings {
    /// For every key of a scope.
    pub defaults: GateDefaults,
    /// For single keys.
    pub gates: Vec<Gate>,
}

impl GateSettings {
    /// The stored gates over those of the program.
    fn under(&self, stored: &[Gate]) -> Vec<Gate> {
        let own = self.gates.iter();
        let mut gates: HashMap<&GateId, _> =
            own.map(|gate| (&gate.id, gate.limits.clone())).collect();
        for Gate { id, limits } in stored {
            let limits = match gates.get(id) {
                Some(own) => limits.clone().or(own),
                None => limits.clone(),
            };
            gates.insert(id, limits);
        }
        let gates = gates.into_iter();
        let gates = gates.map(|(id, limits)| Gate {
            id: id.clone(),
            limits,
        });
        gates.collect()
    }
}

/// The gates that hold, as one handle of a store knows them.
#[derive(Default)]
pub(crate) struct CurrentGates(Mutex<State>);

#[derive(Default)]
struct State {
    settings: GateSettings,
    stored: Vec<Gate>,
    health: HashMap<HealthSubject, Arc<DestinationHealth>>,
    gates: Arc<Gates>,
    /// They were read at least once.
    is_known: bool,
    /// The versions of the documents that were read; `None` if all are to be read.
    versions: Option<[u64; GATE_KINDS.len()]>,
    /// How many reads have begun, and the last of them that was taken over.
    reads: u64,
    read: u64,
    /// When that began.
    read_at: Option<Instant>,
    /// The last read that had begun when this handle changed a gate: what began before it is too old.
    changed_after: u64,
    #[cfg(feature = "_testing")]
    distorted: Option<Arc<Gates>>,
}

/// A look at the documents that has begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GateRead {
    number: u64,
    begun: Instant,
    known: Option<[u64; GATE_KINDS.len()]>,
}

/// What was found.
#[derive(Default)]
pub(crate) struct GateNews {
    versions: [u64; GATE_KINDS.len()],
    /// All documents of the kinds that have changed.
    documents: Vec<(DocumentKind, Vec<Document>)>,
}

impl GateRead {
    /// The kinds that have changed since they were read.
    pub(crate) fn changed(
        self,
        versions: &DocumentVersions,
    ) -> (GateNews, impl Iterator<Item = DocumentKind>) {
        let known = self.known;
        let news = GateNews {
            versions: GATE_KINDS.map(|kind| versions.of(kind)),
            documents: Vec::new(),
        };
        let is_known = move |index: usize, version| known.is_some_and(|it| it[index] == version);
        let versions = news.versions.into_iter().enumerate();
        let changed = GATE_KINDS.into_iter().zip(versions);
        let changed = changed.filter(move |(_, (index, version))| !is_known(*index, *version));
        (news, changed.map(|(kind, _)| kind))
    }
}

impl GateNews {
    pub(crate) fn add(&mut self, kind: DocumentKind, documents: Vec<Document>) {
        self.documents.push((kind, documents));
    }
}

impl CurrentGates {
    pub(crate) fn set_settings(&self, settings: GateSettings) {
        let mut state = self.lock();
        state.settings = settings;
        state.put_together();
    }

    /// What claims decide by now.
    pub(crate) fn of_claims(&self) -> Arc<Gates> {
        let state = self.lock();
        #[cfg(feature = "_testing")]
        if let Some(distorted) = &state.distorted {
            return distorted.clone();
        }
        state.gates.clone()
    }

    /// A defect that the simulator plants: claims decide by these.
    #[cfg(feature = "_testing")]
    pub(crate) fn distort(&self, gates: Option<Arc<Gates>>) {
        self.lock().distorted = gates;
    }

    /// This handle has changed a gate, or may have.
    pub(crate) fn mark_changed(&self) {
        let mut state = self.lock();
        state.changed_after = state.reads;
    }

    /// Another server may answer, whose versions may be lower.
    #[cfg(feature = "postgres")]
    pub(crate) fn forget_versions(&self) {
        let mut state = self.lock();
        // Looks that have begun do not count any more.
        state.reads += 1;
        state.read = state.reads;
        (state.versions, state.read_at) = (None, None);
    }

    /// What was read last; `None` before the first time.
    pub(crate) fn known(&self) -> Option<Arc<Gates>> {
        let state = self.lock();
        state.is_known.then(|| state.gates.clone())
    }

    /// Whether claims must not go on without another look.
    pub(crate) fn is_due(&self) -> bool {
        let state = self.lock();
        let is_old = state.read_at.is_none_or(|at| at.elapsed() > GATES_AGE_MAX);
        is_old || state.read <= state.changed_after
    }

    pub(crate) fn begin_read(&self) -> GateRead {
        let mut state = self.lock();
        state.reads += 1;
        GateRead {
            number: state.reads,
            begun: Instant::now(),
            known: state.versions,
        }
    }

    /// Takes over what was found, unless a look that began later has found more.
    pub(crate) fn end_read(&self, read: GateRead, news: GateNews) -> Arc<Gates> {
        let mut state = self.lock();
        if read.number < state.read {
            return state.gates.clone();
        }
        state.is_known = true;
        state.read = read.number;
        state.read_at = Some(read.begun);
        state.versions = Some(news.versions);
        let is_changed = !news.documents.is_empty();
        for (kind, documents) in news.documents {
            state.replace(kind, documents);
        }
        if is_changed {
            state.put_together();
        }
        state.gates.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn replace(&mut self, kind: DocumentKind, documents: Vec<Document>) {
        if kind == DocumentKind::Gate {
            self.stored = documents.iter().filter_map(Document::decode).collect();
            return;
        }
        let known = std::mem::take(&mut self.health);
        let health = documents.iter().filter_map(|document| {
            let health: DestinationHealth = document.decode()?;
            let subject = HealthSubject::from_document_id(&document.id)?;
            // The same pointer tells that nothing has changed.
            let same = known.get(&subject).filter(|known| ***known == health);
            let health = same.cloned().unwrap_or_else(|| Arc::new(health));
            Some((subject, health))
        });
        self.health = health.collect();
    }

    fn put_together(&mut self) {
        let gates = self.settings.under(&self.stored);
        let health = self.health.iter();
        let health = health.map(|(subject, health)| (subject.clone(), health.clone()));
        let gates = Gates::new(gates, self.settings.defaults.clone()).with_health(health);
        self.gates = Arc::new(gates);
    }
}
