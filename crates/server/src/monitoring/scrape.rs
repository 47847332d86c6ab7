//! `GET /metrics`: the counters of this node, and what the store counts when it is read.

mod flow;
mod lanes;
mod store;

use axum::{
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use prometheus_client::{encoding::text::encode, registry::Registry};
use steadfast_core::{GateId, Tenant};
use steadfast_engine::ClientError;

use super::text_format;
use crate::{
    app::App,
    extract::Monitors,
    http::Problem,
    limits::{self, RECENT_WINDOW},
};

fn gauge(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// What the store and this node count, of all tenants or of one.
pub async fn gather(app: &App, tenant: Option<&Tenant>) -> Result<Registry, ClientError> {
    let client = &app.client;
    let now = client.now();
    let counted = client
        .lanes(tenant.cloned(), now.minus(RECENT_WINDOW))
        .await?;
    let mut registry = Registry::with_prefix("steadfast");
    if tenant.is_none() {
        app.metrics.register(&mut registry);
    }
    lanes::register_counts(&counted, &mut registry);
    lanes::register_ages(&counted, now, &mut registry);
    let alerts = client.alerts(tenant).await?;
    store::register_alerts(&alerts, &mut registry);
    let gates = client.gates(tenant).await?;
    let shown = gates.iter().take(limits::METRIC_GATES_MAX);
    let shown: Vec<GateId> = shown.map(|gate| gate.id.clone()).collect();
    let uses = client.gate_uses(&shown).await?;
    flow::register_gates(&gates, &uses, now, &mut registry);
    store::register_sizes(app, tenant, &mut registry).await?;
    if tenant.is_none() {
        flow::register_destinations(client.destination_counts().await?, &mut registry);
        flow::register_paces(&client.learned_paces().await?, &mut registry);
        flow::register_incidents(app.node.incident_counts(), &mut registry);
        let is_slow = app.client.store_slow().is_some();
        flow::register_refused_creates(app.client.refused_creates(), is_slow, &mut registry);
        store::register_store(client.store_metrics().await?, &mut registry);
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
    /// The value of a metric, as it is scraped.
    pub(super) fn value(text: &str, metric: &str) -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(metric));
        line.unwrap().trim().parse().unwrap()
    }
}
