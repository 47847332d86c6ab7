//! Reports outcomes: what waits goes in one request, at once if none is under way, or with the claim
//! that is about to be sent. A request whose answer was lost is repeated; the server lets it take effect once.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use steadfast_api::{SettlementList, SettlementRequest, SettlementResult};
use tokio::{sync::Notify, time::Instant};

use super::{
    held::{HeldClaim, HeldClaims, StopReason},
    outcome,
    slots::Slots,
};
use crate::{
    backoff::Backoff,
    client::Client,
    error::ClientError,
    limits::{BATCH_MAX, SETTLE_AFTER_LEASE, SETTLE_BYTES_MAX, SETTLE_TIMEOUT},
};

pub struct Settler {
    client: Client,
    held: Arc<HeldClaims>,
    slots: Arc<Slots>,
    queue: Mutex<Queue>,
    changed: Notify,
    emptied: Notify,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Settlement>,
    under_way: usize,
    /// Under way with a claim.
    along: usize,
}

/// An outcome on its way to the server.
pub struct Settlement {
    held: Arc<HeldClaim>,
    text: String,
    /// It already says that the server refused the first one.
    is_refusal: bool,
}

impl Settler {
    pub fn new(client: Client, held: Arc<HeldClaims>, slots: Arc<Slots>) -> Self {
        Self {
            client,
            held,
            slots,
            queue: Mutex::default(),
            changed: Notify::new(),
            emptied: Notify::new(),
        }
    }

    /// Reports the outcome of an attempt; the first one counts.
    pub fn add(&self, held: &Arc<HeldClaim>, settlement: &SettlementRequest) {
        if held.end() {
            self.push(held.clone(), settlement, false);
        }
    }

    fn push(&self, held: Arc<HeldClaim>, settlement: &SettlementRequest, is_refusal: bool) {
        let text = match serde_json::to_string(settlement) {
            Ok(text) => text,
            Err(error) => {
                let refusal = outcome::of_refusal(&held, &error.to_string());
                serde_json::to_string(&refusal).unwrap_or_default()
            }
        };
        let mut queue = self.queue();
        queue.waiting.push_back(Settlement {
            held,
            text,
            is_refusal,
        });
        self.slots.set_unsettled(queue.len());
        drop(queue);
        self.changed.notify_one();
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many outcomes the server has not taken yet.
    pub fn pending(&self) -> usize {
        self.queue().len()
    }

    /// Returns when all outcomes are reported.
    pub async fn flush(&self) {
        while self.pending() > 0 {
            self.emptied.notified().await;
        }
    }

    /// Reports outcomes for as long as the worker lives.
    pub async fn run(&self) {
        loop {
            let batch = match self.slots.is_claim_due() {
                true => Vec::new(),
                false => take(&mut self.queue(), |queue| &mut queue.under_way),
            };
            if batch.is_empty() {
                self.changed.notified().await;
                continue;
            }
            self.settle(batch).await;
            self.update(|queue| queue.under_way = 0);
        }
    }

    /// Outcomes for a claim to take along; [`finish_along`](Self::finish_along) follows.
    pub fn take_along(&self) -> Vec<Settlement> {
        take(&mut self.queue(), |queue| &mut queue.along)
    }

    /// Acts on the results of a claim that took outcomes along. Without results, they are reported
    /// by themselves.
    pub fn finish_along(&self, batch: Vec<Settlement>, results: Option<Vec<SettlementResult>>) {
        match results {
            Some(results) => self.finish(batch, results),
            None => {
                let mut queue = self.queue();
                for entry in batch.into_iter().rev() {
                    queue.waiting.push_front(entry);
                }
            }
        }
        self.update(|queue| queue.along = 0);
        self.wake();
    }

    /// The claimer no longer takes outcomes along.
    pub fn wake(&self) {
        self.changed.notify_one();
    }

    fn update(&self, change: impl FnOnce(&mut Queue)) {
        let mut queue = self.queue();
        change(&mut queue);
        self.slots.set_unsettled(queue.len());
        if queue.len() == 0 {
            self.emptied.notify_one();
        }
    }

    /// Reports a batch until every one of it is taken, refused or pointless.
    async fn settle(&self, mut batch: Vec<Settlement>) {
        let mut backoff = Backoff::default();
        loop {
            self.drop_hopeless(&mut batch);
            if batch.is_empty() {
                return;
            }
            let failure = match self.send(&batch).await {
                Ok(list) if list.settled.len() == batch.len() => {
                    return self.finish(batch, list.settled);
                }
                Ok(list) => {
                    let (taken, sent) = (list.settled.len(), batch.len());
                    tracing::warn!("the server returned results for {taken} of {sent} outcomes");
                    None
                }
                Err(error) if error.is_refusal_of_content() => {
                    self.refuse_one(&mut batch, &error);
                    continue;
                }
                Err(error) => {
                    let outcomes = batch.len();
                    let error_text = error.with_causes();
                    tracing::warn!(outcomes, error = error_text, "cannot report outcomes yet");
                    Some(error)
                }
            };
            backoff.pause_after(failure.as_ref()).await;
        }
    }

    async fn send(&self, batch: &[Settlement]) -> Result<SettlementList, ClientError> {
        let body = format!("{{{}}}", field_of(batch));
        let request = self.client.post("settleAttempts", "/claims/settle");
        request.json_text(body).timeout(SETTLE_TIMEOUT).await
    }

    /// Takes out the one that the server refuses, so that it does not hinder the others. If the
    /// server does not say which, it is the largest.
    fn refuse_one(&self, batch: &mut Vec<Settlement>, error: &ClientError) {
        let named = error.field().and_then(index_of);
        let largest = || (0..batch.len()).max_by_key(|&index| batch[index].text.len());
        let index = named.filter(|&index| index < batch.len()).or_else(largest);
        if let Some(index) = index {
            let entry = batch.remove(index);
            let detail = error
                .problem()
                .map_or_else(|| error.to_string(), |problem| problem.detail.clone());
            self.refuse(entry, &detail);
        }
    }

    fn finish(&self, batch: Vec<Settlement>, results: Vec<SettlementResult>) {
        for (entry, result) in batch.into_iter().zip(results) {
            let code = result.code.unwrap_or_default();
            let is_stale = matches!(code.as_str(), "stale_fence" | "not_found");
            if !result.ok && !is_stale {
                self.refuse(entry, &result.detail.unwrap_or(code));
                continue;
            }
            if is_stale {
                let job = entry.held.job.id;
                tracing::warn!(%job, code, "the outcome came too late: the claim has expired");
            }
            self.held.remove(&entry.held);
        }
    }

    /// An outcome that the server does not take becomes a failure that says so.
    fn refuse(&self, entry: Settlement, detail: &str) {
        let job = entry.held.job.id;
        tracing::error!(%job, detail, "the server refused an outcome");
        if entry.is_refusal {
            self.held.remove(&entry.held);
        } else {
            let refusal = outcome::of_refusal(&entry.held, detail);
            self.push(entry.held, &refusal, true);
        }
    }

    /// Leaves out what is too old to matter, or belongs to another worker by now.
    fn drop_hopeless(&self, batch: &mut Vec<Settlement>) {
        let now = Instant::now();
        batch.retain(|entry| {
            let is_late = now > entry.held.lease_end() + SETTLE_AFTER_LEASE;
            let is_lost = entry.held.stop_reason() == Some(StopReason::LeaseLost);
            if is_late || is_lost {
                let job = entry.held.job.id;
                tracing::warn!(%job, "an outcome was dropped: the claim has expired");
                self.held.remove(&entry.held);
            }
            !is_late && !is_lost
        });
    }
}

impl Queue {
    fn len(&self) -> usize {
        self.waiting.len() + self.under_way + self.along
    }
}

/// The outcomes of one request, which are counted as under way.
fn take(queue: &mut Queue, under_way: fn(&mut Queue) -> &mut usize) -> Vec<Settlement> {
    let (mut count, mut bytes) = (0, 0);
    for settlement in queue.waiting.iter().take(BATCH_MAX) {
        bytes += settlement.text.len() + 1;
        if count > 0 && bytes > SETTLE_BYTES_MAX {
            break;
        }
        count += 1;
    }
    *under_way(queue) = count;
    queue.waiting.drain(..count).collect()
}

/// The field of a request that reports these outcomes.
pub fn field_of(batch: &[Settlement]) -> String {
    let texts: Vec<&str> = batch.iter().map(|entry| entry.text.as_str()).collect();
    format!("\"settlements\":[{}]", texts.join(","))
}

/// The number in `settlements[3].result`.
fn index_of(field: &str) -> Option<usize> {
    let (number, _) = field.strip_prefix("settlements[")?.split_once(']')?;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_names_the_settlement_at_fault() {
        assert_eq!(index_of("settlements[3].result"), Some(3));
        assert_eq!(index_of("settlements[12]"), Some(12));
        assert_eq!(index_of("settlements"), None);
    }
}
