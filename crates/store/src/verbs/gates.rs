//! A store reads its own gates.

use std::sync::Arc;

use steadfast_core::Gates;

use super::documents::stored;
use crate::{
    drivers::current_gates::{ChangedGates, GateRead},
    drivers::{Asker, Driver, driver_error::DriverError, transaction::Reads},
    error::StoreError,
};

/// Before a claim: reads the gates if those in memory may be outdated. A claim that cannot know its
/// gates fails, because every job might pass one that was just closed.
pub(crate) async fn refresh<D: Driver>(store: &D) -> Result<(), StoreError> {
    if Driver::gates(store).must_read(store.now()) {
        current(store).await?;
    }
    Ok(())
}

/// The gates as they are now. However many callers ask at once, two reads serve them: one that has
/// begun already, and the next.
pub(crate) async fn current<D: Driver>(store: &D) -> Result<Arc<Gates>, StoreError> {
    let gates = Driver::gates(store);
    let begun = gates.reads_begun();
    let _reading = gates.reading.lock().await;
    if let Some(gates) = gates.read_after(begun) {
        return Ok(gates);
    }
    let read = gates.begin_read(store.now());
    let changed = store.read("gates", Asker::Node, read, |tx, read| {
        Box::pin(changed(tx, *read))
    });
    let current = gates.end_read(read, changed.await?);
    if let Err(error) = store.share_waiting_limits().await {
        tracing::warn!(%error, "programs that store jobs by SQL do not know the limits of waiting jobs");
    }
    Ok(current)
}

/// The versions are read first, so the documents are at least as new as their versions say.
async fn changed(tx: &mut dyn Reads, read: GateRead) -> Result<ChangedGates, DriverError> {
    let versions = tx.document_versions().await?;
    let mut documents = Vec::new();
    for kind in read.changed(&versions) {
        let found = stored::list(tx, kind, "", "", usize::MAX).await?;
        documents.push((kind, found));
    }
    Ok(ChangedGates::new(&versions, documents))
}
