//! What this node remembers of the rows of gates.

use std::collections::HashMap;

use steadfast_core::{GateNumber, Timestamp};

use crate::limits::GATE_USE_NOTED_EVERY;

/// Gates that have a row, which says that they are used.
#[derive(Default)]
pub(crate) struct KnownGates(HashMap<GateNumber, KnownGate>);

struct KnownGate {
    noted: Timestamp,
    /// Below this turn, no counted attempt runs.
    oldest_turn: i64,
}

impl KnownGate {
    fn is_fresh(&self, now: Timestamp) -> bool {
        // A clock that was set back says nothing of how long ago it was.
        now >= self.noted && now < self.noted.plus(GATE_USE_NOTED_EVERY)
    }
}

impl KnownGates {
    /// Whether a gate has a row, and it need not be noted again that it is used.
    pub(crate) fn has(&self, number: &GateNumber, now: Timestamp) -> bool {
        self.0.get(number).is_some_and(|known| known.is_fresh(now))
    }

    pub(crate) fn note(&mut self, numbers: impl Iterator<Item = GateNumber>, noted: Timestamp) {
        for number in numbers {
            let known = self.0.entry(number);
            known
                .or_insert(KnownGate {
                    noted,
                    oldest_turn: 0,
                })
                .noted = noted;
        }
    }

    /// The turns below which nothing runs that was counted in a turn.
    pub(crate) fn oldest_turns(&self, numbers: &[i64]) -> Vec<i64> {
        let oldest_turn = |number: &i64| {
            self.0
                .get(&GateNumber(*number))
                .map_or(0, |known| known.oldest_turn)
        };
        numbers.iter().map(oldest_turn).collect()
    }

    pub(crate) fn set_oldest_turn(&mut self, number: GateNumber, oldest_turn: i64) {
        if let Some(known) = self.0.get_mut(&number) {
            // Two claims may tell this in another order than they held the gate.
            known.oldest_turn = known.oldest_turn.max(oldest_turn);
        }
    }

    /// Forgets gates that were not used lately.
    pub(crate) fn forget_unused(&mut self, now: Timestamp) {
        self.0.retain(|_, known| known.is_fresh(now));
    }
}
