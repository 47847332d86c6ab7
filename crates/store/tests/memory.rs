//! The reference against the contract.

use std::sync::Arc;

use async_trait::async_trait;
use steadfast_store::{ManualClock, MemoryStore, Store, conformance::Harness, conformance_tests};

struct Memory;

#[async_trait]
impl Harness for Memory {
    async fn fresh(&self, clock: ManualClock) -> Arc<dyn Store> {
        Arc::new(MemoryStore::new(Arc::new(clock)))
    }
}

conformance_tests!(Memory);
