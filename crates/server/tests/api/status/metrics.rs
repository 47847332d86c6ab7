//! Figures for those who watch.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use opentelemetry_proto::tonic::metrics::v1::{Metric, metric::Data, number_data_point::Value};
use serde_json::json;
use steadfast_server::{Settings, Telemetry};

use crate::{
    collector::{Collector, settings},
    server::{Server, Setup, until},
    target::Target,
};

/// The format of Prometheus before OpenMetrics, as its own tool reads it.
async fn check_text_format(server: &Server) {
    let accept = [("accept", "text/plain;version=0.0.4")];
    let reply = server.http.send("GET", "/metrics", &accept, "").await;
    let media = &reply.headers["content-type"];
    assert_eq!(media, "text/plain; version=0.0.4; charset=utf-8");
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = promtool.stdin.take().unwrap();
    stdin.write_all(reply.body.as_bytes()).unwrap();
    drop(stdin);
    let checked = promtool.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&checked.stderr);
    // 3 is a matter of taste, such as the names of units.
    assert!(matches!(checked.status.code(), Some(0 | 3)), "{err}");
    assert!(!err.contains("error while linting"), "{err}");
}

#[tokio::test]
async fn every_documented_metric_has_its_value() {
    let server = Server::start().await;
    let (good, bad) = (Target::failing(1).await, Target::always(500).await);
    let retry = json!({"baseDelay": 20, "maxRetries": 1});
    let saved = json!({"api": good.url(), "retry": retry});
    let saved = server.http.create_id(saved).await;
    let lost = json!({"api": bad.url(), "retry": retry});
    let lost = server.http.create_id(lost).await;
    server.http.wait_for_label(&saved, "succeeded").await;
    server.http.wait_for_label(&lost, "failed").await;

    let lane = r#"tenant="default",queue="default",kind="http""#;
    let figures = [
        format!("steadfast_retries_total{{{lane}}} 2"),
        format!("steadfast_retry_exhausted_total{{{lane}}} 1"),
        format!("steadfast_retry_latency_seconds_count{{{lane}}} 2"),
        format!(r#"steadfast_attempts_total{{{lane},outcome="success",class=""}} 1"#),
        format!(r#"steadfast_attempts_total{{{lane},outcome="failure",class="http"}} 3"#),
        format!("steadfast_attempt_duration_seconds_count{{{lane}}} 4"),
        format!("steadfast_start_lateness_seconds_count{{{lane}}} 4"),
        format!(r#"steadfast_jobs{{{lane},label="succeeded"}} 1"#),
        format!(r#"steadfast_jobs{{{lane},label="failed"}} 1"#),
        r#"steadfast_dlq_size{tenant="default"} 1"#.to_owned(),
        r#"steadfast_retry_rate{tenant="default"} 0.5"#.to_owned(),
        "steadfast_fence_lost_total 0".to_owned(),
        format!("steadfast_sent_jobs_total{{{lane}}} 2"),
        format!("steadfast_attempts_started_total{{{lane}}} 4"),
        r#"steadfast_operation_duration_seconds_count{operation="send"} 2"#.to_owned(),
        format!("steadfast_oldest_ready_seconds{{{lane}}} 0.0"),
        "steadfast_operations_open 0".to_owned(),
        "steadfast_failure_groups 2".to_owned(),
        format!(
            r#"steadfast_build_info{{version="{}"}} 1"#,
            env!("CARGO_PKG_VERSION")
        ),
    ];
    // Attempts are counted right after they are committed, not with it.
    let reply = until("all attempts to be counted", || async {
        let reply = server.http.get("/metrics").await;
        reply.body.contains(&figures[5]).then_some(reply)
    })
    .await;
    for figure in figures {
        let is_there = reply.body.lines().any(|line| line == figure);
        assert!(is_there, "{figure} is not in\n{}", reply.body);
    }
    assert!(reply.body.ends_with("# EOF\n"));
    let media = &reply.headers["content-type"];
    assert!(media.starts_with("application/openmetrics-text"), "{media}");
    check_text_format(&server).await;

    let stats = server.http.get("/api/v1/stats").await.is(200);
    assert_eq!(stats["totalRetries"], 2);
    assert_eq!(stats["successfulRetries"], 1);
    assert_eq!(stats["retrySuccessRate"], 0.5);
    assert_eq!(stats["retryRate"], 0.5);
    assert_eq!(stats["total"]["attempts"], 4);
    let minutes = server.http.get("/api/v1/stats/minutes").await.is(200);
    let attempts: u64 = minutes["minutes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|minute| minute["attempts"].as_u64().unwrap())
        .sum();
    assert_eq!(attempts, 4);
}

#[tokio::test]
async fn a_node_says_that_it_is_alive_and_ready() {
    let server = Server::start().await;
    let health = server.http.get("/healthz").await.is(200);
    assert_eq!(health["status"], "ok");
    assert!(health["node"].is_string() && health["version"].is_string());
    let ready = server.http.get("/readyz").await.is(200);
    assert_eq!(ready["status"], "ok");
    assert_eq!(ready["store"]["status"], "ok");
    let roles = ready["roles"].as_array().unwrap();
    for name in [
        "committer",
        "fetcher",
        "keeper",
        "sweeper",
        "schedule runner",
    ] {
        let role = roles.iter().find(|role| role["name"] == name).unwrap();
        assert_eq!(role["status"], "ok");
        assert!(role["lastGoodRoundMs"].is_u64());
    }
}

/// The sum of a counter over all labels.
fn sum(metric: &Metric) -> f64 {
    let Some(Data::Sum(sum)) = &metric.data else {
        panic!("{metric:?}");
    };
    let points = sum.data_points.iter().map(|point| match point.value {
        Some(Value::AsDouble(number)) => number,
        other => panic!("{other:?}"),
    });
    points.sum()
}

fn count(metric: &Metric) -> u64 {
    let Some(Data::Histogram(histogram)) = &metric.data else {
        panic!("{metric:?}");
    };
    histogram.data_points.iter().map(|point| point.count).sum()
}

/// A collector, and a server that pushes metrics to it this often, in milliseconds.
async fn pushing_server(protocol: &str, interval: &str) -> (Collector, Server) {
    let (collector, address) = Collector::over(protocol).await;
    let telemetry = Telemetry::start(&settings(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &format!("http://{address}")),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
        ("OTEL_TRACES_EXPORTER", "none"),
        ("OTEL_METRICS_EXPORTER", "otlp"),
        ("OTEL_METRIC_EXPORT_INTERVAL", interval),
    ]));
    let telemetry = telemetry.unwrap().unwrap();
    assert!(telemetry.tracer().is_none());
    let server = Server::with(Setup {
        settings: Settings {
            metrics_push: telemetry.metrics_push(),
            ..Settings::default()
        },
        ..Setup::default()
    });
    (collector, server.await)
}

#[tokio::test]
async fn a_collector_receives_the_same_metrics_over_http_and_grpc() {
    for protocol in ["http/protobuf", "grpc"] {
        let (collector, server) = pushing_server(protocol, "100").await;
        server.http.create_id(json!({"kind": "mail"})).await;
        let claim = server.http.claim("mail", "20s").await.remove(0);
        server
            .http
            .report(&claim, "succeed", json!({}))
            .await
            .is(200);
        let find = |name: &str| {
            let mut metrics = collector.metrics().into_iter();
            metrics.find(|metric| metric.name == name)
        };
        // The time of a request is known after its attempt.
        until("the attempt to be pushed", || async {
            let duration = find("messaging.process.duration")?;
            let operations = find("messaging.client.operation.duration")?;
            (count(&duration) == 1 && count(&operations) == 3).then_some(())
        })
        .await;
        assert_eq!(sum(&find("messaging.client.sent.messages").unwrap()), 1.0);
        assert_eq!(
            sum(&find("messaging.client.consumed.messages").unwrap()),
            1.0
        );
        let operations = find("messaging.client.operation.duration").unwrap();
        assert_eq!((count(&operations), operations.unit.as_str()), (3, "s"));
        assert!(find("steadfast.jobs").is_some());
        let scraped = server.http.get("/metrics").await.body;
        let families = scraped.lines().filter(|line| line.starts_with("# TYPE "));
        assert_eq!(families.count(), collector.metrics().len());
        server.stop().await;
    }
}

#[tokio::test]
async fn metrics_are_pushed_once_more_when_the_node_stops() {
    let (collector, server) = pushing_server("http/protobuf", "3600000").await;
    server.http.create_id(json!({"kind": "mail"})).await;
    assert!(collector.metrics().is_empty());
    server.stop().await;
    let metrics = collector.metrics();
    let sent = metrics.iter();
    let sent: Vec<_> = sent
        .filter(|it| it.name == "messaging.client.sent.messages")
        .collect();
    assert_eq!(sum(sent[0]), 1.0);
}
