//! Steps of an attempt that are done once, whichever attempt did them.

use axum::extract::Path;
use steadfast_api::{FenceQuery, SaveStepRequest, StepBody};
use steadfast_core::{Invalid, JobId, StepName, limits as core_limits};
use steadfast_engine::SettleError;
use steadfast_store::SaveStepResult;

use crate::{
    api::worker::heartbeats::stale_fence,
    app::App,
    extract::{Body, Caller, Params, Works, body::shorten_id},
    http::{Answer, Json, Problem, Problems},
};
use axum::http::StatusCode;

/// Read the stored result of a step of the job.
///
/// Returns 404 with code `step_not_found` if no attempt has completed the step yet: run it and
/// store its result.
#[utoipa::path(
    get, path = "/claims/{id}/steps/{name}", tag = "Workers", operation_id = "getStep",
    params(
        ("id" = String, Path, description = "job_…"),
        ("name" = String, Path, description = "The name of the step, unique within its job"),
        FenceQuery,
    ),
    responses((status = 200, description = "The step", body = StepBody), Problems)
)]
pub async fn read(
    Works { app, caller }: Works,
    Path((id, name)): Path<(String, String)>,
    Params(query): Params<FenceQuery>,
) -> Answer<StepBody> {
    let (job, step) = parse(&id, &name)?;
    let found = caller.job(app.client.job(job).await?, job)?;
    let claim = steadfast_core::Claim::resume(found, query.fence);
    claim.map_err(SettleError::from)?;
    let found = app.node.store().list_steps(job, Some(step), 1).await?;
    let (_, result) = found.into_iter().next().ok_or_else(|| {
        let detail = format!("no attempt of {job} has completed step {name} yet");
        Problem::new(StatusCode::NOT_FOUND, "step_not_found", detail)
    })?;
    Ok(Json(StepBody::new(name, result)))
}

/// Store the result of a step if the claim is still valid, and return the stored result.
///
/// The first result wins, including results of earlier attempts.
#[utoipa::path(
    put, path = "/claims/{id}/steps/{name}", tag = "Workers", operation_id = "saveStep",
    params(
        ("id" = String, Path, description = "job_…"),
        ("name" = String, Path, description = "The name of the step, unique within its job"),
    ),
    request_body(content = SaveStepRequest, example = json!({"fence": 1, "result": {"receipt": 17}})),
    responses((status = 200, description = "The stored step", body = StepBody), Problems)
)]
pub async fn save(
    Works { app, caller }: Works,
    Path((id, name)): Path<(String, String)>,
    Body(body): Body<SaveStepRequest>,
) -> Answer<StepBody> {
    let (job, step) = parse(&id, &name)?;
    let (bytes, most) = (body.result.as_str().len(), core_limits::ONCE_BYTES_MAX);
    if bytes > most {
        let detail = format!("result is {bytes} bytes: must be at most {most}");
        return Err(Problem::invalid("result", detail));
    }
    require_visible(&app, &caller, job).await?;
    let store = app.node.store();
    match store
        .save_step(job, Some(body.fence), step, body.result)
        .await?
    {
        SaveStepResult::Stored(result) => Ok(Json(StepBody::new(name, result))),
        SaveStepResult::Stale => {
            let found = caller.job(app.client.job(job).await?, job)?;
            Err(SettleError::from(stale_fence(&found, body.fence)).into())
        }
        SaveStepResult::Full => {
            let most = core_limits::STEPS_MAX;
            let detail = format!("{job} has reached the limit of {most} steps per job");
            Err(Problem::invalid("name", detail))
        }
    }
}

/// What a step belongs to, and its name. Text that is no id is answered as one that does not exist.
fn parse(id: &str, name: &str) -> Result<(JobId, StepName), Problem> {
    let job = id.parse();
    let job = job.map_err(|_| Problem::not_found(shorten_id(id)))?;
    let step = StepName::new(name).map_err(|error| Invalid {
        field: "name".to_owned(),
        ..error
    })?;
    Ok((job, step))
}

async fn require_visible(app: &App, caller: &Caller, job: JobId) -> Result<(), Problem> {
    caller.job(app.client.job(job).await?, job).map(drop)
}
