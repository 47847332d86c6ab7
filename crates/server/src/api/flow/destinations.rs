//! Destinations: how the systems that jobs call are doing, held and released by hand.

use axum::http::StatusCode;
use steadfast_api::{
    DestinationBody, DestinationList, DestinationQuery, DestinationSettings,
    HoldDestinationRequest, SetDestinationRequest, TenantQuery,
};
use steadfast_core::{Destination, GatePatch, Invalid, Tenant, Timestamp};
use steadfast_engine::{DestinationFilter, DestinationState};

use crate::{
    api::{cursor, query},
    app::App,
    extract::{Body, Caller, Id, MaybeBody, Params, Reads, Writes},
    http::{Answer, Json, Problem, Problems},
    limits,
};

/// List destinations that failed recently, are held, or whose pace is learned.
#[utoipa::path(
    get, path = "/destinations", tag = "Flow control", operation_id = "listDestinations",
    params(DestinationQuery),
    responses((status = 200, description = "Destinations", body = DestinationList), Problems)
)]
pub async fn list(
    Reads { app, caller }: Reads,
    Params(page): Params<DestinationQuery>,
) -> Answer<DestinationList> {
    let mut filter = DestinationFilter::default();
    filter.tenant = query::tenant(page.tenant.as_deref(), &caller)?;
    filter.status = page.status;
    let limit = cursor::size(page.limit, limits::PAGE_MAX)?;
    let after = page.after.as_deref().map(origin).transpose();
    let after =
        after.map_err(|_| Problem::invalid("after", "after is not a cursor of this list"))?;
    // One more shows whether there is a next page.
    let found = app.client.destinations(&filter, after.as_ref(), limit + 1);
    let mut found = found.await?;
    let has_more = found.len() > limit;
    found.truncate(limit);
    let last = found.last().filter(|_| has_more);
    Ok(Json(DestinationList {
        next_cursor: last.map(|state| state.destination.to_string()),
        destinations: found
            .iter()
            .map(|state| body_of(state, &caller, app.client.now()).without_minutes())
            .collect(),
    }))
}

/// Read a destination with its health, incidents and settings.
#[utoipa::path(
    get, path = "/destinations/{key}", tag = "Flow control", operation_id = "getDestination",
    params(("key" = String, Path, description = "The origin, percent-encoded"), TenantQuery),
    responses((status = 200, description = "The destination", body = DestinationBody), Problems)
)]
pub async fn read(
    Reads { app, caller }: Reads,
    Id(key): Id<String>,
    Params(query): Params<TenantQuery>,
) -> Answer<DestinationBody> {
    let tenant = query::query_tenant(&query, &caller)?;
    let state = find(&app, &caller, &origin(&key)?, tenant.as_ref()).await?;
    Ok(Json(body_of(&state, &caller, app.client.now())))
}

/// A destination as the caller may see it, with the settings for a tenant.
pub async fn find(
    app: &App,
    caller: &Caller,
    destination: &Destination,
    tenant: Option<&Tenant>,
) -> Result<DestinationState, Problem> {
    Ok(match &caller.tenant {
        Some(own) => app.client.destination_of(own, destination).await?,
        None => app.client.destination(destination, tenant).await?,
    })
}

/// Set what to do when a destination is unhealthy, the thresholds for it, and whether its pace is
/// learned. A key for one tenant sets `hold` and `pace` for its own jobs.
#[utoipa::path(
    put, path = "/destinations/{key}", tag = "Flow control", operation_id = "setDestination",
    params(("key" = String, Path, description = "The origin, percent-encoded"), TenantQuery),
    request_body(content = SetDestinationRequest, example = json!({
        "hold": "auto", "health": {"minAttempts": 50, "window": "2m"}
    })),
    responses((status = 200, description = "The destination", body = DestinationBody), Problems)
)]
pub async fn set(
    Writes { app, caller }: Writes,
    Id(key): Id<String>,
    Params(query): Params<TenantQuery>,
    Body(settings): Body<GatePatch>,
) -> Answer<DestinationBody> {
    check_settings(&settings)?;
    let changes = GatePatch {
        hold: Some(settings.hold.flatten()),
        share_retry_after: Some(settings.share_retry_after.flatten()),
        pace: Some(settings.pace.flatten()),
        health: Some(settings.health.flatten()),
        ..GatePatch::default()
    };
    change(&app, &caller, &key, &query, &changes).await
}

/// Change the given settings of a destination; null resets a setting to its default.
#[utoipa::path(
    patch, path = "/destinations/{key}", tag = "Flow control", operation_id = "editDestination",
    params(("key" = String, Path, description = "The origin, percent-encoded"), TenantQuery),
    request_body(content = SetDestinationRequest, example = json!({"hold": "auto"})),
    responses((status = 200, description = "The updated destination", body = DestinationBody), Problems)
)]
pub async fn edit(
    Writes { app, caller }: Writes,
    Id(key): Id<String>,
    Params(query): Params<TenantQuery>,
    Body(changes): Body<GatePatch>,
) -> Answer<DestinationBody> {
    check_settings(&changes)?;
    if changes == GatePatch::default() {
        let detail = "nothing to change: send hold, shareRetryAfter, pace or health";
        return Err(Problem::invalid("hold", detail));
    }
    change(&app, &caller, &key, &query, &changes).await
}

/// Refuses the limits of a gate.
fn check_settings(settings: &GatePatch) -> Result<(), Problem> {
    let others = GatePatch {
        hold: None,
        share_retry_after: None,
        pace: None,
        health: None,
        ..settings.clone()
    };
    let others = serde_json::json!(others);
    let Some(other) = others.as_object().and_then(|fields| fields.keys().next()) else {
        return Ok(());
    };
    let detail = format!(
        "{other} is not a setting of a destination; use hold, shareRetryAfter, pace or health, and \
         set limits with its gate"
    );
    let status = StatusCode::UNPROCESSABLE_ENTITY;
    Err(Problem::new(status, "unknown_field", detail).at(other))
}

async fn change(
    app: &App,
    caller: &Caller,
    key: &str,
    query: &TenantQuery,
    changes: &GatePatch,
) -> Answer<DestinationBody> {
    let tenant = query::query_tenant(query, caller)?;
    let destination = origin(key)?;
    let client = caller.client(app).await?;
    client
        .change_destination(tenant.clone(), &destination, changes)
        .await?;
    let state = find(app, caller, &destination, tenant.as_ref()).await?;
    Ok(Json(body_of(&state, caller, app.client.now())))
}

/// Hold a destination: no job of any tenant starts for it until it is released or the hold expires.
#[utoipa::path(
    post, path = "/destinations/{key}/hold", tag = "Flow control", operation_id = "holdDestination",
    params(("key" = String, Path, description = "The origin, percent-encoded")),
    request_body(content = Option<HoldDestinationRequest>, example = json!({"reason": "they asked us to stop"})),
    responses((status = 200, description = "The destination", body = DestinationBody), Problems)
)]
pub async fn hold(
    Writes { app, caller }: Writes,
    Id(key): Id<String>,
    MaybeBody(request): MaybeBody<HoldDestinationRequest>,
) -> Answer<DestinationBody> {
    require_all_tenants(&caller)?;
    let by = caller.name(&app).await?;
    let HoldDestinationRequest { reason, until } = request;
    let destination = origin(&key)?;
    let client = caller.client(&app).await?;
    let held = client.hold_destination(&destination, by.as_deref(), reason.as_deref(), until);
    Ok(Json(body_of(&held.await?, &caller, app.client.now())))
}

/// Release a destination; starts ramp up gradually.
#[utoipa::path(
    post, path = "/destinations/{key}/release", tag = "Flow control", operation_id = "releaseDestination",
    params(("key" = String, Path, description = "The origin, percent-encoded")),
    responses((status = 200, description = "The destination", body = DestinationBody), Problems)
)]
pub async fn release(
    Writes { app, caller }: Writes,
    Id(key): Id<String>,
) -> Answer<DestinationBody> {
    require_all_tenants(&caller)?;
    let by = caller.name(&app).await?;
    let destination = origin(&key)?;
    let client = caller.client(&app).await?;
    let released = client.release_destination(&destination, by.as_deref());
    Ok(Json(body_of(&released.await?, &caller, app.client.now())))
}

/// A tenant pauses the gate of its own jobs instead.
fn require_all_tenants(caller: &Caller) -> Result<(), Problem> {
    caller.require_all_tenants().map_err(|mut problem| {
        problem.detail.push_str(
            ", because a hold applies to all tenants; to stop your own jobs, pause the gate of the \
             destination",
        );
        problem
    })
}

fn origin(text: &str) -> Result<Destination, Invalid> {
    Destination::new(text).map_err(|error| Invalid {
        field: "key".to_owned(),
        ..error
    })
}

/// A destination as the caller may see it.
pub fn body_of(state: &DestinationState, caller: &Caller, now: Timestamp) -> DestinationBody {
    let settings = DestinationSettings {
        tenant: state.tenant.clone(),
        hold: state.hold,
        retry_after_scope: state.retry_after_scope,
        pace: state.pace,
        learned: state.learned.clone(),
        rules: state.rules,
    };
    let reader = caller.tenant.as_ref();
    let (destination, health) = (&state.destination, &state.health);
    caller.redact_destination(DestinationBody::new(
        destination,
        health,
        settings,
        reader,
        now,
    ))
}
