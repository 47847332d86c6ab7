//! The parts of a running worker, and how they stop in order.

use std::{sync::Arc, time::Duration};

use steadfast_tracing::AttemptLogger;
use tokio::{
    runtime::Handle,
    sync::watch,
    time::{Instant, sleep, timeout, timeout_at},
};
use tracing::Instrument as _;

use super::{
    claimer::{Claimer, stopping},
    handlers::Handlers,
    heartbeats::Heartbeats,
    held::{HeldClaim, HeldClaims, StopReason},
    outcome,
    settler::Settler,
    slots::Slots,
};
use crate::{
    error::ClientError,
    limits::{CANCEL_WAIT, FLUSH_WAIT, LAST_ANSWER_WAIT},
    traces::AttemptSpan,
};

pub struct Session {
    pub handlers: Handlers,
    /// Where handlers run: not on the thread of this session, which no handler may hold up.
    pub runtime: Handle,
    pub grace: Duration,
    pub held: Arc<HeldClaims>,
    pub slots: Arc<Slots>,
    pub settler: Arc<Settler>,
    pub heartbeats: Heartbeats,
    /// True once the grace is over.
    pub cut_off: watch::Sender<bool>,
}

impl Session {
    /// Works until the worker stops, and then stops in order.
    pub async fn run(
        self: Arc<Self>,
        mut claimer: Claimer,
        stop: watch::Receiver<bool>,
    ) -> Result<(), ClientError> {
        let services = [
            tokio::spawn({
                let session = self.clone();
                async move { session.settler.run().await }
            }),
            tokio::spawn({
                let session = self.clone();
                async move { session.heartbeats.run().await }
            }),
            tokio::spawn({
                let (session, stop) = (self.clone(), stop.clone());
                async move { session.announce_stop(&stop).await }
            }),
        ];
        let claimed = claimer.run(&stop, |claims| self.start(claims)).await;
        let stopped_at = Instant::now();
        let late = claimed.as_ref().map(Vec::as_slice).unwrap_or_default();
        if !late.is_empty() {
            let jobs = ids(late);
            tracing::info!(?jobs, "releasing jobs claimed after the stop");
            self.held.add(late);
            self.give_back(late);
        }
        self.finish(stopped_at + self.grace).await;
        for service in services {
            service.abort();
        }
        claimed.map(|_| ())
    }

    /// Handlers hear of the stop at once, so that they may save their work.
    async fn announce_stop(&self, stop: &watch::Receiver<bool>) {
        stopping(stop).await;
        for held in self.held.unfinished() {
            held.stop(StopReason::Stopping);
        }
    }

    async fn finish(&self, grace_end: Instant) {
        if timeout_at(grace_end, self.slots.idle()).await.is_err() {
            let jobs = ids(&self.held.unfinished());
            tracing::warn!(?jobs, "the grace period is over: releasing jobs");
            self.cut_off.send_replace(true);
            // They only have to be dropped.
            let _ = timeout(LAST_ANSWER_WAIT, self.slots.idle()).await;
            self.give_back(&self.held.unfinished());
        }
        let left = grace_end.saturating_duration_since(Instant::now());
        if timeout(left.max(FLUSH_WAIT), self.settler.flush())
            .await
            .is_err()
        {
            let outcomes = self.settler.pending();
            tracing::error!(
                outcomes,
                "outcomes could not be reported before the worker stopped"
            );
        }
    }

    fn give_back(&self, claims: &[Arc<HeldClaim>]) {
        for held in claims {
            if let Some(settlement) = outcome::of_stop(held, StopReason::Stopping) {
                self.settler.add(held, settlement);
            }
        }
    }

    fn start(self: &Arc<Self>, claims: Vec<Arc<HeldClaim>>) {
        self.slots.take(claims.len());
        self.held.add(&claims);
        for held in claims {
            let session = self.clone();
            tokio::spawn(async move {
                session.execute(&held).await;
                session.slots.give_back();
            });
        }
    }

    /// Runs the handler of a claim and reports how it ended.
    async fn execute(&self, held: &Arc<HeldClaim>) {
        let settlement = match self.handlers.handle(held) {
            Some(work) => {
                let span = AttemptSpan::start(&held.job);
                let work = span.around(logged(held.clone(), work));
                let settlement = self.attend(held, work).await;
                span.end(settlement.as_ref());
                settlement
            }
            None => {
                let (job, kind) = (held.job.id, &held.job.kind);
                tracing::error!(%job, %kind, "releasing a job: this worker has no handler of its kind");
                Some(outcome::of_unknown_kind(held))
            }
        };
        let Some(settlement) = settlement else {
            held.end();
            return self.held.remove(held);
        };
        if let Some(failure) = &settlement.failure {
            tracing::warn!(
                job = %held.job.id,
                kind = %held.job.kind,
                attempt = held.job.attempt,
                class = failure.class,
                "attempt failed: {}",
                failure.message.as_deref().unwrap_or_default(),
            );
        }
        if held.unsent_report().is_some() {
            self.heartbeats.send(std::slice::from_ref(held)).await;
        }
        self.settler.add(held, settlement);
    }

    /// Lets a handler run until it ends, or has to be cut off.
    async fn attend(
        &self,
        held: &Arc<HeldClaim>,
        work: impl Future<Output = super::handlers::HandlerResult> + Send + 'static,
    ) -> Option<steadfast_api::SettlementRequest> {
        let mut task = self.runtime.spawn(work);
        let reason = tokio::select! {
            biased;
            result = &mut task => return outcome::of_result(held, result),
            reason = self.cut_off_reason(held) => reason,
        };
        held.stop(reason);
        task.abort();
        outcome::of_stop(held, reason)
    }

    /// Returns when a handler must not go on.
    async fn cut_off_reason(&self, held: &HeldClaim) -> StopReason {
        let timed_out = async {
            match held.job.timeout_ms {
                Some(millis) => sleep(Duration::from_millis(millis)).await,
                None => std::future::pending().await,
            }
        };
        let stopped = async {
            let reason = held
                .stopped_by(|reason| reason != StopReason::Stopping)
                .await;
            if reason == StopReason::Cancelled {
                sleep(CANCEL_WAIT).await;
            }
            reason
        };
        let mut cut_off = self.cut_off.subscribe();
        tokio::select! {
            () = timed_out => StopReason::TimedOut,
            reason = stopped => reason,
            _ = cut_off.wait_for(|is_over| *is_over) => StopReason::Stopping,
        }
    }
}

/// Events of a handler say which attempt they are of, and can go to its log.
async fn logged<F: Future>(held: Arc<HeldClaim>, work: F) -> F::Output {
    let written = held.clone();
    let logger = AttemptLogger::new(move |level, text| written.log(level, text));
    let job = &held.job;
    let span = logger.enter(
        || tracing::info_span!("attempt", job = %job.id, kind = %job.kind, attempt = job.attempt),
    );
    logger.scope(work).instrument(span).await
}

fn ids(claims: &[Arc<HeldClaim>]) -> Vec<String> {
    claims.iter().map(|held| held.job.id.to_string()).collect()
}
