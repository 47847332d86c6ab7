//! Which traces are kept, and how their spans leave.

use std::{fmt, sync::Arc};

use opentelemetry::{
    Context, KeyValue,
    trace::{Link, SpanKind, TraceContextExt as _, TraceId, TraceState},
};
use opentelemetry_proto::{
    tonic::collector::trace::v1::ExportTraceServiceRequest,
    transform::{
        common::tonic::ResourceAttributesWithSchema,
        trace::tonic::group_spans_by_resource_and_scope,
    },
};
use opentelemetry_sdk::{
    Resource,
    error::{OTelSdkError, OTelSdkResult},
    trace::{
        SamplingDecision, SamplingResult, SdkTracerProvider, ShouldSample, SpanData, SpanExporter,
    },
};
use steadfast_core::Invalid;
use tokio::runtime::Handle;

use super::{
    reach::Reach,
    settings::{OtlpConfig, Target, TraceSampler},
    transport::Transport,
};

/// Makes tracers whose spans go to a collector, in batches and from a thread of their own.
pub fn provider(
    settings: &OtlpConfig,
    target: &Target,
    runtime: Handle,
) -> Result<SdkTracerProvider, Invalid> {
    let exporter = Exporter {
        transport: Arc::new(Transport::new(target)?),
        runtime,
        resource: ResourceAttributesWithSchema::default(),
        reach: Reach::default(),
    };
    Ok(SdkTracerProvider::builder()
        .with_sampler(settings.sampler.clone())
        .with_resource(settings.resource.clone())
        .with_batch_exporter(exporter)
        .build())
}

/// Sends batches of spans. The thread that calls it has no runtime, so the request is made on ours.
struct Exporter {
    transport: Arc<Transport>,
    runtime: Handle,
    resource: ResourceAttributesWithSchema,
    reach: Reach,
}

impl fmt::Debug for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Exporter({})", self.transport.endpoint())
    }
}

impl SpanExporter for Exporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let request = ExportTraceServiceRequest {
            resource_spans: group_spans_by_resource_and_scope(batch, &self.resource),
        };
        let transport = self.transport.clone();
        let sent = self
            .runtime
            .spawn(async move { transport.send_traces(request).await });
        let result = sent.await.unwrap_or_else(|error| Err(error.to_string()));
        self.reach
            .note("traces", self.transport.endpoint(), &result);
        result.map_err(OTelSdkError::InternalFailure)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.resource = resource.into();
    }
}

/// An attempt is a trace of its own. If the sampler lets parents decide, the span that created the
/// job decides for its attempts, so that the traces of a job are kept together or not at all.
impl ShouldSample for TraceSampler {
    fn should_sample(
        &self,
        parent: Option<&Context>,
        trace: TraceId,
        name: &str,
        kind: &SpanKind,
        attributes: &[KeyValue],
        links: &[Link],
    ) -> SamplingResult {
        let has_parent = parent.is_some_and(Context::has_active_span);
        let creator = links
            .first()
            .filter(|_| self.follows_creator && !has_parent);
        let Some(creator) = creator else {
            let sampler = &self.sampler;
            return sampler.should_sample(parent, trace, name, kind, attributes, links);
        };
        SamplingResult {
            decision: match creator.span_context.is_sampled() {
                true => SamplingDecision::RecordAndSample,
                false => SamplingDecision::Drop,
            },
            attributes: Vec::new(),
            trace_state: TraceState::NONE,
        }
    }
}
