//! Bulk operations: create, read, pause, resume, cancel.

use std::{sync::Arc, time::Duration};

use axum::{
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use steadfast_api::{
    BulkResult, CreateOperationRequest, OperationBody, OperationJobList, OperationJobQuery,
    OperationList, OperationQuery,
};
use steadfast_core::{Actor, CanaryRule, OperationId, OperationKind};
use steadfast_engine::OperationRequest;
use steadfast_store::{JobFilter, OperationFilter, OperationJobFilter, OperationRecord};

use crate::{
    api::{cursor, query},
    app::App,
    extract::{Body, Caller, Id, Params, Reads, Writes},
    http::{Answer, Json, Problem, Problems},
    limits,
};

/// An operation as it is answered.
pub fn operation_body(record: OperationRecord) -> OperationBody {
    let body = OperationBody::new(record.id, record.by, record.created_at, &record.operation);
    OperationBody {
        tenant: record.tenant,
        finished_at: record.finished_at,
        filter: match record.operation.rotation {
            // It has no jobs.
            Some(_) => String::new(),
            None => record.filter.to_string(),
        },
        is_named: record.is_named,
        ..body
    }
}

/// Create a bulk operation: requeue, discard, cancel, retry, edit the policy of, or run now many
/// jobs; or encrypt everything again with the newest encryption key.
///
/// The operation is durable, and any node can continue it. It processes the jobs in chunks, each
/// job once, at the given pace.
#[utoipa::path(
    post, path = "/operations", tag = "Operations", operation_id = "createOperation",
    request_body(content = CreateOperationRequest, examples(
        ("Canary first" = (value = json!({
            "kind": "requeue", "filter": {"queue": "images", "class": "timeout"}, "mode": "canary"
        }))),
        ("Dry run" = (value = json!({
            "kind": "cancel", "filter": {"queue": "images"}, "dryRun": true
        }))),
    )),
    responses(
        (status = 200, description = "Dry run: the number of matching jobs", body = BulkResult),
        (status = 201, description = "The operation", body = OperationBody),
        Problems
    )
)]
pub async fn create(
    Writes { app, caller }: Writes,
    Body(body): Body<CreateOperationRequest>,
) -> Result<Response, Problem> {
    if body.kind == OperationKind::RotateEncryption {
        return rotate_encryption(&app, &caller, &body).await;
    }
    let is_dry_run = body.dry_run;
    let request = request(&app, &caller, body).await?;
    if is_dry_run {
        let count = app.client.count_operation(&request).await?;
        return Ok(Json(BulkResult {
            count: count.count,
            dry_run: true,
            at_least: count.at_least,
            operation: None,
        })
        .into_response());
    }
    let record = app.client.create_operation(request).await?;
    Ok(created(record))
}

fn created(record: OperationRecord) -> Response {
    let location = format!("/api/v1/operations/{}", record.id);
    let body = Json(operation_body(record));
    (StatusCode::CREATED, [("location", location)], body).into_response()
}

/// It encrypts what all tenants have, and has no jobs to choose.
async fn rotate_encryption(
    app: &App,
    caller: &Caller,
    body: &CreateOperationRequest,
) -> Result<Response, Problem> {
    caller.require_all_tenants()?;
    if *body != CreateOperationRequest::new(body.kind) {
        let detail = "rotate_encryption encrypts everything in the store: omit all other fields";
        return Err(Problem::invalid("kind", detail));
    }
    let by = caller.actor(app).await?;
    Ok(created(app.client.rotate_encryption(by).await?))
}

/// Creates an operation, and waits for its end, at most for so long and until this node stops.
pub async fn create_and_wait(
    app: &App,
    request: OperationRequest,
    at_most: Duration,
) -> Result<OperationRecord, Problem> {
    let record = app.client.create_operation(request).await?;
    let found = tokio::select! {
        found = app.client.wait_for_operation(record.id, at_most) => found?,
        () = app.node.stopping() => None,
    };
    Ok(found.unwrap_or(record))
}

async fn request(
    app: &App,
    caller: &Caller,
    body: CreateOperationRequest,
) -> Result<OperationRequest, Problem> {
    let query = body.filter.unwrap_or_default();
    if query.limit.is_some() || query.after.is_some() {
        let detail = "filter must not contain limit or after: an operation has no pages";
        return Err(Problem::invalid("filter", detail));
    }
    if let (Some(own), Some(other)) = (&body.tenant, &query.tenant)
        && own != other
    {
        let detail =
            format!("tenant is {own:?}, but filter.tenant is {other:?}: send only one of them");
        return Err(Problem::invalid("tenant", detail));
    }
    let named = body.tenant.as_deref().or(query.tenant.as_deref());
    let tenant = query::tenant(named, caller)?;
    let filter = query::job_filter(&query, caller).map_err(|problem| problem.within("filter"))?;
    let canary = match (body.mode.as_deref(), body.fail_share_max) {
        (None | Some("all"), None) => None,
        (Some("canary"), None) => Some(CanaryRule::default()),
        (Some("canary"), Some(share)) => Some(CanaryRule::new(share)?),
        (None | Some("all"), Some(_)) => {
            let detail = "failShareMax requires \"mode\": \"canary\"";
            return Err(Problem::invalid("failShareMax", detail));
        }
        (Some(_), _) => {
            return Err(Problem::invalid("mode", "mode must be all or canary"));
        }
    };
    let mut request = OperationRequest::new(body.kind, caller.actor(app).await?);
    request.tenant = tenant;
    request.ids = body.ids;
    request.filter = JobFilter {
        tenant: None,
        ..filter
    };
    request.all = body.all;
    request.retry = body.retry.map(Arc::new);
    request.pace = Some(body.pace.unwrap_or(app.bulk_pace()));
    request.canary = canary;
    Ok(request)
}

/// List operations, newest first.
#[utoipa::path(
    get, path = "/operations", tag = "Operations", operation_id = "listOperations",
    params(OperationQuery),
    responses((status = 200, description = "A page of operations", body = OperationList), Problems)
)]
pub async fn list(
    Reads { app, caller }: Reads,
    Params(query): Params<OperationQuery>,
) -> Answer<OperationList> {
    let filter = OperationFilter {
        tenant: query::tenant(query.tenant.as_deref(), &caller)?,
        is_open: query.open.unwrap_or(false),
        ..OperationFilter::default()
    };
    let page = cursor::page(query.limit, limits::PAGE_DEFAULT, query.after.as_deref())?;
    let page = app.client.operations(filter, page).await?;
    Ok(Json(OperationList {
        operations: page.items.into_iter().map(operation_body).collect(),
        next_cursor: cursor::next(page.next),
    }))
}

/// An operation, if it exists for this caller.
pub async fn find(app: &App, caller: &Caller, id: OperationId) -> Result<OperationRecord, Problem> {
    let found = app.client.operation(id).await?;
    let visible = found.filter(|record| caller.sees_record(record.tenant.as_ref()));
    visible.ok_or_else(|| Problem::not_found(id))
}

/// Read an operation with its progress and report.
#[utoipa::path(
    get, path = "/operations/{id}", tag = "Operations", operation_id = "getOperation",
    params(("id" = String, Path, description = "opr_…")),
    responses((status = 200, description = "The operation", body = OperationBody), Problems)
)]
pub async fn read(Reads { app, caller }: Reads, Id(id): Id<OperationId>) -> Answer<OperationBody> {
    let record = find(&app, &caller, id).await?;
    let outcomes = app.client.operation_outcomes(&record).await?;
    Ok(Json(OperationBody {
        outcomes: outcomes.into(),
        ..operation_body(record)
    }))
}

/// List the jobs of an operation with the result for each.
#[utoipa::path(
    get, path = "/operations/{id}/jobs", tag = "Operations", operation_id = "listOperationJobs",
    params(("id" = String, Path, description = "opr_…"), OperationJobQuery),
    responses((status = 200, description = "A page of jobs", body = OperationJobList), Problems)
)]
pub async fn jobs(
    Reads { app, caller }: Reads,
    Id(id): Id<OperationId>,
    Params(query): Params<OperationJobQuery>,
) -> Answer<OperationJobList> {
    let record = find(&app, &caller, id).await?;
    let filter = match query.not_changed {
        Some(true) => OperationJobFilter::NotChanged,
        _ => OperationJobFilter::All,
    };
    let page = cursor::page(query.limit, limits::PAGE_DEFAULT, query.after.as_deref())?;
    let page = app.client.operation_jobs(&record, filter, page).await?;
    Ok(Json(OperationJobList {
        jobs: page.items.into_iter().map(Into::into).collect(),
        next_cursor: cursor::next(page.next),
    }))
}

/// Who gives a command to an operation, if it exists for this caller.
async fn commander(app: &App, caller: &Caller, id: OperationId) -> Result<Actor, Problem> {
    find(app, caller, id).await?;
    caller.actor(app).await
}

/// Pause an operation until it is resumed. Completed changes stay.
#[utoipa::path(
    post, path = "/operations/{id}/pause", tag = "Operations", operation_id = "pauseOperation",
    params(("id" = String, Path, description = "opr_…")),
    responses((status = 200, description = "The operation", body = OperationBody), Problems)
)]
pub async fn pause(
    Writes { app, caller }: Writes,
    Id(id): Id<OperationId>,
) -> Answer<OperationBody> {
    let by = commander(&app, &caller, id).await?;
    let record = app.client.pause_operation(id, by).await?;
    Ok(Json(operation_body(record)))
}

/// Resume a paused operation.
#[utoipa::path(
    post, path = "/operations/{id}/resume", tag = "Operations", operation_id = "resumeOperation",
    params(("id" = String, Path, description = "opr_…")),
    responses((status = 200, description = "The operation", body = OperationBody), Problems)
)]
pub async fn resume(
    Writes { app, caller }: Writes,
    Id(id): Id<OperationId>,
) -> Answer<OperationBody> {
    let by = commander(&app, &caller, id).await?;
    let record = app.client.resume_operation(id, by).await?;
    Ok(Json(operation_body(record)))
}

/// Cancel an operation. Completed changes stay; remaining jobs are not changed.
#[utoipa::path(
    post, path = "/operations/{id}/cancel", tag = "Operations", operation_id = "cancelOperation",
    params(("id" = String, Path, description = "opr_…")),
    responses((status = 200, description = "The operation", body = OperationBody), Problems)
)]
pub async fn cancel(
    Writes { app, caller }: Writes,
    Id(id): Id<OperationId>,
) -> Answer<OperationBody> {
    let by = commander(&app, &caller, id).await?;
    let record = app.client.cancel_operation(id, by).await?;
    Ok(Json(operation_body(record)))
}
