//! Runs jobs of kind `http`.

use std::time::Duration;

use async_trait::async_trait;
use http::{HeaderMap, HeaderName, HeaderValue};
use steadfast_core::{Failure, FailureClass, Guarantee, Job, Outcome};

use super::{HttpRequest, Outbound};
use crate::{Attempting, Handler, StopReason, limits};

/// The kind of jobs that are HTTP requests.
pub const HTTP_KIND: &str = "http";

/// Sends the request that a job of kind [`HTTP_KIND`] describes.
pub struct HttpHandler {
    outbound: Outbound,
}

impl HttpHandler {
    pub fn new(outbound: Outbound) -> Self {
        Self { outbound }
    }
}

#[async_trait]
impl Handler for HttpHandler {
    async fn handle(&self, attempting: Attempting) -> Outcome {
        let job = attempting.job();
        let request = match job.payload.decode::<HttpRequest>() {
            Ok(request) => request,
            Err(error) => {
                let message = format!("the payload is not an HTTP request: {error}");
                return failure(Failure::new(FailureClass::PAYLOAD, message));
            }
        };
        let mut request = request.to_request();
        attempt_headers(job, request.headers_mut());
        let answered = self.outbound.call(request, budget(job), has_one_try(job));
        tokio::select! {
            biased;
            answer = answered => match answer {
                Ok(answer) => answer.outcome(attempting.client().now()),
                Err(error) => failure(error),
            },
            outcome = called_off(&attempting) => outcome,
        }
    }

    fn keeps_time(&self) -> bool {
        true
    }
}

/// Tells the other side which job and which attempt this is, so that it can recognise a
/// repetition: the key is the same on every attempt.
pub fn attempt_headers(job: &Job, headers: &mut HeaderMap) {
    let max_retries = match job.guarantee {
        Guarantee::AtLeastOnce => job.policy.max_retries(),
        Guarantee::AtMostOnce => 0,
    };
    let scheduled_for = job.run_of.map_or(job.progress.run_at, |run| run.tick);
    for (name, value) in [
        ("idempotency-key", job.id.to_string()),
        ("steadfast-job-id", job.id.to_string()),
        ("steadfast-attempt", job.progress.attempt.to_string()),
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

fn budget(job: &Job) -> Duration {
    job.timeout.unwrap_or(limits::http::TIMEOUT_DEFAULT)
}

/// No retry makes up for a connection that turns out to be dead, so such a job gets one of
/// its own.
fn has_one_try(job: &Job) -> bool {
    job.guarantee == Guarantee::AtMostOnce
        || job.progress.retries_used() >= job.policy.max_retries()
}

/// Ends when nobody wants the answer any more. A node that stops is patient: the answer may
/// come within the grace period.
async fn called_off(attempting: &Attempting) -> Outcome {
    match attempting.stopped().await {
        StopReason::Cancelled => Outcome::Cancelled {
            message: "cancelled while the request was under way; it may have been carried out"
                .to_owned(),
        },
        StopReason::LeaseLost => Outcome::Lost,
        StopReason::Stopping => std::future::pending().await,
    }
}

fn failure(failure: Failure) -> Outcome {
    Outcome::Failure {
        failure,
        output: None,
    }
}
