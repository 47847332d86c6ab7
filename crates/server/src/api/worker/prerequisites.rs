//! Workers read the results of the jobs that a job has waited for.

use steadfast_api::{PrerequisiteList, PrerequisiteQuery, PrerequisiteResult};
use steadfast_core::{Claim, JobId};
use steadfast_engine::SettleError;

use crate::{
    api::{cursor, work::jobs::result_of},
    extract::{Id, Params, Works},
    http::{Answer, Json, Problem, Problems},
    limits,
};

/// Read the results of the jobs that the claimed job has waited for (`after`).
#[utoipa::path(
    get, path = "/claims/{id}/prerequisites", tag = "Workers", operation_id = "listPrerequisites",
    params(("id" = String, Path, description = "job_…"), PrerequisiteQuery),
    responses((status = 200, description = "The jobs and their results", body = PrerequisiteList), Problems)
)]
pub async fn list(
    Works { app, caller }: Works,
    Id(id): Id<JobId>,
    Params(query): Params<PrerequisiteQuery>,
) -> Answer<PrerequisiteList> {
    let most = limits::PREREQUISITES_PAGE_MAX;
    let limit = query.limit.unwrap_or(most);
    if !(1..=most).contains(&limit) {
        let detail = format!("limit is {limit}: must be between 1 and {most}");
        return Err(Problem::invalid("limit", detail));
    }
    let job = caller.job(app.client.job(id).await?, id)?;
    Claim::resume(job, query.fence).map_err(SettleError::from)?;
    let page = cursor::page::<JobId>(Some(limit), most, query.after.as_deref())?;
    let mut others = app.client.links(id).await?.after;
    others.retain(|(other, _)| page.after.is_none_or(|after| *other > after));
    let has_more = others.len() > limit;
    others.truncate(limit);
    let next = others.last().filter(|_| has_more).map(|(other, _)| *other);
    let ids = others.iter().map(|(other, _)| *other).collect();
    let jobs = app.client.jobs_of(ids).await?;
    let mut prerequisites = Vec::with_capacity(others.len());
    for ((other, state), job) in others.into_iter().zip(jobs) {
        let mut found = PrerequisiteResult::new(other, state);
        if let Some(job) = job {
            found.result = result_of(&app, &caller, &job).await?;
            found.kind = Some(job.kind.to_string());
        }
        prerequisites.push(found);
    }
    Ok(Json(PrerequisiteList {
        prerequisites,
        next_cursor: cursor::next(next),
    }))
}
