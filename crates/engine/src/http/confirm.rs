//! The question of an HTTP job whether its last request took effect: a GET whose response is
//! compared with the patterns of the job.

use async_trait::async_trait;
use steadfast_core::{
    ConfirmAnswer, ConfirmSettings, Failure, FailureClass, IdempotencyKey, Invalid, JobId, NewJob,
    Outcome,
};

use super::{
    call::{AlwaysWanted, Outbound},
    job::{failure, timeout},
    request::HttpRequest,
    response::RecordedResponse,
    secrets::RevealedSecrets,
};
use crate::attempt::{context::AttemptContext, handler::Handler};

/// Asks whether the last request of a job of kind [`HTTP_KIND`](super::HTTP_KIND) took effect.
pub struct HttpConfirm {
    outbound: Outbound,
}

impl HttpConfirm {
    /// One that asks through this client.
    pub fn new(outbound: Outbound) -> Self {
        Self { outbound }
    }
}

#[async_trait]
impl Handler for HttpConfirm {
    async fn handle(&self, attempt: AttemptContext) -> Outcome {
        let job = attempt.job();
        let Some(confirm) = job.confirm() else {
            let message = "the job has no confirm settings";
            return failure(Failure::new(FailureClass::PAYLOAD, message));
        };
        let request = match request(confirm, job.id, job.idempotency_key.as_ref()) {
            Ok(request) => request,
            Err(error) => {
                let message = format!("the question cannot be sent: {error}");
                return failure(Failure::new(FailureClass::PAYLOAD, message));
            }
        };
        let mut sent = request.to_request();
        let added = RevealedSecrets::add_to(sent.headers_mut(), request.secrets(), &attempt);
        let secrets = match added.await {
            Ok(secrets) => secrets,
            Err(outcome) => return outcome,
        };
        let most = timeout(&attempt);
        let limit = confirm.timeout.map_or(most, |own| own.min(most));
        let fold = |response: RecordedResponse, now| {
            let status = response.status.as_u16();
            let answer = confirm.answer(status, &response.body);
            let requested_wait = response.requested_wait(now);
            let output = secrets.redact(response).output(now);
            let failure = (answer == ConfirmAnswer::Unknown).then(|| {
                let message = format!("the response {status} is neither done nor notDone");
                let failure = Failure::new(FailureClass::HTTP, message);
                match requested_wait {
                    Some(wait) => failure.with_requested_wait(wait),
                    None => failure,
                }
            });
            Outcome::Answered {
                answer,
                output,
                failure,
            }
        };
        self.outbound
            .attempt_with(sent, &attempt, &AlwaysWanted, limit, fold)
            .await
    }

    fn has_own_timeout(&self) -> bool {
        true
    }
}

/// Refuses a question that can never be sent.
pub fn check_question(job: &NewJob, confirm: &ConfirmSettings) -> Result<(), Invalid> {
    if confirm.url.is_none() {
        return Ok(());
    }
    request(confirm, job.id, job.idempotency_key.as_ref()).map(drop)
}

fn request(
    confirm: &ConfirmSettings,
    job: JobId,
    key: Option<&IdempotencyKey>,
) -> Result<HttpRequest, Invalid> {
    let url = confirm.url_for(job, key).unwrap_or_default();
    let request = HttpRequest::new(&url)?.with_method("GET")?;
    confirm
        .headers_for(job, key)
        .try_fold(request, |request, (name, value)| {
            request.with_source(name, &value)
        })
}
