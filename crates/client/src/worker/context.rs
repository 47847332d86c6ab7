//! The context of a running handler.

use std::sync::Arc;

use serde::{Serialize, de::DeserializeOwned};
use steadfast_api::{
    CreateJobRequest, FenceQuery, JobBody, PrerequisiteQuery, PrerequisiteResult, SaveStepRequest,
};
use steadfast_core::{Cost, Invalid, JobId, LogLevel, Payload, limits};

use super::{
    held::{HeldClaim, StopReason},
    job_error::JobError,
    kind::JobKind,
};
use crate::{
    backoff::Backoff, client::Client, error::ClientError, limits::ON_SUCCESS_MAX, request::Request,
    traces::current_traceparent,
};

/// The context of a running handler; `S` is the state that all handlers of a worker share.
pub struct Context<S = ()> {
    held: Arc<HeldClaim>,
    state: Arc<S>,
}

impl<S> Clone for Context<S> {
    fn clone(&self) -> Self {
        Self {
            held: self.held.clone(),
            state: self.state.clone(),
        }
    }
}

impl<S> Context<S> {
    pub(super) fn new(held: Arc<HeldClaim>, state: Arc<S>) -> Self {
        Self { held, state }
    }

    /// The state that all handlers share; see [`WorkerBuilder::state`](crate::WorkerBuilder::state).
    pub fn state(&self) -> &S {
        &self.state
    }

    /// The job as it was claimed.
    pub fn job(&self) -> &JobBody {
        &self.held.job
    }

    /// The id of the job, the same in every attempt.
    pub fn id(&self) -> JobId {
        self.job().id
    }

    /// The number of this attempt, from 1 on.
    pub fn attempt(&self) -> u32 {
        self.job().attempt
    }

    /// The job's place in a distributed trace, as W3C Trace Context writes it.
    pub fn traceparent(&self) -> Option<&str> {
        self.job().traceparent.as_deref()
    }

    /// A client of the server, for everything else.
    pub fn client(&self) -> &Client {
        &self.held.client
    }

    /// Why this handler should stop, if it should.
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.held.stop_reason()
    }

    /// Returns when this handler should stop, for use in `select!`.
    pub async fn stopped(&self) -> StopReason {
        self.held.stopped().await
    }

    /// Records how far this attempt has come; people see it with the next heartbeat.
    pub fn note(&self, note: impl Into<String>) {
        self.held.report(|report| report.note = Some(note.into()));
    }

    /// The same in percent, beside the last note; more than 100 counts as 100.
    pub fn progress(&self, percent: u8) {
        self.held
            .report(|report| report.percent = Some(percent.min(100)));
    }

    /// Reports what this attempt has used, by unit, such as `[("tokens", 2_210.0)]`: gates with rates in
    /// these units give back or charge the difference to the cost of the job when the attempt ends,
    /// whatever its outcome. The last report counts. Without one, the cost is charged.
    ///
    /// # Errors
    ///
    /// An amount that is negative or no number, or a unit that is none.
    pub fn usage<'n>(&self, used: impl IntoIterator<Item = (&'n str, f64)>) -> Result<(), Invalid> {
        let used = Cost::new(used).map_err(|error| error.within("usage"))?;
        self.held.set_usage(used.amounts());
        Ok(())
    }

    /// Adds a line to the log of this attempt, which people read on the job's page and with
    /// `steadfast jobs logs`. The newest 1,000 lines or 64 KiB are kept.
    pub fn log(&self, level: LogLevel, text: impl Into<String>) {
        self.held.log(level, text.into());
    }

    /// Creates another job now, as part of the trace of this one.
    ///
    /// # Errors
    ///
    /// An input that has no JSON, or what the server or the way there says.
    pub async fn enqueue(&self, input: &impl JobKind) -> Result<JobBody, JobError> {
        let mut request = input.job()?;
        let own = || self.traceparent().map(str::to_owned);
        let current = || current_traceparent().or_else(own);
        request.traceparent = request.traceparent.or_else(current);
        Ok(self.client().enqueue_request(request).await?)
    }

    /// Creates another job if and only if this attempt succeeds: both are written in one
    /// transaction, so a crash cannot leave one without the other.
    ///
    /// # Errors
    ///
    /// More jobs than the server takes with one success.
    pub fn enqueue_on_success(&self, request: CreateJobRequest) -> Result<(), JobError> {
        let count = self.held.add_on_success(request);
        if count > ON_SUCCESS_MAX {
            let expected = format!("must be at most {ON_SUCCESS_MAX} jobs");
            return Err(Invalid::new("onSuccess", count, expected).into());
        }
        Ok(())
    }

    /// Runs `work` unless it has succeeded in an earlier attempt of this job; then its result
    /// from that time is returned and `work` is not run.
    ///
    /// A crash between the end of `work` and the durable write of its result forgets it, so what
    /// `work` does to other systems should still carry the job's id as an idempotency key where
    /// they take one.
    ///
    /// # Errors
    ///
    /// What `work` returns, a result over 64 KiB, or an expired claim.
    pub async fn once<T, E, F>(&self, step: &str, work: F) -> Result<T, JobError>
    where
        T: Serialize + DeserializeOwned,
        E: Into<JobError>,
        F: Future<Output = Result<T, E>>,
    {
        let (id, fence) = (self.id(), self.held.fence);
        let query = FenceQuery { fence };
        let stored = self
            .retry_while_away(|| self.client().get_step(id, step, &query))
            .await;
        match stored {
            Ok(stored) => return Ok(stored.result.decode()?),
            Err(error) if error.code() == Some("step_not_found") => {}
            Err(error) => return Err(error.into()),
        }
        let result = Payload::encode(&work.await.map_err(Into::into)?)?;
        let most = limits::ONCE_BYTES_MAX;
        if result.as_str().len() > most {
            let message = format!("the result of step {step} is larger than {most} bytes");
            return Err(JobError::permanent(message));
        }
        let request = SaveStepRequest { fence, result };
        let saved = self
            .retry_while_away(|| self.client().save_step(id, step, &request))
            .await?;
        Ok(saved.result.decode()?)
    }

    /// The jobs that this one has waited for (`after`), in the order of their ids, with their results.
    ///
    /// # Errors
    ///
    /// An expired claim, or what the server says.
    pub async fn prerequisites(&self) -> Result<Vec<PrerequisiteResult>, JobError> {
        let mut found = Vec::new();
        let mut query = PrerequisiteQuery {
            fence: self.held.fence,
            ..PrerequisiteQuery::default()
        };
        loop {
            let page = self
                .retry_while_away(|| self.client().list_prerequisites(self.id(), &query))
                .await?;
            found.extend(page.prerequisites);
            query.after = page.next_cursor;
            if query.after.is_none() {
                return Ok(found);
            }
        }
    }

    /// Repeats a call for as long as this attempt holds its lease: a step that was done must not be
    /// forgotten because the server is unwell.
    async fn retry_while_away<T: DeserializeOwned + 'static>(
        &self,
        request: impl Fn() -> Request<T>,
    ) -> Result<T, ClientError> {
        let mut backoff = Backoff::default();
        loop {
            match request().await {
                // A key that was revoked may be replaced on the server's side.
                Err(error)
                    if (error.is_worth_repeating()
                        || matches!(error.status(), Some(401 | 403)))
                        && !self.is_lost() =>
                {
                    backoff.pause_after(Some(&error)).await;
                }
                Err(error) if matches!(error.code(), Some("stale_fence" | "not_found")) => {
                    self.held.stop(StopReason::LeaseLost);
                    return Err(error);
                }
                answer => return answer,
            }
        }
    }

    fn is_lost(&self) -> bool {
        self.stop_reason() == Some(StopReason::LeaseLost)
    }
}
