//! Queues: how full they are, and whether they are paused.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use axum::{extract::State, http::StatusCode};
use steadfast_api::{QueueBody, QueueList, TenantPageQuery, TenantQuery, schema::NameSchema};
use steadfast_core::{Queue, Tenant};
use steadfast_engine::Stats;
use steadfast_store::LaneStats;

use super::{Answer, cursor, query, stats::counts};
use crate::{
    access::{Reads, Writes},
    app::App,
    body::{Id, Params},
    json::Json,
    limits::{PAUSED_QUEUES_MAX, RECENT_WINDOW},
    problem::{Problem, Problems},
};

/// List queues with their counts and the age of their oldest waiting job.
#[utoipa::path(
    get, path = "/queues", tag = "Queues", operation_id = "listQueues", params(TenantPageQuery),
    responses((status = 200, description = "All queues", body = QueueList), Problems)
)]
pub async fn list(
    State(app): State<Arc<App>>,
    Reads(caller): Reads,
    Params(page): Params<TenantPageQuery>,
) -> Answer<QueueList> {
    let tenant = query::tenant(page.tenant.as_deref(), &caller)?;
    let since = app.client.now().minus(RECENT_WINDOW);
    let mut queues: BTreeMap<(Tenant, Queue), Vec<LaneStats>> = BTreeMap::new();
    for lane in app.client.lanes(since).await? {
        if tenant.as_ref().is_none_or(|tenant| *tenant == lane.tenant) {
            let name = (lane.tenant.clone(), lane.queue.clone());
            queues.entry(name).or_default().push(lane);
        }
    }
    // A pause is remembered for a queue without jobs, too: jobs that come later will wait.
    let paused = app.client.paused_queues(tenant, PAUSED_QUEUES_MAX).await?;
    for name in &paused {
        queues.entry(name.clone()).or_default();
    }
    let paused: BTreeSet<(Tenant, Queue)> = paused.into_iter().collect();
    let queues = queues
        .into_iter()
        .map(|((tenant, queue), lanes)| QueueBody {
            tenant: tenant.to_string(),
            name: queue.to_string(),
            paused: lanes.iter().any(|lane| lane.paused) || paused.contains(&(tenant, queue)),
            counts: counts(&lanes.into_iter().collect::<Stats>()),
        });
    // Names have no spaces, and a space comes before all that they have.
    let key = |queue: &QueueBody| format!("{} {}", queue.tenant, queue.name);
    let (queues, next_cursor) =
        cursor::page_of_all(queues.collect(), page.limit, page.after.as_deref(), key)?;
    Ok(Json(QueueList {
        queues,
        next_cursor,
    }))
}

/// Pause a queue: no job is claimed from it until it is resumed. Running jobs go on.
#[utoipa::path(
    post, path = "/queues/{name}/pause", tag = "Queues", operation_id = "pauseQueue",
    params(("name" = NameSchema, Path, description = "The queue"), TenantQuery),
    responses((status = 204, description = "It is paused"), Problems)
)]
pub async fn pause(
    State(app): State<Arc<App>>,
    Writes(caller): Writes,
    Id(name): Id<String>,
    Params(query): Params<TenantQuery>,
) -> Result<StatusCode, Problem> {
    let tenant = query::query_tenant(&query, &caller)?.unwrap_or_default();
    app.client.pause_queue(tenant, Queue::new(&name)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Resume a paused queue.
#[utoipa::path(
    post, path = "/queues/{name}/resume", tag = "Queues", operation_id = "resumeQueue",
    params(("name" = NameSchema, Path, description = "The queue"), TenantQuery),
    responses((status = 204, description = "It is resumed"), Problems)
)]
pub async fn resume(
    State(app): State<Arc<App>>,
    Writes(caller): Writes,
    Id(name): Id<String>,
    Params(query): Params<TenantQuery>,
) -> Result<StatusCode, Problem> {
    let tenant = query::query_tenant(&query, &caller)?.unwrap_or_default();
    app.client.resume_queue(tenant, Queue::new(&name)?).await?;
    Ok(StatusCode::NO_CONTENT)
}
