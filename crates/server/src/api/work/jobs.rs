//! Jobs: listed, read, changed, and their history.

use std::{collections::HashMap, sync::Arc, time::Duration};

use steadfast_api::{
    AttemptBody, AttemptList, EditJobRequest, JobBody, JobList, JobQuery, PageQuery,
    PrerequisiteBody, RetryJobRequest, WaitQuery,
};
use steadfast_core::{
    Attempt, AttemptStatus, Job, JobCommand, JobEdit, JobId, JobState, Kind, Payload, Priority,
    ScheduleId, Timestamp,
};
use steadfast_engine::{ClientError, http::HttpRequest};
use steadfast_store::{AttemptOwner, JobFilter, JobPageRequest, Page, PageRequest, wait_outside};

use crate::{
    api::{
        cursor, query,
        work::{job_search::find_page, requeues::Requeues},
    },
    app::App,
    extract::{Body, Caller, Id, MaybeBody, Params, Reads, Writes, body::shorten_id},
    http::{Answer, Json, Problem, Problems},
    limits,
};

/// A job as it is answered.
pub fn job_body(app: &App, job: Job, now: Timestamp) -> JobBody {
    let mut body = JobBody::new(job, now);
    app.policy_json.fill(&mut body.retry);
    body
}

/// A job as it is listed: without its payload.
pub fn list_entry(app: &App, job: Job, now: Timestamp) -> JobBody {
    let mut body = JobBody::without_payload(job, now);
    app.policy_json.fill(&mut body.retry);
    body
}

/// List jobs, newest first.
#[utoipa::path(
    get, path = "/jobs", tag = "Jobs", operation_id = "listJobs", params(JobQuery),
    responses((status = 200, description = "A page of jobs", body = JobList), Problems)
)]
pub async fn list(
    Reads { app, caller }: Reads,
    Params(query): Params<JobQuery>,
) -> Answer<JobList> {
    let filter = query::job_filter(&query, &caller)?;
    list_page(&app, &caller, filter, query::job_page(&query)?)
        .await
        .map(Json)
}

/// A page of jobs as the API shows them.
pub async fn list_page(
    app: &App,
    caller: &Caller,
    filter: JobFilter,
    page: JobPageRequest,
) -> Result<JobList, Problem> {
    let found = find_page(&app.client, filter, page, limits::LIST_TIME_MAX).await?;
    let Page { items, next } = found;
    let now = app.client.now();
    let is_of_tenant = caller.sees_own_jobs_only();
    let waits = app.client.known_waits(&items, is_of_tenant).await?;
    let jobs = items.into_iter().zip(waits).map(|(job, waiting_for)| {
        let mut body = list_entry(app, caller.redact_job(job), now);
        body.waiting_for = waiting_for;
        body
    });
    Ok(JobList {
        jobs: jobs.collect(),
        next_cursor: cursor::next(next),
    })
}

/// Read a job; with `wait`, wait until it has ended or the time is over.
#[utoipa::path(
    get, path = "/jobs/{id}", tag = "Jobs", operation_id = "getJob",
    params(("id" = String, Path, description = "job_…"), WaitQuery),
    responses((status = 200, description = "The job", body = JobBody), Problems)
)]
pub async fn read(
    Reads { app, caller }: Reads,
    Id(id): Id<JobId>,
    Params(query): Params<WaitQuery>,
) -> Answer<JobBody> {
    let mut job = find(&app, &caller, id).await?;
    let wait = query.wait.map_or(Duration::ZERO, |wait| wait.get());
    if !wait.is_zero() && !job.progress.state.is_final() {
        job = wait_for_end(&app, &caller, id, wait.min(limits::JOB_WAIT_MAX)).await?;
    }
    let result = result_of(&app, &caller, &job).await?;
    let is_of_tenant = caller.sees_own_jobs_only();
    let waiting_for = app.client.waiting_for(&job, is_of_tenant).await?;
    let links = app.client.links(id).await?;
    let mut body = job_body(&app, job, app.client.now());
    let after = links.after.into_iter();
    let after = after.map(|(id, state)| PrerequisiteBody::new(id, state));
    body.after = Some(after.collect()).filter(|after: &Vec<_>| !after.is_empty());
    body.dependants = Some(links.dependants.count).filter(|count| *count > 0);
    body.result = result;
    body.waiting_for = waiting_for;
    Ok(Json(body))
}

/// The job when it has ended, when the time is over, or when the node stops.
async fn wait_for_end(
    app: &App,
    caller: &Caller,
    id: JobId,
    wait: Duration,
) -> Result<Job, Problem> {
    let _permit = app.try_wait(caller.tenant.as_ref())?;
    let waiting = app.job_waits.begin(id);
    let deadline = tokio::time::Instant::now() + wait;
    loop {
        let ended = waiting.ended();
        let job = find(app, caller, id).await?;
        if job.progress.state.is_final() {
            return Ok(job);
        }
        let waited = async {
            tokio::select! {
                () = ended => false,
                () = tokio::time::sleep_until(deadline) => true,
                () = app.node.stopping() => true,
            }
        };
        if wait_outside(waited).await {
            return find(app, caller, id).await;
        }
    }
}

/// The result of the last attempt, or of the answer that it took effect.
pub async fn result_of(app: &App, caller: &Caller, job: &Job) -> Result<Option<Payload>, Problem> {
    if job.progress.state != JobState::Succeeded || !caller.sees_payloads() {
        return Ok(None);
    }
    let attempts = app.client.attempts(job.id, PageRequest::first(1)).await?;
    let last = attempts.items.into_iter().next();
    let last = last.filter(|it| it.status == AttemptStatus::Success || it.answer().is_some());
    Ok(last.and_then(|attempt| AttemptBody::new(attempt, &job.kind).result))
}

pub async fn find(app: &App, caller: &Caller, id: JobId) -> Result<Job, Problem> {
    match app.client.job(id).await {
        Err(ClientError::Store(error)) if error.damaged_row().is_some() => {
            Err(caller.damaged(&error, id))
        }
        found => caller.job(found?, id),
    }
}

/// Edit a waiting job: payload, policy, runAt, priority.
///
/// The policy is applied when an attempt ends. A retry that is already scheduled keeps its time,
/// even if the new policy allows fewer retries; if it fails, the new policy decides. To prevent it,
/// cancel the job.
#[utoipa::path(
    patch, path = "/jobs/{id}", tag = "Jobs", operation_id = "editJob",
    params(("id" = String, Path, description = "job_…")),
    request_body(content = EditJobRequest, example = json!({
        "priority": 9, "retry": {"maxRetries": 10}
    })),
    responses((status = 200, description = "The updated job", body = JobBody), Problems)
)]
pub async fn edit(
    Writes { app, caller }: Writes,
    Id(id): Id<JobId>,
    Body(body): Body<EditJobRequest>,
) -> Answer<JobBody> {
    let job = find(&app, &caller, id).await?;
    let payload = body
        .payload
        .map(|payload| checked_payload(&job, payload))
        .transpose()?;
    check_secrets(&app, &job, payload.as_ref()).await?;
    let policy = body.retry.map(|patch| patch.over(&job.policy)).transpose();
    let edit = JobEdit {
        payload,
        policy: policy.map_err(|error| error.within("retry"))?.map(Arc::new),
        run_at: body.run_at,
        priority: body.priority.map(Priority::new).transpose()?,
    };
    command(&app, &caller, id, JobCommand::Edit(edit)).await
}

/// The payload of an HTTP job is a request, and a wrong one is better refused now than later.
pub fn checked_payload(job: &Job, payload: Payload) -> Result<Payload, Problem> {
    if job.kind == Kind::http() {
        payload.decode::<HttpRequest>().map_err(|error| {
            Problem::invalid("payload", format!("payload of an http job: {error}"))
        })?;
    }
    Ok(payload)
}

/// Refuses a new payload that names a secret which does not exist.
async fn check_secrets(app: &App, job: &Job, payload: Option<&Payload>) -> Result<(), Problem> {
    let Some(payload) = payload else {
        return Ok(());
    };
    let checked = app
        .client
        .check_secrets(&job.kind, &job.tenant, payload, "payload");
    Ok(checked.await?)
}

/// List the attempts of a job, newest first, each with its retry decision.
///
/// With the id of a schedule, lists the attempts of all its runs.
#[utoipa::path(
    get, path = "/jobs/{id}/history", tag = "Jobs", operation_id = "listAttempts",
    params(("id" = String, Path, description = "job_…, or sch_… for all runs of a schedule"), PageQuery),
    responses((status = 200, description = "A page of attempts", body = AttemptList), Problems)
)]
pub async fn history(
    Reads { app, caller }: Reads,
    Id(id): Id<String>,
    Params(query): Params<PageQuery>,
) -> Answer<AttemptList> {
    let (owner, kind, job) = match (id.parse::<JobId>(), id.parse::<ScheduleId>()) {
        (Ok(job), _) => {
            let job = find(&app, &caller, job).await?;
            (AttemptOwner::from(job.id), job.kind.clone(), Some(job))
        }
        (_, Ok(schedule)) => {
            let found = app.client.find_schedule(schedule).await?;
            let schedule = caller.schedule(found, schedule)?;
            (
                AttemptOwner::from(schedule.id),
                schedule.template.kind,
                None,
            )
        }
        _ => return Err(Problem::not_found(shorten_id(&id))),
    };
    let page = PageRequest {
        limit: cursor::size(query.limit, limits::HISTORY_DEFAULT)?,
        after: query.after.as_deref().map(cursor::attempt).transpose()?,
    };
    let attempts = app.client.attempts(owner, page).await?;
    let kinds = match owner {
        AttemptOwner::Job(_) => HashMap::new(),
        AttemptOwner::Schedule(_) => kinds_of(&app, &attempts.items).await?,
    };
    let requeues = match &job {
        Some(job) => Requeues::read(&app, job, &attempts.items).await?,
        None => Requeues::default(),
    };
    let bodies = attempts.items.into_iter().map(|attempt| {
        let own = kinds.get(&attempt.job).unwrap_or(&kind);
        let requeued_by = requeues.by(&attempt);
        let mut body = AttemptBody::new(caller.redact_attempt(attempt, own), own);
        body.requeued_by = requeued_by;
        body
    });
    Ok(Json(AttemptList {
        attempts: bodies.collect(),
        next_cursor: attempts.next.map(cursor::of_attempt),
    }))
}

/// The kinds of the jobs that these attempts belong to. Runs of one schedule may differ in kind,
/// because the schedule may have been edited in between.
async fn kinds_of(app: &App, attempts: &[Attempt]) -> Result<HashMap<JobId, Kind>, Problem> {
    let mut ids: Vec<JobId> = attempts.iter().map(|attempt| attempt.job).collect();
    ids.sort_unstable();
    ids.dedup();
    let jobs = app.client.jobs_of(ids).await?.into_iter().flatten();
    Ok(jobs.map(|job| (job.id, job.kind)).collect())
}

/// Cancel a job: immediately if it is waiting; a running attempt is asked to stop.
#[utoipa::path(
    post, path = "/jobs/{id}/cancel", tag = "Jobs", operation_id = "cancelJob",
    params(("id" = String, Path, description = "job_…")),
    responses((status = 200, description = "The updated job", body = JobBody), Problems)
)]
pub async fn cancel(Writes { app, caller }: Writes, Id(id): Id<JobId>) -> Answer<JobBody> {
    command(&app, &caller, id, JobCommand::Cancel).await
}

/// Retry a failed or cancelled job with a new retry budget.
///
/// A payload in the body replaces the payload of the job.
#[utoipa::path(
    post, path = "/jobs/{id}/retry", tag = "Jobs", operation_id = "retryJob",
    params(("id" = String, Path, description = "job_…")),
    request_body(content = Option<RetryJobRequest>, example = json!({"payload": {"file": "dog.png"}})),
    responses((status = 200, description = "The updated job", body = JobBody), Problems)
)]
pub async fn retry(
    Writes { app, caller }: Writes,
    Id(id): Id<JobId>,
    MaybeBody(body): MaybeBody<RetryJobRequest>,
) -> Answer<JobBody> {
    let payload = match body.payload {
        Some(payload) => {
            let job = find(&app, &caller, id).await?;
            let payload = checked_payload(&job, payload)?;
            check_secrets(&app, &job, Some(&payload)).await?;
            Some(payload)
        }
        None => None,
    };
    command(&app, &caller, id, JobCommand::Retry { payload }).await
}

/// Run a waiting job now.
#[utoipa::path(
    post, path = "/jobs/{id}/run-now", tag = "Jobs", operation_id = "runJobNow",
    params(("id" = String, Path, description = "job_…")),
    responses((status = 200, description = "The updated job", body = JobBody), Problems)
)]
pub async fn run_now(Writes { app, caller }: Writes, Id(id): Id<JobId>) -> Answer<JobBody> {
    let job = run_command(&app, &caller, id, JobCommand::RunNow).await?;
    due_body(&app, &caller, job).await
}

/// A job that a command has made due, with its remaining blockers.
pub async fn due_body(app: &App, caller: &Caller, job: Job) -> Answer<JobBody> {
    let is_of_tenant = caller.sees_own_jobs_only();
    let waiting_for = app.client.waiting_for(&job, is_of_tenant).await?;
    let mut body = job_body(app, job, app.client.now());
    body.waiting_for = waiting_for;
    Ok(Json(body))
}

async fn command(app: &App, caller: &Caller, id: JobId, command: JobCommand) -> Answer<JobBody> {
    let job = run_command(app, caller, id, command).await?;
    Ok(Json(job_body(app, job, app.client.now())))
}

async fn run_command(
    app: &App,
    caller: &Caller,
    id: JobId,
    command: JobCommand,
) -> Result<Job, Problem> {
    let job = find(app, caller, id).await?;
    let by = caller.actor(app).await?;
    Ok(app.client.command_by(&job, command, by).await?)
}
