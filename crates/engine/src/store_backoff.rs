//! How to wait for a store that is away: longer each time, never spinning, logged once.

use std::time::Duration;

use steadfast_store::StoreError;
use tokio_util::sync::CancellationToken;

use crate::limits::{STORE_BACKOFF_FIRST, STORE_BACKOFF_MAX};

/// The backoff of one role.
pub struct StoreBackoff {
    role: &'static str,
    delay: Option<Duration>,
}

impl StoreBackoff {
    pub fn new(role: &'static str) -> Self {
        Self { role, delay: None }
    }

    /// The store answered.
    pub fn reset(&mut self) {
        if self.delay.take().is_some() {
            tracing::info!(role = self.role, "the store is back");
        }
    }

    /// The store failed: waits a while, or until the stop.
    pub async fn wait(&mut self, error: &StoreError, stop: &CancellationToken) {
        let delay = match self.delay {
            None => {
                tracing::warn!(role = self.role, %error, "the store failed; waiting for it");
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
