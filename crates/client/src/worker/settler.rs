//! Reports outcomes: what waits goes in one request, at once if none is under way, or with the claim
//! that is about to be sent. A request whose answer was lost is repeated; the server lets it take effect once.

use std::{
    borrow::Cow,
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
    /// In JSON, without its log.
    text: String,
    /// In JSON, until the server refuses a request with it.
    log: Option<String>,
    /// It already says that the server refused the first one.
    is_refusal: bool,
    /// It is sent in a request of its own: the server did not say which of several is at fault.
    is_alone: bool,
}

const LOG_FIELD: &str = ",\"log\":";

impl Settlement {
    fn bytes(&self) -> usize {
        let log = self
            .log
            .as_deref()
            .map_or(0, |log| log.len() + LOG_FIELD.len());
        self.text.len() + log
    }

    fn to_json(&self) -> Cow<'_, str> {
        let bare = self.text.strip_suffix('}');
        match bare.zip(self.log.as_deref()) {
            Some((bare, log)) => format!("{bare}{LOG_FIELD}{log}}}").into(),
            None => self.text.as_str().into(),
        }
    }
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
    pub fn add(&self, held: &Arc<HeldClaim>, settlement: SettlementRequest) {
        if held.end() {
            self.push(held.clone(), settlement, false);
        }
    }

    fn push(&self, held: Arc<HeldClaim>, mut settlement: SettlementRequest, is_refusal: bool) {
        let log = settlement.log.take();
        let text = match serde_json::to_string(&settlement) {
            Ok(text) => text,
            Err(error) => {
                let mut refusal = outcome::of_refusal(&held, &error.to_string());
                refusal.log = None;
                serde_json::to_string(&refusal).unwrap_or_default()
            }
        };
        let mut entry = Settlement {
            held,
            text,
            log: log.and_then(|log| serde_json::to_string(&log).ok()),
            is_refusal,
            is_alone: false,
        };
        if entry.bytes() > SETTLE_BYTES_MAX {
            entry.log = None;
        }
        let mut queue = self.queue();
        queue.waiting.push_back(entry);
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
            None => self.put_back(batch),
        }
        self.update(|queue| queue.along = 0);
        self.wake();
    }

    fn put_back(&self, batch: Vec<Settlement>) {
        let mut queue = self.queue();
        for entry in batch.into_iter().rev() {
            queue.waiting.push_front(entry);
        }
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
                    let Some(index) = refused_index(&batch, &error) else {
                        batch.iter_mut().for_each(|entry| entry.is_alone = true);
                        return self.put_back(batch);
                    };
                    self.refuse_one(&mut batch, index, &error);
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

    /// Takes out the one that the server refuses, so that it does not hinder the others. One with a
    /// log is sent without it first: a log must not turn a success into a failure.
    fn refuse_one(&self, batch: &mut Vec<Settlement>, index: usize, error: &ClientError) {
        let detail = error
            .problem()
            .map_or_else(|| error.to_string(), |problem| problem.detail.clone());
        if batch[index].log.take().is_some() {
            let held = &batch[index].held;
            tracing::warn!(job = %held.job.id, detail, "the server refused a log");
            held.leave_out_log();
        } else {
            let entry = batch.remove(index);
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
            self.push(entry.held, refusal, true);
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
        bytes += settlement.bytes() + 1;
        let is_alone = settlement.is_alone || queue.waiting[0].is_alone;
        if count > 0 && (is_alone || bytes > SETTLE_BYTES_MAX) {
            break;
        }
        count += 1;
    }
    *under_way(queue) = count;
    queue.waiting.drain(..count).collect()
}

/// The field of a request that reports these outcomes.
pub fn field_of(batch: &[Settlement]) -> String {
    let texts: Vec<Cow<'_, str>> = batch.iter().map(Settlement::to_json).collect();
    format!("\"settlements\":[{}]", texts.join(","))
}

/// The settlement that the server refuses; `None` if it does not say which of several.
fn refused_index(batch: &[Settlement], error: &ClientError) -> Option<usize> {
    let named = error.field().and_then(index_of);
    let is_known = batch.len() == 1 || error.status() == Some(413);
    let largest = || (0..batch.len()).max_by_key(|&index| batch[index].bytes());
    named
        .filter(|&index| index < batch.len())
        .or_else(|| is_known.then(largest).flatten())
}

/// The number in `settlements[3].result`.
fn index_of(field: &str) -> Option<usize> {
    let (number, _) = field.strip_prefix("settlements[")?.split_once(']')?;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use steadfast_api::ProblemBody;

    use super::*;
    use crate::{
        error::ErrorKind,
        worker::{
            handlers::HandlerOutput,
            held::tests::{held_claim, log_lines},
        },
    };

    fn settler() -> Settler {
        let client = Client::builder("http://127.0.0.1:1").build().unwrap();
        let slots = Arc::new(Slots::new(10));
        Settler::new(client, Arc::default(), slots)
    }

    /// A success of a job with this number, with a log.
    fn add_success(settler: &Settler, number: u128) -> Arc<HeldClaim> {
        add_logged_success(settler, number, "x")
    }

    fn add_logged_success(settler: &Settler, number: u128, text: &str) -> Arc<HeldClaim> {
        let held = held_claim(number);
        log_lines(&held, text);
        let nothing = HandlerOutput {
            answer: None,
            result: None,
        };
        settler.add(&held, outcome::of_result(&held, Ok(Ok(nothing))).unwrap());
        held
    }

    fn refusal(status: u16, field: Option<&str>) -> ClientError {
        let problem = ProblemBody {
            kind: "about:blank".to_owned(),
            title: String::new(),
            status,
            code: "invalid".to_owned(),
            detail: "refused".to_owned(),
            field: field.map(str::to_owned),
        };
        ClientError::new("settleAttempts", ErrorKind::Refused(Box::new(problem)))
    }

    fn field(entry: &Settlement, name: &str) -> Value {
        let value: Value = serde_json::from_str(&entry.to_json()).unwrap();
        value[name].clone()
    }

    #[test]
    fn a_log_does_not_turn_a_success_into_a_failure() {
        let settler = settler();
        let held: Vec<_> = (0..2).map(|number| add_success(&settler, number)).collect();
        let mut batch = settler.take_along();
        assert_eq!(batch.len(), 2);
        assert_eq!(field(&batch[1], "log")["lines"][999]["text"], "x");
        let error = refusal(422, Some("settlements[1].log"));
        settler.refuse_one(&mut batch, 1, &error);
        let outcomes: Vec<_> = batch.iter().map(|entry| field(entry, "outcome")).collect();
        assert_eq!(outcomes, ["succeed", "succeed"]);
        assert!(field(&batch[0], "log").is_object() && field(&batch[1], "log").is_null());
        assert!(held[0].unsent_log().is_some() && held[1].unsent_log().is_none());
        // Without a log the outcome itself is at fault.
        settler.refuse_one(&mut batch, 1, &error);
        let refused = take(&mut settler.queue(), |queue| &mut queue.under_way);
        assert_eq!((batch.len(), refused.len()), (1, 1));
        assert_eq!(field(&refused[0], "outcome"), "fail");
    }

    #[test]
    fn a_log_is_left_out_if_it_does_not_fit_beside_the_outcome() {
        let settler = settler();
        let held = held_claim(1);
        log_lines(&held, "x");
        let mut large = outcome::of_unknown_kind(&held);
        large.id = "x".repeat(SETTLE_BYTES_MAX - 1_000);
        settler.add(&held, large);
        let batch = settler.take_along();
        assert!(field(&batch[0], "log").is_null());
    }

    #[test]
    fn if_the_server_does_not_say_which_is_wrong_each_is_sent_alone() {
        let settler = settler();
        for (number, text) in ["x", "the largest", "x"].into_iter().enumerate() {
            add_logged_success(&settler, number as u128, text);
        }
        let mut batch = settler.take_along();
        assert_eq!(refused_index(&batch, &refusal(400, None)), None);
        assert_eq!(refused_index(&batch, &refusal(413, None)), Some(1));
        assert_eq!(refused_index(&batch[..1], &refusal(400, None)), Some(0));
        batch.iter_mut().for_each(|entry| entry.is_alone = true);
        settler.put_back(batch);
        assert_eq!(settler.take_along().len(), 1);
    }

    #[test]
    fn a_field_names_the_settlement_at_fault() {
        assert_eq!(index_of("settlements[3].result"), Some(3));
        assert_eq!(index_of("settlements[12]"), Some(12));
        assert_eq!(index_of("settlements"), None);
    }
}
