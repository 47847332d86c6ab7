//! `GET /metrics`: the counters of this node, and what the store counts when it is read.

use std::{collections::BTreeMap, sync::atomic::AtomicU64};

use axum::{
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};
use steadfast_core::{
    AlertState, AlertStatus, Gate, GateId, HealthStatus, Tally, Tenant, Timestamp,
};
use steadfast_engine::{ClientError, DestinationCounts, GateUse, IncidentCounts, RefusedCreates};
use steadfast_store::{FailureFilter, LaneStats, OperationFilter, PageRequest, StoreMetrics};

use super::text_format;
use crate::{
    app::App,
    extract::Monitors,
    http::Problem,
    limits::{self, RECENT_WINDOW},
    metrics::{LaneLabels, OTHER},
};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct JobLabels {
    tenant: String,
    queue: String,
    kind: String,
    label: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TenantLabels {
    tenant: String,
}

/// Which lanes have series of their own. A tenant with many lanes takes none from the others.
fn shown_apart(lanes: &[LaneStats]) -> Vec<bool> {
    let mut counts: BTreeMap<&Tenant, usize> = BTreeMap::new();
    for lane in lanes {
        *counts.entry(&lane.tenant).or_default() += 1;
    }
    let mut by_count: Vec<_> = counts.iter_mut().collect();
    by_count.sort_by_key(|(_, count)| **count);
    let (mut left, mut tenants) = (limits::METRIC_LANES_MAX, by_count.len());
    for (_, count) in by_count {
        *count = (*count).min((left / tenants).max(1)).min(left);
        left -= *count;
        tenants -= 1;
    }
    let take = |lane: &LaneStats| {
        let left = counts.get_mut(&lane.tenant);
        left.filter(|left| **left > 0)
            .map(|left| *left -= 1)
            .is_some()
    };
    lanes.iter().map(take).collect()
}

/// Jobs and rates, as the store counts them.
fn register_counts(lanes: &[LaneStats], registry: &mut Registry) {
    let jobs = Family::<JobLabels, Gauge>::default();
    for (lane, is_apart) in lanes.iter().zip(shown_apart(lanes)) {
        let name = |name: &str| if is_apart { name } else { OTHER }.to_owned();
        for (label, count) in [
            ("scheduled", lane.scheduled),
            ("ready", lane.ready),
            ("running", lane.running),
            ("retrying", lane.retrying),
            ("succeeded", lane.succeeded),
            ("failed", lane.failed),
            ("cancelled", lane.cancelled),
        ] {
            let labels = JobLabels {
                tenant: name(lane.tenant.as_str()),
                queue: name(lane.queue.as_str()),
                kind: name(lane.kind.as_str()),
                label,
            };
            jobs.get_or_create(&labels).inc_by(gauge(count));
        }
    }
    registry.register("jobs", "Jobs by label", jobs);
    register_tenants(lanes, registry);
}

/// The counts of each tenant, over all of its lanes.
fn register_tenants(lanes: &[LaneStats], registry: &mut Registry) {
    let mut tenants: BTreeMap<&Tenant, (u64, Tally)> = BTreeMap::new();
    for lane in lanes {
        let (dead_letters, recent) = tenants.entry(&lane.tenant).or_default();
        *dead_letters += lane.dead_letters;
        *recent += lane.recent;
    }
    let mut shown: BTreeMap<&str, (u64, Tally)> = BTreeMap::new();
    for (index, (tenant, counts)) in tenants.into_iter().enumerate() {
        let is_apart = index < limits::METRIC_LANES_MAX;
        let name = if is_apart { tenant.as_str() } else { OTHER };
        let (dead_letters, recent) = shown.entry(name).or_default();
        *dead_letters += counts.0;
        *recent += counts.1;
    }
    let dlq = Family::<TenantLabels, Gauge>::default();
    let rate = Family::<TenantLabels, Gauge<f64, AtomicU64>>::default();
    for (tenant, (dead_letters, recent)) in shown {
        let tenant = TenantLabels {
            tenant: tenant.to_owned(),
        };
        dlq.get_or_create(&tenant).set(gauge(dead_letters));
        rate.get_or_create(&tenant)
            .set(recent.retry_rate().unwrap_or(0.0));
    }
    registry.register("dlq_size", "Dead letters", dlq);
    registry.register(
        "retry_rate",
        "Fraction of attempts in the last five minutes that were retries",
        rate,
    );
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AlertLabels {
    tenant: String,
    rule: &'static str,
    subject: &'static str,
}

fn register_alerts(alerts: &[AlertState], registry: &mut Registry) {
    let firing = Family::<AlertLabels, Gauge>::default();
    for (index, alert) in alerts.iter().enumerate() {
        let is_apart = index < limits::METRIC_LANES_MAX;
        let tenant = if is_apart {
            alert.tenant.as_str()
        } else {
            OTHER
        };
        let labels = AlertLabels {
            tenant: tenant.to_owned(),
            rule: alert.rule.as_str(),
            subject: alert.subject.as_str(),
        };
        let is_firing = alert.status == AlertStatus::Firing;
        firing.get_or_create(&labels).inc_by(is_firing.into());
    }
    let help = "1 while an alert fires; for the other tenants, the number of firing alerts";
    registry.register("alert_firing", help, firing);
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct GateLabels {
    scope: &'static str,
    key: String,
    tenant: String,
}

/// What gates allow, and how much of it is taken. Those whose use was not asked for are left out:
/// limits of several cannot be added.
fn register_gates(gates: &[Gate], uses: &[GateUse], now: Timestamp, registry: &mut Registry) {
    let running = Family::<GateLabels, Gauge>::default();
    let most_running = Family::<GateLabels, Gauge>::default();
    let waiting = Family::<GateLabels, Gauge>::default();
    let most_waiting = Family::<GateLabels, Gauge>::default();
    let starts = Family::<GateLabels, Gauge<f64, AtomicU64>>::default();
    let paused = Family::<GateLabels, Gauge>::default();
    for (Gate { id, limits }, used) in gates.iter().zip(uses) {
        let tenant = id.tenant.as_ref().map(Tenant::to_string);
        let labels = GateLabels {
            scope: id.scope.as_str(),
            key: id.key.clone(),
            tenant: tenant.unwrap_or_default(),
        };
        if let Some(most) = limits.max_running {
            most_running.get_or_create(&labels).set(most.into());
        }
        if let Some(count) = used.running {
            running.get_or_create(&labels).set(count.into());
        }
        if let Some(most) = limits.max_waiting {
            most_waiting.get_or_create(&labels).set(most.into());
        }
        if let Some(count) = used.waiting {
            waiting.get_or_create(&labels).set(gauge(count));
        }
        if let Some(rate) = limits.rate {
            let per_second = f64::from(rate.limit) / rate.per.as_secs_f64();
            starts.get_or_create(&labels).set(per_second);
        }
        let pause = limits.paused.as_ref();
        let is_paused = pause.is_some_and(|pause| !pause.is_over(now));
        paused.get_or_create(&labels).set(is_paused.into());
    }
    let help = "Running attempts that count at a gate";
    registry.register("gate_running", help, running);
    let help = "Maximum concurrent attempts of a gate";
    registry.register("gate_running_max", help, most_running);
    let help = "Waiting jobs that count at a gate";
    registry.register("gate_waiting", help, waiting);
    let help = "Maximum waiting jobs of a gate";
    registry.register("gate_waiting_max", help, most_waiting);
    let help = "Maximum starts per second of a gate";
    registry.register("gate_starts_per_second_max", help, starts);
    registry.register("gate_paused", "1 while a gate is paused", paused);
    let count = Gauge::<i64>::default();
    count.set(gauge(gates.len() as u64));
    registry.register("gates", "Number of gates", count);
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StatusLabels {
    status: &'static str,
}

/// How many destinations have each status.
fn register_destinations(counts: DestinationCounts, registry: &mut Registry) {
    let destinations = Family::<StatusLabels, Gauge>::default();
    for (status, count) in [
        (HealthStatus::Healthy, counts.healthy),
        (HealthStatus::Held, counts.held),
        (HealthStatus::Probing, counts.probing),
        (HealthStatus::Ramping, counts.ramping),
    ] {
        let status = status.as_str();
        let labels = StatusLabels { status };
        destinations.get_or_create(&labels).set(gauge(count as u64));
    }
    let help = "Destinations that failed recently or are held, by status; with hold watch, jobs for \
        a destination with status held continue according to their policies";
    registry.register("destinations", help, destinations);
}

/// The incidents that this node detected.
fn register_incidents(counts: IncidentCounts, registry: &mut Registry) {
    for (name, help, count) in [
        (
            "destination_incidents_begun",
            "Number of times this node found a destination unhealthy",
            counts.begun,
        ),
        (
            "destination_incidents_ended",
            "Number of times this node found a destination recovered",
            counts.ended,
        ),
        (
            "destination_probes_failed",
            "Failed probes and ramp-ups of destinations",
            counts.probes_failed,
        ),
        (
            "destination_releases",
            "Number of times a held destination began to ramp up",
            counts.released,
        ),
    ] {
        let counter = Counter::<u64>::default();
        counter.inc_by(count);
        registry.register(name, help, counter);
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabels {
    reason: &'static str,
}

fn register_refused_creates(refused: RefusedCreates, registry: &mut Registry) {
    let creates = Family::<ReasonLabels, Counter>::default();
    for (reason, count) in [
        ("too_many_waiting", refused.too_many_waiting),
        ("store_slow", refused.store_slow),
    ] {
        let labels = ReasonLabels { reason };
        creates.get_or_create(&labels).inc_by(count);
    }
    let help = "Requests to create jobs that this node refused because there was no room for more";
    registry.register("creates_refused", help, creates);
}

fn gauge(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// How long the oldest due job of each lane has waited. Of lanes that are counted together, the
/// oldest of all counts.
fn register_ages(lanes: &[LaneStats], now: Timestamp, registry: &mut Registry) {
    let ages = Family::<LaneLabels, Gauge<f64, AtomicU64>>::default();
    for (lane, is_apart) in lanes.iter().zip(shown_apart(lanes)) {
        let name = |name: &str| if is_apart { name } else { OTHER }.to_owned();
        let age = lane.oldest_ready.map(|oldest| now.since(oldest));
        let age = age.unwrap_or_default().as_secs_f64();
        let labels = LaneLabels {
            tenant: name(lane.tenant.as_str()),
            queue: name(lane.queue.as_str()),
            kind: name(lane.kind.as_str()),
        };
        let gauge = ages.get_or_create(&labels);
        gauge.set(gauge.get().max(age));
    }
    let help = "Time since the oldest waiting job became due; 0 if none waits";
    registry.register("oldest_ready_seconds", help, ages);
}

/// Sizes of lists that people keep short. Each counts up to a limit, so that a scrape stays cheap.
async fn register_sizes(
    app: &App,
    tenant: Option<&Tenant>,
    registry: &mut Registry,
) -> Result<(), ClientError> {
    let open = OperationFilter {
        tenant: tenant.cloned(),
        is_open: true,
        ..OperationFilter::default()
    };
    let page = PageRequest::first(limits::METRIC_LIST_MAX);
    let operations = app.client.operations(open, page).await?.items.len();
    let recent = FailureFilter {
        tenant: tenant.cloned(),
        since: Some(app.client.now().minus(RECENT_WINDOW)),
        ..FailureFilter::default()
    };
    let page = PageRequest::first(limits::METRIC_LIST_MAX);
    let groups = app.client.failures(recent, page).await?.items.len();
    let damaged = app.client.damaged().await?;
    let sees = |row: Option<&Tenant>| tenant.is_none() || row == tenant;
    let rows = damaged.rows.iter();
    let rows = rows.filter(|row| sees(row.tenant.as_ref()));
    for (name, help, count) in [
        (
            "operations_open",
            "Operations that have not ended, up to 100",
            operations,
        ),
        (
            "failure_groups",
            "Groups of failures seen in the last five minutes, up to 100",
            groups,
        ),
        (
            "damaged_rows",
            "Corrupt stored rows that are skipped; steadfast doctor lists them",
            rows.count(),
        ),
    ] {
        register_gauge(name, help, count as u64, registry);
    }
    Ok(())
}

fn register_gauge(name: &str, help: &str, count: u64, registry: &mut Registry) {
    let metric = Gauge::<i64>::default();
    metric.set(gauge(count));
    registry.register(name, help, metric);
}

/// The log of SQLite, or the connections to PostgreSQL.
fn register_store(metrics: StoreMetrics, registry: &mut Registry) {
    if let Some(bytes) = metrics.log_bytes {
        let help = "Size of the SQLite write-ahead log, which grows while another process holds an \
            old snapshot";
        register_gauge("store_log_bytes", help, bytes, registry);
    }
    let Some(pool) = metrics.pool else {
        return;
    };
    for (name, help, count) in [
        (
            "store_connections_max",
            "Connections to PostgreSQL that may be open",
            pool.most,
        ),
        (
            "store_connections",
            "Open connections to PostgreSQL",
            pool.open,
        ),
        (
            "store_connections_idle",
            "Open connections to PostgreSQL that are not in use",
            pool.idle,
        ),
        (
            "store_connections_waiting",
            "Callers that wait for a connection to PostgreSQL",
            pool.waiting,
        ),
    ] {
        register_gauge(name, help, count as u64, registry);
    }
}

/// What the store and this node count, of all tenants or of one.
pub async fn gather(app: &App, tenant: Option<&Tenant>) -> Result<Registry, ClientError> {
    let client = &app.client;
    let now = client.now();
    let lanes = client
        .lanes(tenant.cloned(), now.minus(RECENT_WINDOW))
        .await?;
    let mut registry = Registry::with_prefix("steadfast");
    if tenant.is_none() {
        app.metrics.register(&mut registry);
    }
    register_counts(&lanes, &mut registry);
    register_ages(&lanes, now, &mut registry);
    let alerts = client.alerts(tenant).await?;
    register_alerts(&alerts, &mut registry);
    let gates = client.gates(tenant).await?;
    let shown = gates.iter().take(limits::METRIC_GATES_MAX);
    let shown: Vec<GateId> = shown.map(|gate| gate.id.clone()).collect();
    let uses = client.gate_uses(&shown).await?;
    register_gates(&gates, &uses, now, &mut registry);
    register_sizes(app, tenant, &mut registry).await?;
    if tenant.is_none() {
        register_destinations(client.destination_counts().await?, &mut registry);
        register_incidents(app.node.incident_counts(), &mut registry);
        register_refused_creates(app.client.refused_creates(), &mut registry);
        let slow = Gauge::<i64>::default();
        slow.set(app.client.store_slow_for().is_some().into());
        let help = "1 while this node creates no jobs because commits take too long";
        registry.register("store_slow", help, slow);
        register_store(client.store_metrics().await?, &mut registry);
    }
    Ok(registry)
}

/// A registry as Prometheus reads it.
pub fn to_text(registry: &Registry) -> String {
    let mut text = String::new();
    // Text is written to memory, which does not fail.
    let _written = encode(&mut text, registry);
    text
}

/// `GET /metrics`: of all tenants, or of the caller's own.
pub async fn metrics(
    Monitors { app, caller }: Monitors,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let text = to_text(&gather(&app, caller.tenant.as_ref()).await?);
    let (media, text) = match text_format::is_wanted(&headers) {
        true => (
            "text/plain; version=0.0.4; charset=utf-8",
            text_format::from_openmetrics(&text),
        ),
        false => (
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            text,
        ),
    };
    Ok(([(header::CONTENT_TYPE, media)], text).into_response())
}

#[cfg(test)]
mod tests {
    use steadfast_core::{GateLimits, GateScope, Kind, Queue};

    use super::*;

    /// The value of a metric, as it is scraped.
    fn value(text: &str, metric: &str) -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(metric));
        line.unwrap().trim().parse().unwrap()
    }

    #[test]
    fn gate_limits_are_scraped_up_to_a_maximum() {
        let gates = (0..limits::METRIC_GATES_MAX + 3).map(|number| Gate {
            id: GateId::new(None, GateScope::Queue, &format!("q{number:05}")).unwrap(),
            limits: GateLimits {
                max_running: Some(5),
                rate: "30/1m".parse().ok(),
                ..GateLimits::default()
            },
        });
        let gates: Vec<Gate> = gates.collect();
        let mut registry = Registry::with_prefix("steadfast");
        let mut used = GateUse::default();
        used.running = Some(3);
        let uses = vec![used; limits::METRIC_GATES_MAX];
        register_gates(&gates, &uses, Timestamp::EPOCH, &mut registry);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        let labels = r#"{scope="queue",key="q00000",tenant=""}"#;
        let most = format!("steadfast_gate_running_max{labels}");
        assert_eq!(value(&text, &most), 5.0);
        let running = format!("steadfast_gate_running{labels}");
        assert_eq!(value(&text, &running), 3.0);
        let starts = format!("steadfast_gate_starts_per_second_max{labels}");
        assert_eq!(value(&text, &starts), 0.5);
        assert_eq!(value(&text, &format!("steadfast_gate_paused{labels}")), 0.0);
        assert_eq!(value(&text, "steadfast_gates "), gates.len() as f64);
        let is_shown = |line: &&str| line.starts_with("steadfast_gate_paused{");
        let shown = text.lines().filter(is_shown).count();
        assert_eq!(shown, limits::METRIC_GATES_MAX);
    }

    #[test]
    fn a_tenant_with_many_lanes_takes_no_series_from_others() {
        let lane = |tenant: &str, queue: usize| {
            let queue = Queue::new(&format!("q{queue}")).unwrap();
            let (tenant, kind) = (Tenant::new(tenant).unwrap(), Kind::new("mail").unwrap());
            LaneStats::empty(tenant, queue, kind)
        };
        let loud = (0..2 * limits::METRIC_LANES_MAX).map(|queue| lane("aaa", queue));
        let quiet = (0..3).map(|queue| lane("quiet", queue));
        let lanes: Vec<_> = loud.chain(quiet).collect();
        let apart = shown_apart(&lanes);
        let shown = |tenant: &str| {
            let shown = lanes.iter().zip(&apart);
            let shown = shown.filter(|(lane, apart)| lane.tenant.as_str() == tenant && **apart);
            shown.count()
        };
        assert_eq!(
            (shown("quiet"), shown("aaa")),
            (3, limits::METRIC_LANES_MAX - 3)
        );
    }

    #[test]
    fn lanes_and_tenants_beyond_the_limit_are_counted_together() {
        let beyond = 7;
        let lanes = (0..limits::METRIC_LANES_MAX + beyond).map(|number| {
            let tenant = Tenant::new(&format!("t{number:05}")).unwrap();
            let queue = Queue::new("default").unwrap();
            let mut lane = LaneStats::empty(tenant, queue, Kind::new("mail").unwrap());
            (lane.failed, lane.dead_letters) = (3, 2);
            lane
        });
        let mut registry = Registry::with_prefix("steadfast");
        register_counts(&lanes.collect::<Vec<_>>(), &mut registry);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        let others = beyond as f64;
        let own = r#"steadfast_dlq_size{tenant="t00000"}"#;
        assert_eq!(value(&text, own), 2.0);
        let other = r#"steadfast_dlq_size{tenant="other"}"#;
        assert_eq!(value(&text, other), 2.0 * others);
        let failed = r#"{tenant="other",queue="other",kind="other",label="failed"}"#;
        assert_eq!(
            value(&text, &format!("steadfast_jobs{failed}")),
            3.0 * others
        );
        let all = text
            .lines()
            .filter(|line| line.starts_with("steadfast_dlq_size{"));
        let sum: f64 = all
            .map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap())
            .sum();
        assert_eq!(sum, 2.0 * (limits::METRIC_LANES_MAX + beyond) as f64);
    }
}
