//! Deliberate defects, each of which the simulation must find.

use std::sync::Arc;

use steadfast_store::Store;

/// A rule that is broken on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {}

impl Bug {
    pub fn plant(self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        store
    }
}
