//! For tests of workers: moves the clock of a store in memory.

use axum::http::StatusCode;
use steadfast_api::{AdvanceClockRequest, ClockBody, IdleBody, RunUntilIdleRequest};
use steadfast_core::duration;

use crate::{
    app::App,
    extract::{Body, Caller, MaybeBody, Writes},
    http::{Answer, Json, Problem, Problems},
    limits,
    node::test_clock::TestClock,
};

/// Advance the clock of the store. Only with `--clock manual`.
///
/// Leases that expire are settled before the response is sent; jobs that become due are claimed
/// afterwards.
#[utoipa::path(
    post, path = "/test/advance", tag = "Testing", operation_id = "advanceClock",
    request_body(content = AdvanceClockRequest, example = json!({"by": "3s"})),
    responses((status = 200, description = "The time of the store", body = ClockBody), Problems)
)]
pub async fn advance(
    Writes { app, caller }: Writes,
    Body(body): Body<AdvanceClockRequest>,
) -> Answer<ClockBody> {
    let clock = test_clock(&app, &caller)?;
    let (by, most) = (body.by.get(), limits::TEST_ADVANCE_MAX);
    if by > most {
        let (by, most) = (duration::format(by), duration::format(most));
        let detail = format!("by is {by}: must be at most {most} at a time");
        return Err(Problem::invalid("by", detail));
    }
    let now = clock.advance(&app.node, by).await?;
    Ok(Json(ClockBody::new(now)))
}

/// Wait until no job is due or running. Only with `--clock manual`.
///
/// Jobs that only workers can run count as due. After `timeout`, returns the remaining jobs.
#[utoipa::path(
    post, path = "/test/run-until-idle", tag = "Testing", operation_id = "runUntilIdle",
    request_body(content = Option<RunUntilIdleRequest>, example = json!({"timeout": "100ms"})),
    responses((status = 200, description = "The remaining jobs", body = IdleBody), Problems)
)]
pub async fn run_until_idle(
    Writes { app, caller }: Writes,
    MaybeBody(body): MaybeBody<RunUntilIdleRequest>,
) -> Answer<IdleBody> {
    let clock = test_clock(&app, &caller)?;
    let timeout = body.timeout.map(|timeout| timeout.get());
    let timeout = timeout.unwrap_or(limits::TEST_IDLE_WAIT_DEFAULT);
    let _waits = app.try_wait(caller.tenant.as_ref())?;
    let wait = timeout.min(limits::TEST_IDLE_WAIT_MAX);
    let work = clock.run_until_idle(&app.node, wait).await?;
    let now = app.client.now();
    Ok(Json(IdleBody::new(now, work.running, work.due)))
}

fn test_clock<'a>(app: &'a App, caller: &Caller) -> Result<&'a TestClock, Problem> {
    caller.require_all_tenants()?;
    app.settings.test_clock.as_ref().ok_or_else(|| {
        let detail = "the clock of this server is not moved by hand; one for tests is started with \
                      `steadfast serve --store memory: --clock manual`";
        Problem::new(StatusCode::NOT_FOUND, "not_found", detail)
    })
}
