//! Renews the leases of what runs here, and passes on what it learns: a request to cancel, or
//! a lease that is lost.

use std::{sync::Arc, time::Duration};

use steadfast_store::{RenewResult, Store, StoreError};
use tokio_util::sync::CancellationToken;

use crate::{StopReason, inflight::Inflight, random::Random, store_backoff::StoreBackoff};

pub struct Keeper {
    pub store: Arc<dyn Store>,
    pub inflight: Arc<Inflight>,
    pub random: Arc<Random>,
}

impl Keeper {
    pub async fn run(&self, stop: &CancellationToken) {
        let mut backoff = StoreBackoff::default();
        while !stop.is_cancelled() {
            match self.tick().await {
                Ok(wait) => {
                    backoff.restore("keeper");
                    let wait = wait.unwrap_or(Duration::MAX);
                    tokio::select! {
                        () = stop.cancelled() => {}
                        () = self.inflight.shorter_lease() => {}
                        () = tokio::time::sleep(wait) => {}
                    }
                }
                Err(error) => backoff.wait("keeper", &error, &self.random, stop).await,
            }
        }
    }

    /// Renews once; says when to come back, unless nothing runs.
    pub async fn tick(&self) -> Result<Option<Duration>, StoreError> {
        let now = self.store.now();
        let (renewals, wait) = self.inflight.renewals(now);
        if renewals.is_empty() {
            return Ok(wait);
        }
        let renewed = self.store.renew(renewals.clone()).await?;
        for (renewal, renewed) in renewals.iter().zip(renewed) {
            // Whatever was settled meanwhile needs no news.
            let Some(signals) = self.inflight.renewed(renewal, now) else {
                continue;
            };
            match renewed {
                RenewResult::Held {
                    cancel_requested: false,
                    ..
                } => {}
                RenewResult::Held { .. } => signals.stop(StopReason::Cancelled),
                RenewResult::Lost => signals.stop(StopReason::LeaseLost),
            }
        }
        Ok(wait)
    }
}
