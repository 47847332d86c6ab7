//! Runs one attempt: the handler under its timeout, with panics caught, until it ends or the
//! node must give it back.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use opentelemetry::context::FutureExt as _;
use steadfast_core::{Claim, EndedAttempt, Failure, FailureClass, Outcome, explain};
use steadfast_store::Store;
use tokio::sync::mpsc;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::Instrument as _;

use crate::{
    attempt::{
        context::AttemptContext,
        handler::{Handler, Handlers},
    },
    client::Client,
    flow::{
        call_slots::{CallEnd, Slot},
        gates::GateCache,
        health_tallies::HealthTallies,
    },
    inflight::Inflight,
    notice::{self, Announcer, JobEvent, Notice},
};

pub struct Executor {
    pub store: Arc<dyn Store>,
    pub handlers: Arc<Handlers>,
    pub inflight: Arc<Inflight>,
    pub announcer: Arc<Announcer>,
    pub client: Client,
    pub gates: Arc<GateCache>,
    pub tallies: Arc<HealthTallies>,
    /// Ends attempts at once: the grace period is over.
    pub abandon: CancellationToken,
    pub running: TaskTracker,
}

impl Executor {
    /// Starts an attempt in a task of its own. Its slot is free again when the outcome is on
    /// its way to the committer.
    pub fn start(self: &Arc<Self>, claim: Claim, slot: Slot, ended: mpsc::Sender<EndedAttempt>) {
        let executor = self.clone();
        self.running.spawn(async move {
            let (job, fence) = (claim.job().id, claim.fence());
            let attempt = AssertUnwindSafe(executor.attempt(claim));
            let mut call_end = CallEnd::Unknown;
            let is_reported = match attempt.catch_unwind().await {
                Ok(outcome) => {
                    call_end = CallEnd::of(outcome.outcome());
                    let gates = executor.gates.latest();
                    executor.tallies.hold_refused(&outcome, &gates).await;
                    ended.send(outcome).await.is_ok()
                }
                Err(_) => false,
            };
            if !is_reported {
                // Renewed for ever otherwise, it would run for ever.
                tracing::error!(jobId = %job, "the outcome of job {job} is lost; its lease will expire");
                executor.inflight.leave(job, fence);
            }
            slot.free(call_end);
        });
    }

    /// Runs an attempt to its end.
    pub async fn attempt(&self, claim: Claim) -> EndedAttempt {
        let signals = self.inflight.enter(&claim);
        self.announcer.announce(|| started_notice(&claim));
        let job = claim.share();
        if let Some(span) = self.client.traces().process(&job) {
            signals.set_span(span);
        }
        let outcome = match self.handlers.of_job(&job) {
            Some(handler) => {
                let attempt = AttemptContext {
                    job: job.clone(),
                    signals: signals.clone(),
                    client: self.client.clone(),
                };
                let logger = attempt.logger();
                let span = logger.enter(|| {
                    tracing::info_span!(
                        "attempt",
                        tenantId = %job.tenant,
                        jobId = %job.id,
                        kind = %job.kind,
                        attempt = job.progress.attempt,
                    )
                });
                let timeout = job.timeout.filter(|_| !handler.has_own_timeout());
                let run = logger.scope(self.run_guarded(handler.as_ref(), attempt, timeout));
                match signals.span() {
                    None => run.instrument(span).await,
                    Some(trace) => {
                        let run = run.with_context(trace.context().clone());
                        run.instrument(span).await
                    }
                }
            }
            None => Outcome::Released { started: false },
        };
        drop(job);
        let mut ended = claim.end(outcome, self.store.now());
        if let Some(note) = signals.note() {
            ended.set_note(&note);
        }
        ended.set_quota(signals.quota());
        ended.set_usage(signals.usage());
        ended.set_log(signals.unstored_log());
        ended.set_outbox(signals.take_outbox());
        ended
    }

    /// Runs a handler under its timeout, with panics caught.
    async fn run_guarded(
        &self,
        handler: &dyn Handler,
        attempt: AttemptContext,
        timeout: Option<Duration>,
    ) -> Outcome {
        // A handler that is cut off is dropped, and may panic even then, so that happens inside.
        let run = async move {
            let handle = handler.handle(attempt);
            let handle_in_time = async {
                match timeout {
                    None => handle.await,
                    Some(limit) => tokio::time::timeout(limit, handle)
                        .await
                        .unwrap_or_else(|_| timeout_failure(limit)),
                }
            };
            tokio::select! {
                biased;
                outcome = handle_in_time => outcome,
                () = self.abandon.cancelled() => Outcome::Released { started: true },
            }
        };
        AssertUnwindSafe(run)
            .catch_unwind()
            .await
            .unwrap_or_else(|panic| panic_failure(&*panic))
    }
}

/// The notice of an attempt that begins.
pub fn started_notice(claim: &Claim) -> Notice {
    let job = claim.job();
    let progress = &job.progress;
    let started_at = progress.started_at.unwrap_or(progress.run_at);
    let event = JobEvent::Started {
        late: started_at.since(progress.run_at),
        backoff: progress.last_delay,
        is_question: job.is_question(),
    };
    notice::of_attempt(job, event)
}

fn panic_failure(panic: &(dyn std::any::Any + Send)) -> Outcome {
    let message = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("the handler panicked");
    failure(FailureClass::PANIC, message.to_owned())
}

fn timeout_failure(limit: Duration) -> Outcome {
    let message = format!(
        "the handler did not finish within {}",
        explain::brief(limit)
    );
    failure(FailureClass::TIMEOUT, message)
}

fn failure(class: FailureClass, message: String) -> Outcome {
    Outcome::Failure {
        failure: Failure::new(class, message),
        output: None,
    }
}
