//! How verbs get a connection.

use std::{sync::Arc, time::Duration};

use crate::{
    caller::StoreCaller,
    error::OpenError,
    fair_gate::{FairGate, TenantPart},
    limits::{
        CONNECTIONS_BESIDE_OTHERS_DIVISOR, CONNECTIONS_PER_TENANT_DIVISOR, WORK_CONNECTIONS_DIVISOR,
    },
    verbs::encryption::check_keys,
    wake::WakeReasons,
};

use super::{
    driver_error::DriverError,
    key::Key,
    listen::Listener,
    open,
    servers::Servers,
    session::{Conn, Pool, PoolContext},
    transaction::wrappers::SessionTransaction,
};

/// What all clones of a store share.
pub(super) struct Inner {
    pub shared: Arc<PoolContext>,
    pub servers: Arc<Servers>,
    pub pool: Pool,
    /// Callers take turns at the connections.
    pub lists: Arc<FairGate>,
    /// Work has a door of its own: it does not wait behind lists.
    pub work: Arc<FairGate>,
    pub listener: Arc<Listener>,
    pub timeout: Duration,
    /// Which installation this is.
    pub id: Key,
}

impl Inner {
    /// Refuses keys that are not those of the store.
    pub(super) async fn check_encryption(&self, name: String) -> Result<(), OpenError> {
        let checked = async {
            let conn = self.conn().await?;
            let (session, mut none) = (conn.session(), WakeReasons::default());
            let mut verbs = SessionTransaction::new(&session, &mut none);
            check_keys(&mut verbs, &self.shared.cipher).await
        };
        match checked.await {
            Ok(None) => Ok(()),
            Ok(Some(reason)) => Err(OpenError::EncryptionKey { name, reason }),
            Err(error) => Err(open::open_error(name, error)),
        }
    }

    pub(super) async fn conn(&self) -> Result<Conn<'_>, DriverError> {
        let caller = StoreCaller::current();
        let door = match &caller {
            Some(caller) if caller.works => &self.work,
            _ => &self.lists,
        };
        let admission = tokio::time::timeout(self.timeout, door.enter(caller, 1)).await;
        let admission = admission.map_err(|_| DriverError::Timeout)?;
        Ok(Conn {
            client: self.pool.get().await?,
            shared: &self.shared,
            _admission: admission,
        })
    }

    /// How callers share the connections of a pool: for lists and other requests, and for work.
    pub(super) fn doors(connections: usize) -> [Arc<FairGate>; 2] {
        let kept = (connections / WORK_CONNECTIONS_DIVISOR).max(1);
        let alone = connections / CONNECTIONS_PER_TENANT_DIVISOR;
        let part = TenantPart {
            alone,
            beside_others: connections / CONNECTIONS_BESIDE_OTHERS_DIVISOR,
        };
        [connections.saturating_sub(kept), connections].map(|room| FairGate::with_part(room, part))
    }

    /// Drops a connection that was refused a write, and has the others look for a server that
    /// takes writes.
    pub(super) fn leave_server(&self, conn: Conn<'_>) {
        let generation = conn.client.generation;
        conn.close();
        if self.servers.leave(generation) {
            tracing::warn!("the server no longer accepts writes; looking for another one");
            self.listener.due.forget();
        }
    }
}

/// Runs statements on a connection, for as long as its server may still answer.
macro_rules! on_one_connection {
    ($inner:expr, |$conn:ident| $work:expr) => {{
        let inner: &$crate::drivers::postgres::inner::Inner = $inner;
        async {
            let mut owned = inner.conn().await?;
            let $conn = &mut owned;
            let generation = $conn.client.generation;
            let work = async { $work.await };
            // The server gives up on a statement first, if it is there at all.
            let timeout = inner.timeout * $crate::limits::CLIENT_TIMEOUT_FACTOR;
            let done = tokio::select! {
                biased;
                done = tokio::time::timeout(timeout, work) => done.ok(),
                () = inner.servers.left_while_waiting(generation) => None,
            };
            match done {
                Some(Err(error)) if error.is_read_only() => {
                    inner.leave_server(owned);
                    Err(error)
                }
                Some(done) => done,
                None => {
                    // Its answer may still come, and would be taken for that to another.
                    owned.close();
                    Err($crate::drivers::driver_error::DriverError::Timeout)
                }
            }
        }
    }};
}

/// Runs a verb on a connection, and again if the database rolled it back or refused to write.
macro_rules! on_connection {
    ($store:expr, $operation:expr, |$conn:ident| $work:expr) => {{
        let inner: &$crate::drivers::postgres::inner::Inner = &$store.inner;
        let mut tries = 1;
        loop {
            let done = $crate::drivers::postgres::inner::on_one_connection!(inner, |$conn| $work);
            match done.await {
                Err(error)
                    if error.is_worth_repeating()
                        && tries < $crate::limits::TRANSACTION_TRIES_MAX =>
                {
                    tries += 1;
                }
                done => break done.map_err(|error| error.in_operation($operation)),
            }
        }
    }};
}

/// The same for a verb that may make something due: waiting fetchers are woken afterwards.
macro_rules! with_wake_hints {
    ($store:expr, $operation:expr, |$conn:ident, $hints:ident| $work:expr) => {{
        use $crate::store::BaseStore as _;
        let done =
            $crate::drivers::postgres::inner::on_connection!($store, $operation, |$conn| async {
                let mut collected = $crate::wake::WakeReasons::default();
                let $hints = &mut collected;
                let answer = $work.await?;
                Ok::<_, $crate::drivers::driver_error::DriverError>((answer, collected))
            });
        done.map(|(answer, hints)| {
            $store.inner.listener.wake_if_needed(&hints, $store.now());
            answer
        })
    }};
}

pub(super) use {on_connection, on_one_connection, with_wake_hints};
