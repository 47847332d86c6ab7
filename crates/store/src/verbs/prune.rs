//! Deleting what is no longer kept.

use steadfast_core::Timestamp;

use super::{batches, operations};
use crate::{
    drivers::{Driver, Verb},
    error::StoreError,
    store::PruneRequest,
};

pub(crate) async fn prune<D: Driver>(
    store: &D,
    request: PruneRequest,
) -> Result<usize, StoreError> {
    let (before, limit, delete): (_, _, Verb<(Timestamp, usize), usize>) = match request {
        PruneRequest::Jobs {
            ended_before,
            limit,
        } => return store.prune_jobs(ended_before, limit).await,
        PruneRequest::Names { keep } => return store.prune_names(keep).await,
        PruneRequest::Operations {
            ended_before,
            limit,
        } => (ended_before, limit, |tx, it| {
            Box::pin(operations::prune(tx, it.0, it.1))
        }),
        PruneRequest::Batches {
            ended_before,
            limit,
        } => (ended_before, limit, |tx, it| {
            Box::pin(batches::prune(tx, it.0, it.1))
        }),
        PruneRequest::Audit { before, limit } => (before, limit, |tx, it| {
            Box::pin(tx.delete_audit(it.0, it.1))
        }),
    };
    store
        .transact("prune", limit, (before, limit), delete)
        .await
}
