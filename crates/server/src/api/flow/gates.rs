//! Gates: what is limited, and by how much.

use axum::{
    extract::{FromRequestParts, Path},
    http::{StatusCode, request},
};
use steadfast_api::{GateBody, GateList, TenantPageQuery, TenantQuery, schema::GatePatchSchema};
use steadfast_core::{Gate, GateId, GatePatch, GateScope, Tenant};
use steadfast_engine::GateUse;
use utoipa::IntoParams;

use crate::{
    api::{cursor, query},
    app::App,
    extract::{Body, Caller, Params, Reads, Writes},
    http::{Answer, Json, Problem, Problems},
};

/// List gates (limits of a queue, kind, tenant, destination or concurrency key) with their current
/// use.
///
/// A key for one tenant sees the gates of its own jobs.
#[utoipa::path(
    get, path = "/gates", tag = "Flow control", operation_id = "listGates",
    params(TenantPageQuery),
    responses((status = 200, description = "All gates", body = GateList), Problems)
)]
pub async fn list(
    Reads { app, caller }: Reads,
    Params(page): Params<TenantPageQuery>,
) -> Answer<GateList> {
    let tenant = query::tenant(page.tenant.as_deref(), &caller)?;
    let gates = app.client.gates(tenant.as_ref()).await?;
    // A unit separator is in no key, and comes before all that keys have.
    let key = |gate: &Gate| {
        let GateId { tenant, scope, key } = &gate.id;
        let tenant = tenant.as_ref().map_or("", Tenant::as_str);
        format!("{scope}\u{1f}{key}\u{1f}{tenant}")
    };
    let (gates, next_cursor) = cursor::page_of_all(gates, page.limit, page.after.as_deref(), key)?;
    Ok(Json(GateList {
        gates: with_use(&app, gates).await?,
        next_cursor,
    }))
}

/// Gates with their current use: of no more than a page.
pub async fn with_use(app: &App, gates: Vec<Gate>) -> Result<Vec<GateBody>, Problem> {
    let ids: Vec<GateId> = gates.iter().map(|gate| gate.id.clone()).collect();
    let uses = app.client.gate_uses(&ids).await?;
    let gates = gates.into_iter().zip(uses);
    let body = |(gate, used): (Gate, GateUse)| {
        GateBody::new(gate, used.running, used.waiting, used.next_start)
    };
    Ok(gates.map(body).collect())
}

async fn answer(app: &App, gate: Gate) -> Answer<GateBody> {
    let mut bodies = with_use(app, vec![gate]).await?;
    let body = bodies.pop().ok_or_else(|| Problem::not_found("gate"))?;
    Ok(Json(body))
}

/// Read a gate.
#[utoipa::path(
    get, path = "/gates/{scope}/{key}", tag = "Flow control", operation_id = "getGate",
    params(GatePath, TenantQuery),
    responses((status = 200, description = "The gate", body = GateBody), Problems)
)]
pub async fn read(
    Reads { app, caller }: Reads,
    path: GatePath,
    Params(query): Params<TenantQuery>,
) -> Answer<GateBody> {
    let id = path.id(&query, &caller)?;
    let gate = app.client.gate(&id).await?;
    let gate = gate.ok_or_else(|| Problem::not_found(format!("gate for {id}")))?;
    answer(&app, gate).await
}

/// Replace the limits of a gate. Takes effect on all nodes within two seconds.
#[utoipa::path(
    put, path = "/gates/{scope}/{key}", tag = "Flow control", operation_id = "setGate",
    params(GatePath, TenantQuery),
    request_body(content = GatePatchSchema, example = json!({
        "maxRunning": 5, "rate": {"limit": 10, "per": "1s"}
    })),
    responses((status = 200, description = "The gate", body = GateBody), Problems)
)]
pub async fn set(
    Writes { app, caller }: Writes,
    path: GatePath,
    Params(query): Params<TenantQuery>,
    Body(limits): Body<GatePatch>,
) -> Answer<GateBody> {
    let id = path.writable_id(&query, &caller)?;
    let (by, client) = (caller.name(&app).await?, caller.client(&app).await?);
    let gate = client.set_gate(id, &limits, by.as_deref()).await?;
    answer(&app, gate).await
}

/// Change the given limits of a gate; null removes a limit. A gate without limits is deleted.
#[utoipa::path(
    patch, path = "/gates/{scope}/{key}", tag = "Flow control", operation_id = "editGate",
    params(GatePath, TenantQuery),
    request_body(content = GatePatchSchema, example = json!({
        "paused": {"reason": "the partner's maintenance window", "until": "2030-01-01T04:00:00Z"}
    })),
    responses((status = 200, description = "The updated gate", body = GateBody), Problems)
)]
pub async fn edit(
    Writes { app, caller }: Writes,
    path: GatePath,
    Params(query): Params<TenantQuery>,
    Body(changes): Body<GatePatch>,
) -> Answer<GateBody> {
    let id = path.writable_id(&query, &caller)?;
    let (by, client) = (caller.name(&app).await?, caller.client(&app).await?);
    let gate = client.change_gate(id, &changes, by.as_deref()).await?;
    answer(&app, gate).await
}

/// Delete a gate; the jobs it held back may start.
#[utoipa::path(
    delete, path = "/gates/{scope}/{key}", tag = "Flow control", operation_id = "deleteGate",
    params(GatePath, TenantQuery),
    responses((status = 204, description = "Deleted"), Problems)
)]
pub async fn delete(
    Writes { app, caller }: Writes,
    path: GatePath,
    Params(query): Params<TenantQuery>,
) -> Result<StatusCode, Problem> {
    let id = path.writable_id(&query, &caller)?;
    match caller.client(&app).await?.delete_gate(&id).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Problem::not_found(format!("gate for {id}"))),
    }
}

/// The scope and key of a gate, as text.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub struct GatePath {
    /// The scope of the gate
    #[param(value_type = GateScope)]
    pub scope: String,
    /// The queue, kind, tenant, destination or concurrency key, percent-encoded
    pub key: String,
}

impl<S: Send + Sync> FromRequestParts<S> for GatePath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut request::Parts, state: &S) -> Result<Self, Problem> {
        let path = Path::<(String, String)>::from_request_parts(parts, state).await;
        let Path((scope, key)) =
            path.map_err(|_| Problem::invalid("key", "key must be UTF-8, percent-encoded"))?;
        Ok(Self { scope, key })
    }
}

impl GatePath {
    /// The gate that a caller may see.
    pub fn id(&self, query: &TenantQuery, caller: &Caller) -> Result<GateId, Problem> {
        let scope: GateScope = self.scope.parse()?;
        let tenant = match scope {
            GateScope::Tenant => {
                let own = caller.tenant.as_ref().map(Tenant::as_str);
                if let Some(own) = own.filter(|own| *own != self.key) {
                    let detail = format!("key must be {own}: this API key is for this tenant only");
                    return Err(Problem::invalid("key", detail));
                }
                query.tenant.as_deref().map(Tenant::new).transpose()?
            }
            // Jobs without a tenant have the default one, and a concurrency key belongs to one.
            GateScope::Key => Some(query::query_tenant(query, caller)?.unwrap_or_default()),
            _ => query::query_tenant(query, caller)?,
        };
        Ok(GateId::new(tenant, scope, &self.key)?)
    }

    /// The gate that a caller may change. A tenant cannot change its own total limit.
    pub fn writable_id(&self, query: &TenantQuery, caller: &Caller) -> Result<GateId, Problem> {
        let id = self.id(query, caller)?;
        match (&caller.tenant, id.scope) {
            (Some(own), GateScope::Tenant) => Err(Problem::new(
                StatusCode::FORBIDDEN,
                "wrong_scope",
                format!("setting the gate of tenant {own} requires an API key for all tenants"),
            )
            .at("scope")),
            _ => Ok(id),
        }
    }
}
