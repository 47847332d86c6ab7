//! Counts and rates.

use std::{sync::Arc, time::Duration};

use axum::extract::State;
use serde::Deserialize;
use steadfast_core::Tenant;
use utoipa::IntoParams;

use super::{
    Answer,
    queues::TenantQuery,
    wire::{Minutes, Name, StatsShown},
};
use crate::{
    App,
    access::Reads,
    body::Params,
    json::Json,
    problem::{Problem, Problems},
};

/// What "lately" is.
pub const WINDOW: Duration = Duration::from_secs(300);
const MINUTES_DEFAULT: u64 = 60;
const MINUTES_MAX: u64 = 7 * 24 * 60;

/// Jobs by label, throughput, retries and how many of them helped.
#[utoipa::path(
    get, path = "/stats", tag = "stats", params(TenantQuery),
    responses((status = 200, description = "Counts and rates", body = StatsShown), Problems)
)]
pub async fn stats(
    State(app): State<Arc<App>>,
    Reads(caller): Reads,
    Params(query): Params<TenantQuery>,
) -> Answer<StatsShown> {
    let tenant = query.chosen(&caller)?;
    let now = app.client.now();
    let mut lanes = app.client.lanes(now.minus(WINDOW)).await?;
    lanes.retain(|lane| tenant.as_ref().is_none_or(|tenant| *tenant == lane.tenant));
    Ok(Json(StatsShown::of(lanes, now, WINDOW.as_secs_f64())))
}

/// How far to look back.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct MinutesQuery {
    /// For admin keys; others have a tenant of their own.
    #[param(value_type = Option<Name>)]
    tenant: Option<String>,
    /// How many minutes to look back, up to a week.
    #[param(minimum = 1, maximum = 10080)]
    minutes: Option<u64>,
}

/// Attempts by the minute in which they ended, oldest first; quiet minutes are left out.
#[utoipa::path(
    get, path = "/stats/minutes", tag = "stats", params(MinutesQuery),
    responses((status = 200, description = "Counts by the minute", body = Minutes), Problems)
)]
pub async fn minutes(
    State(app): State<Arc<App>>,
    Reads(caller): Reads,
    Params(query): Params<MinutesQuery>,
) -> Answer<Minutes> {
    let asked = query.tenant.as_deref().map(Tenant::new).transpose()?;
    let tenant = caller.choose(asked)?;
    let back = query.minutes.unwrap_or(MINUTES_DEFAULT);
    if !(1..=MINUTES_MAX).contains(&back) {
        let detail = format!("minutes is {back}: must be between 1 and {MINUTES_MAX}");
        return Err(Problem::invalid("minutes", detail));
    }
    let since = app.client.now().minus(Duration::from_secs(60 * back));
    let minutes = app.client.minutes(tenant, since).await?;
    Ok(Json(Minutes {
        minutes: minutes.into_iter().map(Into::into).collect(),
    }))
}
