//! How to wait for a store that is away: longer each time, never spinning, told once.

use std::time::Duration;

use steadfast_store::StoreError;
use tokio_util::sync::CancellationToken;

use crate::random::Random;

const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(5);

/// One role's backoff with the store.
#[derive(Default)]
pub struct StoreBackoff {
    delay: Option<Duration>,
}

impl StoreBackoff {
    /// The store answered.
    pub fn restore(&mut self, role: &'static str) {
        if self.delay.take().is_some() {
            tracing::info!(role, "the store is back");
        }
    }

    /// The store failed: waits a while, or until the stop.
    pub async fn wait(
        &mut self,
        role: &'static str,
        error: &StoreError,
        random: &Random,
        stop: &CancellationToken,
    ) {
        let delay = match self.delay {
            None => {
                tracing::warn!(role, %error, "the store failed; waiting for it");
                FIRST
            }
            Some(delay) => (delay * 2).min(LONGEST),
        };
        self.delay = Some(delay);
        tokio::select! {
            () = tokio::time::sleep(delay.mul_f64(random.fraction())) => {}
            () = stop.cancelled() => {}
        }
    }
}
