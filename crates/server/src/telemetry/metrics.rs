//! Metrics over OTLP: the registry that Prometheus scrapes, pushed now and then.
//!
//! There is one registry and one set of figures. A push reads what a scrape reads, in the form in
//! which a scrape reads it, and names it as OpenTelemetry does.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use opentelemetry_proto::{
    tonic::{
        collector::metrics::v1::ExportMetricsServiceRequest,
        common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value},
        metrics::v1::{
            AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint,
            ResourceMetrics, ScopeMetrics, Sum, metric::Data, number_data_point,
        },
        resource::v1::Resource,
    },
    transform::common::tonic::ResourceAttributesWithSchema,
};
use steadfast_core::{Invalid, Timestamp};

use super::{
    reach::Reach,
    settings::{OtlpConfig, Target},
    transport::Transport,
};

/// Pushes the metrics of a node to a collector.
#[derive(Clone)]
pub struct MetricsPush {
    transport: Arc<Transport>,
    resource: Resource,
    every: Duration,
    reach: Arc<Reach>,
}

impl fmt::Debug for MetricsPush {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MetricsPush({})", self.transport.endpoint())
    }
}

impl MetricsPush {
    pub fn new(settings: &OtlpConfig, target: &Target) -> Result<Self, Invalid> {
        let resource = ResourceAttributesWithSchema::from(&settings.resource);
        Ok(Self {
            transport: Arc::new(Transport::new(target)?),
            resource: Resource {
                attributes: resource.attributes.0,
                ..Resource::default()
            },
            every: settings.metrics_every,
            reach: Arc::default(),
        })
    }

    /// How long to wait between two pushes.
    pub(crate) fn every(&self) -> Duration {
        self.every
    }

    /// Pushes the text of a scrape, whose counters count from `start` on.
    pub(crate) async fn push(&self, text: &str, start: Timestamp, now: Timestamp) {
        let request = self.request(text, start, now);
        let result = self.transport.send_metrics(request).await;
        let endpoint = self.transport.endpoint();
        self.reach.note("metrics", endpoint, &result);
    }

    fn request(&self, text: &str, start: Timestamp, now: Timestamp) -> ExportMetricsServiceRequest {
        let times = [nanos(start), nanos(now)];
        let families = read(text).into_iter();
        let scope = ScopeMetrics {
            scope: Some(InstrumentationScope {
                name: "steadfast".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                ..InstrumentationScope::default()
            }),
            metrics: families.map(|family| family.metric(times)).collect(),
            ..ScopeMetrics::default()
        };
        ExportMetricsServiceRequest {
            resource_metrics: vec![ResourceMetrics {
                resource: Some(self.resource.clone()),
                scope_metrics: vec![scope],
                ..ResourceMetrics::default()
            }],
        }
    }
}

fn nanos(time: Timestamp) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or_default() * 1_000
}

/// The labels of a sample, in their order.
type Labels = Vec<(String, String)>;
/// The limits of buckets, each with the count of all below it, and the sum.
type Buckets = (Vec<(f64, u64)>, f64);

/// One metric of the text, with all its samples.
#[derive(Default)]
struct MetricFamily {
    name: String,
    help: String,
    kind: String,
    numbers: Vec<(Labels, f64)>,
    histograms: BTreeMap<Labels, Buckets>,
}

/// Reads the text of a scrape. It is ours, so a line of another form is left out.
fn read(text: &str) -> Vec<MetricFamily> {
    let mut families: Vec<MetricFamily> = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap_or((rest, ""));
            families.push(MetricFamily {
                name: name.to_owned(),
                help: help.trim_end_matches('.').to_owned(),
                ..MetricFamily::default()
            });
            continue;
        }
        let Some(family) = families.last_mut() else {
            continue;
        };
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (_, kind) = rest.split_once(' ').unwrap_or_default();
            family.kind = kind.to_owned();
        } else if !line.starts_with('#') {
            let _malformed = family.add(line);
        }
    }
    families
}

/// Name, unit and operation of what the conventions for messaging name.
const MESSAGING: [(&str, &str, &str, Option<&str>); 4] = [
    (
        "steadfast_operation_duration_seconds",
        "messaging.client.operation.duration",
        "s",
        None,
    ),
    (
        "steadfast_attempt_duration_seconds",
        "messaging.process.duration",
        "s",
        Some("process"),
    ),
    (
        "steadfast_sent_jobs",
        "messaging.client.sent.messages",
        "{message}",
        Some("send"),
    ),
    (
        "steadfast_attempts_started",
        "messaging.client.consumed.messages",
        "{message}",
        Some("receive"),
    ),
];

impl MetricFamily {
    fn add(&mut self, line: &str) -> Option<()> {
        let (sample, value) = line.rsplit_once(' ')?;
        let value: f64 = value.parse().ok()?;
        let (name, labels) = match sample.split_once('{') {
            Some((name, labels)) => (name, read_labels(labels.strip_suffix('}')?)?),
            None => (sample, Labels::new()),
        };
        if self.kind != "histogram" {
            self.numbers.push((labels, value));
            return Some(());
        }
        let mut labels = labels;
        let limit = labels.iter().position(|(name, _)| name == "le");
        let limit = limit.map(|index| labels.remove(index).1);
        let (buckets, sum) = self.histograms.entry(labels).or_default();
        if let Some(limit) = limit {
            buckets.push((limit.parse().ok()?, count(value)));
        } else if name.ends_with("_sum") {
            *sum = value;
        }
        Some(())
    }

    fn metric(self, [start, now]: [u64; 2]) -> Metric {
        let messaging = MESSAGING.iter().find(|(name, ..)| *name == self.name);
        let operation = messaging.and_then(|(_, _, _, operation)| *operation);
        let attributes = |labels: Labels| match messaging {
            Some(_) => messaging_attributes(labels, operation),
            None => labels.into_iter().map(attribute).collect(),
        };
        let (name, unit) = match messaging {
            Some((_, name, unit, _)) => ((*name).to_owned(), *unit),
            None => own_name(&self.name),
        };
        let number = |(labels, value)| NumberDataPoint {
            attributes: attributes(labels),
            start_time_unix_nano: start,
            time_unix_nano: now,
            value: Some(number_data_point::Value::AsDouble(value)),
            ..NumberDataPoint::default()
        };
        let histogram = |(labels, (buckets, sum)): (Labels, Buckets)| HistogramDataPoint {
            attributes: attributes(labels),
            start_time_unix_nano: start,
            time_unix_nano: now,
            ..histogram_point(&buckets, sum)
        };
        let temporality = AggregationTemporality::Cumulative.into();
        let data = match self.kind.as_str() {
            "histogram" => Data::Histogram(Histogram {
                data_points: self.histograms.into_iter().map(histogram).collect(),
                aggregation_temporality: temporality,
            }),
            "counter" => Data::Sum(Sum {
                data_points: self.numbers.into_iter().map(number).collect(),
                aggregation_temporality: temporality,
                is_monotonic: true,
            }),
            _ => Data::Gauge(Gauge {
                data_points: self.numbers.into_iter().map(number).collect(),
            }),
        };
        Metric {
            name,
            description: self.help,
            unit: unit.to_owned(),
            data: Some(data),
            ..Metric::default()
        }
    }
}

/// Prometheus counts what is below a limit, OTLP what is between two.
fn histogram_point(buckets: &[(f64, u64)], sum: f64) -> HistogramDataPoint {
    let limits = buckets.iter().map(|(limit, _)| *limit);
    let mut before = 0;
    let counts = buckets.iter().map(|(_, count)| {
        let own = count.saturating_sub(before);
        before = *count;
        own
    });
    HistogramDataPoint {
        bucket_counts: counts.collect(),
        count: buckets.last().map_or(0, |(_, count)| *count),
        explicit_bounds: limits.filter(|limit| limit.is_finite()).collect(),
        sum: Some(sum),
        ..HistogramDataPoint::default()
    }
}

/// `steadfast_store_log_bytes` is `steadfast.store_log` in bytes: a system that turns it back into a
/// name of Prometheus arrives at the same.
fn own_name(name: &str) -> (String, &'static str) {
    let name = name.replacen("steadfast_", "steadfast.", 1);
    for (suffix, unit) in [("_seconds", "s"), ("_bytes", "By")] {
        if let Some(short) = name.strip_suffix(suffix) {
            return (short.to_owned(), unit);
        }
    }
    (name, "")
}

fn messaging_attributes(labels: Labels, operation: Option<&str>) -> Vec<KeyValue> {
    let system = ("messaging.system".to_owned(), "steadfast".to_owned());
    let operation = operation.map(|it| ("messaging.operation.name".to_owned(), it.to_owned()));
    let labels = labels.into_iter().map(|(name, value)| {
        let name = match name.as_str() {
            "queue" => "messaging.destination.name",
            "operation" => "messaging.operation.name",
            "tenant" => "steadfast.job.tenant",
            "kind" => "steadfast.job.kind",
            other => other,
        };
        (name.to_owned(), value)
    });
    let all = [system].into_iter().chain(operation).chain(labels);
    all.map(attribute).collect()
}

fn attribute((key, value): (String, String)) -> KeyValue {
    KeyValue {
        key,
        value: Some(AnyValue {
            value: Some(any_value::Value::StringValue(value)),
        }),
        ..KeyValue::default()
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count that Prometheus writes as a number"
)]
fn count(value: f64) -> u64 {
    value as u64
}

/// `name="value",…`, whose values escape quotes, backslashes and line ends.
fn read_labels(mut text: &str) -> Option<Labels> {
    let mut labels = Labels::new();
    while !text.is_empty() {
        let (name, rest) = text.split_once("=\"")?;
        let mut value = String::new();
        let mut chars = rest.char_indices();
        let end = loop {
            match chars.next()? {
                (at, '"') => break at,
                (_, '\\') => match chars.next()?.1 {
                    'n' => value.push('\n'),
                    other => value.push(other),
                },
                (_, other) => value.push(other),
            }
        };
        labels.push((name.to_owned(), value));
        text = rest.get(end + 1..)?.trim_start_matches(',');
    }
    Some(labels)
}

#[cfg(test)]
mod tests {
    use prometheus_client::{
        encoding::text::encode,
        metrics::{counter::Counter, family::Family, histogram},
        registry::Registry,
    };

    use super::*;

    #[test]
    fn a_push_has_the_figures_of_a_scrape() {
        let mut registry = Registry::with_prefix("steadfast");
        let odd = "a\"b\\c\nd}, e=\"f".to_owned();
        let family = Family::<Vec<(String, String)>, Counter>::default();
        let labels = vec![("queue".to_owned(), odd.clone())];
        family.get_or_create(&labels).inc_by(7);
        registry.register("sent_jobs", "Jobs", family);
        let duration = histogram::Histogram::new([0.5, 1.0]);
        for seconds in [0.1, 0.7, 0.8, 9.0] {
            duration.observe(seconds);
        }
        registry.register("attempt_duration_seconds", "Duration", duration);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        let families = read(&text).into_iter();
        let metrics: Vec<Metric> = families.map(|it| it.metric([1, 2])).collect();

        assert_eq!(metrics[0].name, "messaging.client.sent.messages");
        let Some(Data::Sum(sum)) = &metrics[0].data else {
            panic!("{:?}", metrics[0]);
        };
        let point = &sum.data_points[0];
        assert_eq!(point.value, Some(number_data_point::Value::AsDouble(7.0)));
        let queue = attribute(("messaging.destination.name".to_owned(), odd));
        assert!(point.attributes.contains(&queue), "{point:?}");

        assert_eq!(metrics[1].name, "messaging.process.duration");
        assert_eq!(metrics[1].unit, "s");
        let Some(Data::Histogram(histogram)) = &metrics[1].data else {
            panic!("{:?}", metrics[1]);
        };
        let point = &histogram.data_points[0];
        assert_eq!(point.bucket_counts, [1, 2, 1]);
        assert_eq!(point.explicit_bounds, [0.5, 1.0]);
        assert_eq!(point.count, 4);
        assert!(point.sum.is_some_and(|sum| (sum - 10.6).abs() < 1e-9));
    }

    #[test]
    fn names_of_ours_keep_their_unit_apart() {
        let log = own_name("steadfast_store_log_bytes");
        assert_eq!(log, ("steadfast.store_log".to_owned(), "By"));
        assert_eq!(
            own_name("steadfast_jobs"),
            ("steadfast.jobs".to_owned(), "")
        );
    }
}
