//! Queues: how full they are, and whether they are served.

use std::{collections::BTreeMap, sync::Arc};

use axum::extract::State;
use serde::Deserialize;
use steadfast_core::{Queue, Tenant};
use steadfast_engine::Stats;
use steadfast_store::LaneStats;
use utoipa::IntoParams;

use super::{
    Answer,
    stats::WINDOW,
    wire::{Name, QueueShown, Queues},
};
use crate::{
    App,
    access::{Caller, Reads, Writes},
    body::{Id, Params},
    json::Json,
    problem::{Problem, Problems},
};

/// Whose queues are meant.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TenantQuery {
    /// For admin keys; others have a tenant of their own.
    #[param(value_type = Option<Name>)]
    tenant: Option<String>,
}

impl TenantQuery {
    pub fn chosen(&self, caller: &Caller) -> Result<Option<Tenant>, Problem> {
        caller.choose(self.tenant.as_deref().map(Tenant::new).transpose()?)
    }
}

/// Queues with their depth, their oldest job and how things went lately.
#[utoipa::path(
    get, path = "/queues", tag = "queues", params(TenantQuery),
    responses((status = 200, description = "All queues", body = Queues), Problems)
)]
pub async fn list(
    State(app): State<Arc<App>>,
    Reads(caller): Reads,
    Params(query): Params<TenantQuery>,
) -> Answer<Queues> {
    let tenant = query.chosen(&caller)?;
    let lanes = app.client.lanes(app.client.now().minus(WINDOW)).await?;
    let mut queues: BTreeMap<(Tenant, Queue), Vec<LaneStats>> = BTreeMap::new();
    for lane in lanes {
        if tenant.as_ref().is_none_or(|tenant| *tenant == lane.tenant) {
            let name = (lane.tenant.clone(), lane.queue.clone());
            queues.entry(name).or_default().push(lane);
        }
    }
    let queues = queues
        .into_iter()
        .map(|((tenant, queue), lanes)| QueueShown {
            tenant: tenant.to_string(),
            name: queue.to_string(),
            paused: lanes.iter().any(|lane| lane.paused),
            counts: (&lanes.into_iter().collect::<Stats>()).into(),
        });
    Ok(Json(Queues {
        queues: queues.collect(),
    }))
}

/// Stop claims from a queue until it is resumed; what runs goes on.
#[utoipa::path(
    post, path = "/queues/{name}/pause", tag = "queues",
    params(("name" = Name, Path, description = "The queue"), TenantQuery),
    responses((status = 204, description = "It is paused"), Problems)
)]
pub async fn pause(
    State(app): State<Arc<App>>,
    Writes(caller): Writes,
    Id(name): Id<String>,
    Params(query): Params<TenantQuery>,
) -> Result<axum::http::StatusCode, Problem> {
    let tenant = query.chosen(&caller)?.unwrap_or_default();
    app.client.pause_queue(tenant, Queue::new(&name)?).await?;
    Ok(axum::http::StatusCode::NO_CONTENT)
}

/// Serve a queue again.
#[utoipa::path(
    post, path = "/queues/{name}/resume", tag = "queues",
    params(("name" = Name, Path, description = "The queue"), TenantQuery),
    responses((status = 204, description = "It is served"), Problems)
)]
pub async fn resume(
    State(app): State<Arc<App>>,
    Writes(caller): Writes,
    Id(name): Id<String>,
    Params(query): Params<TenantQuery>,
) -> Result<axum::http::StatusCode, Problem> {
    let tenant = query.chosen(&caller)?.unwrap_or_default();
    app.client.resume_queue(tenant, Queue::new(&name)?).await?;
    Ok(axum::http::StatusCode::NO_CONTENT)
}
