//! Spans of OpenTelemetry (feature `opentelemetry`), from the tracer provider that the program has
//! set. Without the feature nothing is left of this file.

use steadfast_api::{JobBody, SettlementRequest};

#[cfg(feature = "opentelemetry")]
pub use on::{AttemptSpan, current_traceparent};

#[cfg(not(feature = "opentelemetry"))]
pub use off::{AttemptSpan, current_traceparent};

#[cfg(not(feature = "opentelemetry"))]
mod off {
    use super::{JobBody, SettlementRequest};

    pub struct AttemptSpan;

    impl AttemptSpan {
        pub fn start(_job: &JobBody) -> Self {
            Self
        }

        pub fn around<F: Future>(&self, work: F) -> F {
            work
        }

        pub fn end(self, _settlement: Option<&SettlementRequest>) {}
    }

    pub fn current_traceparent() -> Option<String> {
        None
    }
}

#[cfg(feature = "opentelemetry")]
mod on {
    use opentelemetry::{
        Context, KeyValue,
        context::FutureExt as _,
        global,
        trace::{
            Link, SpanBuilder, SpanContext, SpanKind, Status, TraceContextExt as _, TraceFlags,
            TraceState, Tracer as _,
        },
    };
    use steadfast_core::Traceparent;

    use super::{JobBody, SettlementRequest};

    /// The span of an attempt: a trace of its own, linked to the span that created the job.
    pub struct AttemptSpan(Context);

    impl AttemptSpan {
        pub fn start(job: &JobBody) -> Self {
            let creator = job.traceparent.as_deref().and_then(span_context);
            let mut attributes = vec![
                KeyValue::new("messaging.system", "steadfast"),
                KeyValue::new("messaging.operation.name", "process"),
                KeyValue::new("messaging.operation.type", "process"),
                KeyValue::new("messaging.destination.name", job.queue.to_string()),
                KeyValue::new("messaging.message.id", job.id.to_string()),
                KeyValue::new("steadfast.job.kind", job.kind.to_string()),
                KeyValue::new("steadfast.job.tenant", job.tenant.to_string()),
                KeyValue::new("steadfast.job.attempt", i64::from(job.attempt)),
            ];
            if let Some(worker) = &job.worker {
                let worker = worker.to_string();
                attributes.push(KeyValue::new("messaging.client.id", worker));
            }
            let builder = SpanBuilder::from_name(format!("process {}", job.queue))
                .with_kind(SpanKind::Consumer)
                .with_attributes(attributes)
                .with_links(creator.into_iter().map(Link::with_context).collect());
            let tracer = global::tracer("steadfast-client");
            let span = tracer.build_with_context(builder, &Context::new());
            Self(Context::new().with_span(span))
        }

        /// The work of the attempt, in whose course the span is the current one.
        pub fn around<F: Future>(&self, work: F) -> impl Future<Output = F::Output> + use<F> {
            work.with_context(self.0.clone())
        }

        /// Ends it with the class of the failure, if the attempt failed.
        pub fn end(self, settlement: Option<&SettlementRequest>) {
            let span = self.0.span();
            let failure = settlement.and_then(|settlement| settlement.failure.as_ref());
            if let Some(class) = failure.and_then(|failure| failure.class.clone()) {
                span.set_attribute(KeyValue::new("error.type", class.clone()));
                span.set_status(Status::error(class));
            }
            span.end();
        }
    }

    /// The current span, as W3C Trace Context writes it.
    pub fn current_traceparent() -> Option<String> {
        let context = Context::current();
        let span = context.span();
        let span = span.span_context();
        let trace = u128::from_be_bytes(span.trace_id().to_bytes());
        let id = u64::from_be_bytes(span.span_id().to_bytes());
        let text = Traceparent::from_ids(trace, id, span.trace_flags().to_u8())?;
        Some(text.to_string())
    }

    fn span_context(traceparent: &str) -> Option<SpanContext> {
        let (trace, span, flags) = Traceparent::new(traceparent).ok()?.ids();
        Some(SpanContext::new(
            trace.into(),
            span.into(),
            TraceFlags::new(flags),
            true,
            TraceState::NONE,
        ))
    }
}
