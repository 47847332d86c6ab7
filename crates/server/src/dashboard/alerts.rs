//! Alerts: what is wrong at the moment, and what was.

use askama::Template;
use steadfast_core::{AlertState, AlertStatus};

use super::{
    frame::{Frame, HtmlPage, render},
    shown::When,
    viewer::Viewer,
};

#[derive(Template)]
#[template(path = "alerts.html")]
struct AlertsPage {
    frame: Frame,
    rows: Vec<Row>,
    shows_tenants: bool,
}

struct Row {
    alert: AlertState,
    since: When,
    fired: Option<When>,
    resolved: Option<When>,
}

pub async fn page(viewer: Viewer) -> HtmlPage {
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
    let frame = Frame::of(&viewer, "/alerts", "Alerts");
    render(&AlertsPage {
        rows: alerts
            .into_iter()
            .map(|alert| Row {
                since: frame.when(alert.since),
                fired: alert.fired_at.map(|at| frame.when(at)),
                resolved: alert.resolved_at.map(|at| frame.when(at)),
                alert,
            })
            .collect(),
        shows_tenants: tenant.is_none(),
        frame,
    })
}
