//! Fills free slots with due jobs.
//!
//! The store says when the next job is due; a wake-up cuts the wait short when an earlier one
//! appears; a slow poll is the safety net. So an idle engine neither polls fast nor starts late.

use std::sync::Arc;

use async_trait::async_trait;
use steadfast_core::{Claim, EndedAttempt, FlowKey, Gates, Outcome, Timestamp};
use steadfast_store::{ClaimRequest, Store, StoreError, Wakeups};
use tokio::sync::{Mutex, Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::{
    attempt::executor::Executor,
    flow::{
        call_slots::{Call, CallSlots, Slot},
        claim_pause::ClaimPause,
    },
    limits,
    role::{Next, Role, StopPhase},
};

pub struct Fetcher {
    pub store: Arc<dyn Store>,
    pub executor: Arc<Executor>,
    pub name: &'static str,
    pub slots: Arc<Semaphore>,
    /// The calls by destination and tenant, if these slots are for calls.
    pub calls: Option<Arc<CallSlots>>,
    pub ended: mpsc::Sender<EndedAttempt>,
    /// Tells of gates that were changed since the last claim.
    pub gate_changes: Mutex<watch::Receiver<Arc<Gates>>>,
    /// The jobs to claim; the free slots determine how many.
    pub request: ClaimRequest,
    pub wakeups: Mutex<Wakeups>,
    /// When it polls even without a wake-up.
    pub next_poll_at: Mutex<Timestamp>,
    pub pause: ClaimPause,
    pub stop: CancellationToken,
}

#[async_trait]
impl Role for Fetcher {
    fn name(&self) -> &'static str {
        self.name
    }

    fn stop_phase(&self) -> StopPhase {
        StopPhase::Claims
    }

    fn waits_in_its_round(&self) -> bool {
        true
    }

    /// Waits for a free slot, claims once and starts the claimed jobs.
    async fn tick(&self) -> Result<Next, StoreError> {
        // An empty list of kinds would mean any kind, so an engine without handlers must not ask.
        if self.request.kinds.is_empty() {
            self.stop.cancelled().await;
            return Ok(Next::AtOnce);
        }
        tokio::select! {
            () = self.stop.cancelled() => return Ok(Next::AtOnce),
            slot = self.slots.acquire() => drop(slot),
        }
        let free = self.slots.available_permits();
        let max = match self.calls {
            Some(_) => CallSlots::claim_max(free),
            None => free,
        };
        let max = max.min(limits::CLAIM_BATCH_MAX);
        let request = ClaimRequest {
            max,
            allowance: self.calls.as_ref().map(|calls| calls.allowance(free)),
            ..self.request.clone()
        };
        self.gate_changes.lock().await.mark_unchanged();
        let claimed = self.store.claim(request).await?;
        let count = claimed.claims.len();
        for claim in claimed.claims {
            // Only this role takes slots, so those that were free still are.
            match self.slots.clone().try_acquire_owned() {
                Ok(permit) if !self.stop.is_cancelled() => {
                    let slot = Slot::new(permit, self.begin_call(&claim));
                    self.executor.start(claim, slot, self.ended.clone());
                }
                _ => self.give_back(claim).await,
            }
        }
        let now = self.store.now();
        let wait = self.pause.next(count, claimed.next_due, now);
        // Where a destination or tenant had its share, calls that have ended meanwhile leave room again; a claim
        // that finds nothing knows whether it has to wait for the end of one.
        let is_full = count == max || (count > 0 && self.calls.is_some());
        *self.next_poll_at.lock().await = now.plus(wait);
        Ok(match is_full {
            true => Next::AtOnce,
            false => Next::at_wakeup(wait),
        })
    }

    async fn wakeup(&self) {
        let next_poll_at = *self.next_poll_at.lock().await;
        let mut wakeups = self.wakeups.lock().await;
        let mut gate_changes = self.gate_changes.lock().await;
        let freed = async {
            match &self.calls {
                Some(calls) => calls.freed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = wakeups.next_before(next_poll_at) => {}
            () = freed => {}
            // An error means that the node is gone.
            _changed = gate_changes.changed() => {}
        }
    }
}

impl Fetcher {
    fn begin_call(&self, claim: &Claim) -> Option<Call> {
        let free = self.slots.available_permits();
        let calls = self.calls.as_ref()?;
        Some(calls.begin(&FlowKey::from(claim.job()), free))
    }

    /// Returns a claim that was not started as if it had never been taken.
    async fn give_back(&self, claim: Claim) {
        let outcome = Outcome::Released { started: false };
        let ended = claim.end(outcome, self.store.now());
        let _closed = self.ended.send(ended).await;
    }
}
