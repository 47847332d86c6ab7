//! The context of a running handler.

use std::sync::Arc;

use serde::{Serialize, de::DeserializeOwned};
use steadfast_core::{
    Invalid, Job, JobId, LogLevel, LogLine, Payload, StepName, TargetQuota, Timestamp, limits,
};
use steadfast_store::StoreError;
use steadfast_tracing::AttemptLogger;

use crate::{
    attempt::job_error::JobError,
    client::{Client, request::JobRequest},
    inflight::signals::{AttemptSignals, StopReason},
    limits::STEP_RETRY_PAUSE,
    traces::AttemptSpan,
};

/// One attempt, as the engine hands it to a handler.
#[derive(Clone)]
pub struct AttemptContext {
    pub(crate) job: Arc<Job>,
    pub(crate) signals: Arc<AttemptSignals>,
    pub(crate) client: Client,
}

impl AttemptContext {
    /// The job as it was claimed.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// A client of this engine, which also knows the store's time.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Why this attempt should stop, if it should.
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.signals.stop_reason()
    }

    /// Returns when this attempt should stop, for use in `select!`.
    pub async fn stopped(&self) -> StopReason {
        self.signals.stopped().await
    }

    /// Notes what the called destination says remains of its own limits: it lowers the pace of
    /// other jobs for the destination of this one.
    pub fn note_quota(&self, quota: TargetQuota) {
        self.signals.set_quota(quota);
    }

    /// As [`Context::enqueue_on_success`].
    pub(crate) fn enqueue_on_success(
        &self,
        request: impl Into<JobRequest>,
    ) -> Result<JobId, Invalid> {
        let mut job = self.client.prepare_outbox(request)?;
        let id = job.id;
        let trace = self.signals.span().and_then(AttemptSpan::traceparent);
        if let Some(trace) = trace.filter(|_| !job.has_traceparent()) {
            job.set_traceparent(trace);
        }
        self.signals.add_to_outbox(job)?;
        Ok(id)
    }

    fn log(&self, level: LogLevel, text: String) {
        let at = self.client.now();
        self.signals.log(LogLine { at, level, text }, &self.job);
    }

    /// Where events of the handler go.
    pub(crate) fn logger(&self) -> AttemptLogger {
        let attempt = self.clone();
        AttemptLogger::new(move |level, text| attempt.log(level, text))
    }
}

/// The context of a running handler; `S` is the state that all handlers of an engine share.
pub struct Context<S = ()> {
    attempt: AttemptContext,
    state: Arc<S>,
}

impl<S> Clone for Context<S> {
    fn clone(&self) -> Self {
        Self {
            attempt: self.attempt.clone(),
            state: self.state.clone(),
        }
    }
}

impl<S> Context<S> {
    pub(crate) fn new(attempt: AttemptContext, state: Arc<S>) -> Self {
        Self { attempt, state }
    }

    /// The state that all handlers share; see [`EngineBuilder::state`](crate::EngineBuilder::state).
    pub fn state(&self) -> &S {
        &self.state
    }

    /// The job as it was claimed.
    pub fn job(&self) -> &Job {
        self.attempt.job()
    }

    /// The id of the job, the same in every attempt.
    pub fn id(&self) -> JobId {
        self.job().id
    }

    /// The number of this attempt, from 1 on.
    pub fn attempt(&self) -> u32 {
        self.job().progress.attempt
    }

    /// How many retries of the current budget are used: 0 in the first attempt, and again in the
    /// first after a person requeued the job.
    pub fn retry_count(&self) -> u32 {
        self.job().retry_count()
    }

    /// Whether a failure of this attempt would end the job: no retry is left, or the job may only
    /// start once.
    pub fn is_last_attempt(&self) -> bool {
        self.job().is_last_attempt()
    }

    /// When this attempt is cut off, if it has a timeout.
    pub fn deadline(&self) -> Option<Timestamp> {
        let started_at = self.job().progress.started_at?;
        Some(started_at.plus(self.job().timeout?))
    }

    /// A client of this engine, for other jobs.
    pub fn client(&self) -> &Client {
        self.attempt.client()
    }

    /// Why this handler should stop, if it should.
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.attempt.stop_reason()
    }

    /// Returns when this handler should stop, for use in `select!`.
    pub async fn stopped(&self) -> StopReason {
        self.attempt.stopped().await
    }

    /// Records how far this attempt has come; people see it with the next renewal of the lease.
    pub fn note(&self, note: impl Into<String>) {
        self.attempt.signals.update_note(Some(note.into()), None);
    }

    /// The same in percent, beside the last note; more than 100 counts as 100.
    pub fn progress(&self, percent: u8) {
        self.attempt.signals.update_note(None, Some(percent));
    }

    /// Adds a line to the log of this attempt, which people read on the job's page and with
    /// `steadfast jobs logs`. The newest 1,000 lines or 64 KiB are kept.
    pub fn log(&self, level: LogLevel, text: impl Into<String>) {
        self.attempt.log(level, text.into());
    }

    /// Creates another job if and only if this attempt succeeds: both are written in one
    /// transaction, so a crash cannot leave one without the other.
    ///
    /// It may run after other jobs, also after those that this attempt creates, and be added to a
    /// batch; the batch of this job takes it even if it is closed. If a job or batch does not exist,
    /// or another batch is closed, this attempt fails permanently and creates nothing.
    pub fn enqueue_on_success(&self, request: impl Into<JobRequest>) -> Result<JobId, JobError> {
        Ok(self.attempt.enqueue_on_success(request)?)
    }

    /// Runs `work` unless it has succeeded in an earlier attempt of this job; then its result
    /// from that time is returned and `work` is not run.
    ///
    /// A crash between the end of `work` and the durable write of its result forgets it, so what
    /// `work` does to other systems should still carry the job's id as an idempotency key where
    /// they take one.
    pub async fn once<T, E, F>(&self, step: &str, work: F) -> Result<T, JobError>
    where
        T: Serialize + DeserializeOwned,
        E: Into<JobError>,
        F: Future<Output = Result<T, E>>,
    {
        let step = StepName::new(step)?;
        let store = self.client().store();
        let done = self
            .retry_while_away(|| store.list_steps(self.id(), Some(step.clone()), 1))
            .await?;
        if let Some((_, result)) = done.into_iter().next() {
            return Ok(result.decode()?);
        }
        let result = work.await.map_err(Into::into)?;
        let result = Payload::encode(&result)?;
        let most = limits::ONCE_BYTES_MAX;
        if result.as_str().len() > most {
            let message = format!("the result of step {step} is larger than {most} bytes");
            return Err(JobError::permanent(message));
        }
        let saved = self
            .retry_while_away(|| store.save_step(self.id(), None, step.clone(), result.clone()))
            .await?;
        Ok(saved.stored().unwrap_or(result).decode()?)
    }

    /// Repeats a call to a store that is away, for as long as this attempt holds its lease.
    async fn retry_while_away<'a, T>(
        &self,
        mut call: impl FnMut() -> futures_util::future::BoxFuture<'a, Result<T, StoreError>>,
    ) -> Result<T, JobError> {
        loop {
            let is_lost = self.stop_reason() == Some(StopReason::LeaseLost);
            match call().await {
                Err(error) if error.is_transient() && !is_lost => {
                    tokio::time::sleep(STEP_RETRY_PAUSE).await;
                }
                result => return Ok(result?),
            }
        }
    }
}
