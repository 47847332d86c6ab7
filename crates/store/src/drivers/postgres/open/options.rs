//! How a database is opened.

use std::{sync::Arc, time::Duration};

use crate::{
    clock::Clock,
    drivers::sql::encryption::EncryptionKeys,
    limits::{CONNECTIONS_DEFAULT, TIMEOUT_DEFAULT},
};

/// How a database is opened.
#[derive(Clone)]
#[non_exhaustive]
pub struct PostgresOptions {
    /// The schema that everything lives in.
    pub schema: String,
    /// An address that leads to the server itself, if that of the store leads through a pooler that
    /// lends connections for one transaction: `LISTEN` needs it. Without one, the store looks for the
    /// work of other nodes four times a second.
    pub direct: Option<String>,
    /// In place of the database's clock, for tests.
    pub clock: Option<Arc<dyn Clock>>,
    /// Connections for queries and changes; one more listens.
    pub connections: usize,
    /// How long to wait for a connection, and for an answer.
    pub timeout: Duration,
    /// Open a store that is being moved, or was moved, in order to move or check it. Without this, such
    /// a database is refused. No row is changed in the background.
    pub for_move: bool,
    /// Open only a store that exists and has the schema of this program: nothing is created or
    /// migrated.
    pub existing: bool,
    /// The keys with which payloads, results, logs and settings are encrypted. Without any, they are
    /// stored as they are, and a store that has encrypted values is refused.
    pub encryption: Option<EncryptionKeys>,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            schema: "steadfast".to_owned(),
            direct: None,
            clock: None,
            connections: CONNECTIONS_DEFAULT,
            timeout: TIMEOUT_DEFAULT,
            for_move: false,
            existing: false,
            encryption: None,
        }
    }
}

impl PostgresOptions {
    /// Sets [`schema`](Self::schema).
    #[must_use]
    pub fn schema(self, schema: &str) -> Self {
        Self {
            schema: schema.to_owned(),
            ..self
        }
    }

    /// Sets [`direct`](Self::direct).
    #[must_use]
    pub fn direct(self, url: &str) -> Self {
        Self {
            direct: Some(url.to_owned()),
            ..self
        }
    }

    /// Sets [`clock`](Self::clock).
    #[must_use]
    pub fn clock(self, clock: impl Clock) -> Self {
        Self {
            clock: Some(Arc::new(clock)),
            ..self
        }
    }

    /// Sets [`connections`](Self::connections).
    #[must_use]
    pub fn connections(self, connections: usize) -> Self {
        Self {
            connections,
            ..self
        }
    }

    /// Sets [`timeout`](Self::timeout).
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Sets [`encryption`](Self::encryption).
    #[must_use]
    pub fn encryption(self, encryption: Option<EncryptionKeys>) -> Self {
        Self { encryption, ..self }
    }

    /// Sets [`for_move`](Self::for_move).
    #[must_use]
    pub fn for_move(self, for_move: bool) -> Self {
        Self { for_move, ..self }
    }

    /// Sets [`existing`](Self::existing).
    #[must_use]
    pub fn existing(self, existing: bool) -> Self {
        Self { existing, ..self }
    }
}
