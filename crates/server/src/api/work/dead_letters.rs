//! Dead letters: listed, requeued, or discarded, one or all that match.

use steadfast_api::{BulkResult, DeadLettersRequest, JobList, JobQuery};
use steadfast_core::{
    FailureClass, Job, JobCommand, JobId, Kind, OperationKind, Queue, limits as core_limits,
};
use steadfast_engine::{ClientError, OperationRequest};
use steadfast_store::{JobCount, JobFilter};

use crate::{
    api::{
        query,
        work::{
            jobs::{checked_payload, list_page},
            operations::create_and_wait,
        },
    },
    app::App,
    extract::{Body, Caller, Params, Reads, Writes},
    http::{Answer, Json, Problem, Problems},
    limits,
};

/// List dead letters, newest first.
#[utoipa::path(
    get, path = "/dlq", tag = "Dead letters", operation_id = "listDeadLetters", params(JobQuery),
    responses((status = 200, description = "A page of dead letters", body = JobList), Problems)
)]
pub async fn list(
    Reads { app, caller }: Reads,
    Params(query): Params<JobQuery>,
) -> Answer<JobList> {
    let filter = JobFilter {
        dead_letters: true,
        ..query::job_filter(&query, &caller)?
    };
    list_page(&app, &caller, filter, query::job_page(&query)?)
        .await
        .map(Json)
}

/// Requeue dead letters, each with a new retry budget.
///
/// An operation requeues all matching jobs, limited by the setting `bulkRate` so that the queue is
/// not flooded. It continues if the client disconnects or the node stops. After 20 seconds the
/// response has `atLeast` and the id of the operation to follow.
#[utoipa::path(
    post, path = "/dlq/requeue", tag = "Dead letters", operation_id = "requeueDeadLetters",
    request_body(content = DeadLettersRequest, example = json!({"queue": "images", "class": "timeout"})),
    responses((status = 200, description = "The number of jobs", body = BulkResult), Problems)
)]
pub async fn requeue(
    Writes { app, caller }: Writes,
    Body(body): Body<DeadLettersRequest>,
) -> Answer<BulkResult> {
    let payload = body.payload.clone();
    resolve(&app, &caller, body, JobCommand::Retry { payload }).await
}

/// Discard dead letters without retrying them.
///
/// An operation does the work, as for requeueing, limited by `bulkRate`.
#[utoipa::path(
    post, path = "/dlq/discard", tag = "Dead letters", operation_id = "discardDeadLetters",
    request_body(content = DeadLettersRequest, example = json!({"kind": "resize-image", "dryRun": true})),
    responses((status = 200, description = "The number of jobs", body = BulkResult), Problems)
)]
pub async fn discard(
    Writes { app, caller }: Writes,
    Body(body): Body<DeadLettersRequest>,
) -> Answer<BulkResult> {
    if body.payload.is_some() {
        let detail = "payload must be omitted: discarded jobs do not run again";
        return Err(Problem::invalid("payload", detail));
    }
    resolve(&app, &caller, body, JobCommand::Discard).await
}

async fn resolve(
    app: &App,
    caller: &Caller,
    body: DeadLettersRequest,
    command: JobCommand,
) -> Answer<BulkResult> {
    let filter = dead_letter_filter(&body, caller)?;
    let is_narrow = body.ids.is_some() || filter != everything(&filter);
    match &body.ids {
        Some(_) if filter != everything(&filter) || body.all => {
            let detail = "ids cannot be combined with filter fields";
            return Err(Problem::invalid("ids", detail));
        }
        Some(ids) => return by_ids(app, caller, ids, &body, command).await,
        None => {}
    }
    if body.payload.is_some() {
        let detail = "payload requires ids";
        return Err(Problem::invalid("payload", detail));
    }
    if !is_narrow && !body.all {
        let detail = "this would change every dead letter; send \"all\": true to confirm";
        return Err(Problem::invalid("all", detail));
    }
    if body.dry_run {
        let JobCount { count, at_least } = app.client.count(filter, limits::COUNT_MAX).await?;
        return Ok(Json(BulkResult {
            count,
            dry_run: true,
            at_least,
            operation: None,
        }));
    }
    by_operation(app, caller, filter, None, &command).await
}

/// An operation does the work, and goes on if the client hangs up.
async fn by_operation(
    app: &App,
    caller: &Caller,
    filter: JobFilter,
    ids: Option<Vec<JobId>>,
    command: &JobCommand,
) -> Answer<BulkResult> {
    let _permit = app.try_wait(caller.tenant.as_ref())?;
    let kind = match command {
        JobCommand::Discard => OperationKind::Discard,
        _ => OperationKind::Requeue,
    };
    let by = caller.actor(app).await?;
    let mut request = OperationRequest::new(kind, by);
    request.filter = filter;
    request.all = ids.is_none();
    request.ids = ids;
    request.pace = Some(app.bulk_pace());
    let record = create_and_wait(app, request, limits::DEAD_LETTERS_WAIT_MAX).await?;
    Ok(Json(BulkResult {
        count: record.operation.progress.changed,
        dry_run: false,
        at_least: record.is_open(),
        operation: Some(record.id),
    }))
}

/// The filter that leaves nothing out but other tenants.
fn everything(filter: &JobFilter) -> JobFilter {
    JobFilter {
        tenant: filter.tenant.clone(),
        ..JobFilter::dead_letters()
    }
}

async fn by_ids(
    app: &App,
    caller: &Caller,
    ids: &[String],
    body: &DeadLettersRequest,
    command: JobCommand,
) -> Answer<BulkResult> {
    let most = core_limits::BULK_JOBS_MAX;
    if ids.is_empty() || ids.len() > most {
        let detail = format!("ids contains {}: must be 1 to {most}", ids.len());
        return Err(Problem::invalid("ids", detail));
    }
    let parsed: Vec<JobId> = ids.iter().filter_map(|id| id.parse().ok()).collect();
    let jobs = app.client.jobs_of(parsed).await?.into_iter().flatten();
    let visible = jobs.filter(|job| caller.sees(&job.tenant) && job.is_dead_letter());
    let found: Vec<Job> = visible.collect();
    if let Some(payload) = &body.payload {
        for job in &found {
            checked_payload(job, payload.clone())?;
        }
    }
    let is_one_by_one = body.payload.is_some() || found.len() < 2;
    if !body.dry_run && !is_one_by_one {
        let mut filter = dead_letter_filter(body, caller)?;
        // Commands on jobs of one tenant are listed in its operations and its audit.
        let (first, others) = (&found[0].tenant, &found[1..]);
        if others.iter().all(|job| job.tenant == *first) {
            filter.tenant = Some(first.clone());
        }
        let ids = found.iter().map(|job| job.id).collect();
        return by_operation(app, caller, filter, Some(ids), &command).await;
    }
    let mut count = found.len() as u64;
    if !body.dry_run {
        count = one_by_one(app, caller, &found, &command).await?;
    }
    Ok(Json(BulkResult {
        count,
        dry_run: body.dry_run,
        at_least: false,
        operation: None,
    }))
}

/// Each with its own audit record. Of several, jobs that no longer allow it are skipped.
async fn one_by_one(
    app: &App,
    caller: &Caller,
    jobs: &[Job],
    command: &JobCommand,
) -> Result<u64, Problem> {
    let by = caller.actor(app).await?;
    let mut count = 0;
    for job in jobs {
        match app
            .client
            .command_by(job, command.clone(), by.clone())
            .await
        {
            Ok(_) => count += 1,
            Err(ClientError::Command(_)) if jobs.len() > 1 => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(count)
}

fn dead_letter_filter(body: &DeadLettersRequest, caller: &Caller) -> Result<JobFilter, Problem> {
    Ok(JobFilter {
        tenant: query::tenant(body.tenant.as_deref(), caller)?,
        queue: body.queue.as_deref().map(Queue::new).transpose()?,
        kind: body.kind.as_deref().map(Kind::new).transpose()?,
        schedule: body.schedule,
        destination: query::destination(body.destination.as_deref())?,
        batch: body.batch,
        created_from: body.from,
        created_before: body.before,
        failed_from: body.failed_from,
        failed_before: body.failed_before,
        failure_text: body.text.clone(),
        failure_class: body.class.as_deref().map(FailureClass::named),
        fingerprint: body.fingerprint,
        reason: body.reason,
        tags: query::tags("tags", &body.tags)?,
        ..JobFilter::dead_letters()
    })
}
