//! The gates that a program brings along.

use std::collections::HashMap;

use steadfast_core::{Gate, GateDefaults, GateId};

/// The gates of a program or a settings file. Gates that people have stored override them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GateSettings {
    /// For every key of a scope.
    pub defaults: GateDefaults,
    /// For single keys.
    pub gates: Vec<Gate>,
}

impl GateSettings {
    /// The stored gates over those of the program.
    pub(crate) fn under(&self, stored: &[Gate]) -> Vec<Gate> {
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
