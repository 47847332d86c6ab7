//! The headers that the receiver of a message expects, its signature among them.

use http::{HeaderMap, HeaderName, HeaderValue};
use steadfast_core::{Failure, FailureClass, Outcome};

use super::{message::QstashMessage, token::Claims};
use crate::{
    attempt::context::AttemptContext, http::request::HttpRequest, limits::http::LOOKUP_SNOOZE,
};

impl QstashMessage {
    /// Adds the headers that its receiver expects; otherwise the outcome: nothing is sent then.
    pub(in crate::http) async fn sign(
        &self,
        request: &HttpRequest,
        headers: &mut HeaderMap,
        attempt: &AttemptContext,
    ) -> Result<(), Outcome> {
        let (job, client) = (attempt.job(), attempt.client());
        let keys = client.qstash_keys(&job.tenant).await;
        let keys = keys.map_err(|error| match error.is_transient() {
            true => Outcome::Snoozed(LOOKUP_SNOOZE),
            false => {
                let message = format!("cannot sign: {error}");
                Outcome::Failure {
                    failure: Failure::new(FailureClass::SECRET, message),
                    output: None,
                }
            }
        })?;
        let id = job.id.to_string();
        let token = Claims {
            url: request.url(),
            body: &request.body_bytes(),
            id: &id,
            now: client.now(),
        };
        let labels = (!self.labels.is_empty()).then(|| self.labels.join(","));
        let schedule = job.scheduled_run.map(|run| run.schedule.to_string());
        for (name, value) in [
            ("upstash-signature", Some(token.sign(&keys.current))),
            ("upstash-message-id", Some(id.clone())),
            ("upstash-retried", Some(job.retry_count().to_string())),
            ("upstash-schedule-id", self.schedule.clone().or(schedule)),
            ("upstash-topic-name", self.url_group.clone()),
            ("upstash-endpoint-name", self.endpoint.clone()),
            ("upstash-queue-name", self.queue.clone()),
            ("upstash-label", labels),
        ] {
            // Names that no header can carry are left out; they were refused when it was published.
            if let Some(Ok(value)) = value.map(HeaderValue::try_from) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        Ok(())
    }
}
