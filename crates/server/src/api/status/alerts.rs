//! Alerts: current and past.

use steadfast_api::{AlertList, TenantPageQuery};
use steadfast_core::{AlertState, Destination};

use crate::{
    api::{cursor, query},
    extract::{Params, Reads},
    http::{Answer, Json, Problems},
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
    let alerts = app.client.alerts(tenant.as_ref()).await?;
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
