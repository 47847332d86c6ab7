//! Renews the leases of attempts that run here, and passes on what the store knows of them: a
//! request to cancel, or a lease that is lost.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use steadfast_core::WorkerName;
use steadfast_store::{RenewResult, Store, StoreError};

use crate::{
    inflight::{Inflight, signals::StopReason},
    limits,
    role::{Next, Role, StopPhase},
};

pub struct Keeper {
    pub store: Arc<dyn Store>,
    pub inflight: Arc<Inflight>,
    /// The holder of this node's claims.
    pub worker: WorkerName,
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
        let wait = self.renew().await?;
        let Some(wait) = wait else {
            // While nothing runs here, only an attempt that starts can make work.
            return Ok(Next::at_wakeup(Duration::MAX));
        };
        self.pass_on_cancels().await?;
        Ok(Next::at_wakeup(wait))
    }

    async fn wakeup(&self) {
        self.inflight.shorter_lease().await;
    }
}

impl Keeper {
    /// Renews leases, and answers how long until the next look; `None` if nothing runs.
    pub async fn renew(&self) -> Result<Option<Duration>, StoreError> {
        let now = self.store.now();
        let (renewals, wait) = self.inflight.renewals(now);
        if renewals.is_empty() {
            return Ok(wait);
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
        Ok(wait)
    }

    /// Cancels come from other nodes as well, and a lease is renewed too seldom to wait for it.
    async fn pass_on_cancels(&self) -> Result<(), StoreError> {
        // No more of this node's jobs can run than are here, but for claims that were lost.
        let limit = self.inflight.len().max(limits::CANCEL_REQUESTS_MIN);
        let requests = self.store.cancel_requests(self.worker.clone(), limit);
        for (job, fence) in requests.await? {
            self.inflight.stop(job, fence, StopReason::Cancelled);
        }
        Ok(())
    }
}
