//! The handlers of a worker, by the kind of their jobs.

use std::{collections::BTreeMap, pin::Pin, sync::Arc};

use serde::Serialize;
use steadfast_core::{ConfirmAnswer, Confirmation, Failure, FailureClass, Payload};

use super::{context::Context, held::HeldClaim, job_error::JobError, kind::JobKind};

/// The result of a handler, or of a confirm function.
pub type HandlerResult = Result<HandlerOutput, JobError>;

pub struct HandlerOutput {
    /// Whether the last attempt took effect, if that was the question.
    pub answer: Option<ConfirmAnswer>,
    /// JSON, unless it is nothing.
    pub result: Option<Payload>,
}

type HandlerFuture = Pin<Box<dyn Future<Output = HandlerResult> + Send>>;
type Handler = Arc<dyn Fn(Arc<HeldClaim>) -> HandlerFuture + Send + Sync>;

#[derive(Clone, Default)]
pub struct Handlers {
    by_kind: BTreeMap<&'static str, Handler>,
    confirms: BTreeMap<&'static str, Handler>,
}

impl Handlers {
    /// Adds a handler, and says whether the kind had none.
    pub fn add<J, S, T, F, Fut>(&mut self, function: F, state: Arc<S>) -> bool
    where
        J: JobKind,
        S: Send + Sync + 'static,
        T: Serialize + Send,
        F: Fn(J, Context<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, JobError>> + Send + 'static,
    {
        let function = Arc::new(function);
        let handler: Handler = Arc::new(move |held: Arc<HeldClaim>| {
            let (function, state) = (function.clone(), state.clone());
            Box::pin(async move {
                let input: J = decode(&held)?;
                let result = function(input, Context::new(held, state)).await?;
                encode(&result)
            })
        });
        self.by_kind.insert(J::KIND, handler).is_none()
    }

    /// Adds a confirm function, and says whether the kind had none.
    pub fn add_confirm<J, S, F, Fut>(&mut self, function: F, state: Arc<S>) -> bool
    where
        J: JobKind,
        S: Send + Sync + 'static,
        F: Fn(J, Context<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Confirmation, JobError>> + Send + 'static,
    {
        let function = Arc::new(function);
        let confirm: Handler = Arc::new(move |held: Arc<HeldClaim>| {
            let (function, state) = (function.clone(), state.clone());
            Box::pin(async move {
                let input: J = decode(&held)?;
                let confirmation = function(input, Context::new(held, state)).await?;
                let (answer, result) = confirmation.into_parts();
                Ok(HandlerOutput {
                    answer: Some(answer),
                    result,
                })
            })
        });
        self.confirms.insert(J::KIND, confirm).is_none()
    }

    /// The kinds with a confirm function.
    pub fn confirms(&self) -> Vec<String> {
        self.confirms.keys().map(|&kind| kind.to_owned()).collect()
    }

    pub fn kinds(&self) -> Vec<String> {
        self.by_kind.keys().map(|&kind| kind.to_owned()).collect()
    }

    /// The work of a claim, if its kind has a handler, or a confirm function if it is a question.
    pub fn handle(&self, held: &Arc<HeldClaim>) -> Option<HandlerFuture> {
        let by_kind = match held.is_question() {
            true => &self.confirms,
            false => &self.by_kind,
        };
        let handler = by_kind.get(held.job.kind.as_str())?;
        Some(handler(held.clone()))
    }
}

fn decode<J: JobKind>(held: &HeldClaim) -> Result<J, JobError> {
    let null = Payload::default();
    let payload = held.job.payload.as_ref().unwrap_or(&null);
    payload.decode().map_err(|error| {
        let message = format!("cannot decode the payload as {}: {error}", J::KIND);
        JobError::Failure(Failure::new(FailureClass::PAYLOAD, message))
    })
}

fn encode(result: &impl Serialize) -> HandlerResult {
    let result = Payload::encode(result).map_err(|error| {
        JobError::permanent_failure(
            "result",
            format!("cannot encode the result as JSON: {error}"),
        )
    })?;
    Ok(HandlerOutput {
        answer: None,
        result: Some(result).filter(|result| result.as_str() != "null"),
    })
}
