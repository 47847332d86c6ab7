//! The reference: every verb in its shortest form, under one lock.
//!
//! It is for tests and demos, and for reading: it settles what the contract's prose leaves
//! open. Nothing is durable, so "before it returns" is free here.

mod claim;
mod dependencies;
mod event_entry;
mod events;
mod failures;
mod flow;
mod jobs;
mod logs;
mod queries;
mod record_entry;
mod start;
mod tables;
mod transaction;

use std::{
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use steadfast_core::{Gates, Timestamp};

use crate::{
    clock::{Clock, SystemClock},
    drivers::current_gates::CurrentGates,
    error::StoreError,
    store::{BaseStore, GateSettings},
    verbs::{event_position::EventPosition, gates},
    wake::{WakeInterest, Waker, Wakeups},
};
use tables::Tables;

/// A store that lives and dies with the process.
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    waker: Waker,
    tables: Mutex<Tables>,
    gates: CurrentGates,
    event_position: EventPosition,
}

impl MemoryStore {
    /// An empty store.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            waker: Waker::default(),
            tables: Mutex::default(),
            gates: CurrentGates::default(),
            event_position: EventPosition::default(),
        }
    }

    /// Wakes every waiting caller: its clock was moved, and what was to come may be due.
    pub fn wake_all(&self) {
        self.waker.wake();
    }

    /// The same under the gates that hold.
    async fn under_gates<T>(
        &self,
        verb: impl FnOnce(&mut Tables, Timestamp) -> T,
    ) -> Result<T, StoreError> {
        gates::refresh(self).await?;
        Ok(self.with(verb))
    }

    fn with<T>(&self, verb: impl FnOnce(&mut Tables, Timestamp) -> T) -> T {
        // No verb panics half-way through a change, so even a poisoned lock guards whole data.
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.flow.set_gates(&self.gates.of_claims());
        let answer = verb(&mut tables, self.clock.now());
        let wakes = mem::take(&mut tables.wakes);
        if !wakes.is_empty() {
            self.waker.wake_for(&wakes, self.clock.now());
        }
        answer
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new(Arc::new(SystemClock))
    }
}

impl BaseStore for MemoryStore {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn wakeups_for(&self, interest: WakeInterest) -> Wakeups {
        self.waker.listen(interest)
    }

    fn set_gate_settings(&self, settings: GateSettings) {
        self.gates.set_settings(settings);
    }

    fn known_gates(&self) -> Option<Arc<Gates>> {
        self.gates.known()
    }

    #[cfg(feature = "_testing")]
    fn distort_gates(&self, gates: Option<Arc<Gates>>) {
        self.gates.distort(gates);
    }
}

/// Runs a verb for each item of a batch.
fn each<In, Out>(batch: Vec<In>, verb: impl FnMut(In) -> Out) -> Vec<Out> {
    batch.into_iter().map(verb).collect()
}
