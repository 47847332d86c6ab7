//! Spans of OpenTelemetry, for people who follow a job through several systems.
//!
//! The rest of the engine makes one call where a span begins and one where it ends. Without a tracer
//! each of them is a branch. An attempt is a trace of its own, because it may start days after its
//! job was created, and is linked to the span that created the job. All times are the store's, so
//! that spans of several nodes fit together.
//!
//! Spans leave the system, so they contain what a key of scope `read` sees: neither payloads nor
//! messages of failures.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use opentelemetry::{
    Context, KeyValue,
    global::{BoxedSpan, BoxedTracer},
    trace::{
        Link, Span as _, SpanBuilder, SpanContext, SpanKind, Status, TraceContextExt as _,
        TraceFlags, TraceState, Tracer as _,
    },
};
use steadfast_core::{
    EndedAttempt, Job, JobId, Kind, NewJob, Outcome, Queue, Tenant, Timestamp, Traceparent,
    Transition,
};
use steadfast_store::{EnqueueError, EnqueueResult};

/// Where spans go; by default nowhere.
#[derive(Clone, Default)]
pub struct Traces(Option<Arc<BoxedTracer>>);

/// The spans of jobs that are being created, one per job; none without a tracer.
#[must_use]
pub struct SendSpans(Vec<BoxedSpan>);

/// The span of an attempt, or of a worker's report of its end.
pub struct AttemptSpan(Context);

impl Traces {
    pub fn new(tracer: BoxedTracer) -> Self {
        Self(Some(Arc::new(tracer)))
    }

    /// Begins the spans of jobs that are about to be stored. Each job takes its span along, as the
    /// span that created it. The parent is the trace of the request, or else that of the running
    /// handler.
    pub fn send(&self, jobs: &mut [NewJob], now: impl FnOnce() -> Timestamp) -> SendSpans {
        let Some(tracer) = &self.0 else {
            return SendSpans(Vec::new());
        };
        let now = system_time(now());
        let spans = jobs.iter_mut().map(|job| {
            let parent = match job.traceparent() {
                Some(parent) => Context::new().with_remote_span_context(span_context(parent)),
                None => Context::current(),
            };
            let builder = SpanBuilder::from_name("send")
                .with_kind(SpanKind::Producer)
                .with_start_time(now);
            let mut span = tracer.build_with_context(builder, &parent);
            if span.is_recording() {
                describe(&mut span, "send", &job.queue, &job.kind, &job.tenant);
            }
            if let Some(own) = traceparent(span.span_context()) {
                job.set_traceparent(own);
            }
            span
        });
        SendSpans(spans.collect())
    }

    /// Begins the span of an attempt on this node.
    pub fn process(&self, job: &Job) -> Option<AttemptSpan> {
        let started_at = job.progress.started_at.unwrap_or(job.progress.run_at);
        self.attempt_span("process", SpanKind::Consumer, job, started_at)
    }

    /// Begins the span of a worker's report of the end of an attempt.
    pub fn settle(&self, job: &Job, now: Timestamp) -> Option<AttemptSpan> {
        self.attempt_span("settle", SpanKind::Client, job, now)
    }

    /// Ends the span of an attempt whose end is committed. An attempt that was lost with its node or
    /// worker has none, and gets one now.
    pub fn ended(
        &self,
        span: Option<&AttemptSpan>,
        ended: &EndedAttempt,
        transition: Option<&Transition>,
        at: Timestamp,
    ) {
        if self.0.is_none() {
            return;
        }
        match (span, ended.outcome()) {
            (Some(span), _) => span.end(transition, at),
            (None, Outcome::Lost) => {
                if let Some(span) = self.process(ended.job()) {
                    span.end(transition, at);
                }
            }
            (None, _) => {}
        }
    }

    /// Begins the span of a request to another system, as part of the attempt that makes it.
    #[cfg(feature = "http")]
    pub fn call(
        &self,
        attempt: Option<&AttemptSpan>,
        now: impl FnOnce() -> Timestamp,
    ) -> Option<BoxedSpan> {
        let (tracer, attempt) = (self.0.as_ref()?, attempt?);
        let builder = SpanBuilder::from_name("HTTP")
            .with_kind(SpanKind::Client)
            .with_start_time(system_time(now()));
        Some(tracer.build_with_context(builder, &attempt.0))
    }

    fn attempt_span(
        &self,
        operation: &'static str,
        kind: SpanKind,
        job: &Job,
        start: Timestamp,
    ) -> Option<AttemptSpan> {
        let tracer = self.0.as_ref()?;
        let creator = job.traceparent.as_ref().map(span_context);
        let links = creator.into_iter().map(Link::with_context).collect();
        let builder = SpanBuilder::from_name(operation)
            .with_kind(kind)
            .with_start_time(system_time(start))
            .with_links(links);
        // A span of the program that runs this engine is no parent: the trace begins here.
        let mut span = tracer.build_with_context(builder, &Context::new());
        if span.is_recording() {
            describe(&mut span, operation, &job.queue, &job.kind, &job.tenant);
            let attempt = i64::from(job.progress.attempt);
            span.set_attribute(KeyValue::new("steadfast.job.attempt", attempt));
            span.set_attribute(message_id(job.id));
            if let Some(worker) = &job.progress.worker {
                span.set_attribute(KeyValue::new("messaging.client.id", worker.to_string()));
            }
        }
        Some(AttemptSpan(Context::new().with_span(span)))
    }
}

impl SendSpans {
    pub fn end(
        self,
        results: Result<&[EnqueueResult], &EnqueueError>,
        now: impl Fn() -> Timestamp,
    ) {
        for (index, mut span) in self.0.into_iter().enumerate() {
            // Most are not, where a part of all traces is kept.
            if !span.is_recording() {
                continue;
            }
            match results {
                Ok(results) => {
                    if let Some(result) = results.get(index) {
                        span.set_attribute(message_id(result.id()));
                    }
                }
                Err(EnqueueError::Store(_)) => set_error(&mut span, "store"),
                Err(_) => set_error(&mut span, "refused"),
            }
            span.end_with_timestamp(system_time(now()));
        }
    }
}

impl AttemptSpan {
    /// The trace of the attempt, for what it starts.
    pub fn context(&self) -> &Context {
        &self.0
    }

    /// The same, as it is passed on to others.
    pub fn traceparent(&self) -> Option<Traceparent> {
        traceparent(self.0.span().span_context())
    }

    /// Ends the span of an attempt whose claim had expired.
    pub fn end_stale(&self, now: Timestamp) {
        let span = self.0.span();
        span.set_attribute(KeyValue::new("error.type", "fence_lost"));
        span.set_status(Status::error("fence_lost"));
        span.end_with_timestamp(system_time(now));
    }

    fn end(&self, transition: Option<&Transition>, at: Timestamp) {
        let span = self.0.span();
        let record = transition.and_then(|transition| transition.record.as_ref());
        if let Some(record) = record.filter(|_| span.is_recording()) {
            if let Some(failure) = &record.failure {
                let class = failure.class.as_str().to_owned();
                span.set_attribute(KeyValue::new("error.type", class.clone()));
                span.set_status(Status::error(class));
            }
            if let Some(decision) = &record.decision {
                let rule = decision.decided_by.as_str();
                span.set_attribute(KeyValue::new("steadfast.decision.rule", rule));
                if let Some(delay) = &decision.delay {
                    let seconds = delay.jittered.as_secs_f64();
                    span.set_attribute(KeyValue::new("steadfast.decision.delay", seconds));
                }
            }
        }
        span.end_with_timestamp(system_time(at));
    }
}

/// Name and attributes that every span of a job has.
fn describe(
    span: &mut BoxedSpan,
    operation: &'static str,
    queue: &Queue,
    kind: &Kind,
    tenant: &Tenant,
) {
    span.update_name(format!("{operation} {queue}"));
    span.set_attributes([
        KeyValue::new("messaging.system", "steadfast"),
        KeyValue::new("messaging.operation.name", operation),
        KeyValue::new("messaging.operation.type", operation),
        KeyValue::new("messaging.destination.name", queue.to_string()),
        KeyValue::new("steadfast.job.kind", kind.to_string()),
        KeyValue::new("steadfast.job.tenant", tenant.to_string()),
    ]);
}

fn message_id(job: JobId) -> KeyValue {
    KeyValue::new("messaging.message.id", job.to_string())
}

/// Marks a span as failed.
pub fn set_error(span: &mut BoxedSpan, class: &'static str) {
    span.set_attribute(KeyValue::new("error.type", class));
    span.set_status(Status::error(class));
}

/// A span in the form in which it is passed on to others.
pub fn traceparent(context: &SpanContext) -> Option<Traceparent> {
    let trace = u128::from_be_bytes(context.trace_id().to_bytes());
    let span = u64::from_be_bytes(context.span_id().to_bytes());
    Traceparent::from_ids(trace, span, context.trace_flags().to_u8())
}

fn span_context(traceparent: &Traceparent) -> SpanContext {
    let (trace, span, flags) = traceparent.ids();
    SpanContext::new(
        trace.into(),
        span.into(),
        TraceFlags::new(flags),
        true,
        TraceState::NONE,
    )
}

/// The store's time in the form that spans have.
pub fn system_time(time: Timestamp) -> SystemTime {
    let micros = u64::try_from(time.as_micros()).unwrap_or_default();
    SystemTime::UNIX_EPOCH + Duration::from_micros(micros)
}
