//! Ends attempts: the only caller of core's `after_attempt`.
//!
//! Every part that learns how an attempt ended (committer, sweeper, node, tests) comes here. The
//! way of an attempt: [`EndedAttempt`] → [`PendingSettlement`] → [`Transition`] →
//! [`CommitResult`] → [`SettleResult`]: it is decided, written under its fence, and announced
//! after the commit.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use steadfast_core::{
    CommitResult, Dice, EndReason, EndedAttempt, Fence, JobId, JobState, OutboxRefusal, Outcome,
    Subscriptions, Timestamp, Transition, after_attempt, explain,
};
use steadfast_store::{NewLogLines, PageRequest, ScheduleFilter, Store, StoreError};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    documents::{cache::DocumentCache, endpoints::Endpoints},
    flow::{admission::Admission, gates::GateCache, health_tallies::HealthTallies},
    inflight::{Inflight, signals::StopReason},
    limits,
    notice::{self, Announcer, JobEvent},
    random::Random,
    role::backoff::StoreBackoff,
    traces::{AttemptSpan, Traces},
};

pub struct Settler {
    pub store: Arc<dyn Store>,
    pub inflight: Arc<Inflight>,
    pub announcer: Arc<Announcer>,
    pub traces: Traces,
    pub random: Arc<Random>,
    pub endpoints: Arc<DocumentCache<Endpoints>>,
    pub gates: Arc<GateCache>,
    pub tallies: Arc<HealthTallies>,
    /// The longest Retry-After that counts.
    pub retry_after_max: Duration,
    /// Learns how long commits take.
    pub admission: Arc<Admission>,
    /// Results that came too late.
    pub fences_lost: AtomicU64,
}

/// An attempt that is over, with the dice that go into the decision. They are rolled once, so
/// that deciding again, after an answer of the store was lost, comes to the very same end.
pub struct PendingSettlement {
    ended: EndedAttempt,
    dice: Dice,
    /// A worker has said how it ended.
    is_reported: bool,
    /// The span of that report.
    span: Option<AttemptSpan>,
    /// Once the store has answered; what is written is not written, counted or announced again.
    result: Option<SettleResult>,
}

impl PendingSettlement {
    fn decide(&self, subscriptions: &Subscriptions) -> Transition {
        after_attempt(&self.ended, subscriptions, self.dice)
    }

    pub(crate) fn job(&self) -> JobId {
        self.ended.job().id
    }

    /// Makes the next settlement write it again, as if the answer had been lost.
    #[cfg(feature = "_testing")]
    pub(crate) fn forget_result(&mut self) {
        self.result = None;
    }
}

/// The stop could not wait for the store any longer; the leases of what is left run out.
pub struct AbandonedSettlement;

/// Why attempts were left unsettled.
enum SettleFailure {
    /// The store can never take one of them.
    Permanent(StoreError),
    Abandoned,
}

/// Whether the end of an attempt was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettleResult {
    Done,
    /// The claim had expired.
    Stale {
        fence: Fence,
    },
    /// A job that was to be created with the reported success cannot be created: nothing was
    /// written, and the claim holds.
    OutboxRefused(OutboxRefusal),
}

/// Decides as many as fit into one transaction, with their outboxes.
fn decide_some(open: &[&mut PendingSettlement], subscriptions: &Subscriptions) -> Vec<Transition> {
    let mut transitions = Vec::with_capacity(open.len());
    let mut rows = 0;
    for pending in open {
        let transition = pending.decide(subscriptions);
        rows += 1 + transition.outbox.len();
        transitions.push(transition);
        if rows >= limits::SETTLE_ROWS_MAX {
            break;
        }
    }
    transitions
}

impl Settler {
    /// Rolls the dice for an attempt that is over.
    pub fn pending(&self, mut ended: EndedAttempt) -> PendingSettlement {
        ended.limit_retry_after(self.retry_after_max);
        ended.set_held_time(self.held_time(&ended));
        let dice = self.random.dice();
        PendingSettlement {
            ended,
            dice,
            is_reported: false,
            span: None,
            result: None,
        }
    }

    /// The same for one of which a worker has said how it ended.
    pub fn reported(&self, ended: EndedAttempt) -> PendingSettlement {
        PendingSettlement {
            is_reported: true,
            span: self.traces.settle(ended.job(), ended.ended_at()),
            ..self.pending(ended)
        }
    }

    /// How long its destination was held since the first attempt of the job.
    fn held_time(&self, ended: &EndedAttempt) -> Duration {
        let job = ended.job();
        let Some(first) = job.progress.first_started_at else {
            return Duration::ZERO;
        };
        let gates = self.gates.latest();
        gates.held_between(job, first, ended.ended_at())
    }

    /// Settles attempts and says which of them counted. On an error the caller still has them,
    /// and repeating the call does no harm: what was written is left alone.
    pub async fn settle(
        &self,
        batch: &mut [PendingSettlement],
    ) -> Result<Vec<SettleResult>, StoreError> {
        let mut refusals = 0;
        loop {
            let open = batch.iter_mut().filter(|pending| pending.result.is_none());
            let open: Vec<&mut PendingSettlement> = open.collect();
            if open.is_empty() {
                let results = batch.iter().filter_map(|pending| pending.result);
                return Ok(results.collect());
            }
            let endpoints_changed = self.settle_some(open, refusals).await?;
            refusals = if endpoints_changed { refusals + 1 } else { 0 };
        }
    }

    /// Decides and writes as many as fit into one transaction. What a cancel or a change of
    /// endpoints overtook stays open; returns whether endpoints changed, which they may have done
    /// `refusals` times in a row before.
    async fn settle_some(
        &self,
        open: Vec<&mut PendingSettlement>,
        refusals: usize,
    ) -> Result<bool, StoreError> {
        let endpoints = match refusals {
            0 => self.endpoints.get().await?,
            _ => self.endpoints.refresh().await?,
        };
        let mut transitions = decide_some(&open, &endpoints.subscriptions());
        if refusals >= limits::ENDPOINT_REFUSALS_MAX {
            // The endpoints were read a moment ago: what changed since then, changed while these
            // attempts were being settled.
            for transition in &mut transitions {
                transition.guard.endpoints = None;
            }
        }
        // The store keeps the transitions; only those that are announced are cloned.
        let announced: Vec<Option<Transition>> = transitions
            .iter()
            .map(|transition| self.is_announced(transition).then(|| transition.clone()))
            .collect();
        self.store_logs(&open[..transitions.len()]).await?;
        let (count, started) = (transitions.len(), Instant::now());
        let timer = self.admission.meter.begin();
        let committed = self.store.commit(transitions).await?;
        timer.end(committed.contains(&CommitResult::Done));
        self.announcer.committed(count, started);
        let endpoints_changed = committed.contains(&CommitResult::EndpointsChanged);
        // Those that were not decided yet are left over.
        for ((pending, transition), result) in open.into_iter().zip(announced).zip(committed) {
            match result {
                CommitResult::Done => {
                    pending.result = Some(SettleResult::Done);
                    self.on_done(pending, transition).await;
                }
                CommitResult::Stale => {
                    let fence = pending.ended.job().progress.fence;
                    pending.result = Some(SettleResult::Stale { fence });
                    self.on_stale(pending);
                }
                CommitResult::CancelRequested => pending.ended.set_cancel_requested(),
                CommitResult::EndpointsChanged => {}
                CommitResult::OutboxRefused(refusal) if pending.is_reported => {
                    pending.result = Some(SettleResult::OutboxRefused(refusal));
                }
                // The handler has returned: no other caller can be told.
                CommitResult::OutboxRefused(refusal) => pending.ended.refuse_outbox(refusal),
            }
        }
        Ok(endpoints_changed)
    }

    /// Stores the last lines of logs while the claims hold. Lines are stored once, however often
    /// this is repeated.
    async fn store_logs(&self, open: &[&mut PendingSettlement]) -> Result<(), StoreError> {
        let logs = open.iter().filter_map(|pending| {
            let (job, lines) = (pending.ended.job(), pending.ended.unstored_log());
            (!lines.lines.is_empty()).then(|| NewLogLines {
                job: job.id,
                fence: job.progress.fence,
                lines: lines.clone(),
            })
        });
        let logs: Vec<NewLogLines> = logs.collect();
        if logs.is_empty() {
            return Ok(());
        }
        match self.store.append_logs(logs).await {
            // The end of an attempt matters more than what it said.
            Err(error) if !error.is_transient() => {
                tracing::error!(%error, "cannot store the logs of attempts");
                Ok(())
            }
            stored => stored.map(drop),
        }
    }

    /// Settles attempts and waits for a store that is away. Something that it can never take is
    /// given up by itself; the others do not wait for it.
    pub async fn settle_until_stored(
        &self,
        batch: &mut [PendingSettlement],
        backoff: &mut StoreBackoff,
        abandon: &CancellationToken,
    ) -> Result<(), AbandonedSettlement> {
        match self.settle_while_away(batch, backoff, abandon).await {
            Ok(()) => return Ok(()),
            Err(SettleFailure::Abandoned) => return Err(AbandonedSettlement),
            Err(SettleFailure::Permanent(_)) => {}
        }
        for single in batch.chunks_mut(1) {
            match self.settle_while_away(single, backoff, abandon).await {
                Ok(()) => {}
                Err(SettleFailure::Abandoned) => return Err(AbandonedSettlement),
                Err(SettleFailure::Permanent(error)) => self.give_up(single, &error),
            }
        }
        Ok(())
    }

    async fn settle_while_away(
        &self,
        batch: &mut [PendingSettlement],
        backoff: &mut StoreBackoff,
        abandon: &CancellationToken,
    ) -> Result<(), SettleFailure> {
        while let Err(error) = self.settle(batch).await {
            if !error.is_transient() {
                return Err(SettleFailure::Permanent(error));
            }
            if abandon.is_cancelled() {
                let lost = batch.iter().filter(|it| it.result.is_none()).count();
                tracing::error!(%error, lost, "stopped before all outcomes were stored");
                return Err(SettleFailure::Abandoned);
            }
            backoff.wait(&error, abandon).await;
        }
        backoff.reset();
        Ok(())
    }

    /// Removes attempts of this node that have ended from those whose leases are renewed,
    /// whether their outcomes counted or not. An attempt that knows of its lost lease has
    /// nothing to settle, and would be renewed for ever otherwise.
    pub fn stop_renewing(&self, batch: &[PendingSettlement]) {
        for PendingSettlement { ended, .. } in batch {
            let job = ended.job();
            self.inflight.leave(job.id, job.progress.fence);
        }
    }

    /// Logs outcomes that the store cannot take; their leases will run out.
    fn give_up(&self, batch: &[PendingSettlement], error: &StoreError) {
        for PendingSettlement { ended, .. } in batch {
            let job = ended.job();
            self.inflight.leave(job.id, job.progress.fence);
            tracing::error!(jobId = %job.id, %error, "cannot store the outcome of job {}", job.id);
        }
    }

    /// A success without listeners is neither logged nor announced.
    fn is_announced(&self, transition: &Transition) -> bool {
        transition.to.state != JobState::Succeeded || self.announcer.has_listeners()
    }

    async fn on_done(&self, pending: &PendingSettlement, announced: Option<Transition>) {
        let ended = &pending.ended;
        let job = ended.job();
        if job.destination.is_some() {
            let is_own_call = job.kind.is_call() && !pending.is_reported;
            let gates = self.gates.latest();
            let to = announced.as_ref().map(|transition| transition.to.state);
            let is_dead_letter = to == Some(JobState::Failed);
            self.tallies.add(ended, is_own_call, is_dead_letter, &gates);
            // What this node was refused is counted when it happens.
            if pending.is_reported || !ended.is_refused() {
                self.tallies.add_pace(ended, is_own_call, &gates);
            }
        }
        let signals = self.inflight.leave(job.id, job.progress.fence);
        let (span, at) = match &pending.span {
            Some(span) => (Some(span), self.store.now()),
            None => (signals.as_ref().and_then(|it| it.span()), ended.ended_at()),
        };
        self.traces.ended(span, ended, announced.as_ref(), at);
        if let Some(signals) = signals
            && *ended.outcome() == Outcome::Lost
        {
            // An attempt of this node that still runs has lost its job, and its handler should know.
            signals.stop(StopReason::LeaseLost);
        }
        let Some(transition) = &announced else {
            return;
        };
        self.announcer.announce(|| notice::of(ended, transition));
        match transition.to.state {
            JobState::Waiting => log_retry(ended, transition),
            JobState::Failed => log_failed(ended, transition, self.next_tick(ended).await),
            _ => {}
        }
    }

    fn on_stale(&self, pending: &PendingSettlement) {
        let ended = &pending.ended;
        // A sweeper that came second has lost nothing, and the attempt it saw may well be running.
        // Nor has a claim that no worker got.
        if let Outcome::Lost | Outcome::Released { started: false } = ended.outcome() {
            return;
        }
        let job = ended.job();
        let signals = self.inflight.leave(job.id, job.progress.fence);
        let span = signals.as_ref().and_then(|it| it.span());
        if let Some(span) = pending.span.as_ref().or(span) {
            span.end_stale(ended.ended_at());
        }
        self.fences_lost.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(
            tenantId = %job.tenant,
            jobId = %job.id,
            attempt = job.progress.attempt,
            "the result of job {} came too late: its claim has expired",
            job.id,
        );
        self.announcer
            .announce(|| notice::about(ended, JobEvent::FenceLost));
    }

    /// When the schedule of a run fires next.
    async fn next_tick(&self, ended: &EndedAttempt) -> Option<Timestamp> {
        let filter = ScheduleFilter {
            id: Some(ended.job().scheduled_run?.schedule),
            ..ScheduleFilter::default()
        };
        let page = PageRequest::first(1);
        let schedules = self.store.list_schedules(filter, page).await.ok()?;
        schedules.items.first()?.progress.next_tick
    }
}

fn log_retry(ended: &EndedAttempt, transition: &Transition) {
    let job = ended.job();
    let decision = transition
        .record
        .as_ref()
        .and_then(|record| record.decision.as_ref());
    let Some(delay) = decision.and_then(|decision| decision.delay.as_ref()) else {
        return;
    };
    tracing::info!(
        tenantId = %job.tenant,
        jobId = %job.id,
        attempt = job.progress.attempt,
        nextRunAt = %transition.to.run_at,
        "job {} failed, scheduling retry {}/{} in {} (at {})",
        job.id,
        job.retry_count() + 1,
        job.policy.max_retries(),
        explain::brief(delay.jittered),
        transition.to.run_at,
    );
}

fn log_failed(ended: &EndedAttempt, transition: &Transition, next_tick: Option<Timestamp>) {
    let job = ended.job();
    let retries = match job.retry_count() {
        1 => "1 retry".to_owned(),
        retries => format!("{retries} retries"),
    };
    let next_step = match next_tick {
        Some(tick) => format!("rescheduled for next occurrence: {tick}"),
        None => "moved to the dead-letter queue".to_owned(),
    };
    tracing::warn!(
        tenantId = %job.tenant,
        jobId = %job.id,
        attempt = job.progress.attempt,
        nextRunAt = next_tick.as_ref().map(tracing::field::display),
        reason = transition.to.reason.map(EndReason::as_str),
        failure = transition.to.failure.as_ref().map(tracing::field::display),
        "job {} failed after {retries}, {next_step}",
        job.id,
    );
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use steadfast_core::{Claim, Payload, WorkerName};
    use steadfast_store::{
        BaseStore as _, ClaimRequest, JobStore as _, LayeredStore, MemoryStore, StoreLayer,
    };

    use super::*;
    use crate::{
        builder::EngineBuilder,
        client::{Client, request::JobRequest},
    };

    /// The second commit fails in passing.
    #[derive(Default)]
    struct FailsSecond {
        memory: MemoryStore,
        commits: AtomicU64,
    }

    #[async_trait]
    impl StoreLayer for FailsSecond {
        fn inner(&self) -> &dyn Store {
            &self.memory
        }

        async fn commit(
            &self,
            transitions: Vec<Transition>,
        ) -> Result<Vec<CommitResult>, StoreError> {
            if self.commits.fetch_add(1, Ordering::SeqCst) == 1 {
                return Err(StoreError::unavailable("commit", "for the test"));
            }
            self.inner().commit(transitions).await
        }
    }

    #[tokio::test]
    async fn what_is_settled_is_announced_once_though_the_batch_is_repeated() {
        let store = Arc::new(LayeredStore(FailsSecond::default()));
        let parts = EngineBuilder::new(store.clone()).parts().unwrap();
        let mut notices = parts.announcer.subscribe();
        let client = Client::new(store.clone());
        for _ in 0..2 {
            let request = JobRequest::new("mail", Payload::default());
            client.enqueue(request).await.unwrap();
        }
        let request = ClaimRequest::new(WorkerName::new("w").unwrap(), 2);
        let claims = store.claim(request).await.unwrap().claims;
        let ids: Vec<JobId> = claims.iter().map(|claim| claim.job().id).collect();
        // The decision about the second one does not know of this, and has to be made again.
        client.cancel(ids[1]).await.unwrap();
        let end = |claim: Claim| {
            let outcome = Outcome::Success { output: None };
            parts.settler.pending(claim.end(outcome, store.now()))
        };
        let mut batch: Vec<PendingSettlement> = claims.into_iter().map(end).collect();
        assert!(parts.settler.settle(&mut batch).await.is_err());
        let results = parts.settler.settle(&mut batch).await.unwrap();
        assert_eq!(results, [SettleResult::Done; 2]);
        for id in ids {
            assert_eq!(notices.next().await.unwrap().job, id);
        }
        drop(parts);
        drop(batch);
        assert_eq!(notices.next().await, None);
    }
}
