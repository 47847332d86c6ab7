//! The settings of OTLP: `OTEL_…` variables, as the specification of OpenTelemetry names them.

use std::{fmt, sync::Arc, time::Duration};

use axum::http::{HeaderName, HeaderValue, Uri};
use opentelemetry::KeyValue;
use opentelemetry_sdk::{Resource, trace::Sampler};
use percent_encoding::percent_decode_str;
use steadfast_core::Invalid;

use crate::limits;

/// Reads an environment variable.
pub type VariableReader = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Where the telemetry of a node goes.
#[derive(Clone)]
pub struct TelemetrySettings {
    /// The collector, in the place of `OTEL_EXPORTER_OTLP_ENDPOINT`.
    pub endpoint: Option<String>,
    /// Whether metrics are pushed as well, as `OTEL_METRICS_EXPORTER=otlp` says.
    pub metrics: bool,
    /// The name of the node, as `service.instance.id`.
    pub node: Option<String>,
    /// Reads an environment variable.
    pub variable: Arc<VariableReader>,
}

impl Default for TelemetrySettings {
    fn default() -> Self {
        Self {
            endpoint: None,
            metrics: false,
            node: None,
            variable: Arc::new(|name| std::env::var(name).ok()),
        }
    }
}

impl fmt::Debug for TelemetrySettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TelemetrySettings")
            .field("endpoint", &self.endpoint)
            .field("metrics", &self.metrics)
            .field("node", &self.node)
            .finish_non_exhaustive()
    }
}

/// What a signal is called in variables and paths.
#[derive(Clone, Copy)]
pub enum Signal {
    Traces,
    Metrics,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Grpc,
    Http,
}

/// Where one signal is sent.
#[derive(Clone, Debug)]
pub struct Target {
    pub protocol: Protocol,
    pub endpoint: Uri,
    /// Access tokens, often.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub timeout: Duration,
    /// Certificates to trust besides the usual ones, in PEM.
    pub certificate: Option<Vec<u8>>,
}

/// The settings, checked.
pub struct OtlpConfig {
    pub traces: Option<Target>,
    pub metrics: Option<Target>,
    pub metrics_every: Duration,
    pub sampler: TraceSampler,
    pub resource: Resource,
}

/// Which traces are kept.
#[derive(Clone, Debug)]
pub struct TraceSampler {
    pub sampler: Sampler,
    /// The decision of the span that created a job holds for its attempts, too.
    pub follows_creator: bool,
}

impl Signal {
    fn variable(self) -> &'static str {
        match self {
            Self::Traces => "TRACES",
            Self::Metrics => "METRICS",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Traces => "/v1/traces",
            Self::Metrics => "/v1/metrics",
        }
    }
}

impl TelemetrySettings {
    /// Reads and checks all variables; `None` if no collector is named.
    pub fn read(&self) -> Result<Option<OtlpConfig>, Invalid> {
        if self.get("OTEL_SDK_DISABLED").as_deref() == Some("true") {
            return Ok(None);
        }
        let traces = self.target_if(Signal::Traces, true)?;
        let metrics = self.target_if(Signal::Metrics, self.metrics)?;
        if traces.is_none() && metrics.is_none() {
            return Ok(None);
        }
        Ok(Some(OtlpConfig {
            traces,
            metrics,
            metrics_every: self.metrics_every()?,
            sampler: self.sampling()?,
            resource: self.resource()?,
        }))
    }

    /// The value of a variable. An empty one counts as not set.
    fn get(&self, name: &str) -> Option<String> {
        let value = (self.variable)(name)?;
        let value = value.trim();
        (!value.is_empty()).then(|| value.to_owned())
    }

    /// The value for one signal, or else for all; and the name of the variable.
    fn get_for(&self, signal: Signal, name: &str) -> Option<(String, String)> {
        let own = format!("OTEL_EXPORTER_OTLP_{}_{name}", signal.variable());
        let all = format!("OTEL_EXPORTER_OTLP_{name}");
        [own, all]
            .into_iter()
            .find_map(|variable| Some((self.get(&variable)?, variable)))
    }

    /// Where a signal is sent, if it is.
    fn target_if(&self, signal: Signal, default: bool) -> Result<Option<Target>, Invalid> {
        let variable = format!("OTEL_{}_EXPORTER", signal.variable());
        let is_wanted = match self.get(&variable).as_deref() {
            None => default,
            Some("otlp") => true,
            Some("none") => false,
            Some(other) => return Err(Invalid::new(variable, other, "must be otlp or none")),
        };
        if !is_wanted {
            return Ok(None);
        }
        self.target(signal)
    }

    fn metrics_every(&self) -> Result<Duration, Invalid> {
        let variable = "OTEL_METRIC_EXPORT_INTERVAL";
        let Some(text) = self.get(variable) else {
            return Ok(limits::METRICS_PUSH_EVERY_DEFAULT);
        };
        let (every, least) = (millis(&text), limits::METRICS_PUSH_EVERY_MIN);
        every.filter(|every| *every >= least).ok_or_else(|| {
            let least = least.as_millis();
            let expected = format!("must be a number of milliseconds, at least {least}");
            Invalid::new(variable, text, expected)
        })
    }

    fn target(&self, signal: Signal) -> Result<Option<Target>, Invalid> {
        let own = format!("OTEL_EXPORTER_OTLP_{}_ENDPOINT", signal.variable());
        let shared = self.endpoint.clone().filter(|it| !it.trim().is_empty());
        let shared = shared.or_else(|| self.get("OTEL_EXPORTER_OTLP_ENDPOINT"));
        let (text, variable, is_own) = match (self.get(&own), shared) {
            (Some(text), _) => (text, own.as_str(), true),
            (None, Some(text)) => (text, "OTEL_EXPORTER_OTLP_ENDPOINT", false),
            (None, None) => return Ok(None),
        };
        let protocol = match self.get_for(signal, "PROTOCOL") {
            None => Protocol::Http,
            Some((text, variable)) => match text.as_str() {
                "grpc" => Protocol::Grpc,
                "http/protobuf" => Protocol::Http,
                other => {
                    let expected = "must be grpc or http/protobuf";
                    return Err(Invalid::new(variable, other, expected));
                }
            },
        };
        let endpoint = match (protocol, is_own) {
            (Protocol::Http, false) => format!("{}{}", text.trim_end_matches('/'), signal.path()),
            _ => text,
        };
        Ok(Some(Target {
            protocol,
            endpoint: check_endpoint(&endpoint, variable)?,
            headers: self.headers(signal)?,
            timeout: self.timeout(signal)?,
            certificate: self.certificate(signal)?,
        }))
    }

    fn headers(&self, signal: Signal) -> Result<Vec<(HeaderName, HeaderValue)>, Invalid> {
        let Some((text, variable)) = self.get_for(signal, "HEADERS") else {
            return Ok(Vec::new());
        };
        // A value is often a secret, so it is not shown.
        let expected = "must be a list such as name=value,name2=value2, percent-encoded";
        let invalid = || Invalid::new(variable.clone(), "not a list of headers", expected);
        let pairs = pairs(&text).ok_or_else(invalid)?;
        let headers = pairs.into_iter().map(|(name, value)| {
            let name = HeaderName::try_from(name).map_err(|_| invalid())?;
            let mut value = HeaderValue::try_from(value).map_err(|_| invalid())?;
            value.set_sensitive(true);
            Ok((name, value))
        });
        headers.collect()
    }

    fn timeout(&self, signal: Signal) -> Result<Duration, Invalid> {
        let Some((text, variable)) = self.get_for(signal, "TIMEOUT") else {
            return Ok(limits::TELEMETRY_TIMEOUT_DEFAULT);
        };
        let timeout = millis(&text).filter(|timeout| !timeout.is_zero());
        let timeout = timeout.ok_or_else(|| {
            let expected = "must be a number of milliseconds, at least 1";
            Invalid::new(variable, text, expected)
        })?;
        Ok(timeout.min(limits::TELEMETRY_TIMEOUT_MAX))
    }

    fn certificate(&self, signal: Signal) -> Result<Option<Vec<u8>>, Invalid> {
        let Some((path, variable)) = self.get_for(signal, "CERTIFICATE") else {
            return Ok(None);
        };
        match std::fs::read(&path) {
            Ok(pem) => Ok(Some(pem)),
            Err(error) => {
                let expected = format!("must be a PEM file that can be read: {error}");
                Err(Invalid::new(variable, path, expected))
            }
        }
    }

    fn sampling(&self) -> Result<TraceSampler, Invalid> {
        let name = self.get("OTEL_TRACES_SAMPLER");
        let name = name.as_deref().unwrap_or("parentbased_always_on");
        let (follows_creator, root) = match name.strip_prefix("parentbased_") {
            Some(root) => (true, root),
            None => (false, name),
        };
        let root = match root {
            "always_on" => Sampler::AlwaysOn,
            "always_off" => Sampler::AlwaysOff,
            "traceidratio" => Sampler::TraceIdRatioBased(self.ratio()?),
            _ => {
                let expected = "must be always_on, always_off or traceidratio, or one of them with \
                    parentbased_ before it";
                return Err(Invalid::new("OTEL_TRACES_SAMPLER", name, expected));
            }
        };
        let sampler = match follows_creator {
            true => Sampler::ParentBased(Box::new(root)),
            false => root,
        };
        Ok(TraceSampler {
            sampler,
            follows_creator,
        })
    }

    fn ratio(&self) -> Result<f64, Invalid> {
        let variable = "OTEL_TRACES_SAMPLER_ARG";
        let Some(text) = self.get(variable) else {
            return Ok(1.0);
        };
        let ratio = text.parse().ok();
        let ratio = ratio.filter(|ratio| (0.0..=1.0).contains(ratio));
        ratio.ok_or_else(|| Invalid::new(variable, text, "must be a number between 0 and 1"))
    }

    fn resource(&self) -> Result<Resource, Invalid> {
        let variable = "OTEL_RESOURCE_ATTRIBUTES";
        let text = self.get(variable).unwrap_or_default();
        let pairs = pairs(&text).ok_or_else(|| {
            let expected = "must be a list such as name=value,name2=value2, percent-encoded";
            Invalid::new(variable, text, expected)
        })?;
        let node = self.node.clone();
        let node = node.map(|node| KeyValue::new("service.instance.id", node));
        let named = pairs.into_iter();
        let named = named.map(|(name, value)| KeyValue::new(name, value));
        let service = self.get("OTEL_SERVICE_NAME");
        let service = service.map(|name| KeyValue::new("service.name", name));
        // Later ones replace earlier ones.
        Ok(Resource::builder_empty()
            .with_attribute(KeyValue::new("service.name", "steadfast"))
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .with_attributes(node)
            .with_attributes(named)
            .with_attributes(service)
            .build())
    }
}

fn millis(text: &str) -> Option<Duration> {
    text.parse().ok().map(Duration::from_millis)
}

fn check_endpoint(text: &str, variable: &str) -> Result<Uri, Invalid> {
    // A password would be logged with the address.
    if text.contains('@') {
        let expected =
            "must be a URL without them: put credentials into OTEL_EXPORTER_OTLP_HEADERS";
        return Err(Invalid::new(variable, "a URL with credentials", expected));
    }
    let endpoint = text.parse::<Uri>().ok().filter(|endpoint| {
        let is_web = matches!(endpoint.scheme_str(), Some("http" | "https"));
        is_web && endpoint.host().is_some()
    });
    endpoint.ok_or_else(|| {
        let expected = "must be an http or https URL, e.g. http://127.0.0.1:4318";
        Invalid::new(variable, text, expected)
    })
}

/// The pairs of a list such as `name=value,name2=value2`, whose values are percent-encoded.
fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    let parts = text.split(',').map(str::trim);
    let parts = parts.filter(|part| !part.is_empty());
    let pairs = parts.map(|part| {
        let (name, value) = part.split_once('=')?;
        let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
        Some((name.trim().to_owned(), value.into_owned()))
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&'static str, &'static str)]) -> TelemetrySettings {
        let variables = variables.to_vec();
        TelemetrySettings {
            variable: Arc::new(move |name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            }),
            ..TelemetrySettings::default()
        }
    }

    #[test]
    fn nothing_is_sent_unless_a_collector_is_named() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318");
        for variables in [
            vec![],
            vec![("OTEL_EXPORTER_OTLP_ENDPOINT", " ")],
            vec![endpoint, ("OTEL_SDK_DISABLED", "true")],
            vec![endpoint, ("OTEL_TRACES_EXPORTER", "none")],
        ] {
            assert!(
                settings(&variables).read().unwrap().is_none(),
                "{variables:?}"
            );
        }
        let checked = settings(&[endpoint]).read().unwrap().unwrap();
        assert!(checked.traces.is_some() && checked.metrics.is_none());
        let checked = settings(&[endpoint, ("OTEL_METRICS_EXPORTER", "otlp")]);
        let metrics = checked.read().unwrap().unwrap().metrics.unwrap();
        assert_eq!(metrics.endpoint, "http://collector:4318/v1/metrics");
    }

    #[test]
    fn variables_of_a_signal_come_before_those_of_all() {
        let checked = settings(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/"),
            (
                "OTEL_EXPORTER_OTLP_HEADERS",
                "authorization=Bearer%20secret, x-tenant=a",
            ),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "2500"),
        ]);
        let target = checked.read().unwrap().unwrap().traces.unwrap();
        assert_eq!(target.endpoint, "http://collector:4318/v1/traces");
        assert_eq!(target.protocol, Protocol::Http);
        assert_eq!(target.timeout, Duration::from_millis(2500));
        assert_eq!(target.headers[0].1, "Bearer secret");
        assert_eq!(target.headers[1].0, "x-tenant");
        let checked = settings(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://traces/own"),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc"),
        ]);
        let target = checked.read().unwrap().unwrap().traces.unwrap();
        assert_eq!(target.endpoint, "https://traces/own");
        assert_eq!(target.protocol, Protocol::Grpc);
    }

    #[test]
    fn a_mistake_names_its_variable() {
        for (variable, value) in [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "ftp://collector"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "no value"),
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/nowhere/ca.pem"),
            ("OTEL_TRACES_EXPORTER", "zipkin"),
            ("OTEL_METRICS_EXPORTER", "statsd"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "1"),
            ("OTEL_TRACES_SAMPLER", "sometimes"),
            ("OTEL_RESOURCE_ATTRIBUTES", "no value"),
        ] {
            let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318");
            let Err(error) = settings(&[(variable, value), endpoint]).read() else {
                panic!("{variable}={value} was accepted");
            };
            assert_eq!(error.field, variable);
        }
        let ratio = settings(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318"),
            ("OTEL_TRACES_SAMPLER", "traceidratio"),
            ("OTEL_TRACES_SAMPLER_ARG", "1 %"),
        ]);
        assert_eq!(ratio.read().err().unwrap().field, "OTEL_TRACES_SAMPLER_ARG");
    }

    #[test]
    fn credentials_in_an_address_are_refused_and_not_shown() {
        for url in ["http://me:hunter2@collector:4318", "me:hunter2@collector"] {
            let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", url);
            let refused = settings(&[endpoint]).read().err().unwrap().to_string();
            assert!(refused.contains("OTEL_EXPORTER_OTLP_HEADERS"), "{refused}");
            assert!(!refused.contains("hunter2"), "{refused}");
        }
    }

    #[test]
    fn the_resource_is_named_by_the_operator() {
        let checked = settings(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=jobs,zone=a%2Cb"),
        ]);
        let resource = checked.read().unwrap().unwrap().resource;
        let value = |name: &'static str| resource.get(&name.into()).unwrap().to_string();
        assert_eq!(value("service.name"), "jobs");
        assert_eq!(value("zone"), "a,b");
        assert_eq!(value("service.version"), env!("CARGO_PKG_VERSION"));
    }
}
