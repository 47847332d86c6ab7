//! Schedules: created, changed, paused, and their ticks.

use axum::{http::StatusCode, response::Response};
use steadfast_api::{
    CreateScheduleRequest, EditScheduleRequest, JobBody, PageQuery, ScheduleBody, ScheduleList,
    ScheduleQuery, TickBody, TickList,
};
use steadfast_core::{JobId, Schedule, ScheduleId, ScheduleName};
use steadfast_engine::ScheduleEdit;
use steadfast_store::{PageRequest, TickRecord};

use crate::{
    api::{
        cursor, query,
        work::{create::RequestReader, create_jobs::created, jobs::job_body},
    },
    app::App,
    extract::{Body, Caller, Id, Params, Reads, Writes, body::shorten_id},
    http::{Answer, Json, Problem, Problems},
    limits,
};

/// Create a schedule, or update the existing one with that name.
#[utoipa::path(
    post, path = "/schedules", tag = "Schedules", operation_id = "createSchedule",
    request_body(content = CreateScheduleRequest, example = json!({
        "name": "nightly-report", "schedule": "0 3 * * *", "timezone": "Europe/Paris",
        "job": {"kind": "report", "payload": {"format": "pdf"}}
    })),
    responses(
        (status = 201, description = "The schedule", body = ScheduleBody,
            headers(("Location" = String, description = "The URL of the new resource"))),
        Problems,
    )
)]
pub async fn create(
    Writes { app, caller }: Writes,
    Body(body): Body<CreateScheduleRequest>,
) -> Result<Response, Problem> {
    let (app, caller) = (&*app, &caller);
    let request = RequestReader { app, caller }.schedule(body)?;
    let client = caller.client(app).await?;
    let schedule = client.schedule(request).await?;
    let id = schedule.id;
    Ok(created("schedules", id, Json(ScheduleBody::from(schedule))))
}

/// List schedules, newest first.
#[utoipa::path(
    get, path = "/schedules", tag = "Schedules", operation_id = "listSchedules", params(ScheduleQuery),
    responses((status = 200, description = "A page of schedules", body = ScheduleList), Problems)
)]
pub async fn list(
    Reads { app, caller }: Reads,
    Params(query): Params<ScheduleQuery>,
) -> Answer<ScheduleList> {
    let tenant = query::tenant(query.tenant.as_deref(), &caller)?;
    let page = query::schedule_page(&query)?;
    let schedules = app.client.schedules(tenant, page).await?;
    Ok(Json(ScheduleList {
        schedules: schedules
            .items
            .into_iter()
            .map(|schedule| caller.redact_schedule(schedule).into())
            .collect(),
        next_cursor: cursor::next(schedules.next),
    }))
}

/// The schedule of an id, or of a name: names are unique within a tenant.
pub async fn find(app: &App, caller: &Caller, text: &str) -> Result<Schedule, Problem> {
    if let Ok(id) = text.parse::<ScheduleId>() {
        let Some(schedule) = app.client.find_schedule(id).await? else {
            let damaged = find_damaged(app, caller, id).await?;
            return Err(damaged.unwrap_or_else(|| Problem::not_found(id)));
        };
        return caller.schedule(Some(schedule), id);
    }
    let not_found = || Problem::not_found(format!("schedule {}", shorten_id(text)));
    let name = ScheduleName::new(text).map_err(|_| not_found())?;
    let tenant = caller.choose(None)?;
    let mut named = app.client.schedules_named(tenant, name).await?.into_iter();
    match (named.next(), named.next()) {
        (None, _) => Err(not_found()),
        (Some(schedule), None) => Ok(caller.redact_schedule(schedule)),
        (Some(_), Some(_)) => Err(Problem::new(
            StatusCode::CONFLICT,
            "ambiguous",
            format!("several tenants have a schedule {text}: use its id, sch_…"),
        )),
    }
}

/// The answer for a schedule that is stored and cannot be read. The store has noted it when it was
/// looked for.
async fn find_damaged(
    app: &App,
    caller: &Caller,
    id: ScheduleId,
) -> Result<Option<Problem>, Problem> {
    let rows = app.client.damaged().await?.rows.into_iter();
    let mut rows = rows.filter(|row| row.table == "schedule" && row.id == id.to_string());
    Ok(rows.find_map(|row| caller.damaged_row(&row, id)))
}

/// Read a schedule.
#[utoipa::path(
    get, path = "/schedules/{id}", tag = "Schedules", operation_id = "getSchedule",
    params(("id" = String, Path, description = "sch_…, or its name")),
    responses((status = 200, description = "The schedule", body = ScheduleBody), Problems)
)]
pub async fn read(Reads { app, caller }: Reads, Id(id): Id<String>) -> Answer<ScheduleBody> {
    Ok(Json(find(&app, &caller, &id).await?.into()))
}

/// Edit a schedule. Only a changed rule or window restarts the timetable from now.
///
/// A changed job applies to future runs; existing runs keep their job and policy.
#[utoipa::path(
    patch, path = "/schedules/{id}", tag = "Schedules", operation_id = "editSchedule",
    params(("id" = String, Path, description = "sch_…, or its name")),
    request_body(content = EditScheduleRequest, example = json!({"schedule": "30 4 * * *"})),
    responses((status = 200, description = "The updated schedule", body = ScheduleBody), Problems)
)]
pub async fn edit(
    Writes { app, caller }: Writes,
    Id(id): Id<String>,
    Body(body): Body<EditScheduleRequest>,
) -> Answer<ScheduleBody> {
    let id = find(&app, &caller, &id).await?.id;
    let (app, caller) = (&*app, &caller);
    let reader = RequestReader { app, caller };
    let job = body.job.map(|job| reader.template(job));
    let edit = ScheduleEdit {
        cron: body.schedule,
        every: body.every.map(|every| every.get()),
        timezone: body.timezone,
        start_at: body.start_at,
        end_at: body.end_at,
        max_runs: body.max_runs,
        overlap: body.overlap,
        missed: body.missed,
        job: job.transpose()?,
    };
    let client = caller.client(app).await?;
    let schedule = client.edit_schedule(id, edit).await?;
    Ok(Json(schedule.into()))
}

/// Delete a schedule; its existing runs continue.
#[utoipa::path(
    delete, path = "/schedules/{id}", tag = "Schedules", operation_id = "deleteSchedule",
    params(("id" = String, Path, description = "sch_…, or its name")),
    responses((status = 204, description = "Deleted"), Problems)
)]
pub async fn delete(
    Writes { app, caller }: Writes,
    Id(id): Id<String>,
) -> Result<StatusCode, Problem> {
    let found = find(&app, &caller, &id).await;
    let id = match (found, id.parse()) {
        // What cannot be read can be deleted by its id.
        (Err(problem), Ok(id)) if problem.code == "damaged" => id,
        (found, _) => found?.id,
    };
    caller.client(&app).await?.delete_schedule(id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Pause a schedule: it creates no runs until it is resumed.
#[utoipa::path(
    post, path = "/schedules/{id}/pause", tag = "Schedules", operation_id = "pauseSchedule",
    params(("id" = String, Path, description = "sch_…, or its name")),
    responses((status = 200, description = "The updated schedule", body = ScheduleBody), Problems)
)]
pub async fn pause(Writes { app, caller }: Writes, Id(id): Id<String>) -> Answer<ScheduleBody> {
    let id = find(&app, &caller, &id).await?.id;
    let schedule = caller.client(&app).await?.pause_schedule(id).await?;
    Ok(Json(schedule.into()))
}

/// Resume a schedule with its next tick; ticks that passed during the pause create no runs.
#[utoipa::path(
    post, path = "/schedules/{id}/resume", tag = "Schedules", operation_id = "resumeSchedule",
    params(("id" = String, Path, description = "sch_…, or its name")),
    responses((status = 200, description = "The updated schedule", body = ScheduleBody), Problems)
)]
pub async fn resume(Writes { app, caller }: Writes, Id(id): Id<String>) -> Answer<ScheduleBody> {
    let id = find(&app, &caller, &id).await?.id;
    let schedule = caller.client(&app).await?.resume_schedule(id).await?;
    Ok(Json(schedule.into()))
}

/// Run a schedule now: one extra run outside its timetable.
#[utoipa::path(
    post, path = "/schedules/{id}/run-now", tag = "Schedules", operation_id = "runScheduleNow",
    params(("id" = String, Path, description = "sch_…, or its name")),
    responses((status = 201, description = "The run", body = JobBody), Problems)
)]
pub async fn run_now(
    Writes { app, caller }: Writes,
    Id(id): Id<String>,
) -> Result<(StatusCode, Json<JobBody>), Problem> {
    let id = find(&app, &caller, &id).await?.id;
    let client = caller.client(&app).await?;
    let run: JobId = client.run_schedule_now(id).await?;
    let job = caller.job(app.client.job(run).await?, run)?;
    let body = job_body(&app, job, app.client.now());
    Ok((StatusCode::CREATED, Json(body)))
}

/// List past ticks of a schedule, newest first, and upcoming ticks.
///
/// Each past tick has the run it created, or the reason why it was skipped.
#[utoipa::path(
    get, path = "/schedules/{id}/ticks", tag = "Schedules", operation_id = "listTicks",
    params(("id" = String, Path, description = "sch_…, or its name"), PageQuery),
    responses((status = 200, description = "A page of ticks", body = TickList), Problems)
)]
pub async fn ticks(
    Reads { app, caller }: Reads,
    Id(id): Id<String>,
    Params(query): Params<PageQuery>,
) -> Answer<TickList> {
    let schedule = find(&app, &caller, &id).await?;
    let page = PageRequest {
        limit: cursor::size(query.limit, limits::TICKS_DEFAULT)?,
        after: query.after.as_deref().map(cursor::tick).transpose()?,
    };
    let upcoming = if page.after.is_none() && !schedule.paused {
        schedule.timetable.upcoming(&schedule.progress, page.limit)
    } else {
        Vec::new()
    };
    let ticks = app.client.ticks(schedule.id, page).await?;
    Ok(Json(TickList {
        ticks: ticks.items.iter().map(tick_body).collect(),
        upcoming: upcoming.into_iter().map(Into::into).collect(),
        next_cursor: ticks.next.map(cursor::of_tick),
    }))
}

fn tick_body(record: &TickRecord) -> TickBody {
    match record {
        TickRecord::Fired { job, .. } => TickBody::fired(record.at(), *job),
        TickRecord::Skipped(ticks) => TickBody::skipped(record.at(), ticks),
    }
}
