//! Handlers: your code for one kind of job.
//!
//! Everything that a handler can return is folded into an [`Outcome`] here, before anything touches
//! the store.

use std::{collections::HashMap, marker::PhantomData, sync::Arc};

use async_trait::async_trait;
use serde::Serialize;
use steadfast_core::{
    ConfirmAnswer, Confirmation, Failure, FailureClass, Invalid, Job, Kind, Outcome, Payload,
    limits,
};

use crate::{
    attempt::{
        context::{AttemptContext, Context},
        job_error::JobError,
    },
    client::request::JobKind,
    limits::RELEASE_MIN,
};

/// A handler as the executor sees it, for kinds whose input is not a Rust type, and for
/// outcomes that a [`JobError`] cannot express. Most handlers are plain functions instead, as
/// [`EngineBuilder::handler`](crate::EngineBuilder::handler) takes them.
#[async_trait]
pub trait Handler: Send + Sync {
    /// Runs one attempt to its end. A panic is caught and recorded.
    async fn handle(&self, attempt: AttemptContext) -> Outcome;

    /// Whether this handler ends by itself when the job's timeout is over, because it knows better
    /// than the executor what it was waiting for.
    fn has_own_timeout(&self) -> bool {
        false
    }
}

/// Handlers by kind, and those that answer whether an attempt took effect.
#[derive(Clone, Default)]
pub struct Handlers {
    handlers: HashMap<Kind, Arc<dyn Handler>>,
    confirms: HashMap<Kind, Arc<dyn Handler>>,
}

impl Handlers {
    pub fn add(&mut self, kind: &str, handler: Arc<dyn Handler>) -> Result<(), Invalid> {
        let kind = Kind::new(kind)?;
        if self.handlers.insert(kind.clone(), handler).is_some() {
            return Err(Invalid::new("kind", kind, "must have only one handler"));
        }
        Ok(())
    }

    pub fn add_confirm(&mut self, kind: &str, confirm: Arc<dyn Handler>) -> Result<(), Invalid> {
        let kind = Kind::new(kind)?;
        if self.confirms.insert(kind.clone(), confirm).is_some() {
            let expected = "must have only one confirm function";
            return Err(Invalid::new("kind", kind, expected));
        }
        Ok(())
    }

    /// What runs a claim of this job: its handler, or what answers the question that is open.
    pub fn of_job(&self, job: &Job) -> Option<Arc<dyn Handler>> {
        let handler = self.handlers.get(&job.kind)?;
        Some(match (job.is_question(), self.confirms.get(&job.kind)) {
            (false, _) => handler.clone(),
            (true, Some(confirm)) => confirm.clone(),
            // The handler itself would repeat the work.
            (true, None) => Arc::new(NoConfirm),
        })
    }

    pub fn kinds(&self) -> Vec<Kind> {
        self.handlers.keys().cloned().collect()
    }
}

/// Answers for a kind without a confirm function.
struct NoConfirm;

#[async_trait]
impl Handler for NoConfirm {
    async fn handle(&self, attempt: AttemptContext) -> Outcome {
        let kind = &attempt.job().kind;
        let message = format!("kind {kind} has no confirm function on this node");
        Outcome::Answered {
            answer: ConfirmAnswer::Unknown,
            output: None,
            failure: Some(Failure::new(FailureClass::ERROR, message)),
        }
    }
}

/// A function `async fn(J, Context<S>) -> Result<T, JobError>`, as a handler.
pub struct TypedHandler<F, J, S> {
    function: F,
    state: Arc<S>,
    input: PhantomData<fn() -> J>,
}

impl<F, J, S> TypedHandler<F, J, S> {
    pub fn new(function: F, state: Arc<S>) -> Self {
        Self {
            function,
            state,
            input: PhantomData,
        }
    }
}

#[async_trait]
impl<F, J, S, Fut, T> Handler for TypedHandler<F, J, S>
where
    F: Fn(J, Context<S>) -> Fut + Send + Sync,
    Fut: Future<Output = Result<T, JobError>> + Send,
    J: JobKind,
    S: Send + Sync + 'static,
    T: Serialize,
{
    async fn handle(&self, attempt: AttemptContext) -> Outcome {
        let input = match input::<J>(&attempt) {
            Ok(input) => input,
            Err(error) => return error.into_outcome(),
        };
        let signals = attempt.signals.clone();
        let context = Context::new(attempt, self.state.clone());
        match (self.function)(input, context).await {
            Ok(value) => success(&value),
            // The engine did not ask for it back: without a wait it would come round for ever.
            Err(JobError::Release) if signals.stop_reason().is_none() => {
                Outcome::Snoozed(RELEASE_MIN)
            }
            Err(error) => error.into_outcome(),
        }
    }
}

/// A function `async fn(J, Context<S>) -> Result<Confirmation, JobError>`, as what answers for the
/// handler.
pub struct TypedConfirm<F, J, S>(pub TypedHandler<F, J, S>);

#[async_trait]
impl<F, J, S, Fut> Handler for TypedConfirm<F, J, S>
where
    F: Fn(J, Context<S>) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Confirmation, JobError>> + Send,
    J: JobKind,
    S: Send + Sync + 'static,
{
    async fn handle(&self, attempt: AttemptContext) -> Outcome {
        let input = match input::<J>(&attempt) {
            Ok(input) => input,
            Err(error) => return error.into_outcome(),
        };
        let context = Context::new(attempt, self.0.state.clone());
        match (self.0.function)(input, context).await {
            Ok(confirmation) => {
                let (answer, output) = confirmation.into_parts();
                Outcome::Answered {
                    answer,
                    output,
                    failure: None,
                }
            }
            Err(error) => error.into_outcome(),
        }
    }
}

fn input<J: JobKind>(attempt: &AttemptContext) -> Result<J, JobError> {
    attempt.job().payload.decode::<J>().map_err(|error| {
        let message = format!("cannot decode the payload as {}: {error}", J::KIND);
        JobError::Failure(Failure::new(FailureClass::PAYLOAD, message))
    })
}

/// A value too large to keep does not turn a success into a failure: the work is done.
fn success<T: Serialize>(value: &T) -> Outcome {
    let output = Payload::encode(value)
        .ok()
        .filter(|output| output.as_str().len() <= limits::OUTPUT_BYTES_MAX)
        .filter(|output| output.as_str() != "null");
    Outcome::Success { output }
}
