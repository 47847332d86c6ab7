//! Why jobs have not started.

use std::sync::Arc;

use axum::extract::State;
use steadfast_api::{QueueExplanation, StartExplanation, TenantQuery, schema::NameSchema};
use steadfast_core::{JobId, Queue, Tenant};
use steadfast_engine::{ExplainRequest, WorkerPresence};

use super::{Answer, jobs, query};
use crate::{
    access::{Caller, Reads},
    app::App,
    body::{Id, Params},
    json::Json,
    problem::{Problem, Problems},
    workers,
};

/// Why a job has not started: everything that stands between now and its start.
///
/// With an estimate of the start, and the one thing that would start it sooner. It is computed
/// from what a claim looks at: `claimable` says whether one would take the job now.
#[utoipa::path(
    get, path = "/jobs/{id}/explain", tag = "Jobs", operation_id = "explainJob",
    params(("id" = String, Path, description = "job_…")),
    responses(
        (status = 200, description = "Why it has not started", body = StartExplanation),
        Problems
    )
)]
pub async fn job(
    State(app): State<Arc<App>>,
    Reads(caller): Reads,
    Id(id): Id<JobId>,
) -> Answer<StartExplanation> {
    let job = jobs::find(&app, &caller, id).await?;
    let request = request(&app, &caller, &job.tenant).await?;
    let explanation = app.client.explain(id, &request).await?;
    explanation.map(Json).ok_or_else(|| Problem::not_found(id))
}

/// Why nothing, or something, runs in a queue.
#[utoipa::path(
    get, path = "/queues/{name}/explain", tag = "Queues", operation_id = "explainQueue",
    params(("name" = NameSchema, Path, description = "The queue"), TenantQuery),
    responses(
        (status = 200, description = "What its next job waits for", body = QueueExplanation),
        Problems
    )
)]
pub async fn queue(
    State(app): State<Arc<App>>,
    Reads(caller): Reads,
    Id(name): Id<String>,
    Params(query): Params<TenantQuery>,
) -> Answer<QueueExplanation> {
    let tenant = query::query_tenant(&query, &caller)?.unwrap_or_default();
    let queue = Queue::new(&name)?;
    let request = request(&app, &caller, &tenant).await?;
    let explanation = app.client.explain_queue(&tenant, &queue, &request).await?;
    Ok(Json(explanation))
}

/// What this server knows besides, for a caller.
pub async fn request(
    app: &App,
    caller: &Caller,
    tenant: &Tenant,
) -> Result<ExplainRequest, Problem> {
    let now = app.client.now();
    let states = workers::serving(&*app.node.store(), tenant).await?;
    let workers = states.into_iter().map(|state| WorkerPresence {
        is_alive: state.is_alive(now),
        name: state.name,
        tenant: state.tenant,
        queues: state.queues,
        kinds: state.kinds,
        last_seen: state.last_seen,
    });
    let is_of_tenant = caller.tenant.is_some();
    Ok(ExplainRequest::new(workers.collect(), is_of_tenant))
}
