//! Renews the leases of the attempts that run here, and passes on what the renewal reveals: a
//! request to cancel, or a lease that is lost.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use steadfast_store::{RenewResult, Store, StoreError};

use crate::{
    attempt_signals::StopReason,
    inflight::Inflight,
    role::{Next, Role, StopPhase},
};

pub struct Keeper {
    pub store: Arc<dyn Store>,
    pub inflight: Arc<Inflight>,
}

#[async_trait]
impl Role for Keeper {
    fn name(&self) -> &'static str {
        "keeper"
    }

    fn stop_phase(&self) -> StopPhase {
        StopPhase::Leases
    }

    async fn tick(&self) -> Result<Next, StoreError> {
        let now = self.store.now();
        let (renewals, wait) = self.inflight.renewals(now);
        // While nothing runs here, only an attempt that starts can make work.
        let next = Next::at_wakeup(wait.unwrap_or(Duration::MAX));
        if renewals.is_empty() {
            return Ok(next);
        }
        let results = self.store.renew(renewals.clone()).await?;
        for (renewal, result) in renewals.iter().zip(results) {
            // An attempt that was settled meanwhile needs no signal.
            let Some(signals) = self.inflight.renewed(renewal, now) else {
                continue;
            };
            match result {
                RenewResult::Held {
                    cancel_requested: false,
                    ..
                } => {}
                RenewResult::Held { .. } => signals.stop(StopReason::Cancelled),
                RenewResult::Lost => signals.stop(StopReason::LeaseLost),
            }
        }
        Ok(next)
    }

    async fn wakeup(&self) {
        self.inflight.shorter_lease().await;
    }
}
