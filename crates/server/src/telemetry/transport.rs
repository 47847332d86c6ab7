//! Requests to the collector: gRPC, or Protocol Buffers over HTTP.

use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, Method, Request, Uri, header::CONTENT_TYPE};
use bytes::Bytes;
use http_body_util::Full;
use opentelemetry_proto::tonic::collector::{
    metrics::v1::{ExportMetricsServiceRequest, metrics_service_client::MetricsServiceClient},
    trace::v1::{ExportTraceServiceRequest, trace_service_client::TraceServiceClient},
};
use prost::Message;
use steadfast_core::Invalid;
use steadfast_engine::http::{AddressPolicy, Outbound, OutboundRules};
use tonic::{
    metadata::{MetadataMap, MetadataValue},
    transport::{Certificate, Channel, ClientTlsConfig, Endpoint},
};

use super::settings::{Protocol, Target};

/// A connection to a collector, which is opened with the first request.
#[derive(Clone)]
pub struct Transport {
    wire: Wire,
    endpoint: Uri,
    headers: Vec<(HeaderName, HeaderValue)>,
    timeout: Duration,
}

#[derive(Clone)]
enum Wire {
    Grpc(Channel),
    Http(Outbound),
}

impl Transport {
    pub fn new(target: &Target) -> Result<Self, Invalid> {
        let wire = match target.protocol {
            Protocol::Grpc => Wire::Grpc(channel(target)?),
            Protocol::Http => Wire::Http(outbound(target)?),
        };
        Ok(Self {
            wire,
            endpoint: target.endpoint.clone(),
            headers: target.headers.clone(),
            timeout: target.timeout,
        })
    }

    pub fn endpoint(&self) -> &Uri {
        &self.endpoint
    }

    /// Sends spans; an error says why they did not arrive.
    pub async fn send_traces(&self, request: ExportTraceServiceRequest) -> Result<(), String> {
        match &self.wire {
            Wire::Http(outbound) => self.post(outbound, request.encode_to_vec()).await,
            Wire::Grpc(channel) => {
                let request = self.grpc_request(request);
                let mut client = TraceServiceClient::new(channel.clone());
                self.in_time(client.export(request)).await
            }
        }
    }

    /// The same for metrics.
    pub async fn send_metrics(&self, request: ExportMetricsServiceRequest) -> Result<(), String> {
        match &self.wire {
            Wire::Http(outbound) => self.post(outbound, request.encode_to_vec()).await,
            Wire::Grpc(channel) => {
                let request = self.grpc_request(request);
                let mut client = MetricsServiceClient::new(channel.clone());
                self.in_time(client.export(request)).await
            }
        }
    }

    async fn post(&self, outbound: &Outbound, body: Vec<u8>) -> Result<(), String> {
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.endpoint.clone();
        let headers = request.headers_mut();
        for (name, value) in &self.headers {
            headers.insert(name, value.clone());
        }
        let protobuf = HeaderValue::from_static("application/x-protobuf");
        headers.insert(CONTENT_TYPE, protobuf);
        let response = outbound.call(request, self.timeout, false).await;
        let response = response.map_err(|failure| failure.message)?;
        if response.status.is_success() {
            return Ok(());
        }
        Err(format!("status {}", response.status))
    }

    fn grpc_request<M>(&self, message: M) -> tonic::Request<M> {
        let mut metadata = MetadataMap::from_headers(self.headers.iter().cloned().collect());
        let agent = concat!("steadfast/", env!("CARGO_PKG_VERSION"));
        metadata.insert("user-agent", MetadataValue::from_static(agent));
        let mut request = tonic::Request::new(message);
        *request.metadata_mut() = metadata;
        request
    }

    async fn in_time<T>(
        &self,
        call: impl Future<Output = Result<T, tonic::Status>>,
    ) -> Result<(), String> {
        match tokio::time::timeout(self.timeout, call).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(status)) => Err(format!("{}: {}", status.code(), status.message())),
            Err(_) => Err("no response in time".to_owned()),
        }
    }
}

/// The collector is named by the operator, so any address is allowed.
fn outbound(target: &Target) -> Result<Outbound, Invalid> {
    let builder = Outbound::builder(OutboundRules::new(AddressPolicy::Any));
    match &target.certificate {
        Some(pem) => builder.trust(pem.clone()).build(),
        None => builder.build(),
    }
}

fn channel(target: &Target) -> Result<Channel, Invalid> {
    let invalid = |error: tonic::transport::Error| {
        let endpoint = target.endpoint.to_string();
        Invalid::new("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint, error.to_string())
    };
    let mut endpoint = Endpoint::from(target.endpoint.clone()).connect_timeout(target.timeout);
    if target.endpoint.scheme_str() == Some("https") {
        let mut tls = ClientTlsConfig::new().with_enabled_roots();
        if let Some(pem) = &target.certificate {
            tls = tls.ca_certificate(Certificate::from_pem(pem));
        }
        endpoint = endpoint.tls_config(tls).map_err(invalid)?;
    }
    Ok(endpoint.connect_lazy())
}
