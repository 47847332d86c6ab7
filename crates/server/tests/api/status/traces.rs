//! Traces as a collector receives them, over gRPC and over HTTP.

use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use serde_json::json;
use steadfast_server::Telemetry;
use tonic::transport::Identity;

use crate::{
    collector::{Collector, SeenSpan, settings},
    server::{Server, Setup},
    target::{Target, says},
};

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

async fn traced_server(telemetry: &Telemetry) -> Server {
    Server::with(Setup {
        tracer: telemetry.tracer(),
        ..Setup::default()
    })
    .await
}

/// An HTTP job that fails once, and a worker's job that fails for good.
async fn run_jobs(server: &Server) -> Vec<String> {
    let target = Target::start(|number| says(if number == 0 { 503 } else { 200 })).await;
    let job = server.http.create_id(json!({
        "http": {"url": target.url(), "method": "POST"}, "queue": "calls",
        "traceparent": PARENT,
        "retry": {"maxRetries": 1, "backoff": "fixed", "baseDelay": "10ms", "jitter": "none"},
    }));
    server.http.wait_for_label(&job.await, "succeeded").await;
    let job = json!({"kind": "mail", "queue": "mails", "maxRetries": 0});
    server.http.create_id(job).await;
    let claim = server.http.claim("mail", "20s").await.remove(0);
    let failure = json!({"failure": {"class": "SmtpError", "message": "full"}});
    server.http.report(&claim, "fail", failure).await.is(200);
    let requests = target.seen().into_iter();
    requests
        .map(|it| it.headers["traceparent"].clone())
        .collect()
}

fn check_message(span: &SeenSpan, operation: &str, queue: &str, kind: &str) {
    assert_eq!(span.name, format!("{operation} {queue}"));
    for (name, expected) in [
        ("messaging.system", "steadfast"),
        ("messaging.operation.name", operation),
        ("messaging.operation.type", operation),
        ("messaging.destination.name", queue),
        ("steadfast.job.kind", kind),
        ("steadfast.job.tenant", "default"),
    ] {
        assert_eq!(span.get(name), expected, "{name} of {span:?}");
    }
    assert!(span.get("messaging.message.id").starts_with("job_"));
}

/// From the create over each attempt to each request.
fn check_http_job(collector: &Collector, received: &[String]) {
    let sent = collector.named("send calls").remove(0);
    check_message(&sent, "send", "calls", "http");
    assert_eq!(sent.kind, SpanKind::Producer);
    assert_eq!(
        (sent.trace.as_str(), sent.parent.as_str()),
        (&PARENT[3..35], &PARENT[36..52])
    );
    let attempts = collector.named("process calls");
    assert_eq!(attempts.len(), 2);
    let requests = collector.named("POST");
    for (index, (attempt, request)) in attempts.iter().zip(&requests).enumerate() {
        check_message(attempt, "process", "calls", "http");
        assert_eq!(attempt.kind, SpanKind::Consumer);
        assert_eq!(
            attempt.get("messaging.message.id"),
            sent.get("messaging.message.id")
        );
        assert_eq!(
            attempt.get("steadfast.job.attempt"),
            (index + 1).to_string()
        );
        assert!(!attempt.get("messaging.client.id").is_empty());
        // A trace of its own, linked to the span that created the job.
        assert_eq!(attempt.parent, "");
        assert_ne!(attempt.trace, sent.trace);
        assert_eq!(attempt.links, [(sent.trace.clone(), sent.id.clone())]);
        assert_eq!(request.kind, SpanKind::Client);
        assert_eq!(
            (&request.trace, &request.parent),
            (&attempt.trace, &attempt.id)
        );
        assert_eq!(request.get("server.address"), "127.0.0.1");
        assert!(!request.get("url.full").contains("hook"), "{request:?}");
        assert_eq!(received[index], request.traceparent());
    }
    assert_ne!(attempts[0].trace, attempts[1].trace);
    assert_eq!(requests[0].get("http.response.status_code"), "503");
    assert_eq!(requests[0].get("http.request.resend_count"), "");
    assert!(requests[0].is_error && attempts[0].is_error);
    assert_eq!(attempts[0].get("error.type"), requests[0].get("error.type"));
    assert_eq!(attempts[0].get("error.type"), "http");
    assert_eq!(attempts[0].get("steadfast.decision.rule"), "policy");
    assert_eq!(attempts[0].get("steadfast.decision.delay"), "0.01");
    assert_eq!(requests[1].get("http.response.status_code"), "200");
    assert_eq!(requests[1].get("http.request.resend_count"), "1");
    assert!(!requests[1].is_error && !attempts[1].is_error);
}

fn check_worker_job(collector: &Collector) {
    let sent = collector.named("send mails").remove(0);
    check_message(&sent, "send", "mails", "mail");
    assert_eq!(sent.parent, "");
    let settled = collector.named("settle mails").remove(0);
    check_message(&settled, "settle", "mails", "mail");
    assert_eq!(settled.kind, SpanKind::Client);
    assert_eq!(settled.links, [(sent.trace, sent.id)]);
    assert_eq!(settled.get("messaging.client.id"), "w1");
    assert_eq!(settled.get("error.type"), "SmtpError");
    assert_eq!(settled.get("steadfast.decision.rule"), "exhausted");
    assert!(settled.is_error);
}

#[tokio::test]
async fn a_collector_receives_the_story_of_jobs_over_http_and_grpc() {
    for protocol in ["http/protobuf", "grpc"] {
        let (collector, address) = match protocol {
            "grpc" => Collector::over_grpc(None).await,
            _ => Collector::over_http().await,
        };
        let endpoint = format!("http://{address}");
        let telemetry = Telemetry::start(&settings(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc"),
            ("OTEL_SERVICE_NAME", "jobs"),
        ]));
        let telemetry = telemetry.unwrap().unwrap();
        let server = traced_server(&telemetry).await;
        let received = run_jobs(&server).await;
        server.stop().await;
        telemetry.stop().await;
        check_http_job(&collector, &received);
        check_worker_job(&collector);
        assert_eq!(collector.resource()["service.name"], "jobs");
        assert_eq!(collector.header("authorization"), "Bearer abc");
    }
}

#[tokio::test]
async fn a_collector_behind_tls_is_trusted_by_its_certificate() {
    let signed = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let pem = signed.cert.pem();
    let identity = Identity::from_pem(&pem, signed.signing_key.serialize_pem());
    let (collector, address) = Collector::over_grpc(Some(identity)).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pem).unwrap();
    let endpoint = format!("https://localhost:{}", address.port());
    let telemetry = Telemetry::start(&settings(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        (
            "OTEL_EXPORTER_OTLP_CERTIFICATE",
            file.path().to_str().unwrap(),
        ),
    ]));
    let telemetry = telemetry.unwrap().unwrap();
    let server = traced_server(&telemetry).await;
    server.http.create_id(json!({"kind": "mail"})).await;
    server.stop().await;
    telemetry.stop().await;
    assert_eq!(collector.named("send default").len(), 1);
}

#[tokio::test]
async fn the_traces_of_a_job_are_kept_together_or_not_at_all() {
    let (collector, address) = Collector::over_http().await;
    let endpoint = format!("http://{address}");
    let telemetry = Telemetry::start(&settings(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint),
        ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"),
        ("OTEL_TRACES_SAMPLER_ARG", "0"),
    ]));
    let telemetry = telemetry.unwrap().unwrap();
    let server = traced_server(&telemetry).await;
    let unsampled = server.http.create(json!({"kind": "mail"})).await;
    let trace = unsampled["traceparent"].as_str().unwrap();
    assert!(trace.ends_with("-00"), "{trace}");
    let sampled = json!({"kind": "mail", "traceparent": PARENT});
    server.http.create(sampled).await;
    for claim in server.http.claim("mail", "20s").await {
        server
            .http
            .report(&claim, "succeed", json!({}))
            .await
            .is(200);
    }
    server.stop().await;
    telemetry.stop().await;
    let names: Vec<String> = collector.spans().into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["send default", "settle default"]);
}

#[tokio::test]
async fn an_attempt_that_was_lost_with_its_worker_leaves_a_span() {
    let (collector, address) = Collector::over_http().await;
    let endpoint = format!("http://{address}");
    let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str())];
    let telemetry = Telemetry::start(&settings(&variables)).unwrap().unwrap();
    let server = traced_server(&telemetry).await;
    let id = server
        .http
        .create_id(json!({"kind": "mail", "maxRetries": 0}));
    let id = id.await;
    let claim = json!({"worker": "w1", "kinds": ["mail"], "wait": "20s", "lease": "1s"});
    server.http.post("/api/v1/claims", claim).await.is(200);
    server.http.wait_for_label(&id, "failed").await;
    server.stop().await;
    telemetry.stop().await;
    let lost = collector.named("process default").remove(0);
    check_message(&lost, "process", "default", "mail");
    assert_eq!(lost.get("error.type"), "lost");
    assert_eq!(lost.get("messaging.client.id"), "w1");
    assert_eq!(lost.links.len(), 1);
}

#[tokio::test]
async fn a_collector_that_is_away_harms_nothing() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    for protocol in ["http/protobuf", "grpc"] {
        let variables = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
        ];
        let telemetry = Telemetry::start(&settings(&variables)).unwrap().unwrap();
        let server = traced_server(&telemetry).await;
        // More than the queue of the exporter holds.
        let jobs: Vec<_> = (0..1_000).map(|_| json!({"kind": "mail"})).collect();
        for _ in 0..3 {
            let body = json!({"jobs": jobs});
            server.http.post("/api/v1/jobs", body).await.is(201);
        }
        let claims = server.http.claim("mail", "20s").await;
        assert!(!claims.is_empty());
        server.stop().await;
        telemetry.stop().await;
    }
}
