//! `GET /metrics`: the counters of this node, and what the store counts when it is read.

use std::sync::Arc;

use axum::{
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{family::Family, gauge::Gauge},
    registry::Registry,
};
use steadfast_core::{AlertState, AlertStatus};
use steadfast_store::LaneStats;

use crate::{
    access::Reads,
    app::App,
    limits::{self, RECENT_WINDOW},
    problem::Problem,
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

/// Jobs and rates, as the store counts them.
fn register_counts(lanes: &[LaneStats], registry: &mut Registry) {
    let jobs = Family::<JobLabels, Gauge>::default();
    let dlq = Family::<TenantLabels, Gauge>::default();
    let rate = Family::<TenantLabels, Gauge<f64, std::sync::atomic::AtomicU64>>::default();
    let mut recent = std::collections::BTreeMap::new();
    for lane in lanes.iter().take(limits::METRIC_LANES_MAX) {
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
                tenant: lane.tenant.to_string(),
                queue: lane.queue.to_string(),
                kind: lane.kind.to_string(),
                label,
            };
            jobs.get_or_create(&labels).set(gauge(count));
        }
        let tenant = TenantLabels {
            tenant: lane.tenant.to_string(),
        };
        dlq.get_or_create(&tenant).inc_by(gauge(lane.dead_letters));
        let tally: &mut steadfast_core::Tally = recent.entry(lane.tenant.clone()).or_default();
        *tally += lane.recent;
    }
    for (tenant, tally) in recent {
        let tenant = TenantLabels {
            tenant: tenant.to_string(),
        };
        rate.get_or_create(&tenant)
            .set(tally.retry_rate().unwrap_or(0.0));
    }
    registry.register("jobs", "Jobs by label", jobs);
    registry.register("dlq_size", "Dead letters", dlq);
    registry.register(
        "retry_rate",
        "Retries among the attempts of the last five minutes",
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
    for alert in alerts.iter().take(limits::METRIC_LANES_MAX) {
        let labels = AlertLabels {
            tenant: alert.tenant.to_string(),
            rule: alert.rule.as_str(),
            subject: alert.subject.as_str(),
        };
        let is_firing = alert.status == AlertStatus::Firing;
        firing.get_or_create(&labels).set(is_firing.into());
    }
    registry.register("alert_firing", "1 while an alert fires", firing);
}

fn gauge(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// `GET /metrics`: of all tenants, or of the caller's own.
pub async fn metrics(
    State(app): State<Arc<App>>,
    Reads(caller): Reads,
) -> Result<Response, Problem> {
    let mut lanes = app
        .client
        .lanes(app.client.now().minus(RECENT_WINDOW))
        .await?;
    lanes.retain(|lane| caller.sees(&lane.tenant));
    let mut registry = Registry::with_prefix("steadfast");
    if caller.tenant.is_none() {
        app.metrics.register(&mut registry);
    }
    register_counts(&lanes, &mut registry);
    let alerts = app.client.alerts(caller.tenant.as_ref()).await?;
    register_alerts(&alerts, &mut registry);
    let mut text = String::new();
    encode(&mut text, &registry).map_err(|_| {
        let status = axum::http::StatusCode::INTERNAL_SERVER_ERROR;
        Problem::new(status, "internal", "the metrics cannot be written")
    })?;
    let media = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, media)], text).into_response())
}
