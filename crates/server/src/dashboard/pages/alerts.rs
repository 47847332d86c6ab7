//! Alerts: which fire at the moment, and which have fired before.

use askama::Template;
use steadfast_core::{AlertState, AlertStatus};

use crate::{
    dashboard::viewer::Viewer,
    limits,
    theme::{
        layout::{Layout, render},
        page_error::PageResult,
        page_time::PageTime,
    },
};

#[derive(Template)]
#[template(path = "lists/alerts.html")]
struct AlertsPage {
    layout: Layout,
    rows: Vec<AlertRow>,
    /// How many more there are.
    hidden: usize,
    shows_tenants: bool,
}

struct AlertRow {
    alert: AlertState,
    since: PageTime,
    fired: Option<PageTime>,
    resolved: Option<PageTime>,
}

pub async fn page(viewer: Viewer) -> PageResult {
    let tenant = viewer.caller.tenant.clone();
    let mut alerts = viewer.app.client.alerts(tenant.as_ref()).await?;
    alerts.sort_by_key(|alert| {
        let rank = match alert.status {
            AlertStatus::Firing => 0,
            AlertStatus::Pending => 1,
            AlertStatus::Ok => 2,
        };
        (rank, std::cmp::Reverse(alert.since))
    });
    let hidden = alerts.len().saturating_sub(limits::PAGE_ALERTS_MAX);
    alerts.truncate(limits::PAGE_ALERTS_MAX);
    let layout = viewer.layout("/alerts", "Alerts");
    render(&AlertsPage {
        rows: alerts
            .into_iter()
            .map(|alert| AlertRow {
                since: layout.time(alert.since),
                fired: alert.fired_at.map(|at| layout.time(at)),
                resolved: alert.resolved_at.map(|at| layout.time(at)),
                alert,
            })
            .collect(),
        hidden,
        shows_tenants: tenant.is_none(),
        layout,
    })
}
