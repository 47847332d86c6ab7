//! Workers: claim, say "still at it", say how it went.

use std::{sync::Arc, time::Duration};

use axum::extract::State;
use steadfast_core::{
    Failure, FailureClass, Fence, Invalid, Job, JobId, Kind, Outcome, Payload, Queue, Tenant,
    WorkerName, duration, limits as core_limits,
};
use steadfast_engine::{SettleError, Settlement};
use steadfast_store::{ClaimRequest, RenewResult, Renewal};

use super::{
    Answer,
    wire::{
        ClaimBody, ClaimShown, Claims, FailBody, FailureBody, HeartbeatBody, JobShown, LeaseShown,
        OutcomeName, SettleBody, SettleMany, SettledMany, SettledOne, SnoozeBody, SucceedBody,
    },
};
use crate::{
    App,
    access::{Caller, Works},
    body::{Body, Id},
    json::Json,
    limits,
    problem::{Problem, Problems},
};

/// Claim due jobs, waiting for the first if there is none.
///
/// Each claim is counted as an attempt and holds until its lease runs out; whoever needs longer
/// says so with a heartbeat.
#[utoipa::path(
    post, path = "/claims", tag = "workers", request_body = ClaimBody,
    responses((status = 200, description = "The claims, perhaps none", body = Claims), Problems)
)]
pub async fn claim(
    State(app): State<Arc<App>>,
    Works(caller): Works,
    Body(body): Body<ClaimBody>,
) -> Answer<Claims> {
    let asked = body.tenant.as_deref().map(Tenant::new).transpose()?;
    let max = body.max.unwrap_or(limits::CLAIMS_DEFAULT);
    if !(1..=limits::CLAIMS_MAX).contains(&max) {
        let detail = format!("max is {max}: must be between 1 and {}", limits::CLAIMS_MAX);
        return Err(Problem::invalid("max", detail));
    }
    let kinds = names(&body.kinds, "kinds", Kind::new)?;
    let request = ClaimRequest {
        worker: WorkerName::new(&body.worker)?,
        tenant: caller.choose(asked)?,
        queues: names(&body.queues, "queues", Queue::new)?,
        // What the node runs by itself is not for workers, unless they ask for it by name.
        except_kinds: match kinds.is_empty() {
            true => vec![Kind::http(), Kind::webhook()],
            false => Vec::new(),
        },
        kinds,
        max,
        lease: body.lease.map(|it| lease(it.get())).transpose()?,
    };
    let wait = body.wait.map_or(Duration::ZERO, |wait| wait.get());
    let wait = wait.min(limits::CLAIM_WAIT_MAX);
    let claims = app.node.claim(request, wait).await?;
    let now = app.client.now();
    let shown = claims.iter().map(|claim| ClaimShown::of(claim, now));
    Ok(Json(Claims {
        claims: shown.collect(),
    }))
}

fn names<N>(
    texts: &[String],
    field: &str,
    name: fn(&str) -> Result<N, Invalid>,
) -> Result<Vec<N>, Problem> {
    let placed = texts.iter().enumerate().map(|(index, text)| {
        name(text).map_err(|error| Invalid {
            field: format!("{field}[{index}]"),
            ..error
        })
    });
    Ok(placed.collect::<Result<_, Invalid>>()?)
}

fn lease(lease: Duration) -> Result<Duration, Invalid> {
    let (least, most) = (core_limits::LEASE_MIN, core_limits::LEASE_MAX);
    if (least..=most).contains(&lease) {
        return Ok(lease);
    }
    let (least, most) = (duration::format(least), duration::format(most));
    let expected = format!("must be between {least} and {most}");
    Err(Invalid::new("lease", duration::format(lease), expected))
}

/// Say that an attempt still runs: its lease counts from now.
#[utoipa::path(
    post, path = "/claims/{id}/heartbeat", tag = "workers",
    params(("id" = String, Path, description = "job_…")), request_body = HeartbeatBody,
    responses((status = 200, description = "The lease", body = LeaseShown), Problems)
)]
pub async fn heartbeat(
    State(app): State<Arc<App>>,
    Works(caller): Works,
    Id(id): Id<JobId>,
    Body(body): Body<HeartbeatBody>,
) -> Answer<LeaseShown> {
    let job = caller.job(app.client.job(id).await?, id)?;
    let note = body.note.map(|mut note| {
        note.truncate(note.floor_char_boundary(core_limits::NOTE_BYTES_MAX));
        note
    });
    let renewal = Renewal {
        job: id,
        fence: body.fence,
        lease: body.lease.map_or(Ok(job.lease), |it| lease(it.get()))?,
        note,
    };
    match app.node.renew(vec![renewal]).await?.first() {
        Some(RenewResult::Held {
            until,
            cancel_requested,
        }) => Ok(Json(LeaseShown {
            lease_until: *until,
            cancel_requested: *cancel_requested,
        })),
        _ => {
            let job = caller.job(app.client.job(id).await?, id)?;
            Err(SettleError::from(stale(&job, body.fence)).into())
        }
    }
}

fn stale(job: &Job, requested: Fence) -> steadfast_core::StaleFence {
    steadfast_core::StaleFence {
        job: job.id,
        requested,
        current: job.progress.fence,
        state: job.progress.state,
    }
}

/// Say that an attempt succeeded.
#[utoipa::path(
    post, path = "/claims/{id}/succeed", tag = "workers",
    params(("id" = String, Path, description = "job_…")), request_body = SucceedBody,
    responses((status = 200, description = "The job as it is now", body = JobShown), Problems)
)]
pub async fn succeed(
    State(app): State<Arc<App>>,
    Works(caller): Works,
    Id(id): Id<JobId>,
    Body(body): Body<SucceedBody>,
) -> Answer<JobShown> {
    let outcome = success(body.result)?;
    settle_one(&app, &caller, id, body.fence, outcome).await
}

/// Say that an attempt failed; what follows is up to the job's policy.
#[utoipa::path(
    post, path = "/claims/{id}/fail", tag = "workers",
    params(("id" = String, Path, description = "job_…")), request_body = FailBody,
    responses((status = 200, description = "The job as it is now", body = JobShown), Problems)
)]
pub async fn fail(
    State(app): State<Arc<App>>,
    Works(caller): Works,
    Id(id): Id<JobId>,
    Body(body): Body<FailBody>,
) -> Answer<JobShown> {
    let outcome = failure(body.failure.unwrap_or_default())?;
    settle_one(&app, &caller, id, body.fence, outcome).await
}

/// Say "not now": try again later without counting this attempt.
#[utoipa::path(
    post, path = "/claims/{id}/snooze", tag = "workers",
    params(("id" = String, Path, description = "job_…")), request_body = SnoozeBody,
    responses((status = 200, description = "The job as it is now", body = JobShown), Problems)
)]
pub async fn snooze(
    State(app): State<Arc<App>>,
    Works(caller): Works,
    Id(id): Id<JobId>,
    Body(body): Body<SnoozeBody>,
) -> Answer<JobShown> {
    let outcome = Outcome::Snoozed(body.delay.get());
    settle_one(&app, &caller, id, body.fence, outcome).await
}

/// Say how many attempts went, in one transaction. Each is answered on its own.
#[utoipa::path(
    post, path = "/claims/settle", tag = "workers", request_body = SettleMany,
    responses((status = 200, description = "One answer for each, in order", body = SettledMany), Problems)
)]
pub async fn settle(
    State(app): State<Arc<App>>,
    Works(caller): Works,
    Body(body): Body<SettleMany>,
) -> Answer<SettledMany> {
    let most = limits::SETTLE_MAX;
    if body.settlements.is_empty() || body.settlements.len() > most {
        let count = body.settlements.len();
        let detail = format!("settlements holds {count}: must be 1 to {most}");
        return Err(Problem::invalid("settlements", detail));
    }
    let ids: Vec<String> = body.settlements.iter().map(|it| it.id.clone()).collect();
    let settlements = body.settlements.into_iter().enumerate();
    let settlements = settlements
        .map(|(index, body)| {
            settlement(body).map_err(|mut problem| {
                let field = problem.field.unwrap_or_default();
                problem.field = Some(format!("settlements[{index}].{field}"));
                problem
            })
        })
        .collect::<Result<Vec<_>, Problem>>()?;
    let answers = app.node.settle(settlements, caller.tenant.as_ref()).await?;
    let now = app.client.now();
    let settled = answers
        .into_iter()
        .zip(ids)
        .map(|(answer, id)| match answer {
            Ok(job) => SettledOne {
                id,
                ok: true,
                label: Some(job.label(now).to_string()),
                code: None,
                detail: None,
            },
            Err(error) => {
                let problem = Problem::from(error);
                SettledOne {
                    id,
                    ok: false,
                    label: None,
                    code: Some(problem.code.to_owned()),
                    detail: Some(problem.detail),
                }
            }
        });
    Ok(Json(SettledMany {
        settled: settled.collect(),
    }))
}

fn settlement(body: SettleBody) -> Result<Settlement, Problem> {
    let extra = [
        ("result", body.result.is_some(), OutcomeName::Succeed),
        ("failure", body.failure.is_some(), OutcomeName::Fail),
        ("delay", body.delay.is_some(), OutcomeName::Snooze),
    ];
    for (field, given, belongs_to) in extra {
        if given && belongs_to != body.outcome {
            let detail = format!("{field} does not belong to this outcome");
            return Err(Problem::invalid(field, detail));
        }
    }
    let outcome = match body.outcome {
        OutcomeName::Succeed => success(body.result)?,
        OutcomeName::Fail => failure(body.failure.unwrap_or_default())?,
        OutcomeName::Snooze => {
            let delay = body
                .delay
                .ok_or_else(|| Problem::invalid("delay", "a snooze needs a delay, as \"30s\""))?;
            Outcome::Snoozed(delay.get())
        }
    };
    Ok(Settlement {
        job: body.id.parse()?,
        fence: body.fence,
        outcome,
    })
}

fn success(result: Option<Payload>) -> Result<Outcome, Problem> {
    let most = core_limits::OUTPUT_BYTES_MAX;
    match result {
        Some(result) if result.as_str().len() > most => {
            let bytes = result.as_str().len();
            let detail = format!("result is {bytes} bytes: must be at most {most}");
            Err(Problem::invalid("result", detail))
        }
        output => Ok(Outcome::Success { output }),
    }
}

fn failure(body: FailureBody) -> Result<Outcome, Problem> {
    if let Some(status) = body.http_status
        && !(100..=599).contains(&status)
    {
        let detail = format!("failure.httpStatus is {status}: must be between 100 and 599");
        return Err(Problem::invalid("failure.httpStatus", detail));
    }
    let class = FailureClass::named(body.class.as_deref().unwrap_or_default());
    let mut failure = Failure::new(class, body.message.unwrap_or_default());
    failure.http_status = body.http_status;
    if let Some(delay) = body.retry_after {
        failure = failure.with_retry_after(delay.get());
    }
    Ok(Outcome::Failure {
        failure,
        output: None,
    })
}

async fn settle_one(
    app: &App,
    caller: &Caller,
    job: JobId,
    fence: Fence,
    outcome: Outcome,
) -> Answer<JobShown> {
    let settlement = Settlement {
        job,
        fence,
        outcome,
    };
    let answers = app.node.settle(vec![settlement], caller.tenant.as_ref());
    let answer = answers.await?.into_iter().next();
    let job = answer.unwrap_or(Err(SettleError::NotFound(job)))?;
    Ok(Json(JobShown::whole(job, app.client.now())))
}
