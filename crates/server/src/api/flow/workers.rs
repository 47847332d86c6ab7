//! The workers that claim jobs over HTTP.

use steadfast_api::{TenantPageQuery, WorkerBody, WorkerInfo, WorkerList};
use steadfast_core::{JobLabel, Tenant, Timestamp};
use steadfast_store::{JobFilter, JobPageRequest};

use crate::{
    api::{cursor, query},
    app::App,
    extract::{Params, Reads},
    http::{Answer, Json, Problem, Problems},
    limits,
    node::workers::{self, RunningJobs, WorkerState},
};

/// List the workers that have claimed jobs within the last day.
///
/// A worker is alive if it was seen within the last 90 s.
#[utoipa::path(
    get, path = "/workers", tag = "Workers", operation_id = "listWorkers",
    params(TenantPageQuery),
    responses((status = 200, description = "A page of workers", body = WorkerList), Problems)
)]
pub async fn list(
    Reads { app, caller }: Reads,
    Params(page): Params<TenantPageQuery>,
) -> Answer<WorkerList> {
    let tenant = query::tenant(page.tenant.as_deref(), &caller)?;
    let limit = cursor::size(page.limit, limits::PAGE_MAX)?;
    let (store, after) = (app.node.store(), page.after);
    let mut states = workers::page(&*store, tenant.as_ref(), after, limit + 1).await?;
    let has_more = states.len() > limit;
    states.truncate(limit);
    let last = states.last().filter(|_| has_more);
    let next_cursor = last.map(|last| workers::document_id(last.tenant.as_ref(), &last.name));
    let running = running_jobs(&app, tenant).await?;
    let now = app.client.now();
    let bodies = states
        .into_iter()
        .map(|state| worker_body(state, &running, now));
    Ok(Json(WorkerList {
        workers: bodies.collect(),
        next_cursor,
    }))
}

/// How many jobs each worker holds, of the newest that run.
async fn running_jobs(app: &App, tenant: Option<Tenant>) -> Result<RunningJobs, Problem> {
    let filter = JobFilter {
        tenant,
        label: Some(JobLabel::Running),
        ..JobFilter::default()
    };
    let page = JobPageRequest::first(limits::PAGE_RUNNING_JOBS_MAX);
    let mut running = RunningJobs::default();
    for job in &app.client.jobs(filter, page).await?.items {
        running.add(job);
    }
    Ok(running)
}

fn worker_body(state: WorkerState, running: &RunningJobs, now: Timestamp) -> WorkerBody {
    let mut body = WorkerBody::new(state.name.to_string(), state.first_seen, state.last_seen);
    body.running = running.of(&state.name, state.tenant.as_ref());
    body.alive = state.is_alive(now);
    body.tenant = state.tenant.map(|tenant| tenant.to_string());
    body.queues = state.queues.iter().map(ToString::to_string).collect();
    body.kinds = state.kinds.iter().map(ToString::to_string).collect();
    let WorkerInfo {
        version,
        host,
        concurrency,
        library,
    } = state.info;
    body.version = version;
    body.host = host;
    body.concurrency = concurrency;
    body.library = library;
    body
}

/// The description of a worker, within the limits.
pub fn check_info(info: Option<WorkerInfo>) -> Result<WorkerInfo, Problem> {
    let info = info.unwrap_or_default();
    let most = limits::WORKER_TEXT_BYTES_MAX;
    for (field, text) in [
        ("version", &info.version),
        ("host", &info.host),
        ("library", &info.library),
    ] {
        if let Some(text) = text.as_ref().filter(|text| text.len() > most) {
            let field = format!("workerInfo.{field}");
            let bytes = text.len();
            let detail = format!("{field} has {bytes} bytes: must be at most {most}");
            return Err(Problem::invalid(&field, detail));
        }
    }
    Ok(info)
}
