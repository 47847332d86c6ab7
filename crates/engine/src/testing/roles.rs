//! One node whose roles move one call at a time, for simulations that decide who goes next.

use std::{sync::Arc, time::Duration};

use steadfast_core::{Claim, EndedAttempt, Invalid, Tenant};
use steadfast_store::{ClaimRequest, Store, StoreError};
use tokio_util::sync::CancellationToken;

use crate::{
    Client, EngineBuilder, NodeHandle,
    parts::Parts,
    pruner::Pruner,
    settle::{PendingSettlement, SettleResult},
};

/// The parts of an engine without the loops around them.
pub struct Roles(Parts);

impl Roles {
    pub fn new<S: Send + Sync + 'static>(
        store: Arc<dyn Store>,
        seed: u64,
        set_up: impl FnOnce(EngineBuilder) -> EngineBuilder<S>,
    ) -> Result<Self, Invalid> {
        let mut parts = set_up(EngineBuilder::new(store).seed(seed)).parts()?;
        // A map's order would make two runs of one seed differ.
        parts.request.kinds.sort();
        Ok(Self(parts))
    }

    pub fn client(&self) -> Client {
        self.0.client.clone()
    }

    pub fn node(&self) -> NodeHandle {
        self.0.node(CancellationToken::new())
    }

    pub async fn claim(
        &self,
        tenant: Option<Tenant>,
        max: usize,
    ) -> Result<Vec<Claim>, StoreError> {
        let request = ClaimRequest {
            tenant,
            max,
            ..self.0.request.clone()
        };
        Ok(self.0.store.claim(request).await?.claims)
    }

    pub async fn attempt(&self, claim: Claim) -> EndedAttempt {
        self.0.executor.attempt(claim).await
    }

    pub fn undecided(&self, ended: EndedAttempt) -> PendingSettlement {
        self.0.settler.undecided(ended)
    }

    /// Settles one attempt and says whether it counted.
    pub async fn settle(&self, undecided: &mut PendingSettlement) -> Result<bool, StoreError> {
        let batch = std::slice::from_mut(undecided);
        let settled = self.0.settler.settle(batch).await?;
        Ok(settled == [SettleResult::Done])
    }

    pub async fn keep(&self) -> Result<(), StoreError> {
        self.0.keeper().tick().await?;
        Ok(())
    }

    pub async fn sweep(&self) -> Result<usize, StoreError> {
        self.0.sweeper(Duration::ZERO).tick().await
    }

    pub async fn fire(&self) -> Result<(), StoreError> {
        self.0.cron().tick().await?;
        Ok(())
    }

    pub async fn watch(&self) -> Result<usize, StoreError> {
        self.0.watcher(Duration::ZERO).tick().await
    }

    pub async fn prune(&self, retention: Duration) -> Result<usize, StoreError> {
        let pruner = Pruner {
            store: self.0.store.clone(),
            random: self.0.random.clone(),
            retention,
            every: Duration::ZERO,
        };
        pruner.tick().await
    }
}
