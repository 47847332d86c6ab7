//! Deleting records whose retention is over.

use steadfast_core::Timestamp;

use super::{batches, operations};
use crate::{
    drivers::{Driver, Verb},
    error::StoreError,
};

const OPERATION: &str = "prune";

/// Operations that ended before a time.
pub(crate) async fn operations<D: Driver>(
    store: &D,
    ended_before: Timestamp,
    limit: usize,
) -> Result<usize, StoreError> {
    delete(store, ended_before, limit, |tx, it| {
        Box::pin(operations::prune(tx, it.0, it.1))
    })
    .await
}

/// Batches that ended before a time.
pub(crate) async fn batches<D: Driver>(
    store: &D,
    ended_before: Timestamp,
    limit: usize,
) -> Result<usize, StoreError> {
    delete(store, ended_before, limit, |tx, it| {
        Box::pin(batches::prune(tx, it.0, it.1))
    })
    .await
}

/// Audit records from before a time.
pub(crate) async fn audit<D: Driver>(
    store: &D,
    before: Timestamp,
    limit: usize,
) -> Result<usize, StoreError> {
    delete(store, before, limit, |tx, it| {
        Box::pin(tx.delete_audit(it.0, it.1))
    })
    .await
}

async fn delete<D: Driver>(
    store: &D,
    before: Timestamp,
    limit: usize,
    verb: Verb<(Timestamp, usize), usize>,
) -> Result<usize, StoreError> {
    store
        .transact(OPERATION, limit, (before, limit), verb)
        .await
}
