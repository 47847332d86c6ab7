//! Alerts: firing, pending and past.

use askama::Template;
use steadfast_core::{AlertState, AlertStatus};

use crate::{
    dashboard::page::{Layout, List, PageResult, Viewer, render},
    limits,
};

#[derive(Template)]
#[template(path = "lists/alerts.html")]
struct AlertsPage {
    layout: Layout,
    list: List<AlertState>,
}

pub async fn page(viewer: Viewer) -> PageResult {
    let tenant = viewer.caller.tenant.as_ref();
    let mut alerts = viewer.app.client.alerts(tenant).await?;
    alerts.sort_by_key(|alert| {
        let rank = match alert.status {
            AlertStatus::Firing => 0,
            AlertStatus::Pending => 1,
            AlertStatus::Ok => 2,
        };
        (rank, std::cmp::Reverse(alert.since))
    });
    render(&AlertsPage {
        layout: viewer.layout("/alerts", "Alerts"),
        list: List::first(alerts, limits::PAGE_ALERTS_MAX, |alert| alert),
    })
}
