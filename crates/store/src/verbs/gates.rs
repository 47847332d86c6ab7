//! A store reads its own gates.

use std::sync::Arc;

use steadfast_core::Gates;

use super::documents;
use crate::{
    drivers::{Asker, Driver, driver_error::DriverError, transaction::Reads},
    error::StoreError,
    gates::{GateNews, GateRead},
};

/// Before a claim: looks at the gates if that is due. If they cannot be read, those that are known
/// hold on; without any, every job might start.
pub(crate) async fn follow<D: Driver>(store: &D) -> Result<(), StoreError> {
    let gates = Driver::gates(store);
    match gates.is_due() {
        true => match current(store).await {
            Err(error) if gates.known().is_none() => Err(error),
            _ => Ok(()),
        },
        false => Ok(()),
    }
}

/// The gates as they are now.
pub(crate) async fn current<D: Driver>(store: &D) -> Result<Arc<Gates>, StoreError> {
    let read = Driver::gates(store).begin_read();
    let news = store.read("gates", Asker::Node, read, |tx, read| {
        Box::pin(news(tx, *read))
    });
    Ok(Driver::gates(store).end_read(read, news.await?))
}

/// The versions are read first, so the documents are at least as new as they say.
async fn news(tx: &mut dyn Reads, read: GateRead) -> Result<GateNews, DriverError> {
    let versions = tx.document_versions().await?;
    let (mut news, changed) = read.changed(&versions);
    for kind in changed {
        news.add(kind, documents::list(tx, kind, "", "", usize::MAX).await?);
    }
    Ok(news)
}
