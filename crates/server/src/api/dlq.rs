//! Dead letters: listed, tried again, or put away, one or all that match.

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;
use steadfast_core::{
    EndReason, FailureClass, JobCommand, JobId, Kind, Payload, Queue, ScheduleId, Tenant,
    Timestamp, limits as core_limits,
};
use steadfast_store::JobFilter;
use utoipa::ToSchema;

use super::{
    Answer,
    jobs::{JobQuery, checked_payload, listed},
    wire::{Done, Jobs, Name},
};
use crate::{
    App,
    access::{Caller, Reads, Writes},
    body::{Body, Params},
    json::Json,
    limits,
    problem::{Problem, Problems},
};

/// List dead letters, newest first.
#[utoipa::path(
    get, path = "/dlq", tag = "dead letters", params(JobQuery),
    responses((status = 200, description = "A page of dead letters", body = Jobs), Problems)
)]
pub async fn list(
    State(app): State<Arc<App>>,
    Reads(caller): Reads,
    Params(query): Params<JobQuery>,
) -> Answer<Jobs> {
    let filter = JobFilter {
        dead_letters: true,
        ..query.filter(&caller)?
    };
    listed(&app, filter, query.page()?).await.map(Json)
}

/// Which dead letters are meant: those of `ids`, or all that match the rest.
#[derive(Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeadLetters {
    /// Up to 1,000.
    ids: Option<Vec<String>>,
    /// Must be true to mean every dead letter there is.
    #[serde(default)]
    all: bool,
    #[schema(value_type = Option<Name>)]
    tenant: Option<String>,
    #[schema(value_type = Option<Name>)]
    queue: Option<String>,
    #[schema(value_type = Option<Name>)]
    kind: Option<String>,
    schedule: Option<String>,
    reason: Option<String>,
    class: Option<String>,
    /// Part of the failure's message, in any case.
    text: Option<String>,
    /// Created at this time or later.
    #[schema(value_type = Option<String>, format = DateTime)]
    from: Option<Timestamp>,
    /// Created before this time.
    #[schema(value_type = Option<String>, format = DateTime)]
    before: Option<Timestamp>,
    /// In place of the payload they have; only with `ids`.
    #[schema(value_type = Option<Value>)]
    payload: Option<Payload>,
    /// Only say how many it would be.
    #[serde(default)]
    dry_run: bool,
}

/// Try dead letters again, each with a fresh retry budget.
///
/// All that match are requeued a page at a time, with pauses, so that the queue is not flooded.
#[utoipa::path(
    post, path = "/dlq/requeue", tag = "dead letters", request_body = DeadLetters,
    responses((status = 200, description = "How many", body = Done), Problems)
)]
pub async fn requeue(
    State(app): State<Arc<App>>,
    Writes(caller): Writes,
    Body(body): Body<DeadLetters>,
) -> Answer<Done> {
    let payload = body.payload.clone();
    resolve(&app, &caller, body, JobCommand::Retry { payload }).await
}

/// Put dead letters away without trying them again.
#[utoipa::path(
    post, path = "/dlq/discard", tag = "dead letters", request_body = DeadLetters,
    responses((status = 200, description = "How many", body = Done), Problems)
)]
pub async fn discard(
    State(app): State<Arc<App>>,
    Writes(caller): Writes,
    Body(body): Body<DeadLetters>,
) -> Answer<Done> {
    if body.payload.is_some() {
        let detail = "payload makes no sense for what is put away";
        return Err(Problem::invalid("payload", detail));
    }
    resolve(&app, &caller, body, JobCommand::Discard).await
}

async fn resolve(
    app: &App,
    caller: &Caller,
    body: DeadLetters,
    command: JobCommand,
) -> Answer<Done> {
    let filter = body.filter(caller)?;
    let is_narrow = body.ids.is_some() || filter != everything(&filter);
    match &body.ids {
        Some(_) if filter != everything(&filter) || body.all => {
            let detail = "ids must stand alone: name dead letters, or describe them";
            return Err(Problem::invalid("ids", detail));
        }
        Some(ids) => return by_ids(app, caller, ids, &body, command).await,
        None => {}
    }
    if body.payload.is_some() {
        let detail = "payload can only be given for ids: others have payloads of their own";
        return Err(Problem::invalid("payload", detail));
    }
    if !is_narrow && !body.all {
        let detail = "this means every dead letter; say \"all\": true if you mean it";
        return Err(Problem::invalid("all", detail));
    }
    let count = match body.dry_run {
        true => app.client.count(filter, limits::COUNT_MAX).await?,
        false => app.client.command_all(filter, command).await?,
    };
    Ok(Json(Done {
        count,
        dry_run: body.dry_run,
        at_least: body.dry_run && count >= limits::COUNT_MAX,
    }))
}

/// The filter that leaves nothing out but other tenants.
fn everything(filter: &JobFilter) -> JobFilter {
    JobFilter {
        tenant: filter.tenant.clone(),
        ..JobFilter::dead_letters()
    }
}

async fn by_ids(
    app: &App,
    caller: &Caller,
    ids: &[String],
    body: &DeadLetters,
    command: JobCommand,
) -> Answer<Done> {
    let most = core_limits::BULK_JOBS_MAX;
    if ids.is_empty() || ids.len() > most {
        let detail = format!("ids holds {}: must be 1 to {most}", ids.len());
        return Err(Problem::invalid("ids", detail));
    }
    let parsed: Vec<JobId> = ids.iter().filter_map(|id| id.parse().ok()).collect();
    let jobs = app.client.jobs_of(parsed).await?.into_iter().flatten();
    let theirs = jobs.filter(|job| caller.sees(&job.tenant) && job.is_dead_letter());
    let mut found = Vec::new();
    for job in theirs {
        if let Some(payload) = &body.payload {
            checked_payload(&job, payload.clone())?;
        }
        found.push(job.id);
    }
    let count = match body.dry_run {
        true => found.len() as u64,
        false => app.client.command_each(found, command).await?,
    };
    Ok(Json(Done {
        count,
        dry_run: body.dry_run,
        at_least: false,
    }))
}

impl DeadLetters {
    fn filter(&self, caller: &Caller) -> Result<JobFilter, Problem> {
        let asked = self.tenant.as_deref().map(Tenant::new).transpose()?;
        let schedule = self.schedule.as_deref().map(str::parse::<ScheduleId>);
        Ok(JobFilter {
            tenant: caller.choose(asked)?,
            queue: self.queue.as_deref().map(Queue::new).transpose()?,
            kind: self.kind.as_deref().map(Kind::new).transpose()?,
            schedule: schedule.transpose()?,
            created_from: self.from,
            created_before: self.before,
            failure_text: self.text.clone(),
            failure_class: self.class.as_deref().map(FailureClass::named),
            reason: self
                .reason
                .as_deref()
                .map(str::parse::<EndReason>)
                .transpose()?,
            ..JobFilter::dead_letters()
        })
    }
}
