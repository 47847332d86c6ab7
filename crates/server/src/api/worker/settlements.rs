//! Workers report how attempts ended, one or many in a request.

use std::collections::BTreeMap;

use steadfast_api::{
    FailRequest, FailureRequest, JobBody, ReleaseRequest, SettleRequest, SettlementList,
    SettlementOutcome, SettlementRequest, SettlementResult, SnoozeRequest, SucceedRequest,
};
use steadfast_core::{
    ConfirmAnswer, Cost, Failure, FailureClass, Fence, Job, JobId, JobLabel, LogLines, Outcome,
    Payload, limits as core_limits,
};
use steadfast_engine::{SettleError, Settlement};

use crate::{
    api::{work::jobs::job_body, worker::on_success::OnSuccessReader},
    app::App,
    extract::{Body, Caller, Id, Works, body::shorten_id},
    http::{Answer, Json, Problem, Problems},
    limits,
    metrics::ClientOperation,
};

/// Report that an attempt succeeded.
#[utoipa::path(
    post, path = "/claims/{id}/succeed", tag = "Workers", operation_id = "succeedAttempt",
    params(("id" = String, Path, description = "job_…")),
    request_body(content = SucceedRequest, example = json!({
        "fence": 1, "result": {"bytes": 5120},
        "onSuccess": [{"kind": "publish-image", "payload": {"file": "cat.png"}}]
    })),
    responses((status = 200, description = "The updated job", body = JobBody), Problems)
)]
pub async fn succeed(
    Works { app, caller }: Works,
    Id(id): Id<JobId>,
    Body(body): Body<SucceedRequest>,
) -> Answer<JobBody> {
    let settlement = Settlement {
        job: id,
        fence: body.fence,
        log: body.log.unwrap_or_default(),
        outcome: success(body.result)?,
        usage: read_usage(&body.usage)?,
        on_success: if body.on_success.is_empty() {
            Vec::new()
        } else {
            let reader = OnSuccessReader::new(&app, &caller, vec![id]).await?;
            reader.read(id, body.on_success)?
        },
    };
    settle_one(&app, &caller, settlement).await
}

/// Report that an attempt failed; the job's retry policy decides what follows.
#[utoipa::path(
    post, path = "/claims/{id}/fail", tag = "Workers", operation_id = "failAttempt",
    params(("id" = String, Path, description = "job_…")),
    request_body(content = FailRequest, example = json!({
        "fence": 1, "failure": {"class": "SmtpError", "message": "450 mailbox busy"}
    })),
    responses((status = 200, description = "The updated job", body = JobBody), Problems)
)]
pub async fn fail(
    Works { app, caller }: Works,
    Id(id): Id<JobId>,
    Body(body): Body<FailRequest>,
) -> Answer<JobBody> {
    let outcome = failure(body.failure.unwrap_or_default())?;
    let settlement = Settlement {
        usage: read_usage(&body.usage)?,
        ..settlement_of(id, (body.fence, body.log), outcome)
    };
    settle_one(&app, &caller, settlement).await
}

/// Snooze a job: try again later without counting this attempt.
#[utoipa::path(
    post, path = "/claims/{id}/snooze", tag = "Workers", operation_id = "snoozeAttempt",
    params(("id" = String, Path, description = "job_…")),
    request_body(content = SnoozeRequest, example = json!({"fence": 1, "delay": "30s"})),
    responses((status = 200, description = "The updated job", body = JobBody), Problems)
)]
pub async fn snooze(
    Works { app, caller }: Works,
    Id(id): Id<JobId>,
    Body(body): Body<SnoozeRequest>,
) -> Answer<JobBody> {
    let outcome = Outcome::Snoozed(body.delay.get());
    let settlement = settlement_of(id, (body.fence, body.log), outcome);
    settle_one(&app, &caller, settlement).await
}

/// Release a job: it is due immediately, and this attempt is not counted.
///
/// For workers that are stopping. An `AT_MOST_ONCE` job ends with reason `outcome_unknown`.
#[utoipa::path(
    post, path = "/claims/{id}/release", tag = "Workers", operation_id = "releaseAttempt",
    params(("id" = String, Path, description = "job_…")),
    request_body(content = ReleaseRequest, example = json!({"fence": 1})),
    responses((status = 200, description = "The updated job", body = JobBody), Problems)
)]
pub async fn release(
    Works { app, caller }: Works,
    Id(id): Id<JobId>,
    Body(body): Body<ReleaseRequest>,
) -> Answer<JobBody> {
    let outcome = Outcome::Released { started: true };
    let settlement = settlement_of(id, (body.fence, body.log), outcome);
    settle_one(&app, &caller, settlement).await
}

/// Settle many attempts in one transaction.
///
/// Each settlement has its own result; an invalid one does not affect the others.
#[utoipa::path(
    post, path = "/claims/settle", tag = "Workers", operation_id = "settleAttempts",
    request_body(content = SettleRequest, example = json!({"settlements": [
        {"id": "job_06f00000000000000000000000", "fence": 1, "outcome": "succeed", "result": {"n": 1}},
        {"id": "job_06f00000000000000000000001", "fence": 1, "outcome": "fail",
            "failure": {"class": "timeout", "message": "no response within 10s"}}
    ]})),
    responses((status = 200, description = "One result per entry, in order", body = SettlementList), Problems)
)]
pub async fn settle(
    Works { app, caller }: Works,
    Body(body): Body<SettleRequest>,
) -> Answer<SettlementList> {
    if body.settlements.is_empty() {
        let most = limits::SETTLE_MAX;
        let detail = format!("settlements contains 0: must be 1 to {most}");
        return Err(Problem::invalid("settlements", detail));
    }
    let _timer = app.metrics.time(ClientOperation::Settle);
    let (batch, sound) = SettlementBatch::read(&app, &caller, body.settlements).await?;
    let version = |job: &Job| app.workers.version(job);
    let settled = app
        .node
        .settle_as(sound, |job| caller.may_settle(job), version)
        .await?;
    Ok(Json(SettlementList {
        settled: batch.results(&app, settled),
    }))
}

/// The settlements of one request, each with what is wrong with it.
pub struct SettlementBatch {
    ids: Vec<String>,
    read: Vec<Result<(), Problem>>,
}

impl SettlementBatch {
    /// Reads settlements, and returns the sound ones beside the batch.
    pub async fn read(
        app: &App,
        caller: &Caller,
        bodies: Vec<SettlementRequest>,
    ) -> Result<(Self, Vec<Settlement>), Problem> {
        let most = limits::SETTLE_MAX;
        if bodies.len() > most {
            let count = bodies.len();
            let detail = format!("settlements contains {count}: must be 1 to {most}");
            return Err(Problem::invalid("settlements", detail));
        }
        let created: usize = bodies.iter().map(|it| it.on_success.len()).sum();
        let most = core_limits::BULK_JOBS_MAX;
        if created > most {
            let detail = format!(
                "onSuccess of all settlements contains {created} jobs: must be at most {most}"
            );
            return Err(Problem::invalid("settlements", detail));
        }
        let ids: Vec<String> = bodies.iter().map(|it| it.id.clone()).collect();
        let creators = bodies.iter().filter(|it| !it.on_success.is_empty());
        let creators = creators.filter_map(|it| it.id.parse().ok()).collect();
        let reader = OnSuccessReader::new(app, caller, creators).await?;
        let mut sound = Vec::with_capacity(ids.len());
        let mut read = Vec::with_capacity(ids.len());
        for body in bodies {
            read.push(settlement(body, &reader).map(|settlement| sound.push(settlement)));
        }
        Ok((Self { ids, read }, sound))
    }

    /// One result per settlement of the request, from those of the sound ones.
    pub fn results(
        self,
        app: &App,
        settled: Vec<Result<Job, SettleError>>,
    ) -> Vec<SettlementResult> {
        let now = app.client.now();
        let mut settled = settled.into_iter();
        let results = self.ids.into_iter().zip(self.read).map(|(id, read)| {
            let result = read.and_then(|()| {
                let settled = settled.next();
                Ok(settled.ok_or_else(|| Problem::not_found(shorten_id(&id)))??)
            });
            settlement_result(id, result.map(|job: Job| job.label(now)))
        });
        results.collect()
    }
}

fn settlement_result(id: String, result: Result<JobLabel, Problem>) -> SettlementResult {
    let (label, problem) = match result {
        Ok(label) => (Some(label), None),
        Err(problem) => (None, Some(problem)),
    };
    SettlementResult {
        id,
        ok: problem.is_none(),
        label,
        code: problem.as_ref().map(|problem| problem.code.to_owned()),
        field: problem.as_ref().and_then(|problem| problem.field.clone()),
        detail: problem.map(|problem| problem.detail),
    }
}

fn settlement(
    body: SettlementRequest,
    reader: &OnSuccessReader<'_>,
) -> Result<Settlement, Problem> {
    check_fields(&body)?;
    let outcome = match body.outcome {
        SettlementOutcome::Succeed => success(body.result)?,
        SettlementOutcome::Fail => failure(body.failure.unwrap_or_default())?,
        SettlementOutcome::Snooze => {
            let delay = body.delay.ok_or_else(|| {
                Problem::invalid("delay", "a snooze requires a delay, such as \"30s\"")
            })?;
            Outcome::Snoozed(delay.get())
        }
        SettlementOutcome::Release => Outcome::Released { started: true },
        SettlementOutcome::Answer => {
            let answer = body.answer.ok_or_else(|| {
                let detail = "an answer requires answer: done, not_done or unknown";
                Problem::invalid("answer", detail)
            })?;
            answered(answer, body.result, body.failure)?
        }
    };
    let job = body.id.parse()?;
    Ok(Settlement {
        job,
        fence: body.fence,
        log: body.log.unwrap_or_default(),
        outcome,
        usage: read_usage(&body.usage)?,
        on_success: reader.read(job, body.on_success)?,
    })
}

/// Refuses fields that belong to another outcome.
fn check_fields(body: &SettlementRequest) -> Result<(), Problem> {
    use SettlementOutcome::{Answer, Fail, Snooze, Succeed};
    let creates = !body.on_success.is_empty();
    let answered = |answer| (body.outcome == Answer).then_some(body.answer == Some(answer));
    let (done, unknown) = (ConfirmAnswer::Done, ConfirmAnswer::Unknown);
    let succeeds = answered(done).unwrap_or(body.outcome == Succeed);
    let fails = answered(unknown).unwrap_or(body.outcome == Fail);
    let extra = [
        ("onSuccess", creates, succeeds),
        ("result", body.result.is_some(), succeeds),
        ("failure", body.failure.is_some(), fails),
        ("delay", body.delay.is_some(), body.outcome == Snooze),
        ("answer", body.answer.is_some(), body.outcome == Answer),
    ];
    match extra.iter().find(|(_, is_given, fits)| *is_given && !fits) {
        Some((field, ..)) => {
            let detail = format!("{field} is not allowed for this outcome");
            Err(Problem::invalid(field, detail))
        }
        None => Ok(()),
    }
}

fn answered(
    answer: ConfirmAnswer,
    result: Option<Payload>,
    why: Option<FailureRequest>,
) -> Result<Outcome, Problem> {
    Ok(Outcome::Answered {
        answer,
        output: within_limit(result)?,
        failure: why.map(read_failure).transpose()?,
    })
}

fn success(result: Option<Payload>) -> Result<Outcome, Problem> {
    let output = within_limit(result)?;
    Ok(Outcome::Success { output })
}

fn within_limit(result: Option<Payload>) -> Result<Option<Payload>, Problem> {
    let most = core_limits::OUTPUT_BYTES_MAX;
    match result {
        Some(result) if result.as_str().len() > most => {
            let bytes = result.as_str().len();
            let detail = format!("result is {bytes} bytes: must be at most {most}");
            Err(Problem::invalid("result", detail))
        }
        result => Ok(result),
    }
}

fn failure(body: FailureRequest) -> Result<Outcome, Problem> {
    Ok(Outcome::Failure {
        failure: read_failure(body)?,
        output: None,
    })
}

fn read_failure(body: FailureRequest) -> Result<Failure, Problem> {
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
    failure.permanent = body.permanent;
    if let Some(trace) = body.trace.filter(|trace| !trace.is_empty()) {
        failure = failure.with_trace(trace);
    }
    Ok(failure)
}

fn settlement_of(
    job: JobId,
    (fence, log): (Fence, Option<LogLines>),
    outcome: Outcome,
) -> Settlement {
    Settlement {
        job,
        fence,
        log: log.unwrap_or_default(),
        outcome,
        on_success: Vec::new(),
        usage: None,
    }
}

fn read_usage(amounts: &BTreeMap<String, f64>) -> Result<Option<Cost>, Problem> {
    let usage = Cost::new(
        amounts
            .iter()
            .map(|(unit, amount)| (unit.as_str(), *amount)),
    );
    let usage = usage.map_err(|error| error.within("usage"))?;
    Ok((!usage.is_empty()).then_some(usage))
}

async fn settle_one(app: &App, caller: &Caller, settlement: Settlement) -> Answer<JobBody> {
    let _timer = app.metrics.time(ClientOperation::Settle);
    let job = settlement.job;
    let version = |job: &Job| app.workers.version(job);
    let results = app
        .node
        .settle_as(vec![settlement], |job| caller.may_settle(job), version);
    let result = results.await?.into_iter().next();
    let job = result.unwrap_or(Err(SettleError::NotFound(job)))?;
    Ok(Json(job_body(app, job, app.client.now())))
}
