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

use steadfast_core::{EncryptedPart, KeyRotation};

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

    /// A rotation of the encryption key that has not begun; `None` without a key.
    fn new_rotation(&self) -> impl Future<Output = Result<Option<KeyRotation>, StoreError>> + Send {
        std::future::ready(Ok(None))
    }

    /// Encrypts the next part of a rotation; `None` if the newest key of this process is another one.
    fn encrypt_part(
        &self,
        _rotation: &KeyRotation,
    ) -> impl Future<Output = Result<Option<EncryptedPart>, StoreError>> + Send {
        std::future::ready(Ok(None))
    }

    /// Forgets the keys that nothing needs after a rotation.
    fn forget_unused_keys(
        &self,
        _rotation: &KeyRotation,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        std::future::ready(Ok(()))
    }

    /// Runs a verb that only reads.
    fn read<A: Send + Sync + 'static, T: Send + 'static>(
        &self,
        operation: &'static str,
        asker: Asker,
        arguments: A,
        query: Query<A, T>,
    ) -> impl Future<Output = Result<T, StoreError>> + Send;
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asker {
    /// The node itself, with an index search whose result is small: it never waits for callers.
    Node,
    /// A caller of the API, a page, or a role that can wait.
    Caller,
}
