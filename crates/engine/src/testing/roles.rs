//! One node whose roles run one call at a time, for simulations that decide which goes next.

use std::{sync::Arc, time::Duration};

use steadfast_core::{Claim, EndedAttempt, FlowKey, Invalid, Kind, Outcome, Tenant, Timestamp};
use steadfast_store::{ClaimRequest, Store, StoreError};
use tokio_util::sync::CancellationToken;

use crate::{
    attempt::settle::{PendingSettlement, SettleResult},
    builder::EngineBuilder,
    client::Client,
    config::EngineConfig,
    flow::call_slots::{Call, CallEnd, CallSlots},
    limits::{CLAIM_BATCH_MAX, HTTP_CONCURRENCY_DEFAULT},
    node::NodeHandle,
    parts::Parts,
    role::Role as _,
    roles::dead_letter_retention::DeadLetterRetention,
};

/// Jobs that a fetcher has claimed.
pub struct ClaimedCalls {
    /// The claims, with the slots of those that are calls.
    pub claims: Vec<(Claim, Option<RunningCall>)>,
    /// When the next one is due.
    pub next_due: Option<Timestamp>,
}

/// The slot of a call.
pub struct RunningCall(Call);

impl RunningCall {
    /// Frees the slot.
    pub fn end(mut self, outcome: &Outcome) {
        self.0.end = CallEnd::of(outcome);
    }
}

/// The parts of an engine without the loops around them.
pub struct Roles(Parts);

impl Roles {
    /// A node on a store whose random numbers come from a seed.
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

    /// A client of this node.
    pub fn client(&self) -> Client {
        self.0.client.clone()
    }

    /// This node as workers use it.
    pub fn node(&self) -> NodeHandle {
        let returner = self.0.claim_returner(None);
        self.0.node(CancellationToken::new(), returner)
    }

    /// Claims due jobs for the handlers of this node.
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

    /// Claims due jobs of a kind as a fetcher does: calls for the call slots of this node, and other
    /// jobs for `free` slots.
    pub async fn claim_for(
        &self,
        kind: &Kind,
        free: Option<usize>,
    ) -> Result<ClaimedCalls, StoreError> {
        let calls = &self.0.calls;
        let mut left = HTTP_CONCURRENCY_DEFAULT.saturating_sub(calls.in_flight());
        let max = free.unwrap_or_else(|| CallSlots::claim_max(left));
        let request = ClaimRequest {
            kinds: vec![kind.clone()],
            max: max.min(CLAIM_BATCH_MAX),
            allowance: kind.is_call().then(|| calls.allowance(left)),
            ..self.0.request.clone()
        };
        let claimed = self.0.store.claim(request).await?;
        let claims = claimed.claims.into_iter().map(|claim| {
            let call = kind.is_call().then(|| {
                left = left.saturating_sub(1);
                RunningCall(calls.begin(&FlowKey::from(claim.job()), left))
            });
            (claim, call)
        });
        Ok(ClaimedCalls {
            claims: claims.collect(),
            next_due: claimed.next_due,
        })
    }

    /// Claims due jobs of any kind, whether this node has a handler for it or not.
    pub async fn claim_any(&self, request: ClaimRequest) -> Result<Vec<Claim>, StoreError> {
        Ok(self.0.store.claim(request).await?.claims)
    }

    /// Looks whether gates were changed.
    pub async fn refresh_gates(&self) -> Result<(), StoreError> {
        self.0.gates.tick().await?;
        Ok(())
    }

    /// One round of the health keeper.
    pub async fn keep_health(&self) -> Result<usize, StoreError> {
        self.0.health_keeper.keep().await
    }

    /// Runs an attempt to its end.
    pub async fn attempt(&self, claim: Claim) -> EndedAttempt {
        self.0.executor.attempt(claim).await
    }

    /// Rolls the dice for an attempt that is over.
    pub fn pending(&self, ended: EndedAttempt) -> PendingSettlement {
        self.0.settler.pending(ended)
    }

    /// Settles one attempt and returns whether it counted.
    pub async fn settle(&self, pending: &mut PendingSettlement) -> Result<bool, StoreError> {
        let batch = std::slice::from_mut(pending);
        let results = self.0.settler.settle(batch).await?;
        Ok(results == [SettleResult::Done])
    }

    /// Settles it once more, as if the answer had been lost.
    pub async fn settle_again(&self, pending: &mut PendingSettlement) -> Result<bool, StoreError> {
        pending.forget_result();
        self.settle(pending).await
    }

    /// One tick of the keeper.
    pub async fn keep(&self) -> Result<(), StoreError> {
        self.0.keeper().tick().await?;
        Ok(())
    }

    /// One round of the sweeper.
    pub async fn sweep(&self) -> Result<usize, StoreError> {
        self.0.sweeper(Duration::ZERO).sweep().await
    }

    /// One tick of the schedule runner.
    pub async fn fire(&self) -> Result<(), StoreError> {
        self.0.schedule_runner().tick().await?;
        Ok(())
    }

    /// Ends one batch of jobs that did not start in time.
    pub async fn expire(&self) -> Result<usize, StoreError> {
        self.0.expirer(Duration::ZERO).expire().await
    }

    /// Does one batch of what follows for jobs that wait for others.
    pub async fn follow(&self) -> Result<bool, StoreError> {
        self.0.dependency_runner().follow().await
    }

    /// One tick of the operation runner.
    pub async fn operate(&self) -> Result<(), StoreError> {
        self.0.operation_runner().tick().await?;
        Ok(())
    }

    /// One round of the watcher.
    pub async fn watch(&self) -> Result<usize, StoreError> {
        self.0.watcher(Duration::ZERO).watch().await
    }

    /// Discards dead letters that failed longer ago than this.
    pub async fn discard_dead_letters(&self, retention: Duration) -> Result<(), StoreError> {
        let role = DeadLetterRetention::new(&self.0.client, retention, Duration::ZERO);
        role.tick().await?;
        Ok(())
    }

    /// One round of the pruner.
    pub async fn prune(&self, retention: Duration) -> Result<usize, StoreError> {
        let config = EngineConfig::default().with_retention(retention);
        self.0.pruner(&config).prune().await
    }
}
