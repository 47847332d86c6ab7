//! Where rows are: memory, SQLite, PostgreSQL.
//!
//! A driver gives rows in and out of one [`transaction`], and the hot verbs of jobs. The other verbs
//! are in `verbs`, and reach a driver by [`Driver`].

pub(crate) mod current_gates;
pub(crate) mod driver_error;
pub(crate) mod memory;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) mod sql;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;
pub(crate) mod transaction;

use std::pin::Pin;

use async_trait::async_trait;
use steadfast_core::{EncryptedPart, KeyRotation, Timestamp};

use crate::{error::StoreError, store::BaseStore, verbs::event_position::EventPosition};
use current_gates::CurrentGates;
use driver_error::DriverError;
use transaction::{Reads, Transaction};

/// What a verb does within a transaction. It may be run again after a rollback, so it only borrows
/// its arguments.
pub(crate) type Verb<A, T> = for<'a> fn(&'a mut dyn Transaction, &'a A) -> Answer<'a, T>;

/// What a verb does that only reads.
pub(crate) type Query<A, T> = for<'a> fn(&'a mut dyn Reads, &'a A) -> Answer<'a, T>;

pub(crate) type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, DriverError>> + Send + 'a>>;

/// A store whose verbs are written once, in `verbs`.
pub(crate) trait Driver: BaseStore {
    /// Where the counting of batches goes on.
    fn event_position(&self) -> &EventPosition;

    /// The gates, as this handle knows them.
    fn gates(&self) -> &CurrentGates;

    /// Lets programs that store jobs by SQL know which limits of waiting jobs apply.
    fn share_waiting_limits(&self) -> impl Future<Output = Result<(), StoreError>> + Send {
        std::future::ready(Ok(()))
    }

    /// Runs a verb in a transaction, durably before it returns, and wakes whom it concerns. It
    /// touches about this many rows.
    fn transact<A: Send + Sync + 'static, T: Send + 'static>(
        &self,
        operation: &'static str,
        rows: usize,
        arguments: A,
        verb: Verb<A, T>,
    ) -> impl Future<Output = Result<T, StoreError>> + Send;

    /// Adds failures that were counted apart from their groups, if this driver counts them so.
    fn add_failure_counts(&self) -> impl Future<Output = Result<(), StoreError>> + Send {
        std::future::ready(Ok(()))
    }

    /// What rotates the encryption key, if values can be encrypted.
    fn key_rotator(&self) -> Option<&dyn KeyRotator> {
        None
    }

    /// Deletes jobs that ended before a time, and what is kept as long as they are.
    fn prune_jobs(
        &self,
        ended_before: Timestamp,
        limit: usize,
    ) -> impl Future<Output = Result<usize, StoreError>> + Send;

    /// Deletes names that no job has, if there are more than `keep` of a sort.
    fn prune_names(&self, keep: usize) -> impl Future<Output = Result<usize, StoreError>> + Send;

    /// Runs a verb that only reads.
    fn read<A: Send + Sync + 'static, T: Send + 'static>(
        &self,
        operation: &'static str,
        asker: Asker,
        arguments: A,
        query: Query<A, T>,
    ) -> impl Future<Output = Result<T, StoreError>> + Send;
}

/// Encrypts what is stored with the newest key.
#[async_trait]
pub(crate) trait KeyRotator: Send + Sync {
    /// A rotation that has not begun; `None` if this process has no key.
    async fn new_rotation(&self) -> Result<Option<KeyRotation>, StoreError>;

    /// Encrypts the next part of a rotation; `None` if the newest key of this process is another one.
    async fn encrypt_part(
        &self,
        rotation: &KeyRotation,
    ) -> Result<Option<EncryptedPart>, StoreError>;

    /// Forgets the older keys of a rotation that no value needs.
    async fn forget_unused_keys(&self, rotation: &KeyRotation) -> Result<(), StoreError>;
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asker {
    /// The node itself, with an index search whose result is small: it never waits for callers.
    Node,
    /// A caller of the API, a page, or a role that can wait.
    Caller,
}
