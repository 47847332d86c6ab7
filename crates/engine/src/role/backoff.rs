//! How to wait for a store that is away: longer each time, never spinning, logged once.

use std::{sync::Arc, time::Duration};

use steadfast_store::StoreError;
use tokio_util::sync::CancellationToken;

use crate::{
    limits::{STORE_BACKOFF_FIRST, STORE_BACKOFF_MAX},
    role::health::RoleHealth,
};

/// The backoff of one role.
pub struct StoreBackoff {
    health: Arc<RoleHealth>,
    delay: Option<Duration>,
}

impl StoreBackoff {
    pub fn new(health: Arc<RoleHealth>) -> Self {
        Self {
            health,
            delay: None,
        }
    }

    /// The store answered.
    pub fn reset(&mut self) {
        self.health.succeeded();
        if self.delay.take().is_some() {
            tracing::info!(role = self.health.name(), "the store is available again");
        }
    }

    /// The store failed: waits a while, or until the stop.
    pub async fn wait(&mut self, error: &StoreError, stop: &CancellationToken) {
        self.health.failed();
        let delay = match self.delay {
            None => {
                tracing::warn!(role = self.health.name(), %error, "the store is unavailable; waiting for it");
                STORE_BACKOFF_FIRST
            }
            Some(delay) => (delay * 2).min(STORE_BACKOFF_MAX),
        };
        self.delay = Some(delay);
        // Between half and the whole of it, so that the roles do not come back all at once.
        let jittered = delay.mul_f64(0.5 + rand::random::<f64>() / 2.0);
        stop.run_until_cancelled(tokio::time::sleep(jittered)).await;
    }
}
