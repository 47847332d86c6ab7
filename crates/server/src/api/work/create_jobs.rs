//! `POST /jobs`: one job, many, or a schedule.

use std::fmt::{Display, Write as _};

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::{FutureExt as _, future::BoxFuture};
use serde::Deserialize;
use steadfast_api::{CreateJobRequest, CreateJobsRequest, CreateRequest, JobList, ScheduleBody};
use steadfast_core::{JobId, Schedule, Traceparent, limits as core_limits};
use steadfast_engine::{ClientError, CreateResult, JobRequest, ScheduleRequest};

use crate::{
    api::work::{
        copy_job,
        create::{JobOrSchedule, RequestReader, describe_work, may_replace},
        jobs,
    },
    app::App,
    extract::{Caller, Writes, body},
    http::{Json, Problem, Problems},
    metrics::ClientOperation,
};

/// The address of anything that has an id fits.
const LOCATION_BYTES: usize = 64; // not a limit: the usual size of a buffer
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// Create a job, up to 1,000 jobs atomically, or a schedule.
///
/// The response is sent after the job is durable. With an idempotency key, repeating the request
/// returns the same job or schedule with status 200 and the header `Idempotent-Replayed: true`; a
/// different request with the same key is refused with 409. Without a key, a recurring job updates
/// the existing schedule with the same `jobName` and work (`kind`, or the URL of an HTTP job).
#[utoipa::path(
    post, path = "/jobs", tag = "Jobs", operation_id = "createJob",
    request_body(content = CreateRequest, examples(
        ("HTTP job" = (value = json!({
            "http": {"url": "https://example.com/hook", "method": "POST", "body": {"order": 17}},
            "retry": {"maxRetries": 5, "backoff": "exponential", "baseDelay": "2s"}
        }))),
        ("Job for a worker" = (value = json!({
            "kind": "resize-image", "payload": {"file": "cat.png"}, "queue": "images"
        }))),
        ("Recurring job" = (value = json!({
            "api": "https://example.com/refresh", "jobName": "refresh", "schedule": "0 3 * * *",
            "timezone": "Europe/Paris"
        }))),
        ("Many jobs" = (value = json!({
            "jobs": [{"kind": "mail", "payload": {"to": 1}}, {"kind": "mail", "payload": {"to": 2}}]
        })))
    )),
    params(
        ("Idempotency-Key" = Option<String>, Header, description = "Idempotency key: a repeated request returns the same job or schedule. Jobs in a list have their own `idempotencyKey`"),
        ("traceparent" = Option<String>, Header, description = "Trace context for jobs whose body has no `traceparent`"),
    ),
    responses(
        (status = 201, description = "The job, the schedule of a recurring job, or the list of jobs",
            body = steadfast_api::CreateResult,
            headers(("Location" = String, description = "The URL of the new resource"))),
        (status = 200, description = "The existing job with this idempotency key or unique key",
            body = steadfast_api::CreateResult),
        Problems,
    )
)]
pub async fn create(Writes { app, caller }: Writes, request: Request) -> Result<Response, Problem> {
    let _timer = app.metrics.time(ClientOperation::Send);
    let headers = CreateHeaders::read(request.headers())?;
    let bytes = body::read(request, &app).await?;
    start_create(&app, &caller, headers, &bytes)?.await
}

/// The work of a create as a boxed future. The future of the handler is moved with each request and
/// would otherwise be as large as the largest of these. Together with the header timer, the JSON
/// writer and the policy cache this took a create over HTTP from 0.36 to 0.46 of an echo server.
fn start_create<'a>(
    app: &'a App,
    caller: &'a Caller,
    headers: CreateHeaders,
    bytes: &[u8],
) -> Result<BoxFuture<'a, Result<Response, Problem>>, Problem> {
    let reader = RequestReader { app, caller };
    let mut one: CreateJobRequest = match body::parse(bytes) {
        Ok(one) => one,
        Err(_) if is_list(bytes) => {
            let traceparent = headers.of_many()?;
            let requests = read_many(&reader, body::parse(bytes)?, traceparent)?;
            return Ok(create_many(app, caller, requests).boxed());
        }
        Err(problem) => return Err(problem),
    };
    one.idempotency_key = headers.key_beside(one.idempotency_key)?;
    one.traceparent = one.traceparent.or(headers.traceparent);
    if let Some(id) = one.like.take() {
        return Ok(create_copy(app, caller.clone(), id, one).boxed());
    }
    Ok(start_one(app, caller, reader.job_or_schedule(one)?))
}

pub fn start_one<'a>(
    app: &'a App,
    caller: &'a Caller,
    request: JobOrSchedule,
) -> BoxFuture<'a, Result<Response, Problem>> {
    match request {
        JobOrSchedule::Job(request) if request.is_unique() => async move {
            let client = caller.client(app).await?;
            create_one(app, client.create(request)).await
        }
        .boxed(),
        JobOrSchedule::Job(request) => create_one(app, app.client.create(request)).boxed(),
        JobOrSchedule::Schedule {
            request,
            idempotency_key,
        } => create_schedule(app, caller, *request, idempotency_key).boxed(),
    }
}

/// A copy of a stored job, with the fields of the request.
async fn create_copy(
    app: &App,
    caller: Caller,
    id: JobId,
    body: CreateJobRequest,
) -> Result<Response, Problem> {
    let stored = jobs::find(app, &caller, id).await?;
    let body = copy_job::fill(&stored, body)?;
    let reader = RequestReader {
        app,
        caller: &caller,
    };
    start_one(app, &caller, reader.job_or_schedule(body)?).await
}

fn is_list(bytes: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Shape {
        jobs: Option<serde::de::IgnoredAny>,
    }
    serde_json::from_slice::<Shape>(bytes).is_ok_and(|shape| shape.jobs.is_some())
}

async fn create_one(
    app: &App,
    create: impl Future<Output = Result<CreateResult, ClientError>>,
) -> Result<Response, Problem> {
    let result = create.await?;
    app.metrics.sent(&result);
    Ok(match result {
        CreateResult::New(job) => {
            let (id, now) = (job.id, job.created_at);
            created("jobs", id, Json(jobs::job_body(app, job, now)))
        }
        CreateResult::Existing(job) => replayed(Json(jobs::job_body(app, job, app.client.now()))),
        CreateResult::Unique(job, result) => {
            let mut body = jobs::job_body(app, job, app.client.now());
            body.unique_result = Some(result);
            Json(body).into_response()
        }
    })
}

/// The response to a request that was met before.
pub fn replayed(body: impl IntoResponse) -> Response {
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(REPLAYED, HeaderValue::from_static("true"));
    response
}

async fn create_schedule(
    app: &App,
    caller: &Caller,
    request: ScheduleRequest,
    idempotency_key: Option<String>,
) -> Result<Response, Problem> {
    let client = caller.client(app).await?;
    let result = match &idempotency_key {
        Some(key) => client.create_schedule(request, key).await,
        None => {
            let schedule = client.schedule_if(request, may_replace).await;
            schedule.map(CreateResult::New)
        }
    };
    match result {
        Ok(CreateResult::New(schedule)) => {
            let id = schedule.id;
            Ok(created("schedules", id, Json(ScheduleBody::from(schedule))))
        }
        Ok(CreateResult::Existing(schedule) | CreateResult::Unique(schedule, _)) => {
            Ok(replayed(Json(ScheduleBody::from(schedule))))
        }
        Err(ClientError::NameTaken { schedule }) => Err(name_taken(&schedule)),
        Err(error) => Err(without_job_prefix(error.into())),
    }
}

fn name_taken(stored: &Schedule) -> Problem {
    let name = &stored.name;
    let title = stored.template.tags().get("jobName");
    let title = title.map_or(String::new(), |title| format!(" (jobName {title:?})"));
    let detail = format!(
        "a schedule named {name}{title} already exists, for {}: choose another jobName, or change that \
         schedule with PATCH /api/v1/schedules/{}",
        describe_work(&stored.template),
        stored.name,
    );
    Problem::new(StatusCode::CONFLICT, "name_taken", detail).at("jobName")
}

/// The fields of a job that was sent alone are not inside of `job`.
fn without_job_prefix(mut problem: Problem) -> Problem {
    const PREFIX: &str = "job.";
    if let Some(field) = &problem.field
        && let Some(inner) = field.strip_prefix(PREFIX)
    {
        problem.field = Some(inner.to_owned());
        problem.detail = problem.detail.replacen(PREFIX, "", 1);
    }
    problem
}

pub fn read_many(
    reader: &RequestReader<'_>,
    body: CreateJobsRequest,
    traceparent: Option<String>,
) -> Result<Vec<JobRequest>, Problem> {
    let most = core_limits::BULK_JOBS_MAX;
    if body.jobs.is_empty() || body.jobs.len() > most {
        let detail = format!("jobs contains {}: must be 1 to {most}", body.jobs.len());
        return Err(Problem::invalid("jobs", detail));
    }
    let requests = body.jobs.into_iter().enumerate().map(|(index, mut body)| {
        body.traceparent = body.traceparent.or_else(|| traceparent.clone());
        let within = |problem: Problem| problem.within(&format!("jobs[{index}]"));
        match reader.job_or_schedule(body).map_err(within)? {
            JobOrSchedule::Job(request) => Ok(request),
            JobOrSchedule::Schedule { .. } => {
                let detail = "a list cannot contain recurring jobs; create schedules one by one";
                Err(within(Problem::invalid("schedule", detail)))
            }
        }
    });
    requests.collect()
}

pub async fn create_many(
    app: &App,
    caller: &Caller,
    requests: Vec<JobRequest>,
) -> Result<Response, Problem> {
    let client = caller.creator(app, &requests).await?;
    let results = client.create_all(requests).await?.into_iter();
    let now = app.client.now();
    let jobs = results.map(|result| {
        app.metrics.sent(&result);
        let unique_result = match &result {
            CreateResult::Unique(_, result) => Some(*result),
            CreateResult::New(_) | CreateResult::Existing(_) => None,
        };
        let mut entry = jobs::list_entry(app, result.job(), now);
        entry.unique_result = unique_result;
        entry
    });
    let body = JobList {
        jobs: jobs.collect(),
        next_cursor: None,
    };
    Ok((StatusCode::CREATED, Json(body)).into_response())
}

/// A response to a create, with the address of what was created.
pub fn created(collection: &str, id: impl Display, body: impl IntoResponse) -> Response {
    let mut location = String::with_capacity(LOCATION_BYTES);
    let written = write!(location, "/api/v1/{collection}/{id}");
    let mut response = (StatusCode::CREATED, body).into_response();
    if let (Ok(()), Ok(location)) = (written, HeaderValue::try_from(location)) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

/// The fields of a create that come from its headers.
pub struct CreateHeaders {
    key: Option<String>,
    pub traceparent: Option<String>,
}

impl CreateHeaders {
    /// Tracers add `traceparent` by themselves; one that is wrong is none, as the standard says.
    pub fn read(headers: &HeaderMap) -> Result<Self, Problem> {
        let traceparent = headers.get("traceparent");
        let traceparent = traceparent.and_then(|value| value.to_str().ok());
        let is_right = |text: &&str| Traceparent::new(text).is_ok();
        Ok(Self {
            key: header_key(headers)?,
            traceparent: traceparent.filter(is_right).map(str::to_owned),
        })
    }

    /// The key of the header, or of the field of the same meaning.
    pub fn key_beside(&self, field: Option<String>) -> Result<Option<String>, Problem> {
        match (field, &self.key) {
            (Some(field), Some(header)) if field != *header => {
                let detail =
                    "idempotencyKey and the header Idempotency-Key differ; send only one of them";
                Err(Problem::invalid("idempotencyKey", detail))
            }
            (field, header) => Ok(field.or_else(|| header.clone())),
        }
    }

    /// The trace of many jobs, each of which has a key of its own.
    pub fn of_many(self) -> Result<Option<String>, Problem> {
        if self.key.is_some() {
            let detail = "the header Idempotency-Key is for a single job; give each job in the list \
                          its own idempotencyKey";
            return Err(Problem::invalid("Idempotency-Key", detail));
        }
        Ok(self.traceparent)
    }
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
