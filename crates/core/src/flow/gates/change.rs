//! The difference between two versions of all gates.

use std::sync::Arc;

use super::Gates;
use crate::{flow::gate::GateId, values::Destination};

/// What is different from gates that held before, so that a store applies only that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GatesChange {
    /// The defaults are different, so any job may be affected.
    pub defaults: bool,
    /// Gates that were set, changed or deleted.
    pub set: Vec<GateId>,
    /// Destinations whose health means something else for claims.
    pub destinations: Vec<Destination>,
}

impl GatesChange {
    /// Whether nothing is different for claims.
    pub fn is_empty(&self) -> bool {
        !self.changes_set() && self.destinations.is_empty()
    }

    /// Whether gates or defaults are different, and not only the health of destinations.
    pub fn changes_set(&self) -> bool {
        self.defaults || !self.set.is_empty()
    }
}

impl Gates {
    /// The differences to earlier gates.
    pub fn change_since(&self, before: &Self) -> GatesChange {
        let none = Arc::default();
        let differs = |one: &Self, other: &Self, destination: &Destination| {
            one.healths_of(destination).any(|(tenant, health)| {
                let other = other.health(destination, tenant).unwrap_or(&none);
                !Arc::ptr_eq(health, other) && !health.means_the_same(other)
            })
        };
        let known = self.health.keys();
        let known = known.filter(|to| differs(self, before, to) || differs(before, self, to));
        let gone = before.health.keys();
        let gone = gone.filter(|to| !self.health.contains_key(*to) && differs(before, self, to));
        GatesChange {
            defaults: self.defaults != before.defaults,
            set: self.set_since(before),
            destinations: known.chain(gone).cloned().collect(),
        }
    }

    /// The gates that were set, changed or deleted.
    fn set_since(&self, before: &Self) -> Vec<GateId> {
        // Most changes are to the health of destinations, over the same gates.
        if Arc::ptr_eq(&self.set, &before.set) {
            return Vec::new();
        }
        let set = self.set.iter();
        let set = set.filter(|(id, limits)| {
            before.set.get(id) != Some(limits) || before.holds.get(id) != self.holds.get(id)
        });
        let deleted = before.set.iter();
        let deleted = deleted.filter(|(id, _)| !self.set.contains_key(id));
        set.chain(deleted).map(|(id, _)| id.clone()).collect()
    }
}
