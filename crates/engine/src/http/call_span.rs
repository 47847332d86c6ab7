//! The span of a request to another system.

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::Full;
use opentelemetry::{
    KeyValue,
    global::BoxedSpan,
    trace::{Span as _, Status},
};
use steadfast_core::{Outcome, Timestamp, Traceparent};

use super::origin::Origin;
use crate::{
    attempt::context::AttemptContext,
    traces::{system_time, traceparent},
};

/// The span of a request to another system; nothing without a tracer.
pub struct CallSpan {
    span: Option<BoxedSpan>,
    /// The span as the receiver sees it.
    traceparent: Option<Traceparent>,
}

impl CallSpan {
    pub fn start(attempt: &AttemptContext, request: &Request<Full<Bytes>>) -> Self {
        let client = attempt.client();
        let traces = client.traces();
        let mut span = traces.call(attempt.signals.span(), || client.now());
        if let Some(span) = span.as_mut().filter(|span| span.is_recording()) {
            describe(span, attempt, request);
        }
        Self {
            traceparent: span.as_ref().and_then(|it| traceparent(it.span_context())),
            span,
        }
    }

    pub fn traceparent(&self) -> Option<&Traceparent> {
        self.traceparent.as_ref()
    }

    pub fn set_status(&mut self, status: StatusCode) {
        if let Some(span) = &mut self.span {
            let status = i64::from(status.as_u16());
            span.set_attribute(KeyValue::new("http.response.status_code", status));
        }
    }

    pub fn end(self, outcome: &Outcome, now: Timestamp) {
        let Some(mut span) = self.span else {
            return;
        };
        if let Outcome::Failure { failure, .. } = outcome {
            let class = failure.class.as_str().to_owned();
            span.set_attribute(KeyValue::new("error.type", class.clone()));
            span.set_status(Status::error(class));
        }
        span.end_with_timestamp(system_time(now));
    }
}

/// Paths and queries may be secrets, so the address ends with the origin.
fn describe(span: &mut BoxedSpan, attempt: &AttemptContext, request: &Request<Full<Bytes>>) {
    let method = request.method().as_str().to_owned();
    span.update_name(method.clone());
    span.set_attribute(KeyValue::new("http.request.method", method));
    if let Some(origin) = Origin::of(request.uri()) {
        let scheme = if origin.is_secure() { "https" } else { "http" };
        let port = i64::from(origin.port());
        span.set_attributes([
            KeyValue::new("url.full", format!("{scheme}://{origin}")),
            KeyValue::new("server.address", origin.host().to_owned()),
            KeyValue::new("server.port", port),
        ]);
    }
    let resent = attempt.job().progress.attempt.saturating_sub(1);
    if resent > 0 {
        let resent = i64::from(resent);
        span.set_attribute(KeyValue::new("http.request.resend_count", resent));
    }
}
