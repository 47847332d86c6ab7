//! Connections of a pool, and which of them are used again.

use std::{
    ops::{Deref, DerefMut},
    sync::Arc,
};

use deadpool::managed::{self, Metrics, RecycleError, RecycleResult};
use deadpool_postgres::ClientWrapper;

use super::{Opened, Servers};
use crate::drivers::postgres::driver_error::DriverError;

pub(crate) struct ConnectionManager(pub(crate) Arc<Servers>);

pub(crate) struct PooledConnection {
    client: ClientWrapper,
    pub generation: u64,
}

impl managed::Manager for ConnectionManager {
    type Type = PooledConnection;
    type Error = DriverError;

    async fn create(&self) -> Result<PooledConnection, DriverError> {
        let Opened {
            client,
            connection,
            generation,
        } = self.0.connect().await?;
        let driver = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended");
            }
        });
        let client = ClientWrapper::new(client, driver);
        Ok(PooledConnection { client, generation })
    }

    /// A transaction that was dropped rolls itself back, so there is nothing to clean.
    async fn recycle(&self, it: &mut PooledConnection, _: &Metrics) -> RecycleResult<DriverError> {
        if it.client.is_closed() {
            return Err(RecycleError::message("it is closed"));
        }
        if it.generation != self.0.generation() {
            return Err(RecycleError::message("its server may have lost its role"));
        }
        Ok(())
    }
}

impl Deref for PooledConnection {
    type Target = ClientWrapper;

    fn deref(&self) -> &ClientWrapper {
        &self.client
    }
}

impl DerefMut for PooledConnection {
    fn deref_mut(&mut self) -> &mut ClientWrapper {
        &mut self.client
    }
}
