//! Spans of attempts, with the SDK of OpenTelemetry. A program has one tracer provider, so this is a
//! program of its own.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../client/server.rs"]
mod server;

use opentelemetry::{
    Context as TraceContext, global,
    trace::{SpanKind, Status, TraceContextExt as _},
};
use opentelemetry_sdk::{
    error::OTelSdkResult,
    trace::{SdkTracerProvider, SpanData, SpanExporter},
};
use serde::{Deserialize, Serialize};
use steadfast_client::{Context, JobError, JobKind, api::CreateJobRequest};

use server::Server;
use tokio::sync::mpsc::{self, UnboundedSender};

const CREATING: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[derive(Debug)]
struct Exporter(UnboundedSender<SpanData>);

impl SpanExporter for Exporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        batch
            .into_iter()
            .for_each(|span| self.0.send(span).unwrap());
        Ok(())
    }
}

#[derive(Serialize, Deserialize)]
struct First;

impl JobKind for First {
    const KIND: &'static str = "traced-first";

    fn options() -> CreateJobRequest {
        CreateJobRequest {
            traceparent: Some(CREATING.to_owned()),
            ..CreateJobRequest::default()
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Second;

impl JobKind for Second {
    const KIND: &'static str = "traced-second";
}

#[tokio::test]
async fn a_handler_runs_in_a_span_that_is_linked_to_the_creating_span() {
    async fn first(_: First, ctx: Context) -> Result<(), JobError> {
        assert!(TraceContext::current().has_active_span());
        ctx.enqueue(&Second).await?;
        Ok(())
    }
    async fn second(_: Second, _: Context) -> Result<(), JobError> {
        Err(JobError::permanent("no"))
    }
    let (sender, mut spans) = mpsc::unbounded_channel();
    let provider = SdkTracerProvider::builder().with_simple_exporter(Exporter(sender));
    global::set_tracer_provider(provider.build());
    let server = Server::start().await;
    let client = server.client();
    let worker = client.worker().handler(first).handler(second);
    let worker = worker.start().unwrap();
    client.enqueue(&First).await.unwrap();
    let mut both = [spans.recv().await.unwrap(), spans.recv().await.unwrap()];
    // The second job may end before the one that creates it.
    both.sort_by_key(|span| span.start_time);
    let [first, second] = both;
    worker.stop().await.unwrap();
    assert_eq!(first.name, "process default");
    assert_eq!(first.span_kind, SpanKind::Consumer);
    let link = &first.links.links[0].span_context;
    assert_eq!(link.trace_id().to_string(), CREATING[3..35]);
    assert_ne!(first.span_context.trace_id(), link.trace_id());
    let text = |name: &str| {
        let pair = first.attributes.iter().find(|it| it.key.as_str() == name);
        pair.map(|pair| pair.value.to_string()).unwrap_or_default()
    };
    assert_eq!(text("messaging.system"), "steadfast");
    assert_eq!(text("messaging.operation.name"), "process");
    assert_eq!(text("messaging.destination.name"), "default");
    assert_eq!(text("steadfast.job.attempt"), "1");
    // What the handler creates carries its span.
    let link = &second.links.links[0].span_context;
    assert_eq!(link.span_id(), first.span_context.span_id());
    assert!(matches!(&second.status, Status::Error { .. }));
}
