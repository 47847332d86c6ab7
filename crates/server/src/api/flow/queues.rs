//! Queues: how full they are, and whether they are paused.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use axum::http::StatusCode;
use steadfast_api::{
    PauseQueueRequest, QueueBody, QueueList, TenantPageQuery, TenantQuery, schema::NameSchema,
};
use steadfast_core::{GateId, GateScope, Pause, PausePatch, Queue, Tenant};
use steadfast_engine::{ClientError, Stats};
use steadfast_store::LaneStats;

use crate::{
    api::{cursor, query, status::stats::counts},
    app::App,
    extract::{Id, MaybeBody, Params, Reads, Writes},
    http::{Answer, Json, Problem, Problems},
    limits::{PAUSED_QUEUES_MAX, RECENT_WINDOW},
};

/// List queues with their counts and the age of their oldest waiting job.
#[utoipa::path(
    get, path = "/queues", tag = "Queues", operation_id = "listQueues", params(TenantPageQuery),
    responses((status = 200, description = "All queues", body = QueueList), Problems)
)]
pub async fn list(
    Reads { app, caller }: Reads,
    Params(page): Params<TenantPageQuery>,
) -> Answer<QueueList> {
    let tenant = query::tenant(page.tenant.as_deref(), &caller)?;
    let since = app.client.now().minus(RECENT_WINDOW);
    let mut queues: BTreeMap<(Tenant, Queue), Vec<LaneStats>> = BTreeMap::new();
    for lane in app.client.lanes(tenant.clone(), since).await? {
        let name = (lane.tenant.clone(), lane.queue.clone());
        queues.entry(name).or_default().push(lane);
    }
    // A pause is remembered for a queue without jobs, too: jobs that come later will wait.
    let paused = app.client.paused_queues(tenant, PAUSED_QUEUES_MAX).await?;
    for name in &paused {
        queues.entry(name.clone()).or_default();
    }
    let paused: BTreeSet<(Tenant, Queue)> = paused.into_iter().collect();
    let pauses = QueuePauses::read(&app).await?;
    let queues = queues
        .into_iter()
        .map(|((tenant, queue), lanes)| QueueBody {
            tenant: tenant.to_string(),
            name: queue.to_string(),
            pause: pauses.of(&tenant, &queue).cloned(),
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

/// Pause a queue: no job starts until it is resumed; running jobs continue.
#[utoipa::path(
    post, path = "/queues/{name}/pause", tag = "Queues", operation_id = "pauseQueue",
    params(("name" = NameSchema, Path, description = "The queue"), TenantQuery),
    request_body(content = Option<PauseQueueRequest>, example = json!({"reason": "the provider moves"})),
    responses((status = 204, description = "It is paused"), Problems)
)]
pub async fn pause(
    Writes { app, caller }: Writes,
    Id(name): Id<String>,
    Params(query): Params<TenantQuery>,
    MaybeBody(request): MaybeBody<PauseQueueRequest>,
) -> Result<StatusCode, Problem> {
    let tenant = query::query_tenant(&query, &caller)?.unwrap_or_default();
    let by = caller.name(&app).await?;
    let PauseQueueRequest { reason, until } = request;
    let (queue, pause) = (Queue::new(&name)?, PausePatch::Pause { reason, until });
    let client = caller.client(&app).await?;
    let paused = client.pause_queue_with(tenant, queue, pause, by.as_deref());
    paused.await.map_err(without_prefix)?;
    Ok(StatusCode::NO_CONTENT)
}

/// The fields of this request are those of a gate's `paused`.
fn without_prefix(error: ClientError) -> Problem {
    let mut problem = Problem::from(error);
    if let Some(field) = problem
        .field
        .as_deref()
        .and_then(|it| it.strip_prefix("paused."))
    {
        problem.detail = problem.detail.replacen("paused.", "", 1);
        problem.field = Some(field.to_owned());
    }
    problem
}

/// Who has paused queues, and why.
pub struct QueuePauses(HashMap<GateId, Pause>);

impl QueuePauses {
    pub async fn read(app: &App) -> Result<Self, Problem> {
        let now = app.client.now();
        let gates = app.client.gates(None).await?.into_iter();
        let paused = gates.filter_map(|gate| {
            let is_queue = gate.id.scope == GateScope::Queue;
            let pause = gate.limits.paused.filter(|pause| !pause.is_over(now))?;
            is_queue.then_some((gate.id, pause))
        });
        Ok(Self(paused.collect()))
    }

    /// Of one tenant's queue.
    pub fn of(&self, tenant: &Tenant, queue: &Queue) -> Option<&Pause> {
        let of = |tenant: Option<&Tenant>| {
            self.0.get(&GateId {
                tenant: tenant.cloned(),
                scope: GateScope::Queue,
                key: queue.as_str().to_owned(),
            })
        };
        of(Some(tenant)).or_else(|| of(None))
    }
}

/// Resume a paused queue.
#[utoipa::path(
    post, path = "/queues/{name}/resume", tag = "Queues", operation_id = "resumeQueue",
    params(("name" = NameSchema, Path, description = "The queue"), TenantQuery),
    responses((status = 204, description = "It is resumed"), Problems)
)]
pub async fn resume(
    Writes { app, caller }: Writes,
    Id(name): Id<String>,
    Params(query): Params<TenantQuery>,
) -> Result<StatusCode, Problem> {
    let tenant = query::query_tenant(&query, &caller)?.unwrap_or_default();
    let client = caller.client(&app).await?;
    client.resume_queue(tenant, Queue::new(&name)?).await?;
    Ok(StatusCode::NO_CONTENT)
}
