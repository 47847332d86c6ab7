//! The gates that claims decide by: documents that people have stored and the health of
//! destinations, which are documents too, over the settings of the program.
//!
//! A store reads its own gates and keeps them in memory, so a claim costs the same with any number
//! of them. A gate that was changed through this handle applies to its next claim. Changes by other
//! nodes are found by the versions of the documents, which are read every second, so they apply
//! within two.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

#[cfg(feature = "postgres")]
use steadfast_core::GateId;
use steadfast_core::{DestinationHealth, Gate, Gates, HealthSubject, Timestamp};

use crate::{
    limits::GATES_AGE_MAX,
    store::{Document, DocumentKind, DocumentVersions, GateSettings},
};

/// The kinds of documents that gates are made from.
pub(crate) const GATE_KINDS: [DocumentKind; 2] = [DocumentKind::Gate, DocumentKind::Destination];

/// The gates that apply, as one handle of a store knows them.
#[derive(Default)]
pub(crate) struct CurrentGates {
    state: Mutex<State>,
    /// One read at a time: callers that wait for one share the next.
    pub reading: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    settings: GateSettings,
    stored: Vec<Gate>,
    health: HashMap<HealthSubject, Arc<DestinationHealth>>,
    /// The settings and the stored gates.
    set: Gates,
    /// The same with the health of destinations.
    gates: Arc<Gates>,
    /// The versions of the documents that were read; `None` if all must be read.
    versions: Option<[u64; GATE_KINDS.len()]>,
    /// The number of reads that have begun.
    begun: u64,
    /// The last read that has ended, and the time when it began.
    last: Option<(u64, Timestamp)>,
    /// Reads up to this one may have missed a change made through this handle.
    outdated: u64,
    #[cfg(feature = "_testing")]
    distorted: Option<Arc<Gates>>,
}

/// A read of the documents that has begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GateRead {
    number: u64,
    begun_at: Timestamp,
    known: Option<[u64; GATE_KINDS.len()]>,
}

/// The documents that a read has found.
pub(crate) struct ChangedGates {
    versions: [u64; GATE_KINDS.len()],
    /// All documents of each kind that has changed.
    documents: Vec<(DocumentKind, Vec<Document>)>,
}

impl GateRead {
    /// The kinds that have changed since they were last read.
    pub(crate) fn changed(self, versions: &DocumentVersions) -> Vec<DocumentKind> {
        let known = |index: usize| self.known.map(|known| known[index]);
        let kinds = GATE_KINDS.into_iter().enumerate();
        kinds
            .filter(|(index, kind)| known(*index) != Some(versions.of(*kind)))
            .map(|(_, kind)| kind)
            .collect()
    }
}

impl ChangedGates {
    pub(crate) fn new(
        versions: &DocumentVersions,
        documents: Vec<(DocumentKind, Vec<Document>)>,
    ) -> Self {
        Self {
            versions: GATE_KINDS.map(|kind| versions.of(kind)),
            documents,
        }
    }
}

impl CurrentGates {
    pub(crate) fn set_settings(&self, settings: GateSettings) {
        let mut state = self.lock();
        state.settings = settings;
        state.combine_set();
        state.combine();
    }

    /// The gates that the next claim decides by.
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

    /// A gate was changed through this handle, or may have been.
    pub(crate) fn mark_changed(&self) {
        let mut state = self.lock();
        state.outdated = state.begun;
    }

    /// Another server may respond from now on, whose versions may be lower.
    #[cfg(feature = "postgres")]
    pub(crate) fn forget_versions(&self) {
        let mut state = self.lock();
        state.versions = None;
        state.outdated = state.begun;
    }

    /// Gates that people have stored with a limit of waiting jobs.
    #[cfg(feature = "postgres")]
    pub(crate) fn stored_waiting_limits(&self) -> Vec<(GateId, u32)> {
        let state = self.lock();
        let stored = state.stored.iter();
        let limits = stored.filter_map(|gate| Some((gate.id.clone(), gate.limits.max_waiting?)));
        let mut limits: Vec<_> = limits.collect();
        limits.sort();
        limits
    }

    /// The gates that were last read; `None` before the first read.
    pub(crate) fn known(&self) -> Option<Arc<Gates>> {
        let state = self.lock();
        state.last.map(|_| state.gates.clone())
    }

    /// Whether a claim must read the gates first.
    pub(crate) fn must_read(&self, now: Timestamp) -> bool {
        let state = self.lock();
        state.last.is_none_or(|(number, begun_at)| {
            // The clock may have been set back meanwhile.
            let is_recent = begun_at <= now && now.since(begun_at) <= GATES_AGE_MAX;
            !is_recent || number <= state.outdated
        })
    }

    /// The number of reads that have begun. A later one shows every change until now.
    pub(crate) fn reads_begun(&self) -> u64 {
        self.lock().begun
    }

    /// The gates as a read has found them that began after another, if there was one.
    pub(crate) fn read_after(&self, number: u64) -> Option<Arc<Gates>> {
        let state = self.lock();
        let last = state.last.filter(|(last, _)| *last > number);
        last.map(|_| state.gates.clone())
    }

    pub(crate) fn begin_read(&self, now: Timestamp) -> GateRead {
        let mut state = self.lock();
        state.begun += 1;
        GateRead {
            number: state.begun,
            begun_at: now,
            known: state.versions,
        }
    }

    /// Applies the documents that a read has found.
    pub(crate) fn end_read(&self, read: GateRead, changed: ChangedGates) -> Arc<Gates> {
        let mut state = self.lock();
        let is_valid = read.number > state.outdated;
        state.versions = is_valid.then_some(changed.versions);
        state.last = Some((read.number, read.begun_at));
        let is_changed = !changed.documents.is_empty();
        for (kind, documents) in changed.documents {
            state.replace(kind, &documents);
        }
        if is_changed {
            state.combine();
        }
        state.gates.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn replace(&mut self, kind: DocumentKind, documents: &[Document]) {
        if kind == DocumentKind::Gate {
            self.stored = documents.iter().filter_map(Document::decode).collect();
            self.combine_set();
            return;
        }
        let known = std::mem::take(&mut self.health);
        let health = documents.iter().filter_map(|document| {
            let health: DestinationHealth = document.decode()?;
            let subject = HealthSubject::from_document_id(&document.id)?;
            // The same pointer shows that nothing has changed.
            let same = known.get(&subject).filter(|known| ***known == health);
            let health = same.cloned().unwrap_or_else(|| Arc::new(health));
            Some((subject, health))
        });
        self.health = health.collect();
    }

    fn combine_set(&mut self) {
        let gates = self.settings.under(&self.stored);
        self.set = Gates::new(gates, self.settings.defaults.clone());
    }

    fn combine(&mut self) {
        let health = self.health.iter();
        let health = health.map(|(subject, health)| (subject.clone(), health.clone()));
        self.gates = Arc::new(self.set.clone().with_health(health));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const T0: Timestamp = Timestamp::from_micros(1_000_000_000);

    fn read(gates: &CurrentGates, now: Timestamp) {
        let read = gates.begin_read(now);
        let nothing = ChangedGates::new(&DocumentVersions::default(), Vec::new());
        gates.end_read(read, nothing);
    }

    #[test]
    fn gates_are_read_again_when_they_are_old_or_the_clock_was_set_back() {
        let gates = CurrentGates::default();
        assert!(gates.must_read(T0));
        read(&gates, T0);
        assert!(!gates.must_read(T0) && !gates.must_read(T0.plus(GATES_AGE_MAX)));
        assert!(gates.must_read(T0.plus(GATES_AGE_MAX + Duration::from_micros(1))));
        assert!(gates.must_read(T0.minus(Duration::from_secs(1))));
    }

    #[test]
    fn a_read_that_began_before_a_change_is_repeated() {
        let gates = CurrentGates::default();
        read(&gates, T0);
        let early = gates.begin_read(T0);
        gates.mark_changed();
        let nothing = ChangedGates::new(&DocumentVersions::default(), Vec::new());
        gates.end_read(early, nothing);
        assert!(gates.must_read(T0), "it may not show the change");
        read(&gates, T0);
        assert!(!gates.must_read(T0));
    }

    #[test]
    fn callers_share_only_a_read_that_began_after_they_asked() {
        let gates = CurrentGates::default();
        let early = gates.begin_read(T0);
        let begun = gates.reads_begun();
        let nothing = || ChangedGates::new(&DocumentVersions::default(), Vec::new());
        gates.end_read(early, nothing());
        assert!(gates.read_after(begun).is_none());
        read(&gates, T0);
        assert!(gates.read_after(begun).is_some());
    }
}
