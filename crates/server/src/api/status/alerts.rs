//! Alerts: current and past, and what people answer to them.

use std::time::Duration;

use steadfast_api::{AcknowledgeAlertsRequest, AlertList, SilenceAlertsRequest, TenantPageQuery};
use steadfast_core::{
    AlertCommand, AlertRule, AlertState, AlertStatus, AlertSubject, Destination, Tenant,
};

use crate::{
    api::{cursor, query},
    app::App,
    extract::{Body, Caller, Params, Reads, Writes},
    http::{Answer, Json, Problem, Problems},
    limits,
};

/// List alerts: firing, pending and resolved.
#[utoipa::path(
    get, path = "/alerts", tag = "Alerts", operation_id = "listAlerts", params(TenantPageQuery),
    responses((status = 200, description = "The alerts", body = AlertList), Problems)
)]
pub async fn list(
    Reads { app, caller }: Reads,
    Params(page): Params<TenantPageQuery>,
) -> Answer<AlertList> {
    let tenant = query::tenant(page.tenant.as_deref(), &caller)?;
    let alerts = caller.alerts(&app, tenant.as_ref()).await?;
    let key = |it: &AlertState| {
        let destination = it.destination.as_ref().map_or("", Destination::as_str);
        format!("{} {} {} {destination}", it.tenant, it.rule, it.subject)
    };
    let (alerts, next_cursor) =
        cursor::page_of_all(alerts, page.limit, page.after.as_deref(), key)?;
    Ok(Json(AlertList {
        alerts,
        next_cursor,
    }))
}

/// Acknowledge firing alerts: no reminders are sent until they fire again.
///
/// Applies to all firing alerts that match; the list is empty if none does.
#[utoipa::path(
    post, path = "/alerts/acknowledge", tag = "Alerts", operation_id = "acknowledgeAlerts",
    request_body(content = AcknowledgeAlertsRequest, example = json!({"rule": "dlq"})),
    responses((status = 200, description = "The acknowledged alerts", body = AlertList), Problems)
)]
pub async fn acknowledge(
    Writes { app, caller }: Writes,
    Body(request): Body<AcknowledgeAlertsRequest>,
) -> Answer<AlertList> {
    let selection = AlertSelection {
        tenant: query::tenant(request.tenant.as_deref(), &caller)?,
        rule: request.rule,
        subject: request.subject,
        destination: query::destination(request.destination.as_deref())?,
        is_firing: true,
    };
    let by = caller.name(&app).await?;
    answer(&app, &caller, &selection, AlertCommand::Acknowledge { by }).await
}

/// Silence alerts: no notifications are sent for them until then.
///
/// Applies to all alerts that match, firing or not; the list is empty if none does.
#[utoipa::path(
    post, path = "/alerts/silence", tag = "Alerts", operation_id = "silenceAlerts",
    request_body(content = SilenceAlertsRequest, example = json!({
        "rule": "dlq", "until": "2026-01-01T00:00:00Z"
    })),
    responses((status = 200, description = "The silenced alerts", body = AlertList), Problems)
)]
pub async fn silence(
    Writes { app, caller }: Writes,
    Body(request): Body<SilenceAlertsRequest>,
) -> Answer<AlertList> {
    let selection = AlertSelection {
        tenant: query::tenant(request.tenant.as_deref(), &caller)?,
        rule: request.rule,
        subject: request.subject,
        destination: query::destination(request.destination.as_deref())?,
        is_firing: false,
    };
    let (now, until) = (app.client.now(), request.until);
    let most = Duration::from_secs(60 * 60) * limits::SILENCE_HOURS_MAX;
    if until > now.plus(most) {
        let detail = format!(
            "until is {until}: must be at most {} hours from now",
            limits::SILENCE_HOURS_MAX
        );
        return Err(Problem::invalid("until", detail));
    }
    let command = match until > now {
        true => AlertCommand::Silence { until },
        false => AlertCommand::Unsilence,
    };
    answer(&app, &caller, &selection, command).await
}

/// The alerts that a command is for.
struct AlertSelection {
    tenant: Option<Tenant>,
    rule: AlertRule,
    subject: Option<AlertSubject>,
    destination: Option<Destination>,
    is_firing: bool,
}

impl AlertSelection {
    fn contains(&self, alert: &AlertState) -> bool {
        alert.rule == self.rule
            && self.subject.is_none_or(|subject| subject == alert.subject)
            && self
                .destination
                .as_ref()
                .is_none_or(|it| alert.destination.as_ref() == Some(it))
            && (!self.is_firing || alert.status == AlertStatus::Firing)
    }
}

/// Follows a command to all alerts of a selection.
async fn answer(
    app: &App,
    caller: &Caller,
    selection: &AlertSelection,
    command: AlertCommand,
) -> Answer<AlertList> {
    let client = caller.client(app).await?;
    let tenant = selection.tenant.as_ref();
    let found = client.alerts(tenant).await?;
    let mut alerts = Vec::new();
    for alert in found.iter().filter(|alert| selection.contains(alert)) {
        let id = alert.id();
        let changed = client.command_alert(&id, tenant, command.clone());
        alerts.extend(changed.await?);
    }
    let next_cursor = None;
    Ok(Json(AlertList {
        alerts,
        next_cursor,
    }))
}
