//! Ends attempts: the only caller of core's `after_attempt`.
//!
//! Whoever learns how an attempt ended (committer, sweeper, tests) comes here: decide, write
//! under the fence, and tell afterwards.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use steadfast_core::{
    Dice, EndReason, EndedAttempt, Fence, JobState, Outcome, Timestamp, Transition, after_attempt,
    duration,
};
use steadfast_store::{CommitResult, PageRequest, ScheduleFilter, Store, StoreError};

use crate::{
    StopReason,
    cache::Cache,
    endpoints::Endpoints,
    inflight::Inflight,
    notice::{self, Announcer, JobEvent},
    random::Random,
};

pub struct Settler {
    pub store: Arc<dyn Store>,
    pub inflight: Arc<Inflight>,
    pub announcer: Arc<Announcer>,
    pub random: Arc<Random>,
    pub endpoints: Arc<Cache<Endpoints>>,
    /// Results that came too late.
    pub fences_lost: AtomicU64,
}

/// An attempt that is over, with the dice that go into what follows. They are rolled once, so
/// that deciding again, after an answer of the store was lost, comes to the very same end.
pub struct PendingSettlement {
    ended: EndedAttempt,
    dice: Dice,
}

/// Whether the end of an attempt was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettleResult {
    Done,
    /// The claim did not hold any more.
    Stale {
        fence: Fence,
    },
}

impl Settler {
    pub fn undecided(&self, ended: EndedAttempt) -> PendingSettlement {
        let dice = self.random.dice();
        PendingSettlement { ended, dice }
    }

    /// Settles attempts and says which of them counted. On an error the caller still has them,
    /// and repeating does no harm.
    pub async fn settle(
        &self,
        batch: &mut [PendingSettlement],
    ) -> Result<Vec<SettleResult>, StoreError> {
        let mut settled = vec![SettleResult::Done; batch.len()];
        let mut undecided: Vec<(usize, &mut PendingSettlement)> =
            batch.iter_mut().enumerate().collect();
        while !undecided.is_empty() {
            let subscriptions = self.endpoints.get().await?.subscriptions();
            let transitions: Vec<Transition> = undecided
                .iter()
                .map(|(_, undecided)| {
                    after_attempt(&undecided.ended, &subscriptions, undecided.dice)
                })
                .collect();
            let news: Vec<Option<Transition>> = transitions
                .iter()
                .map(|transition| self.is_news(transition).then(|| transition.clone()))
                .collect();
            let committed = self.store.commit(transitions).await?;
            let mut again = Vec::new();
            for (((place, attempt), news), committed) in
                undecided.into_iter().zip(news).zip(committed)
            {
                match committed {
                    CommitResult::Done => self.done(&attempt.ended, news).await,
                    CommitResult::Stale => {
                        let fence = attempt.ended.job().progress.fence;
                        settled[place] = SettleResult::Stale { fence };
                        self.stale(&attempt.ended);
                    }
                    CommitResult::CancelRequested => {
                        attempt.ended.set_cancel_requested();
                        again.push((place, attempt));
                    }
                }
            }
            undecided = again;
        }
        Ok(settled)
    }

    /// Attempts of this node that have ended, whatever became of their outcomes: nobody renews
    /// their leases any more. One that was told of its lost lease has nothing to settle, and
    /// would else be kept for ever.
    pub fn leave(&self, batch: &[PendingSettlement]) {
        for PendingSettlement { ended, .. } in batch {
            let job = ended.job();
            self.inflight.leave(job.id, job.progress.fence);
        }
    }

    /// Lets go of outcomes that the store cannot take; their leases will run out.
    pub fn give_up(&self, batch: &[PendingSettlement], error: &StoreError) {
        for PendingSettlement { ended, .. } in batch {
            let job = ended.job();
            tracing::error!(jobId = %job.id, %error, "the outcome of job {} cannot be stored", job.id);
        }
    }

    /// A success that nobody listens for is told to nobody.
    fn is_news(&self, transition: &Transition) -> bool {
        transition.to.state != JobState::Succeeded || self.announcer.has_listeners()
    }

    async fn done(&self, ended: &EndedAttempt, news: Option<Transition>) {
        let job = ended.job();
        let signals = self.inflight.leave(job.id, job.progress.fence);
        if let Some(signals) = signals
            && *ended.outcome() == Outcome::Lost
        {
            // Our own attempt, which still runs: it has lost its job and should know.
            signals.stop(StopReason::LeaseLost);
        }
        let Some(transition) = &news else {
            return;
        };
        self.announcer.announce(|| notice::of(ended, transition));
        match transition.to.state {
            JobState::Waiting => log_retry(ended, transition),
            JobState::Failed => log_failed(ended, transition, self.next_tick(ended).await),
            _ => {}
        }
    }

    fn stale(&self, ended: &EndedAttempt) {
        // A sweeper that came second has lost nothing, and what it saw may well be running.
        if *ended.outcome() == Outcome::Lost {
            return;
        }
        let job = ended.job();
        self.inflight.leave(job.id, job.progress.fence);
        self.fences_lost.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(
            tenantId = %job.tenant,
            jobId = %job.id,
            attempt = job.progress.attempt,
            "the result of job {} came too late: its claim does not hold any more",
            job.id,
        );
        self.announcer
            .announce(|| notice::about(ended, JobEvent::FenceLost));
    }

    async fn next_tick(&self, ended: &EndedAttempt) -> Option<Timestamp> {
        let filter = ScheduleFilter {
            id: Some(ended.job().scheduled_run?.schedule),
            ..ScheduleFilter::default()
        };
        let listed = self
            .store
            .list_schedules(filter, PageRequest::first(1))
            .await
            .ok()?;
        listed.items.first()?.progress.next_tick
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
        job.progress.retries_used() + 1,
        job.policy.max_retries(),
        duration::format(delay.jittered),
        transition.to.run_at,
    );
}

fn log_failed(ended: &EndedAttempt, transition: &Transition, next_tick: Option<Timestamp>) {
    let job = ended.job();
    let retries = match job.progress.retries_used() {
        1 => "1 retry".to_owned(),
        retries => format!("{retries} retries"),
    };
    let then = match next_tick {
        Some(tick) => format!("rescheduled for next occurrence: {tick}"),
        None => "moved to the dead-letter queue".to_owned(),
    };
    tracing::warn!(
        tenantId = %job.tenant,
        jobId = %job.id,
        attempt = job.progress.attempt,
        reason = transition.to.reason.map(EndReason::as_str),
        failure = transition.to.failure.as_ref().map(tracing::field::display),
        "job {} failed after {retries}, {then}",
        job.id,
    );
}
