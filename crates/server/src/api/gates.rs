//! Gates: what is limited, and by how much.

use std::sync::Arc;

use axum::{
    extract::{FromRequestParts, Path, State},
    http::{StatusCode, request},
};
use steadfast_api::{GateBody, GateList, TenantPageQuery, TenantQuery, schema::GatePatchSchema};
use steadfast_core::{Gate, GateId, GatePatch, GateScope, Tenant};
use steadfast_engine::GateUse;

use super::{Answer, cursor, query};
use crate::{
    access::{Caller, Reads, Writes},
    app::App,
    body::{Body, Params},
    json::Json,
    problem::{Problem, Problems},
};

/// List gates: what limits the jobs of a queue, kind, tenant, destination or concurrency key, and
/// how much of it is taken at present.
///
/// A key of one tenant sees those of its own jobs.
#[utoipa::path(
    get, path = "/gates", tag = "Flow control", operation_id = "listGates",
    params(TenantPageQuery),
    responses((status = 200, description = "All gates", body = GateList), Problems)
)]
pub async fn list(
    State(app): State<Arc<App>>,
    Reads(caller): Reads,
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

/// Gates with their present use: of no more than a page.
pub async fn with_use(app: &App, gates: Vec<Gate>) -> Result<Vec<GateBody>, Problem> {
    let ids: Vec<GateId> = gates.iter().map(|gate| gate.id.clone()).collect();
    let uses = app.client.gate_uses(&ids).await?;
    let gates = gates.into_iter().zip(uses);
    let body = |(gate, used): (Gate, GateUse)| GateBody::new(gate, used.running, used.next_start);
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
    params(
        ("scope" = GateScope, Path, description = "What the key names"),
        ("key" = String, Path, description = "The queue, kind, tenant, destination or concurrency key, percent-encoded"),
        TenantQuery,
    ),
    responses((status = 200, description = "The gate", body = GateBody), Problems)
)]
pub async fn read(
    State(app): State<Arc<App>>,
    Reads(caller): Reads,
    path: GatePath,
    Params(query): Params<TenantQuery>,
) -> Answer<GateBody> {
    let id = path.id(&query, &caller)?;
    let gate = app.client.gate(&id).await?;
    let gate = gate.ok_or_else(|| Problem::not_found(format!("gate for {id}")))?;
    answer(&app, gate).await
}

/// Set a gate to these limits and no others. It holds on all nodes within two seconds.
#[utoipa::path(
    put, path = "/gates/{scope}/{key}", tag = "Flow control", operation_id = "setGate",
    params(
        ("scope" = GateScope, Path, description = "What the key names"),
        ("key" = String, Path, description = "The queue, kind, tenant, destination or concurrency key, percent-encoded"),
        TenantQuery,
    ),
    request_body(content = GatePatchSchema, example = json!({
        "maxRunning": 5, "rate": {"limit": 10, "per": "1s"}
    })),
    responses((status = 200, description = "The gate", body = GateBody), Problems)
)]
pub async fn set(
    State(app): State<Arc<App>>,
    Writes(caller): Writes,
    path: GatePath,
    Params(query): Params<TenantQuery>,
    Body(limits): Body<GatePatch>,
) -> Answer<GateBody> {
    let id = path.writable_id(&query, &caller)?;
    let by = caller.name(&app).await?;
    let gate = caller
        .client(&app)
        .await?
        .set_gate(id, &limits, by.as_deref())
        .await?;
    answer(&app, gate).await
}

/// Change the limits of a gate that the body names, and leave the others; null removes one. A gate
/// that is left without limits is deleted.
#[utoipa::path(
    patch, path = "/gates/{scope}/{key}", tag = "Flow control", operation_id = "editGate",
    params(
        ("scope" = GateScope, Path, description = "What the key names"),
        ("key" = String, Path, description = "The queue, kind, tenant, destination or concurrency key, percent-encoded"),
        TenantQuery,
    ),
    request_body(content = GatePatchSchema, example = json!({
        "paused": {"reason": "the partner's maintenance window", "until": "2030-01-01T04:00:00Z"}
    })),
    responses((status = 200, description = "The gate as it is now", body = GateBody), Problems)
)]
pub async fn edit(
    State(app): State<Arc<App>>,
    Writes(caller): Writes,
    path: GatePath,
    Params(query): Params<TenantQuery>,
    Body(changes): Body<GatePatch>,
) -> Answer<GateBody> {
    let id = path.writable_id(&query, &caller)?;
    let by = caller.name(&app).await?;
    let gate = caller
        .client(&app)
        .await?
        .change_gate(id, &changes, by.as_deref())
        .await?;
    answer(&app, gate).await
}

/// Delete a gate: what it held back may start.
#[utoipa::path(
    delete, path = "/gates/{scope}/{key}", tag = "Flow control", operation_id = "deleteGate",
    params(
        ("scope" = GateScope, Path, description = "What the key names"),
        ("key" = String, Path, description = "The queue, kind, tenant, destination or concurrency key, percent-encoded"),
        TenantQuery,
    ),
    responses((status = 204, description = "It is deleted"), Problems)
)]
pub async fn delete(
    State(app): State<Arc<App>>,
    Writes(caller): Writes,
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
pub struct GatePath {
    pub scope: String,
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
                    let detail = format!("key must be {own}: this API key is for that tenant only");
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

    /// The gate that a caller may change. What a tenant may use in all is for others to say.
    pub fn writable_id(&self, query: &TenantQuery, caller: &Caller) -> Result<GateId, Problem> {
        let id = self.id(query, caller)?;
        match (&caller.tenant, id.scope) {
            (Some(own), GateScope::Tenant) => Err(Problem::new(
                StatusCode::FORBIDDEN,
                "wrong_scope",
                format!("the gate of tenant {own} is set with an API key for all tenants"),
            )
            .at("scope")),
            _ => Ok(id),
        }
    }
}
