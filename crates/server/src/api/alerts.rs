//! Alerts: what is wrong at the moment, and what was.

use std::sync::Arc;

use axum::extract::State;

use super::{Answer, queues::TenantQuery, wire::Alerts};
use crate::{App, access::Reads, body::Params, json::Json, problem::Problems};

/// Alerts that fire, are about to, or did.
#[utoipa::path(
    get, path = "/alerts", tag = "alerts", params(TenantQuery),
    responses((status = 200, description = "The alerts", body = Alerts), Problems)
)]
pub async fn list(
    State(app): State<Arc<App>>,
    Reads(caller): Reads,
    Params(query): Params<TenantQuery>,
) -> Answer<Alerts> {
    let tenant = query.chosen(&caller)?;
    let alerts = app.client.alerts(tenant.as_ref()).await?;
    Ok(Json(Alerts { alerts }))
}
