//! Alerts: firing, pending and past, and what people answer to them.

use std::{cmp::Reverse, time::Duration};

use askama::Template;
use steadfast_core::{AlertCommand, AlertState, AlertStatus, Timestamp};

use crate::{
    dashboard::{
        page::{Editor, Layout, List, PageResult, Viewer, done, no_such_action, render},
        parts::alert_row::AlertRow,
    },
    http::Problem,
    limits,
};

#[derive(Template)]
#[template(path = "lists/alerts.html")]
struct AlertsPage {
    layout: Layout,
    list: List<AlertRow>,
}

pub async fn page(viewer: Viewer) -> PageResult {
    let tenant = viewer.caller.tenant.as_ref();
    let mut alerts = viewer.caller.alerts(&viewer.app, tenant).await?;
    alerts.sort_by_key(|alert| {
        let rank = match alert.status {
            AlertStatus::Firing => 0,
            AlertStatus::Pending => 1,
            AlertStatus::Ok => 2,
        };
        (rank, Reverse(alert.since))
    });
    let layout = viewer.layout("/alerts", "Alerts");
    let causes = one_row_per_cause(alerts, layout.now);
    render(&AlertsPage {
        list: List::first(causes, limits::PAGE_ALERTS_MAX, |alerts| {
            AlertRow::of(alerts, &layout)
        }),
        layout,
    })
}

/// A destination that does not work has an alert for each tenant that calls it: those of one status,
/// and with the same answer of a person, are one row.
fn one_row_per_cause(
    alerts: Vec<AlertState>,
    now: Timestamp,
) -> Vec<(AlertState, Vec<AlertState>)> {
    let mut rows: Vec<(AlertState, Vec<AlertState>)> = Vec::new();
    for alert in alerts {
        let is_same = |(first, _): &&mut (AlertState, Vec<AlertState>)| {
            alert.destination.is_some()
                && first.destination == alert.destination
                && first.status == alert.status
                && first.acknowledged.is_some() == alert.acknowledged.is_some()
                && first.is_silenced(now) == alert.is_silenced(now)
        };
        match rows.iter_mut().find(is_same) {
            Some((_, others)) => others.push(alert),
            None => rows.push((alert, Vec::new())),
        }
    }
    rows
}

/// A row may stand for several alerts: the command is for all of them.
pub async fn act(editor: Editor) -> PageResult {
    let Editor { viewer, form } = editor;
    let client = viewer.caller.client(&viewer.app).await?;
    let (command, did) = match form.get("action") {
        Some("acknowledge") => {
            let by = viewer.caller.name(&viewer.app).await?;
            (AlertCommand::Acknowledge { by }, "acknowledge")
        }
        Some("silence") => {
            let hours = form.get("hours").map_or(Ok(1), str::parse::<u32>).ok();
            let hours = hours.filter(|hours| (1..=limits::SILENCE_HOURS_MAX).contains(hours));
            let Some(hours) = hours else {
                let most = limits::SILENCE_HOURS_MAX;
                let detail = format!("hours must be a number from 1 to {most}");
                return Err(Problem::invalid("hours", detail).into());
            };
            let until = client.now().plus(Duration::from_secs(60 * 60) * hours);
            (AlertCommand::Silence { until }, "silence")
        }
        Some("unsilence") => (AlertCommand::Unsilence, "unsilence"),
        _ => return Err(no_such_action()),
    };
    let tenant = viewer.caller.tenant.as_ref();
    for id in form.all("id").take(limits::PAGE_ALERTS_MAX) {
        client.command_alert(id, tenant, command.clone()).await?;
    }
    done("/alerts", did)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn alerts_of_a_destination_are_one_row_until_people_answer_them_differently() {
        let alert = |tenant: &str, destination: Option<&str>, status: &str, by: Option<&str>| {
            let at = Timestamp::EPOCH;
            let rule = if destination.is_some() {
                "destination"
            } else {
                "dlq"
            };
            let acknowledged = by.map(|by| json!({"by": by, "at": at}));
            let alert = json!({
                "rule": rule, "tenant": tenant, "subject": "jobs", "status": status,
                "since": at, "updatedAt": at, "value": 1, "threshold": 0, "message": "trouble",
                "destination": destination, "acknowledged": acknowledged,
            });
            serde_json::from_value::<AlertState>(alert).unwrap()
        };
        let (a, b) = (Some("https://a.example"), Some("https://b.example"));
        let alerts = vec![
            alert("acme", a, "firing", None),
            alert("acme", None, "firing", None),
            alert("blog", a, "firing", None),
            alert("blog", None, "firing", None),
            alert("shop", a, "firing", Some("ann")),
            alert("shop", b, "firing", None),
            alert("zoo", a, "ok", None),
        ];
        let rows = one_row_per_cause(alerts, Timestamp::EPOCH);
        let tenants = rows.iter().map(|(first, others)| {
            let others = others.iter().map(|it| it.tenant.as_str());
            std::iter::once(first.tenant.as_str())
                .chain(others)
                .collect::<Vec<_>>()
                .join(" ")
        });
        let tenants: Vec<String> = tenants.collect();
        assert_eq!(
            tenants,
            ["acme blog", "acme", "blog", "shop", "shop", "zoo"]
        );
    }
}
