//! Traces and metrics over OTLP, the protocol of OpenTelemetry. Off unless a collector is named.
//!
//! * `settings`: the environment variables that every program with OpenTelemetry knows.
//! * `transport`: gRPC or HTTP to the collector, one for both signals. `reach`: whether the collector
//!   answers, logged once.
//! * `metrics`: the registry that Prometheus scrapes, pushed.
//! * `traces`: which traces are kept, and how their spans leave. The engine makes the spans.
//!
//! A collector that is away harms nothing: spans wait in a queue of limited length, and are dropped
//! when it is full.

mod metrics;
mod reach;
mod settings;
mod traces;
mod transport;

use std::time::Duration;

use opentelemetry::{InstrumentationScope, trace::TracerProvider as _};
use opentelemetry_sdk::trace::SdkTracerProvider;
use steadfast_core::Invalid;
use tokio::runtime::Handle;

pub use metrics::MetricsPush;
/// Makes the spans of a node; for [`EngineBuilder::tracer`](steadfast_engine::EngineBuilder::tracer).
pub use opentelemetry_sdk::trace::SdkTracer as Tracer;
pub use settings::{TelemetrySettings, VariableReader};

use crate::limits;

/// What leaves a node over OTLP.
pub struct Telemetry {
    provider: Option<SdkTracerProvider>,
    metrics: Option<MetricsPush>,
}

impl Telemetry {
    /// Starts to send on the current tokio runtime; `None` if no collector is named.
    pub fn start(settings: &TelemetrySettings) -> Result<Option<Self>, Invalid> {
        let Some(settings) = settings.read()? else {
            return Ok(None);
        };
        let provider = match &settings.traces {
            None => None,
            Some(target) => {
                let runtime = Handle::current();
                Some(traces::provider(&settings, target, runtime)?)
            }
        };
        let metrics = settings.metrics.as_ref();
        let metrics = metrics.map(|target| MetricsPush::new(&settings, target));
        Ok(Some(Self {
            provider,
            metrics: metrics.transpose()?,
        }))
    }

    /// The tracer for the engine, if traces are sent.
    pub fn tracer(&self) -> Option<Tracer> {
        let scope = InstrumentationScope::builder("steadfast")
            .with_version(env!("CARGO_PKG_VERSION"))
            .build();
        let provider = self.provider.as_ref()?;
        Some(provider.tracer_with_scope(scope))
    }

    /// What pushes metrics, for [`Settings::metrics_push`](crate::Settings::metrics_push).
    pub fn metrics_push(&self) -> Option<MetricsPush> {
        self.metrics.clone()
    }

    /// Sends what is waiting, within a limit, and stops.
    pub async fn stop(self) {
        let Some(provider) = self.provider else {
            return;
        };
        let stop = move || provider.shutdown_with_timeout(limits::TELEMETRY_STOP_MAX);
        // Whether the collector took them is logged where they are sent.
        let _stopped = tokio::task::spawn_blocking(stop).await;
    }
}

/// A limit on one request, from a number of milliseconds.
fn millis(text: &str) -> Option<Duration> {
    text.parse().ok().map(Duration::from_millis)
}
