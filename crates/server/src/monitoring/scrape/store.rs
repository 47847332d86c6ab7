//! Alerts, the sizes of lists that people keep short, and the store itself.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{family::Family, gauge::Gauge},
    registry::Registry,
};
use steadfast_core::{AlertState, AlertStatus, Tenant};
use steadfast_engine::ClientError;
use steadfast_store::{FailureFilter, OperationFilter, PageRequest, StoreMetrics};

use super::gauge;
use crate::{
    app::App,
    limits::{self, RECENT_WINDOW},
    metrics::OTHER,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AlertLabels {
    tenant: String,
    rule: &'static str,
    subject: &'static str,
}

pub fn register_alerts(alerts: &[AlertState], registry: &mut Registry) {
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

/// Sizes of lists that people keep short. Each counts up to a limit, so that a scrape stays cheap.
pub async fn register_sizes(
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
pub fn register_store(metrics: StoreMetrics, registry: &mut Registry) {
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
