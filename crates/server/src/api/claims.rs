//! Workers: claim jobs, renew leases, report how attempts ended.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use axum::{extract::State, response::Response};
use steadfast_api::{
    ClaimBody, ClaimJobsRequest, ClaimList, FailRequest, FailureRequest, HeartbeatRequest, JobBody,
    LeaseBody, SettleRequest, SettlementList, SettlementOutcome, SettlementRequest,
    SettlementResult, SnoozeRequest, SucceedRequest,
};
use steadfast_core::{
    Failure, FailureClass, Fence, Invalid, Job, JobId, Kind, Outcome, Payload, Queue, StaleFence,
    WorkerName, duration, limits as core_limits,
};
use steadfast_engine::{SettleError, Settlement};
use steadfast_store::{ClaimRequest, RenewResult, Renewal};

use super::{Answer, jobs::job_body, query};
use crate::{
    access::{Caller, Works},
    app::App,
    body::{Body, Id},
    json::Json,
    limits,
    problem::{Problem, Problems},
    unwritten::ClaimsBody,
};

/// Claim due jobs, waiting for the first if there is none.
///
/// Each claim is counted as an attempt and holds until its lease runs out; a worker that needs
/// longer sends heartbeats. If the connection breaks before the response is written, the jobs go
/// back uncounted. A node that stops answers 503: another one may have jobs.
#[utoipa::path(
    post, path = "/claims", tag = "Workers", operation_id = "claimJobs",
    request_body(content = ClaimJobsRequest, example = json!({
        "worker": "worker-1", "kinds": ["resize-image"], "max": 10, "wait": "100ms"
    })),
    responses((status = 200, description = "The claims, perhaps none", body = ClaimList), Problems)
)]
pub async fn claim(
    State(app): State<Arc<App>>,
    Works(caller): Works,
    Body(body): Body<ClaimJobsRequest>,
) -> Result<Response, Problem> {
    let max = body.max.unwrap_or(limits::CLAIMS_DEFAULT);
    if !(1..=limits::CLAIMS_MAX).contains(&max) {
        let detail = format!("max is {max}: must be between 1 and {}", limits::CLAIMS_MAX);
        return Err(Problem::invalid("max", detail));
    }
    let kinds = names(&body.kinds, "kinds", Kind::new)?;
    let request = ClaimRequest {
        worker: WorkerName::new(&body.worker)?,
        tenant: query::tenant(body.tenant.as_deref(), &caller)?,
        queues: names(&body.queues, "queues", Queue::new)?,
        // Kinds that the node runs by itself are for workers only if a worker names them.
        except_kinds: if kinds.is_empty() {
            vec![Kind::http(), Kind::webhook()]
        } else {
            Vec::new()
        },
        kinds,
        max,
        lease: body.lease.map(|it| check_lease(it.get())).transpose()?,
        within_timeout: true,
    };
    let wait = body.wait.map_or(Duration::ZERO, |wait| wait.get());
    let wait = wait.min(limits::CLAIM_WAIT_MAX);
    let _waits = match wait.is_zero() {
        true => None,
        false => Some(app.try_wait(caller.tenant.as_ref())?),
    };
    let held = app.node.claim(request, wait).await?;
    let now = app.client.now();
    let bodies = held.claims().iter().map(|claim| {
        let mut body = ClaimBody::new(claim, now);
        app.policy_json.fill(&mut body.job.retry);
        body
    });
    let list = ClaimList {
        claims: bodies.collect(),
    };
    // They are held until the connection has written them.
    let body = |bytes| axum::body::Body::new(ClaimsBody::new(bytes, held));
    Ok(Json(list).into_response_with(body))
}

/// The names of a list, each once.
fn names<N: Ord>(
    texts: &[String],
    field: &str,
    name: fn(&str) -> Result<N, Invalid>,
) -> Result<Vec<N>, Problem> {
    let most = limits::CLAIM_NAMES_MAX;
    if texts.len() > most {
        let count = texts.len();
        let detail =
            format!("{field} holds {count} names: must be at most {most}, or none for all");
        return Err(Problem::invalid(field, detail));
    }
    let names = texts.iter().enumerate().map(|(index, text)| {
        name(text).map_err(|error| Invalid {
            field: format!("{field}[{index}]"),
            ..error
        })
    });
    let distinct: BTreeSet<N> = names.collect::<Result<_, Invalid>>()?;
    Ok(distinct.into_iter().collect())
}

fn check_lease(lease: Duration) -> Result<Duration, Invalid> {
    let (least, most) = (core_limits::LEASE_MIN, core_limits::LEASE_MAX);
    if (least..=most).contains(&lease) {
        return Ok(lease);
    }
    let (least, most) = (duration::format(least), duration::format(most));
    let expected = format!("must be between {least} and {most}");
    Err(Invalid::new("lease", duration::format(lease), expected))
}

/// Renew the lease of an attempt that still runs; it counts from now.
///
/// The lease ends with the job's timeout at the latest. After that the attempt ends as a failure
/// of class `timeout`, whether its worker goes on or not.
#[utoipa::path(
    post, path = "/claims/{id}/heartbeat", tag = "Workers", operation_id = "sendHeartbeat",
    params(("id" = String, Path, description = "job_…")),
    request_body(content = HeartbeatRequest, example = json!({"fence": 1, "note": "page 3 of 7"})),
    responses((status = 200, description = "The lease", body = LeaseBody), Problems)
)]
pub async fn heartbeat(
    State(app): State<Arc<App>>,
    Works(caller): Works,
    Id(id): Id<JobId>,
    Body(body): Body<HeartbeatRequest>,
) -> Answer<LeaseBody> {
    let job = caller.job(app.client.job(id).await?, id)?;
    let note = body.note.map(|mut note| {
        note.truncate(note.floor_char_boundary(core_limits::NOTE_BYTES_MAX));
        note
    });
    let renewal = Renewal {
        job: id,
        fence: body.fence,
        lease: body
            .lease
            .map_or(Ok(job.lease), |it| check_lease(it.get()))?,
        note,
        within_timeout: true,
    };
    match app.node.renew(vec![renewal]).await?.first() {
        Some(RenewResult::Held {
            until,
            cancel_requested,
        }) => Ok(Json(LeaseBody {
            lease_until: *until,
            cancel_requested: *cancel_requested,
            deadline: job.deadline(),
            timed_out: job
                .deadline()
                .is_some_and(|deadline| deadline <= app.client.now()),
        })),
        _ => {
            let job = caller.job(app.client.job(id).await?, id)?;
            Err(SettleError::from(stale_fence(&job, body.fence)).into())
        }
    }
}

fn stale_fence(job: &Job, requested: Fence) -> StaleFence {
    StaleFence {
        job: job.id,
        requested,
        current: job.progress.fence,
        state: job.progress.state,
    }
}

/// Report that an attempt succeeded.
#[utoipa::path(
    post, path = "/claims/{id}/succeed", tag = "Workers", operation_id = "succeedAttempt",
    params(("id" = String, Path, description = "job_…")),
    request_body(content = SucceedRequest, example = json!({"fence": 1, "result": {"bytes": 5120}})),
    responses((status = 200, description = "The job as it is now", body = JobBody), Problems)
)]
pub async fn succeed(
    State(app): State<Arc<App>>,
    Works(caller): Works,
    Id(id): Id<JobId>,
    Body(body): Body<SucceedRequest>,
) -> Answer<JobBody> {
    let outcome = success(body.result)?;
    settle_one(&app, &caller, id, body.fence, outcome).await
}

/// Report that an attempt failed; what follows is up to the job's policy.
#[utoipa::path(
    post, path = "/claims/{id}/fail", tag = "Workers", operation_id = "failAttempt",
    params(("id" = String, Path, description = "job_…")),
    request_body(content = FailRequest, example = json!({
        "fence": 1, "failure": {"class": "SmtpError", "message": "450 mailbox busy"}
    })),
    responses((status = 200, description = "The job as it is now", body = JobBody), Problems)
)]
pub async fn fail(
    State(app): State<Arc<App>>,
    Works(caller): Works,
    Id(id): Id<JobId>,
    Body(body): Body<FailRequest>,
) -> Answer<JobBody> {
    let outcome = failure(body.failure.unwrap_or_default())?;
    settle_one(&app, &caller, id, body.fence, outcome).await
}

/// Snooze a job: try again later without counting this attempt.
#[utoipa::path(
    post, path = "/claims/{id}/snooze", tag = "Workers", operation_id = "snoozeAttempt",
    params(("id" = String, Path, description = "job_…")),
    request_body(content = SnoozeRequest, example = json!({"fence": 1, "delay": "30s"})),
    responses((status = 200, description = "The job as it is now", body = JobBody), Problems)
)]
pub async fn snooze(
    State(app): State<Arc<App>>,
    Works(caller): Works,
    Id(id): Id<JobId>,
    Body(body): Body<SnoozeRequest>,
) -> Answer<JobBody> {
    let outcome = Outcome::Snoozed(body.delay.get());
    settle_one(&app, &caller, id, body.fence, outcome).await
}

/// Report the ends of many attempts in one transaction.
///
/// Each report has its own result.
#[utoipa::path(
    post, path = "/claims/settle", tag = "Workers", operation_id = "settleAttempts",
    request_body(content = SettleRequest, example = json!({"settlements": [
        {"id": "job_06f00000000000000000000000", "fence": 1, "outcome": "succeed", "result": {"n": 1}},
        {"id": "job_06f00000000000000000000001", "fence": 1, "outcome": "fail",
            "failure": {"class": "timeout", "message": "no response within 10s"}}
    ]})),
    responses((status = 200, description = "One result for each, in order", body = SettlementList), Problems)
)]
pub async fn settle(
    State(app): State<Arc<App>>,
    Works(caller): Works,
    Body(body): Body<SettleRequest>,
) -> Answer<SettlementList> {
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
            settlement(body).map_err(|problem| problem.within(&format!("settlements[{index}]")))
        })
        .collect::<Result<Vec<_>, Problem>>()?;
    let results = app.node.settle(settlements, caller.tenant.as_ref()).await?;
    let now = app.client.now();
    let settled = results
        .into_iter()
        .zip(ids)
        .map(|(result, id)| match result {
            Ok(job) => SettlementResult {
                id,
                ok: true,
                label: Some(job.label(now)),
                code: None,
                detail: None,
            },
            Err(error) => {
                let problem = Problem::from(error);
                SettlementResult {
                    id,
                    ok: false,
                    label: None,
                    code: Some(problem.code.to_owned()),
                    detail: Some(problem.detail),
                }
            }
        });
    Ok(Json(SettlementList {
        settled: settled.collect(),
    }))
}

fn settlement(body: SettlementRequest) -> Result<Settlement, Problem> {
    let extra = [
        ("result", body.result.is_some(), SettlementOutcome::Succeed),
        ("failure", body.failure.is_some(), SettlementOutcome::Fail),
        ("delay", body.delay.is_some(), SettlementOutcome::Snooze),
    ];
    for (field, is_given, belongs_to) in extra {
        if is_given && belongs_to != body.outcome {
            let detail = format!("{field} does not belong to this outcome");
            return Err(Problem::invalid(field, detail));
        }
    }
    let outcome = match body.outcome {
        SettlementOutcome::Succeed => success(body.result)?,
        SettlementOutcome::Fail => failure(body.failure.unwrap_or_default())?,
        SettlementOutcome::Snooze => {
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

fn failure(body: FailureRequest) -> Result<Outcome, Problem> {
    let statuses = limits::HTTP_STATUSES;
    if let Some(status) = body.http_status
        && !statuses.contains(&status)
    {
        let (least, most) = (statuses.start(), statuses.end());
        let detail = format!("failure.httpStatus is {status}: must be between {least} and {most}");
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
) -> Answer<JobBody> {
    let settlement = Settlement {
        job,
        fence,
        outcome,
    };
    let results = app.node.settle(vec![settlement], caller.tenant.as_ref());
    let result = results.await?.into_iter().next();
    let job = result.unwrap_or(Err(SettleError::NotFound(job)))?;
    Ok(Json(job_body(app, job, app.client.now())))
}
