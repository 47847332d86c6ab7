//! Why jobs have not started.

use steadfast_api::{QueueExplanation, StartExplanation, TenantQuery, schema::NameSchema};
use steadfast_core::{JobId, Queue, Tenant};
use steadfast_engine::ExplainRequest;

use crate::{
    api::{query, work::jobs},
    app::App,
    extract::{Caller, Id, Params, Reads},
    http::{Answer, Json, Problem, Problems},
    node::workers,
};

/// Explain why a job has not started.
///
/// Lists everything that blocks the job, an estimate of its start, and the one action that would
/// start it sooner. Computed from the same conditions as a claim: `claimable` says whether a claim
/// would take the job now.
#[utoipa::path(
    get, path = "/jobs/{id}/explain", tag = "Jobs", operation_id = "explainJob",
    params(("id" = String, Path, description = "job_…")),
    responses(
        (status = 200, description = "The explanation", body = StartExplanation),
        Problems
    )
)]
pub async fn job(Reads { app, caller }: Reads, Id(id): Id<JobId>) -> Answer<StartExplanation> {
    let job = jobs::find(&app, &caller, id).await?;
    let request = request(&app, &caller, &job.tenant).await?;
    let explanation = app.client.explain(id, &request).await?;
    explanation.map(Json).ok_or_else(|| Problem::not_found(id))
}

/// Explain why the jobs of a queue do or do not start.
#[utoipa::path(
    get, path = "/queues/{name}/explain", tag = "Queues", operation_id = "explainQueue",
    params(("name" = NameSchema, Path, description = "The queue"), TenantQuery),
    responses(
        (status = 200, description = "The explanation for its next job", body = QueueExplanation),
        Problems
    )
)]
pub async fn queue(
    Reads { app, caller }: Reads,
    Id(name): Id<String>,
    Params(query): Params<TenantQuery>,
) -> Answer<QueueExplanation> {
    let tenant = query::query_tenant(&query, &caller)?.unwrap_or_default();
    let queue = Queue::new(&name)?;
    let request = request(&app, &caller, &tenant).await?;
    let explanation = app.client.explain_queue(&tenant, &queue, &request).await?;
    Ok(Json(explanation))
}

/// What this server adds to an explanation, for a caller.
pub async fn request(
    app: &App,
    caller: &Caller,
    tenant: &Tenant,
) -> Result<ExplainRequest, Problem> {
    let states = workers::serving(&*app.node.store(), tenant).await?;
    let workers = workers::presences(states, app.client.now());
    let is_of_tenant = caller.sees_own_jobs_only();
    Ok(ExplainRequest::new(workers, is_of_tenant))
}
