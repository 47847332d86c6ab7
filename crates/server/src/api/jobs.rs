//! Jobs: made, listed, looked at, changed.

use std::{
    fmt::{Display, Write as _},
    sync::Arc,
};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::{FutureExt as _, future::BoxFuture};
use serde::Deserialize;
use steadfast_core::{
    EndReason, FailureClass, Invalid, Job, JobCommand, JobEdit, JobId, JobLabel, Kind, Priority,
    Queue, ScheduleId, Tenant, Timestamp, limits as core_limits,
};
use steadfast_engine::{ClientError, CreateResult, JobRequest, ScheduleRequest};
use steadfast_store::{JobFilter, JobPageRequest, Page, PageRequest};
use utoipa::IntoParams;

use super::{
    Answer,
    asked::{Asked, Asking},
    cursor,
    wire::{
        AttemptShown, Attempts, CreateJob, CreateJobs, CreateMany, EditJob, JobShown, Jobs, Name,
        RetryBody, ScheduleShown,
    },
};
use crate::{
    App,
    access::{Caller, Reads, Writes},
    body::{self, Body, Id, MaybeBody, Params},
    json::Json,
    limits,
    problem::{Problem, Problems},
};

/// The address of anything that has an id fits.
const LOCATION_BYTES: usize = 64;
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// Make a job, or up to 1,000 of them atomically, or a schedule.
///
/// Answers when it is durable. With an idempotency key, the same request again answers with
/// the same job, status 200 and the header `Idempotent-Replayed: true`.
#[utoipa::path(
    post, path = "/jobs", tag = "jobs", request_body = CreateJobs,
    params(("Idempotency-Key" = Option<String>, Header, description = "One key, one job; for a single job")),
    responses(
        (status = 201, description = "The job, the schedule of a recurring one, or the list of jobs", body = MadeJob,
            headers(("Location" = String, description = "Where it is"))),
        (status = 200, description = "The job that was made before with this key", body = MadeJob),
        Problems,
    )
)]
pub async fn create(
    State(app): State<Arc<App>>,
    Writes(caller): Writes,
    request: Request,
) -> Result<Response, Problem> {
    let key = header_key(request.headers())?;
    let bytes = body::read(request).await?;
    making(&app, &caller, key, &bytes)?.await
}

/// What makes it, apart from the future of the request: that one is moved with each request, and
/// would have to hold the largest of these.
fn making<'a>(
    app: &'a App,
    caller: &Caller,
    key: Option<String>,
    bytes: &[u8],
) -> Result<BoxFuture<'a, Result<Response, Problem>>, Problem> {
    let asking = Asking { app, caller };
    let mut one: CreateJob = match body::parse(bytes) {
        Ok(one) => one,
        Err(_) if is_list(bytes) => {
            let requests = many(&asking, body::parse(bytes)?)?;
            return Ok(create_many(app, requests).boxed());
        }
        Err(problem) => return Err(problem),
    };
    one.idempotency_key = match (one.idempotency_key, key) {
        (Some(said), Some(header)) if said != header => {
            let detail = "idempotencyKey and the header Idempotency-Key differ; send one of them";
            return Err(Problem::invalid("idempotencyKey", detail));
        }
        (said, header) => said.or(header),
    };
    Ok(match asking.asked(one)? {
        Asked::Job(request) => create_one(app, app.client.create(request)).boxed(),
        Asked::Schedule(request) => create_schedule(app, request).boxed(),
    })
}

fn is_list(bytes: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Shape {
        jobs: Option<serde::de::IgnoredAny>,
    }
    serde_json::from_slice::<Shape>(bytes).is_ok_and(|shape| shape.jobs.is_some())
}

/// What a create answers with.
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "only describes what `create` answers")]
#[serde(untagged)]
enum MadeJob {
    Job(Box<JobShown>),
    Schedule(Box<ScheduleShown>),
    Jobs(Jobs),
}

async fn create_one(
    app: &App,
    making: impl Future<Output = Result<CreateResult, ClientError>>,
) -> Result<Response, Problem> {
    Ok(match making.await? {
        CreateResult::New(job) => {
            let (id, now) = (job.id, job.created_at);
            made("jobs", id, Json(JobShown::whole(job, now)))
        }
        CreateResult::Existing(job) => {
            let mut response = Json(JobShown::whole(job, app.client.now())).into_response();
            let headers = response.headers_mut();
            headers.insert(REPLAYED, HeaderValue::from_static("true"));
            response
        }
    })
}

async fn create_schedule(app: &App, request: ScheduleRequest) -> Result<Response, Problem> {
    let schedule = app.client.schedule(request).await;
    let schedule = schedule.map_err(|error| alone(error, "job."))?;
    let id = schedule.id;
    Ok(made("schedules", id, Json(ScheduleShown::of(schedule))))
}

/// To the one who sent a job alone, its fields are not inside of anything.
fn alone(error: ClientError, outer: &str) -> Problem {
    let mut problem = Problem::from(error);
    let field = problem.field.take();
    problem.detail = problem.detail.replacen(outer, "", 1);
    problem.field = field.map(|field| field.strip_prefix(outer).unwrap_or(&field).to_owned());
    problem
}

fn many(asking: &Asking<'_>, many: CreateMany) -> Result<Vec<JobRequest>, Problem> {
    let most = core_limits::BULK_JOBS_MAX;
    if many.jobs.is_empty() || many.jobs.len() > most {
        let detail = format!("jobs holds {}: must be 1 to {most}", many.jobs.len());
        return Err(Problem::invalid("jobs", detail));
    }
    let requests = many.jobs.into_iter().enumerate().map(|(index, body)| {
        let place = |mut problem: Problem| {
            let field = problem.field.unwrap_or_default();
            problem.field = Some(format!("jobs[{index}].{field}"));
            problem
        };
        match asking.asked(body).map_err(place)? {
            Asked::Job(request) => Ok(request),
            Asked::Schedule(_) => {
                let detail = "a list holds plain jobs; make schedules one by one";
                Err(place(Problem::invalid("schedule", detail)))
            }
        }
    });
    requests.collect()
}

async fn create_many(app: &App, requests: Vec<JobRequest>) -> Result<Response, Problem> {
    let made = app.client.create_all(requests).await?.into_iter();
    let now = app.client.now();
    let jobs = made.map(|made| JobShown::listed(made.job(), now)).collect();
    let body = Jobs {
        jobs,
        next_cursor: None,
    };
    Ok((StatusCode::CREATED, Json(body)).into_response())
}

/// Something that was made, and where it is.
pub fn made(place: &str, id: impl Display, body: impl IntoResponse) -> Response {
    let mut location = String::with_capacity(LOCATION_BYTES);
    let written = write!(location, "/api/v1/{place}/{id}");
    let mut response = (StatusCode::CREATED, body).into_response();
    if let (Ok(()), Ok(location)) = (written, HeaderValue::try_from(location)) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

fn header_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get("idempotency-key") else {
        return Ok(None);
    };
    let text = std::str::from_utf8(value.as_bytes()).map_err(|_| {
        Problem::invalid("Idempotency-Key", "the header Idempotency-Key must be text")
    })?;
    Ok(Some(text.to_owned()))
}

/// Which jobs are meant.
#[derive(Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct JobQuery {
    /// scheduled, ready, running, retrying, succeeded, failed or cancelled.
    label: Option<String>,
    #[param(value_type = Option<Name>)]
    queue: Option<String>,
    #[param(value_type = Option<Name>)]
    kind: Option<String>,
    /// For admin keys; others have a tenant of their own.
    #[param(value_type = Option<Name>)]
    tenant: Option<String>,
    /// Runs of this schedule.
    schedule: Option<String>,
    /// Created at this time or later.
    from: Option<String>,
    /// Created before this time.
    before: Option<String>,
    /// Part of the newest failure's message, in any case.
    text: Option<String>,
    /// Class of the newest failure.
    class: Option<String>,
    /// Why it ended.
    reason: Option<String>,
    /// How many, up to 500.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<usize>,
    /// Where the page before ended: its nextCursor.
    after: Option<String>,
}

impl JobQuery {
    pub fn filter(&self, caller: &Caller) -> Result<JobFilter, Problem> {
        let asked = self.tenant.as_deref().map(Tenant::new).transpose()?;
        let time = |field: &str, text: &Option<String>| -> Result<Option<Timestamp>, Invalid> {
            let parsed = text.as_deref().map(str::parse).transpose();
            parsed.map_err(|error: Invalid| Invalid {
                field: field.to_owned(),
                ..error
            })
        };
        let schedule = self.schedule.as_deref().map(str::parse::<ScheduleId>);
        Ok(JobFilter {
            tenant: caller.choose(asked)?,
            queue: self.queue.as_deref().map(Queue::new).transpose()?,
            kind: self.kind.as_deref().map(Kind::new).transpose()?,
            label: self
                .label
                .as_deref()
                .map(str::parse::<JobLabel>)
                .transpose()?,
            schedule: schedule.transpose().map_err(|error| Invalid {
                field: "schedule".to_owned(),
                ..error
            })?,
            created_from: time("from", &self.from)?,
            created_before: time("before", &self.before)?,
            failure_text: self.text.clone(),
            failure_class: self.class.as_deref().map(FailureClass::named),
            reason: self
                .reason
                .as_deref()
                .map(str::parse::<EndReason>)
                .transpose()?,
            dead_letters: false,
        })
    }

    pub fn page(&self) -> Result<JobPageRequest, Problem> {
        cursor::page(self.limit, limits::PAGE_DEFAULT, self.after.as_deref())
    }
}

/// List jobs, newest first.
#[utoipa::path(
    get, path = "/jobs", tag = "jobs", params(JobQuery),
    responses((status = 200, description = "A page of jobs", body = Jobs), Problems)
)]
pub async fn list(
    State(app): State<Arc<App>>,
    Reads(caller): Reads,
    Params(query): Params<JobQuery>,
) -> Answer<Jobs> {
    listed(&app, query.filter(&caller)?, query.page()?)
        .await
        .map(Json)
}

/// A page of jobs. The store bounds the work of one look, so a rare kind of job may take a few.
pub async fn listed(
    app: &App,
    filter: JobFilter,
    mut page: JobPageRequest,
) -> Result<Jobs, Problem> {
    let wanted = page.limit;
    let deadline = tokio::time::Instant::now() + limits::LIST_TIME_MAX;
    let mut found: Vec<Job> = Vec::new();
    let next = loop {
        page.limit = wanted - found.len();
        let Page { items, next } = app.client.jobs(filter.clone(), page).await?;
        found.extend(items);
        let is_enough = found.len() >= wanted || tokio::time::Instant::now() >= deadline;
        match next {
            Some(next) if !is_enough => page.after = Some(next),
            next => break next,
        }
    };
    let now = app.client.now();
    Ok(Jobs {
        jobs: found
            .into_iter()
            .map(|job| JobShown::listed(job, now))
            .collect(),
        next_cursor: cursor::next(next),
    })
}

/// Look at a job.
#[utoipa::path(
    get, path = "/jobs/{id}", tag = "jobs", params(("id" = String, Path, description = "job_…")),
    responses((status = 200, description = "The job", body = JobShown), Problems)
)]
pub async fn read(
    State(app): State<Arc<App>>,
    Reads(caller): Reads,
    Id(id): Id<JobId>,
) -> Answer<JobShown> {
    let job = find(&app, &caller, id).await?;
    Ok(Json(JobShown::whole(job, app.client.now())))
}

async fn find(app: &App, caller: &Caller, id: JobId) -> Result<Job, Problem> {
    caller.job(app.client.job(id).await?, id)
}

/// Change a job that waits: payload, policy, runAt, priority.
///
/// A policy decides when an attempt ends. A retry that is already planned keeps its time and is
/// still made, even if the new policy allows fewer retries; when it fails, the new policy decides.
/// To call it off, cancel the job.
#[utoipa::path(
    patch, path = "/jobs/{id}", tag = "jobs", params(("id" = String, Path, description = "job_…")),
    request_body = EditJob,
    responses((status = 200, description = "The job as it is now", body = JobShown), Problems)
)]
pub async fn edit(
    State(app): State<Arc<App>>,
    Writes(caller): Writes,
    Id(id): Id<JobId>,
    Body(body): Body<EditJob>,
) -> Answer<JobShown> {
    let job = find(&app, &caller, id).await?;
    let payload = body
        .payload
        .map(|payload| checked_payload(&job, payload))
        .transpose()?;
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
pub fn checked_payload(
    job: &Job,
    payload: steadfast_core::Payload,
) -> Result<steadfast_core::Payload, Problem> {
    if job.kind == Kind::http() {
        let request = payload.decode::<steadfast_engine::http::HttpRequest>();
        request.map_err(|error| {
            Problem::invalid("payload", format!("payload of an http job: {error}"))
        })?;
    }
    Ok(payload)
}

/// How the cursor of a history and its length are said.
#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// How many, up to 500.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<usize>,
    /// Where the page before ended: its nextCursor.
    pub after: Option<String>,
}

/// The attempts of a job, newest first, each with why it was followed by what it was; with a
/// schedule's id, the attempts of all its runs.
#[utoipa::path(
    get, path = "/jobs/{id}/history", tag = "jobs",
    params(("id" = String, Path, description = "job_… or sch_…"), PageQuery),
    responses((status = 200, description = "A page of attempts", body = Attempts), Problems)
)]
pub async fn history(
    State(app): State<Arc<App>>,
    Reads(caller): Reads,
    Id(id): Id<String>,
    Params(query): Params<PageQuery>,
) -> Answer<Attempts> {
    let of = match (id.parse::<JobId>(), id.parse::<ScheduleId>()) {
        (Ok(job), _) => find(&app, &caller, job).await?.id.into(),
        (_, Ok(schedule)) => {
            let found = app.client.find_schedule(schedule).await?;
            steadfast_store::AttemptOwner::from(caller.schedule(found, schedule)?.id)
        }
        _ => return Err(Problem::not_found(id.chars().take(64).collect::<String>())),
    };
    let page = PageRequest {
        limit: cursor::size(query.limit, limits::HISTORY_DEFAULT)?,
        after: query.after.as_deref().map(cursor::attempt).transpose()?,
    };
    let listed = app.client.attempts(of, page).await?;
    Ok(Json(Attempts {
        attempts: listed.items.into_iter().map(AttemptShown::of).collect(),
        next_cursor: listed.next.map(cursor::of_attempt),
    }))
}

/// Stop a job: at once if it waits, as soon as it can if it runs.
#[utoipa::path(
    post, path = "/jobs/{id}/cancel", tag = "jobs", params(("id" = String, Path, description = "job_…")),
    responses((status = 200, description = "The job as it is now", body = JobShown), Problems)
)]
pub async fn cancel(
    State(app): State<Arc<App>>,
    Writes(caller): Writes,
    Id(id): Id<JobId>,
) -> Answer<JobShown> {
    command(&app, &caller, id, JobCommand::Cancel).await
}

/// Try a job that failed or was cancelled once more, with a fresh retry budget, and with
/// another payload if wanted.
#[utoipa::path(
    post, path = "/jobs/{id}/retry", tag = "jobs", params(("id" = String, Path, description = "job_…")),
    request_body(content = Option<RetryBody>),
    responses((status = 200, description = "The job as it is now", body = JobShown), Problems)
)]
pub async fn retry(
    State(app): State<Arc<App>>,
    Writes(caller): Writes,
    Id(id): Id<JobId>,
    MaybeBody(body): MaybeBody<RetryBody>,
) -> Answer<JobShown> {
    let payload = match body.payload {
        Some(payload) => {
            let job = find(&app, &caller, id).await?;
            Some(checked_payload(&job, payload)?)
        }
        None => None,
    };
    command(&app, &caller, id, JobCommand::Retry { payload }).await
}

/// Start a waiting job without waiting for its time.
#[utoipa::path(
    post, path = "/jobs/{id}/run-now", tag = "jobs", params(("id" = String, Path, description = "job_…")),
    responses((status = 200, description = "The job as it is now", body = JobShown), Problems)
)]
pub async fn run_now(
    State(app): State<Arc<App>>,
    Writes(caller): Writes,
    Id(id): Id<JobId>,
) -> Answer<JobShown> {
    command(&app, &caller, id, JobCommand::RunNow).await
}

async fn command(app: &App, caller: &Caller, id: JobId, command: JobCommand) -> Answer<JobShown> {
    find(app, caller, id).await?;
    let job = app.client.command(id, command).await?;
    Ok(Json(JobShown::whole(job, app.client.now())))
}
