//! Alerts: what is wrong at the moment, and what was.

use std::sync::Arc;

use axum::extract::State;
use steadfast_api::{AlertList, TenantQuery};

use super::{Answer, query};
use crate::{access::Reads, app::App, body::Params, json::Json, problem::Problems};

/// List alerts that fire, are about to, or did.
#[utoipa::path(
    get, path = "/alerts", tag = "Alerts", operation_id = "listAlerts", params(TenantQuery),
    responses((status = 200, description = "The alerts", body = AlertList), Problems)
)]
pub async fn list(
    State(app): State<Arc<App>>,
    Reads(caller): Reads,
    Params(query): Params<TenantQuery>,
) -> Answer<AlertList> {
    let tenant = query::query_tenant(&query, &caller)?;
    let alerts = app.client.alerts(tenant.as_ref()).await?;
    Ok(Json(AlertList { alerts }))
}
