//! Handlers: your code for one kind of job.
//!
//! Everything that a handler can return is folded into an [`Outcome`] here, before anything touches
//! the store.

use std::{collections::HashMap, marker::PhantomData, sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::{Serialize, de::DeserializeOwned};
use steadfast_core::{Failure, FailureClass, Invalid, Kind, Outcome, Payload, PolicyPatch, limits};

use crate::{
    context::{AttemptContext, Context},
    limits::RELEASE_MIN,
    request::JobRequest,
};

/// The input of a handler, and the name that joins the two.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use steadfast_engine::JobKind;
///
/// #[derive(Serialize, Deserialize)]
/// struct Welcome {
///     user: u64,
/// }
///
/// impl JobKind for Welcome {
///     const KIND: &'static str = "welcome";
/// }
/// ```
pub trait JobKind: Serialize + DeserializeOwned + Send + 'static {
    /// The name that stored jobs carry. Do not change it while jobs wait.
    const KIND: &'static str;

    /// The retry policy of this kind; a job can override it. By default that of its queue.
    fn retry() -> PolicyPatch {
        PolicyPatch::default()
    }

    /// A job with this input, to be refined before it is enqueued.
    fn job(&self) -> JobRequest {
        JobRequest::of(self)
    }
}

/// What a handler returns when it does not succeed.
///
/// `?` makes a retryable failure of anything that is a `std::error::Error`. Boxed errors are
/// not; for them, and for those of `anyhow`, there is `map_err(JobError::any)?`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum JobError {
    /// The attempt failed; the retry policy decides what follows.
    Failure(Failure),
    /// Try again after this long, without counting this attempt.
    Snooze(Duration),
    /// The job has become pointless; the text says why.
    Cancel(String),
    /// Give the job back for another node to take, without counting this attempt. For handlers
    /// that got the signal to stop; from others it is a snooze of a second.
    Release,
}

impl JobError {
    /// A failure of a class of your own; rules can match on it.
    pub fn failure(class: &str, message: impl Into<String>) -> Self {
        Self::Failure(Failure::new(FailureClass::named(class), message))
    }

    /// A retryable failure, from a boxed error.
    pub fn any(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Failure(Failure::from(&*error.into()))
    }

    /// A failure that no retry can cure, of class `validation`.
    pub fn permanent(message: impl Into<String>) -> Self {
        Self::Failure(Failure::new(FailureClass::VALIDATION, message))
    }

    /// A failure that should not be tried again before `delay` has passed.
    pub fn retry_after(delay: Duration, message: impl Into<String>) -> Self {
        Self::Failure(Failure::new(FailureClass::ERROR, message).with_retry_after(delay))
    }

    fn into_outcome(self) -> Outcome {
        match self {
            Self::Failure(failure) => Outcome::Failure {
                failure,
                output: None,
            },
            Self::Snooze(delay) => Outcome::Snoozed(delay),
            Self::Cancel(message) => Outcome::Cancelled { message },
            Self::Release => Outcome::Released { started: true },
        }
    }
}

impl<E: std::error::Error> From<E> for JobError {
    fn from(error: E) -> Self {
        Self::Failure(error.into())
    }
}

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

/// Handlers by kind.
#[derive(Clone, Default)]
pub struct Handlers(HashMap<Kind, Arc<dyn Handler>>);

impl Handlers {
    pub fn add(&mut self, kind: &str, handler: Arc<dyn Handler>) -> Result<(), Invalid> {
        let kind = Kind::new(kind)?;
        if self.0.insert(kind.clone(), handler).is_some() {
            return Err(Invalid::new("kind", kind, "must have one handler only"));
        }
        Ok(())
    }

    pub fn get(&self, kind: &Kind) -> Option<&Arc<dyn Handler>> {
        self.0.get(kind)
    }

    pub fn kinds(&self) -> Vec<Kind> {
        self.0.keys().cloned().collect()
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
        let input = match attempt.job().payload.decode::<J>() {
            Ok(input) => input,
            Err(error) => {
                let message = format!("the payload does not fit {}: {error}", J::KIND);
                let failure = Failure::new(FailureClass::PAYLOAD, message);
                return JobError::Failure(failure).into_outcome();
            }
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

/// A value too large to keep does not turn a success into a failure: the work is done.
fn success<T: Serialize>(value: &T) -> Outcome {
    let output = Payload::encode(value)
        .ok()
        .filter(|output| output.as_str().len() <= limits::OUTPUT_BYTES_MAX)
        .filter(|output| output.as_str() != "null");
    Outcome::Success { output }
}
