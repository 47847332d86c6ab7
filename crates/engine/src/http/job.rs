//! Runs jobs of kind `http`.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, header::USER_AGENT};
use http_body_util::Full;
use steadfast_core::{Failure, FailureClass, Guarantee, Job, Outcome, Timestamp, Traceparent};

use super::{
    call::{AlwaysWanted, CallError, Outbound, StillWanted},
    call_span::CallSpan,
    lookup::LookupCaller,
    request::HttpRequest,
    response::RecordedResponse,
    secrets::RevealedSecrets,
    usage::UsageSources,
};
use crate::{
    attempt::{context::AttemptContext, handler::Handler},
    inflight::signals::StopReason,
    limits::http::{LOOKUP_TURN_SNOOZE, TIMEOUT_DEFAULT, UNWANTED_SNOOZE},
};

/// Sends the request that a job of kind [`HTTP_KIND`](super::HTTP_KIND) describes.
pub struct HttpHandler {
    outbound: Outbound,
}

impl HttpHandler {
    /// A handler that sends through this client.
    pub fn new(outbound: Outbound) -> Self {
        Self { outbound }
    }
}

#[async_trait]
impl Handler for HttpHandler {
    async fn handle(&self, attempt: AttemptContext) -> Outcome {
        let job = attempt.job();
        let request = match job.payload.decode::<HttpRequest>() {
            Ok(request) => request,
            Err(error) => {
                let message = format!("the payload is not an HTTP request: {error}");
                return failure(Failure::new(FailureClass::PAYLOAD, message));
            }
        };
        let mut sent = request.to_request();
        let added = RevealedSecrets::add_to(sent.headers_mut(), request.secrets(), &attempt);
        let secrets = match added.await {
            Ok(secrets) => secrets,
            Err(outcome) => return outcome,
        };
        if let Some(message) = request.message()
            && let Err(outcome) = message.sign(&request, sent.headers_mut(), &attempt).await
        {
            return outcome;
        }
        self.outbound
            .attempt(sent, &attempt, &secrets, &AlwaysWanted, request.usage())
            .await
    }

    fn has_own_timeout(&self) -> bool {
        true
    }
}

impl Outbound {
    /// Sends the request of an attempt, with the headers that identify the attempt, and folds
    /// the response or the failure into an outcome. What the response repeats of the secrets is
    /// not recorded.
    pub(super) async fn attempt(
        &self,
        request: Request<Full<Bytes>>,
        attempt: &AttemptContext,
        secrets: &RevealedSecrets,
        wanted: &dyn StillWanted,
        usage: &UsageSources,
    ) -> Outcome {
        let limit = timeout(attempt);
        let fold = |response: RecordedResponse, now| {
            if let Some(quota) = response.quota(now) {
                attempt.note_quota(quota);
            }
            if let Some(used) = usage.read(&response) {
                attempt.note_usage(used);
            }
            secrets.redact(response).outcome(now)
        };
        self.attempt_with(request, attempt, wanted, limit, fold)
            .await
    }

    /// The same with a limit and a meaning of the response of their own.
    pub(super) async fn attempt_with(
        &self,
        mut request: Request<Full<Bytes>>,
        attempt: &AttemptContext,
        wanted: &dyn StillWanted,
        limit: Duration,
        fold: impl FnOnce(RecordedResponse, Timestamp) -> Outcome + Send,
    ) -> Outcome {
        let job = attempt.job();
        attempt_headers(job, request.headers_mut());
        let mut span = CallSpan::start(attempt, &request);
        trace_header(
            span.traceparent().or(job.traceparent.as_ref()),
            request.headers_mut(),
        );
        // No retry makes up for a kept connection that turns out to be dead.
        let needs_fresh_connection = job.is_last_attempt();
        let looking = LookupCaller::new(job.tenant.clone());
        let call = self.call_if(request, limit, needs_fresh_connection, wanted);
        let outcome = tokio::select! {
            biased;
            response = looking.call(call) => {
                match response {
                    Ok(response) => {
                        span.set_status(response.status);
                        fold(response, attempt.client().now())
                    }
                    // Nothing was tried, so there is nothing to count.
                    Err(_) if looking.is_waiting() => Outcome::Snoozed(LOOKUP_TURN_SNOOZE),
                    Err(CallError::Failed { failure, timings }) => Outcome::Failure {
                        failure,
                        output: timings.output(),
                    },
                    Err(CallError::Unwanted) => Outcome::Snoozed(UNWANTED_SNOOZE),
                }
            }
            outcome = until_stopped(attempt) => outcome,
        };
        span.end(&outcome, attempt.client().now());
        outcome
    }
}

/// Identifies the sender, the job and the attempt, so that the receiver can recognise a
/// repetition: the idempotency key is the same on every attempt.
fn attempt_headers(job: &Job, headers: &mut HeaderMap) {
    let agent = concat!("Steadfast/", env!("CARGO_PKG_VERSION"));
    let agent = HeaderValue::from_static(agent);
    headers.entry(USER_AGENT).or_insert(agent);
    if let Some(asked) = job.progress.questions_asked() {
        headers.insert(
            "steadfast-question",
            HeaderValue::from(asked.saturating_add(1)),
        );
    }
    let max_retries = match job.guarantee {
        Guarantee::AtLeastOnce => job.policy.max_retries(),
        Guarantee::AtMostOnce => 0,
    };
    let scheduled_for = job
        .scheduled_run
        .map_or(job.progress.run_at, |run| run.tick);
    for (name, value) in [
        ("idempotency-key", job.id.to_string()),
        ("steadfast-job-id", job.id.to_string()),
        ("steadfast-attempt", job.attempt_number().to_string()),
        ("steadfast-retry-count", job.retry_count().to_string()),
        ("steadfast-max-retries", max_retries.to_string()),
        ("steadfast-scheduled-for", scheduled_for.to_string()),
    ] {
        // Ids, numbers and times are always fit for a header.
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
}

/// The trace goes on at the receiver, unless the request has one of its own.
fn trace_header(traceparent: Option<&Traceparent>, headers: &mut HeaderMap) {
    let name = HeaderName::from_static("traceparent");
    if let Some(traceparent) = traceparent
        && let Ok(value) = HeaderValue::try_from(traceparent.as_str())
    {
        headers.entry(name).or_insert(value);
    }
}

/// A job may be older than the operator's limit, or was created by a statement in the database.
pub(super) fn timeout(attempt: &AttemptContext) -> Duration {
    let timeout = attempt.job().timeout.unwrap_or(TIMEOUT_DEFAULT);
    timeout.min(attempt.client().call_timeout_max())
}

/// Ends when the response is no longer of use. A node that stops still waits for it, because it may
/// arrive within the grace period.
async fn until_stopped(attempt: &AttemptContext) -> Outcome {
    match attempt.stopped().await {
        StopReason::Cancelled => {
            let message = match attempt.job().is_question() {
                false => "cancelled while the request was in flight; it may have taken effect",
                true => "cancelled before it was known whether the last request took effect",
            };
            Outcome::Cancelled {
                message: message.to_owned(),
            }
        }
        StopReason::LeaseLost => Outcome::Lost,
        StopReason::Stopping => std::future::pending().await,
    }
}

pub(super) fn failure(failure: Failure) -> Outcome {
    Outcome::Failure {
        failure,
        output: None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use steadfast_core::{JobId, Kind, NewJob, Payload, Preset, Timestamp, WorkerName};
    use steadfast_store::MemoryStore;
    use tokio::net::TcpListener;

    use super::*;
    use crate::{
        client::Client,
        http::{AddressPolicy, HTTP_KIND, OutboundRules},
        inflight::signals::AttemptSignals,
    };

    #[tokio::test]
    async fn a_request_is_dropped_when_its_response_is_no_longer_of_use() {
        // Connections are accepted by the kernel, and never read from.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let request = HttpRequest::new(&url).unwrap();
        let rules = OutboundRules::new(AddressPolicy::Any);
        let outbound = Outbound::builder(rules).build().unwrap();
        let new = NewJob::new(
            JobId::from_bits(1),
            Kind::new(HTTP_KIND).unwrap(),
            Payload::encode(&request).unwrap(),
            Arc::new(Preset::Http.policy()),
        );
        let job = new.into_job(Timestamp::EPOCH);
        let claim = job.claim(WorkerName::new("w").unwrap(), None, Timestamp::EPOCH);
        for (reason, expected) in [
            (StopReason::LeaseLost, "Lost"),
            (
                StopReason::Cancelled,
                "Cancelled { message: \"cancelled while",
            ),
        ] {
            let context = AttemptContext {
                job: claim.share(),
                signals: Arc::new(AttemptSignals::default()),
                client: Client::new(Arc::new(MemoryStore::default())),
            };
            let secrets = RevealedSecrets::default();
            let request = request.to_request();
            let usage = UsageSources::default();
            let attempt = outbound.attempt(request, &context, &secrets, &AlwaysWanted, &usage);
            let stop_it = async {
                listener.accept().await.unwrap();
                context.signals.stop(reason);
                std::future::pending::<()>().await;
            };
            let outcome = tokio::select! {
                outcome = attempt => outcome,
                () = stop_it => unreachable!(),
            };
            let outcome = format!("{outcome:?}");
            assert!(outcome.starts_with(expected), "{outcome}");
        }
    }
}
