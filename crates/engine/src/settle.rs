//! Ends attempts: the only caller of core's `after_attempt`.
//!
//! Whoever learns how an attempt ended (committer, sweeper, tests) comes here: decide, write
//! under the fence, and tell afterwards.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use steadfast_core::{
    Dice, Ended, Fence, Outcome, Reason, State, Timestamp, Transition, after_attempt, duration,
};
use steadfast_store::{Committed, Page, ScheduleFilter, Store, StoreError};

use crate::{
    StopReason,
    cache::Cache,
    endpoints::Endpoints,
    inflight::Inflight,
    notice::{self, Announcer, Event},
    rolls::Rolls,
};

pub struct Settler {
    pub store: Arc<dyn Store>,
    pub inflight: Arc<Inflight>,
    pub announcer: Arc<Announcer>,
    pub rolls: Arc<Rolls>,
    pub endpoints: Arc<Cache<Endpoints>>,
    /// Results that came too late.
    pub fences_lost: AtomicU64,
}

/// An attempt that is over, with the dice that go into what follows. They are rolled once, so
/// that deciding again, after an answer of the store was lost, comes to the very same end.
pub struct Undecided {
    ended: Ended,
    dice: Dice,
}

/// Whether the end of an attempt was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    Done,
    /// The claim did not hold any more.
    Stale {
        fence: Fence,
    },
}

impl Settler {
    pub fn undecided(&self, ended: Ended) -> Undecided {
        let dice = self.rolls.dice();
        Undecided { ended, dice }
    }

    /// Settles attempts and says which of them counted. On an error the caller still has them,
    /// and repeating does no harm.
    pub async fn settle(&self, batch: &mut [Undecided]) -> Result<Vec<Settled>, StoreError> {
        let mut settled = vec![Settled::Done; batch.len()];
        let mut undecided: Vec<(usize, &mut Undecided)> = batch.iter_mut().enumerate().collect();
        while !undecided.is_empty() {
            let hooks = self.endpoints.get().await?.hooks();
            let transitions: Vec<Transition> = undecided
                .iter()
                .map(|(_, undecided)| after_attempt(&undecided.ended, &hooks, undecided.dice))
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
                    Committed::Done => self.done(&attempt.ended, news).await,
                    Committed::Stale => {
                        let fence = attempt.ended.job().progress.fence;
                        settled[place] = Settled::Stale { fence };
                        self.stale(&attempt.ended);
                    }
                    Committed::CancelRequested => {
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
    pub fn leave(&self, batch: &[Undecided]) {
        for Undecided { ended, .. } in batch {
            let job = ended.job();
            self.inflight.leave(job.id, job.progress.fence);
        }
    }

    /// Lets go of outcomes that the store cannot take; their leases will run out.
    pub fn give_up(&self, batch: &[Undecided], error: &StoreError) {
        for Undecided { ended, .. } in batch {
            let job = ended.job();
            tracing::error!(jobId = %job.id, %error, "the outcome of job {} cannot be stored", job.id);
        }
    }

    /// A success that nobody listens for is told to nobody.
    fn is_news(&self, transition: &Transition) -> bool {
        transition.to.state != State::Succeeded || self.announcer.has_listeners()
    }

    async fn done(&self, ended: &Ended, news: Option<Transition>) {
        let job = ended.job();
        let attending = self.inflight.leave(job.id, job.progress.fence);
        if let Some(attending) = attending
            && *ended.outcome() == Outcome::Lost
        {
            // Our own attempt, which still runs: it has lost its job and should know.
            attending.stop(StopReason::LeaseLost);
        }
        let Some(transition) = &news else {
            return;
        };
        self.announcer.announce(|| notice::of(ended, transition));
        match transition.to.state {
            State::Waiting => log_retry(ended, transition),
            State::Failed => log_failed(ended, transition, self.next_tick(ended).await),
            _ => {}
        }
    }

    fn stale(&self, ended: &Ended) {
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
            .announce(|| notice::about(ended, Event::FenceLost));
    }

    async fn next_tick(&self, ended: &Ended) -> Option<Timestamp> {
        let filter = ScheduleFilter {
            id: Some(ended.job().run_of?.schedule),
            ..ScheduleFilter::default()
        };
        let listed = self.store.schedules(filter, Page::first(1)).await.ok()?;
        listed.items.first()?.progress.next_tick
    }
}

fn log_retry(ended: &Ended, transition: &Transition) {
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

fn log_failed(ended: &Ended, transition: &Transition, next_tick: Option<Timestamp>) {
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
        reason = transition.to.reason.map(Reason::as_str),
        failure = transition.to.failure.as_ref().map(tracing::field::display),
        "job {} failed after {retries}, {then}",
        job.id,
    );
}
