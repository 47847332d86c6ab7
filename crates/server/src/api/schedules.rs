//! Schedules: made, changed, paused, and what became of their ticks.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode, response::Response};
use serde::Deserialize;
use steadfast_core::{JobId, Schedule, ScheduleId, Tenant};
use steadfast_engine::ScheduleEdit;
use steadfast_store::PageRequest;
use utoipa::IntoParams;

use super::{
    Answer,
    asked::Asking,
    cursor,
    jobs::{PageQuery, made},
    wire::{CreateSchedule, EditSchedule, JobShown, Name, ScheduleShown, Schedules, Ticks},
};
use crate::{
    App,
    access::{Caller, Reads, Writes},
    body::{Body, Id, Params},
    json::Json,
    limits,
    problem::{Problem, Problems},
};

/// Make a schedule, or bring the one of that name in line.
#[utoipa::path(
    post, path = "/schedules", tag = "schedules", request_body = CreateSchedule,
    responses(
        (status = 201, description = "The schedule", body = ScheduleShown,
            headers(("Location" = String, description = "Where it is"))),
        Problems,
    )
)]
pub async fn create(
    State(app): State<Arc<App>>,
    Writes(caller): Writes,
    Body(body): Body<CreateSchedule>,
) -> Result<Response, Problem> {
    let (app, caller) = (&*app, &caller);
    let request = Asking { app, caller }.schedule(body)?;
    let schedule = app.client.schedule(request).await?;
    let id = schedule.id;
    Ok(made("schedules", id, Json(ScheduleShown::of(schedule))))
}

/// Which schedules are meant.
#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ScheduleQuery {
    /// For admin keys; others have a tenant of their own.
    #[param(value_type = Option<Name>)]
    tenant: Option<String>,
    /// How many, up to 500.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<usize>,
    /// Where the page before ended: its nextCursor.
    after: Option<String>,
}

/// List schedules, newest first.
#[utoipa::path(
    get, path = "/schedules", tag = "schedules", params(ScheduleQuery),
    responses((status = 200, description = "A page of schedules", body = Schedules), Problems)
)]
pub async fn list(
    State(app): State<Arc<App>>,
    Reads(caller): Reads,
    Params(query): Params<ScheduleQuery>,
) -> Answer<Schedules> {
    let tenant = query.tenant.as_deref().map(Tenant::new).transpose()?;
    let tenant = caller.choose(tenant)?;
    let page = cursor::page(query.limit, limits::PAGE_DEFAULT, query.after.as_deref())?;
    let listed = app.client.schedules(tenant, page).await?;
    Ok(Json(Schedules {
        schedules: listed.items.into_iter().map(ScheduleShown::of).collect(),
        next_cursor: cursor::next(listed.next),
    }))
}

async fn find(app: &App, caller: &Caller, id: ScheduleId) -> Result<Schedule, Problem> {
    caller.schedule(app.client.find_schedule(id).await?, id)
}

/// Look at a schedule.
#[utoipa::path(
    get, path = "/schedules/{id}", tag = "schedules",
    params(("id" = String, Path, description = "sch_…")),
    responses((status = 200, description = "The schedule", body = ScheduleShown), Problems)
)]
pub async fn read(
    State(app): State<Arc<App>>,
    Reads(caller): Reads,
    Id(id): Id<ScheduleId>,
) -> Answer<ScheduleShown> {
    Ok(Json(ScheduleShown::of(find(&app, &caller, id).await?)))
}

/// Change a schedule. Only a changed rule or window starts afresh from now.
///
/// A changed job is what the runs to come look like; runs that exist keep theirs, policy included.
#[utoipa::path(
    patch, path = "/schedules/{id}", tag = "schedules",
    params(("id" = String, Path, description = "sch_…")), request_body = EditSchedule,
    responses((status = 200, description = "The schedule as it is now", body = ScheduleShown), Problems)
)]
pub async fn edit(
    State(app): State<Arc<App>>,
    Writes(caller): Writes,
    Id(id): Id<ScheduleId>,
    Body(body): Body<EditSchedule>,
) -> Answer<ScheduleShown> {
    find(&app, &caller, id).await?;
    let (app, caller) = (&*app, &caller);
    let asking = Asking { app, caller };
    let job = body.job.map(|job| asking.template(job));
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
    let schedule = app.client.edit_schedule(id, edit).await?;
    Ok(Json(ScheduleShown::of(schedule)))
}

/// Forget a schedule; runs it has made go on.
#[utoipa::path(
    delete, path = "/schedules/{id}", tag = "schedules",
    params(("id" = String, Path, description = "sch_…")),
    responses((status = 204, description = "It is gone"), Problems)
)]
pub async fn delete(
    State(app): State<Arc<App>>,
    Writes(caller): Writes,
    Id(id): Id<ScheduleId>,
) -> Result<StatusCode, Problem> {
    find(&app, &caller, id).await?;
    app.client.delete_schedule(id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Make no more runs until it is resumed.
#[utoipa::path(
    post, path = "/schedules/{id}/pause", tag = "schedules",
    params(("id" = String, Path, description = "sch_…")),
    responses((status = 200, description = "The schedule as it is now", body = ScheduleShown), Problems)
)]
pub async fn pause(
    State(app): State<Arc<App>>,
    Writes(caller): Writes,
    Id(id): Id<ScheduleId>,
) -> Answer<ScheduleShown> {
    find(&app, &caller, id).await?;
    let schedule = app.client.pause_schedule(id).await?;
    Ok(Json(ScheduleShown::of(schedule)))
}

/// Go on with the next tick; those that passed meanwhile were not wanted.
#[utoipa::path(
    post, path = "/schedules/{id}/resume", tag = "schedules",
    params(("id" = String, Path, description = "sch_…")),
    responses((status = 200, description = "The schedule as it is now", body = ScheduleShown), Problems)
)]
pub async fn resume(
    State(app): State<Arc<App>>,
    Writes(caller): Writes,
    Id(id): Id<ScheduleId>,
) -> Answer<ScheduleShown> {
    find(&app, &caller, id).await?;
    let schedule = app.client.resume_schedule(id).await?;
    Ok(Json(ScheduleShown::of(schedule)))
}

/// Make one run now, beside the timetable.
#[utoipa::path(
    post, path = "/schedules/{id}/run-now", tag = "schedules",
    params(("id" = String, Path, description = "sch_…")),
    responses((status = 201, description = "The run", body = JobShown), Problems)
)]
pub async fn run_now(
    State(app): State<Arc<App>>,
    Writes(caller): Writes,
    Id(id): Id<ScheduleId>,
) -> Result<(StatusCode, Json<JobShown>), Problem> {
    find(&app, &caller, id).await?;
    let run: JobId = app.client.run_schedule_now(id).await?;
    let job = caller.job(app.client.job(run).await?, run)?;
    let shown = JobShown::whole(job, app.client.now());
    Ok((StatusCode::CREATED, Json(shown)))
}

/// What became of ticks, newest first: the run each made, or why it was skipped; and the
/// ticks to come.
#[utoipa::path(
    get, path = "/schedules/{id}/ticks", tag = "schedules",
    params(("id" = String, Path, description = "sch_…"), PageQuery),
    responses((status = 200, description = "A page of ticks", body = Ticks), Problems)
)]
pub async fn ticks(
    State(app): State<Arc<App>>,
    Reads(caller): Reads,
    Id(id): Id<ScheduleId>,
    Params(query): Params<PageQuery>,
) -> Answer<Ticks> {
    let schedule = find(&app, &caller, id).await?;
    let page = PageRequest {
        limit: cursor::size(query.limit, limits::TICKS_DEFAULT)?,
        after: query.after.as_deref().map(cursor::tick).transpose()?,
    };
    let upcoming = match page.after.is_none() && !schedule.paused {
        true => schedule.timetable.upcoming(&schedule.progress, page.limit),
        false => Vec::new(),
    };
    let listed = app.client.ticks(id, page).await?;
    Ok(Json(Ticks {
        ticks: listed.items.into_iter().map(Into::into).collect(),
        upcoming: upcoming.into_iter().map(Into::into).collect(),
        next_cursor: listed.next.map(cursor::of_tick),
    }))
}
