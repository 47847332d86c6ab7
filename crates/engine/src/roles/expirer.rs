//! Ends jobs that did not start in time. A claim takes none of them, so that no job starts late
//! however busy this is; here they get their end, with their webhooks. Any node may do it for all, and
//! two at once do no harm.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use steadfast_core::JobCommand;
use steadfast_store::{Store, StoreError};

use crate::{
    client::{Client, ClientError},
    limits,
    role::{Next, Role},
};

pub struct Expirer {
    pub store: Arc<dyn Store>,
    pub client: Client,
    pub every: Duration,
}

impl Expirer {
    /// Ends one batch of late jobs and returns how many there were.
    pub async fn expire(&self) -> Result<usize, StoreError> {
        let late = self.store.expired_starts(limits::SWEEP_BATCH_MAX).await?;
        let count = late.len();
        match self.client.command_each(late, JobCommand::Expire).await {
            Ok(_) => Ok(count),
            Err(ClientError::Store(error)) => Err(error),
            Err(error) => Err(StoreError::broken("run_command", error)),
        }
    }
}

#[async_trait]
impl Role for Expirer {
    fn name(&self) -> &'static str {
        "expirer"
    }

    async fn tick(&self) -> Result<Next, StoreError> {
        Ok(match self.expire().await? {
            limits::SWEEP_BATCH_MAX.. => Next::AtOnce,
            _ => Next::After(self.every),
        })
    }
}
