//! A collector of OpenTelemetry that keeps what it is sent, over gRPC or over HTTP.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{Router, body::Bytes, extract::State, http::HeaderMap, routing::post};
use opentelemetry_proto::tonic::{
    collector::{
        metrics::v1::{
            ExportMetricsServiceRequest, ExportMetricsServiceResponse,
            metrics_service_server::{MetricsService, MetricsServiceServer},
        },
        trace::v1::{
            ExportTraceServiceRequest, ExportTraceServiceResponse,
            trace_service_server::{TraceService, TraceServiceServer},
        },
    },
    common::v1::{AnyValue, KeyValue, any_value::Value},
    metrics::v1::Metric,
    trace::v1::{Span, span::SpanKind},
};
use prost::Message as _;
use steadfast_server::TelemetrySettings;
use tokio::net::TcpListener;
use tonic::transport::{Identity, Server as GrpcServer, ServerTlsConfig, server::TcpIncoming};

#[derive(Clone, Default)]
pub struct Collector {
    received: Arc<Mutex<Received>>,
}

#[derive(Default)]
struct Received {
    traces: Vec<ExportTraceServiceRequest>,
    metrics: Vec<ExportMetricsServiceRequest>,
    headers: Vec<HeaderMap>,
}

/// A span with its attributes as text.
#[derive(Clone, Debug)]
pub struct SeenSpan {
    pub name: String,
    pub kind: SpanKind,
    pub trace: String,
    pub id: String,
    pub parent: String,
    /// The traces and spans that it is linked to.
    pub links: Vec<(String, String)>,
    pub is_error: bool,
    pub attributes: BTreeMap<String, String>,
    pub nanos: (u64, u64),
}

impl SeenSpan {
    pub fn get(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }

    /// As it is passed on to others.
    pub fn traceparent(&self) -> String {
        format!("00-{}-{}-01", self.trace, self.id)
    }
}

impl Collector {
    pub async fn over_http() -> (Self, SocketAddr) {
        async fn take(State(collector): State<Collector>, headers: HeaderMap, body: Bytes) {
            let request = ExportTraceServiceRequest::decode(body).unwrap();
            collector.keep(headers, request);
        }
        async fn take_metrics(State(collector): State<Collector>, body: Bytes) {
            let request = ExportMetricsServiceRequest::decode(body).unwrap();
            collector.received.lock().unwrap().metrics.push(request);
        }
        let collector = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new()
            .route("/v1/traces", post(take))
            .route("/v1/metrics", post(take_metrics));
        let router = router.with_state(collector.clone());
        tokio::spawn(axum_serve(listener, router));
        (collector, address)
    }

    pub async fn over_grpc(identity: Option<Identity>) -> (Self, SocketAddr) {
        let collector = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut server = GrpcServer::builder();
        if let Some(identity) = identity {
            let tls = ServerTlsConfig::new().identity(identity);
            server = server.tls_config(tls).unwrap();
        }
        let server = server
            .add_service(TraceServiceServer::new(collector.clone()))
            .add_service(MetricsServiceServer::new(collector.clone()));
        tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
        (collector, address)
    }

    fn keep(&self, headers: HeaderMap, request: ExportTraceServiceRequest) {
        let mut received = self.received.lock().unwrap();
        received.headers.push(headers);
        received.traces.push(request);
    }

    /// All spans, in the order in which they began.
    pub fn spans(&self) -> Vec<SeenSpan> {
        let received = self.received.lock().unwrap();
        let resources = received.traces.iter().flat_map(|it| &it.resource_spans);
        let spans = resources.flat_map(|it| &it.scope_spans);
        let spans = spans.flat_map(|it| &it.spans);
        let mut spans: Vec<SeenSpan> = spans.map(seen).collect();
        spans.sort_by_key(|span| span.nanos);
        spans
    }

    pub fn named(&self, name: &str) -> Vec<SeenSpan> {
        let mut spans = self.spans();
        spans.retain(|span| span.name == name);
        spans
    }

    /// The metrics of the last push.
    pub fn metrics(&self) -> Vec<Metric> {
        let received = self.received.lock().unwrap();
        let resources = received.metrics.last().into_iter();
        let resources = resources.flat_map(|it| &it.resource_metrics);
        let metrics = resources.flat_map(|it| &it.scope_metrics);
        metrics.flat_map(|it| it.metrics.clone()).collect()
    }

    pub fn resource(&self) -> BTreeMap<String, String> {
        let received = self.received.lock().unwrap();
        let resource = received.traces[0].resource_spans[0].resource.clone();
        texts(&resource.unwrap().attributes)
    }

    /// A header of the first request.
    pub fn header(&self, name: &str) -> String {
        let received = self.received.lock().unwrap();
        let value = received.headers[0].get(name).unwrap();
        value.to_str().unwrap().to_owned()
    }
}

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: tonic::Request<ExportTraceServiceRequest>,
    ) -> Result<tonic::Response<ExportTraceServiceResponse>, tonic::Status> {
        let headers = request.metadata().clone().into_headers();
        self.keep(headers, request.into_inner());
        Ok(tonic::Response::new(ExportTraceServiceResponse::default()))
    }
}

#[tonic::async_trait]
impl MetricsService for Collector {
    async fn export(
        &self,
        request: tonic::Request<ExportMetricsServiceRequest>,
    ) -> Result<tonic::Response<ExportMetricsServiceResponse>, tonic::Status> {
        let request = request.into_inner();
        self.received.lock().unwrap().metrics.push(request);
        Ok(tonic::Response::new(ExportMetricsServiceResponse::default()))
    }
}

async fn axum_serve(listener: TcpListener, router: Router) {
    axum::serve(listener, router).await.unwrap();
}

fn seen(span: &Span) -> SeenSpan {
    let links = span.links.iter();
    SeenSpan {
        name: span.name.clone(),
        kind: span.kind(),
        trace: hex(&span.trace_id),
        id: hex(&span.span_id),
        parent: hex(&span.parent_span_id),
        links: links
            .map(|link| (hex(&link.trace_id), hex(&link.span_id)))
            .collect(),
        // The code of an error.
        is_error: span.status.as_ref().is_some_and(|status| status.code == 2),
        attributes: texts(&span.attributes),
        nanos: (span.start_time_unix_nano, span.end_time_unix_nano),
    }
}

fn texts(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |value: &AnyValue| match value.value.as_ref().unwrap() {
        Value::StringValue(text) => text.clone(),
        Value::IntValue(number) => number.to_string(),
        Value::DoubleValue(number) => number.to_string(),
        other => format!("{other:?}"),
    };
    let pairs = attributes.iter();
    pairs
        .map(|pair| (pair.key.clone(), text(pair.value.as_ref().unwrap())))
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Settings with these variables and no others.
pub fn settings(variables: &[(&str, &str)]) -> TelemetrySettings {
    let variables: BTreeMap<String, String> = variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    TelemetrySettings {
        variable: Arc::new(move |name| variables.get(name).cloned()),
        ..TelemetrySettings::default()
    }
}
