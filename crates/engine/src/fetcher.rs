//! Fills free slots with due jobs.
//!
//! The store says when the next job is due; a wake-up cuts the wait short when an earlier one
//! appears; a slow poll is the safety net. So an idle engine neither polls fast nor starts late.

use std::{sync::Arc, time::Duration};

use steadfast_core::EndedAttempt;
use steadfast_store::{ClaimRequest, Store, StoreError, Wakeups};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use crate::{executor::Executor, limits, random::Random, store_backoff::StoreBackoff};

pub struct Fetcher {
    pub store: Arc<dyn Store>,
    pub executor: Arc<Executor>,
    pub slots: Arc<Semaphore>,
    pub ended: mpsc::Sender<EndedAttempt>,
    /// Whose jobs to claim; how many is up to the free slots.
    pub request: ClaimRequest,
    pub random: Arc<Random>,
}

impl Fetcher {
    pub async fn run(&self, stop: &CancellationToken) {
        let mut wakeups = self.store.wakeups();
        let mut backoff = StoreBackoff::default();
        while !stop.is_cancelled() {
            tokio::select! {
                () = stop.cancelled() => break,
                slot = self.slots.acquire() => drop(slot),
            }
            match self.tick(stop).await {
                Ok(wait) => {
                    backoff.restore("fetcher");
                    wait_for_work(wait, &mut wakeups, stop).await;
                }
                Err(error) => backoff.wait("fetcher", &error, &self.random, stop).await,
            }
        }
    }

    /// Claims once and starts what it got; says how long there is nothing to do.
    pub async fn tick(&self, stop: &CancellationToken) -> Result<Duration, StoreError> {
        let max = self.slots.available_permits().min(limits::CLAIM_BATCH_MAX);
        let request = ClaimRequest {
            max,
            ..self.request.clone()
        };
        let claimed = self.store.claim(request).await?;
        let count = claimed.claims.len();
        for claim in claimed.claims {
            // Only this role takes slots, so those that were free still are.
            let slot = self.slots.clone().try_acquire_owned();
            match slot {
                Ok(slot) if !stop.is_cancelled() => {
                    self.executor.start(claim, slot, self.ended.clone());
                }
                _ => self.give_back(claim).await,
            }
        }
        let full = count == max;
        Ok(match claimed.next_due {
            _ if full => Duration::ZERO,
            Some(due) => due.since(self.store.now()).min(limits::POLL),
            None => limits::POLL,
        })
    }

    /// A claim that was not started is returned as if it had never been made.
    async fn give_back(&self, claim: steadfast_core::Claim) {
        let outcome = steadfast_core::Outcome::Released { started: false };
        let ended = claim.ended(outcome, self.store.now());
        let _closed = self.ended.send(ended).await;
    }
}

/// Waits until something may be due.
pub async fn wait_for_work(wait: Duration, wakeups: &mut Wakeups, stop: &CancellationToken) {
    if wait.is_zero() {
        return;
    }
    tokio::select! {
        () = stop.cancelled() => {}
        () = wakeups.next() => {}
        () = tokio::time::sleep(wait) => {}
    }
}
