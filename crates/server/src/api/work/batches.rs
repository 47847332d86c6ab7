//! Batches: groups of jobs that are counted together.

use axum::{
    http::HeaderMap,
    response::{IntoResponse as _, Response},
};
use steadfast_api::{
    BatchBody, BatchCallbackBody, BatchJobQuery, BatchList, BatchQuery, CreateBatchRequest,
    CreateJobRequest, CreateJobsRequest, JobList,
};
use steadfast_core::{BatchId, BatchName, JobId};
use steadfast_engine::{BatchRequest, CreatedBatch, JobRequest};
use steadfast_store::{BatchFilter, BatchRecord, JobFilter};

use crate::{
    api::{
        cursor, query,
        work::{
            create::{JobOrSchedule, RequestReader},
            create_jobs::{CreateHeaders, create_many, created, read_many, replayed},
            jobs::list_page,
        },
    },
    app::App,
    extract::{Body, Caller, Id, Params, Reads, Writes},
    http::{Answer, Json, Problem, Problems},
    limits,
};

/// A batch as it is answered.
pub fn batch_body(record: BatchRecord) -> BatchBody {
    let callback = |id: Option<JobId>, created| id.map(|id| BatchCallbackBody { id, created });
    let counts = record.counts;
    let body = BatchBody::new(record.id, record.tenant, record.created_at, counts);
    BatchBody {
        name: record
            .name
            .as_ref()
            .map(BatchName::as_str)
            .map(str::to_owned),
        finished_at: record.finished_at,
        on_end: callback(record.on_end, counts.end_created),
        on_success: callback(record.on_success, counts.success_created),
        ..body
    }
}

/// Create a batch of jobs with shared progress and callbacks.
///
/// The batch and its jobs are stored in one transaction. `onEnd` is created once when all jobs have
/// ended, `onSuccess` once when all have succeeded. A batch with `open` accepts more jobs until it
/// is closed.
#[utoipa::path(
    post, path = "/batches", tag = "Batches", operation_id = "createBatch",
    request_body(content = CreateBatchRequest, example = json!({
        "name": "import 4711",
        "jobs": [{"kind": "import", "payload": {"page": 1}}, {"kind": "import", "payload": {"page": 2}}],
        "onSuccess": {"kind": "publish"}
    })),
    params(
        ("Idempotency-Key" = Option<String>, Header, description = "Idempotency key: a repeated request returns the same batch"),
        ("traceparent" = Option<String>, Header, description = "Trace context for jobs whose body has no `traceparent`"),
    ),
    responses(
        (status = 201, description = "The batch, with the ids of its jobs", body = BatchBody),
        (status = 200, description = "The existing batch with this idempotency key", body = BatchBody),
        Problems
    )
)]
pub async fn create(
    Writes { app, caller }: Writes,
    headers: HeaderMap,
    Body(body): Body<CreateBatchRequest>,
) -> Result<Response, Problem> {
    let headers = CreateHeaders::read(&headers)?;
    let request = request(&app, &caller, headers, body)?;
    let CreatedBatch {
        batch,
        jobs,
        is_existing,
        ..
    } = app.client.create_batch(request).await?;
    let id = batch.id;
    let mut body = batch_body(batch);
    if is_existing {
        return Ok(replayed(Json(body)));
    }
    jobs.iter().for_each(|job| app.metrics.sent(job));
    body.jobs = Some(jobs.into_iter().map(|job| job.job().id).collect());
    Ok(created("batches", id, Json(body)))
}

fn request(
    app: &App,
    caller: &Caller,
    headers: CreateHeaders,
    body: CreateBatchRequest,
) -> Result<BatchRequest, Problem> {
    let reader = RequestReader { app, caller };
    let mut request = BatchRequest::new();
    if let Some(tenant) = query::tenant(body.tenant.as_deref(), caller)? {
        request = request.tenant(tenant.as_str());
    }
    if let Some(name) = body.name {
        request = request.name(name);
    }
    if let Some(key) = headers.key_beside(body.idempotency_key)? {
        request = request.idempotency_key(key);
    }
    if body.open {
        request = request.open();
    }
    if let Some(job) = body.on_end {
        request = request.on_end(callback(&reader, *job, "onEnd")?);
    }
    if let Some(job) = body.on_success {
        request = request.on_success(callback(&reader, *job, "onSuccess")?);
    }
    if !body.jobs.is_empty() {
        let jobs = CreateJobsRequest { jobs: body.jobs };
        request = request.jobs(read_many(&reader, jobs, headers.traceparent)?);
    }
    Ok(request)
}

fn callback(
    reader: &RequestReader<'_>,
    body: CreateJobRequest,
    field: &str,
) -> Result<JobRequest, Problem> {
    let job = reader.job_or_schedule(body);
    match job.map_err(|problem| problem.within(field))? {
        JobOrSchedule::Job(request) => Ok(request),
        JobOrSchedule::Schedule { .. } => {
            let detail = "a batch callback must be a job, not a schedule";
            Err(Problem::invalid("schedule", detail).within(field))
        }
    }
}

/// List batches, newest first.
#[utoipa::path(
    get, path = "/batches", tag = "Batches", operation_id = "listBatches", params(BatchQuery),
    responses((status = 200, description = "A page of batches", body = BatchList), Problems)
)]
pub async fn list(
    Reads { app, caller }: Reads,
    Params(query): Params<BatchQuery>,
) -> Answer<BatchList> {
    let filter = BatchFilter {
        tenant: query::tenant(query.tenant.as_deref(), &caller)?,
        is_unfinished: query.unfinished.unwrap_or(false),
        ..BatchFilter::default()
    };
    let page = cursor::page(query.limit, limits::PAGE_DEFAULT, query.after.as_deref())?;
    let page = app.client.batches(filter, page).await?;
    Ok(Json(BatchList {
        batches: page.items.into_iter().map(batch_body).collect(),
        next_cursor: cursor::next(page.next),
    }))
}

/// A batch, if it exists for this caller.
pub async fn find(app: &App, caller: &Caller, id: BatchId) -> Result<BatchRecord, Problem> {
    let found = app.client.batch(id).await?;
    let visible = found.filter(|record| caller.sees(&record.tenant));
    visible.ok_or_else(|| Problem::not_found(id))
}

/// Read a batch with its counts and callback jobs.
#[utoipa::path(
    get, path = "/batches/{id}", tag = "Batches", operation_id = "getBatch",
    params(("id" = String, Path, description = "bat_…")),
    responses((status = 200, description = "The batch", body = BatchBody), Problems)
)]
pub async fn read(Reads { app, caller }: Reads, Id(id): Id<BatchId>) -> Answer<BatchBody> {
    Ok(Json(batch_body(find(&app, &caller, id).await?)))
}

/// List the stored jobs of a batch, newest first.
#[utoipa::path(
    get, path = "/batches/{id}/jobs", tag = "Batches", operation_id = "listBatchJobs",
    params(("id" = String, Path, description = "bat_…"), BatchJobQuery),
    responses((status = 200, description = "A page of jobs", body = JobList), Problems)
)]
pub async fn jobs(
    Reads { app, caller }: Reads,
    Id(id): Id<BatchId>,
    Params(query): Params<BatchJobQuery>,
) -> Answer<JobList> {
    find(&app, &caller, id).await?;
    let page = cursor::page(query.limit, limits::PAGE_DEFAULT, query.after.as_deref())?;
    let filter = JobFilter::of_batch(id, query.state);
    list_page(&app, &caller, filter, page).await.map(Json)
}

/// Add up to 1,000 jobs to an open batch atomically.
///
/// `POST /jobs` with `batch` does the same. Give each job an idempotency key if the request may be
/// repeated.
#[utoipa::path(
    post, path = "/batches/{id}/jobs", tag = "Batches", operation_id = "addBatchJobs",
    params(
        ("id" = String, Path, description = "bat_…"),
        ("traceparent" = Option<String>, Header, description = "Trace context for jobs whose body has no `traceparent`"),
    ),
    request_body(content = CreateJobsRequest, example = json!({
        "jobs": [{"kind": "import", "payload": {"page": 3}}]
    })),
    responses((status = 201, description = "The jobs", body = JobList), Problems)
)]
pub async fn add(
    Writes { app, caller }: Writes,
    Id(id): Id<BatchId>,
    headers: HeaderMap,
    Body(mut body): Body<CreateJobsRequest>,
) -> Result<Response, Problem> {
    let traceparent = CreateHeaders::read(&headers)?.of_many()?;
    let batch = find(&app, &caller, id).await?;
    for (index, job) in body.jobs.iter_mut().enumerate() {
        if *job.batch.get_or_insert(id) != id {
            let detail = "batch must match the URL or be omitted";
            let problem = Problem::invalid("batch", detail);
            return Err(problem.within(&format!("jobs[{index}]")));
        }
        let tenant = &mut job.tenant;
        tenant.get_or_insert_with(|| batch.tenant.to_string());
    }
    let reader = RequestReader {
        app: &app,
        caller: &caller,
    };
    let requests = read_many(&reader, body, traceparent)?;
    Ok(create_many(&app, &caller, requests).await?.into_response())
}

/// Close a batch: no more jobs can be added, and it ends when all its jobs have ended.
#[utoipa::path(
    post, path = "/batches/{id}/close", tag = "Batches", operation_id = "closeBatch",
    params(("id" = String, Path, description = "bat_…")),
    responses((status = 200, description = "The batch", body = BatchBody), Problems)
)]
pub async fn close(Writes { app, caller }: Writes, Id(id): Id<BatchId>) -> Answer<BatchBody> {
    find(&app, &caller, id).await?;
    let client = caller.client(&app).await?;
    Ok(Json(batch_body(client.close_batch(id).await?)))
}
