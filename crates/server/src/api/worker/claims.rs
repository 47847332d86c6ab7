//! Workers claim jobs.

use std::{collections::BTreeSet, time::Duration};

use axum::{http::StatusCode, response::Response};
use steadfast_api::{ClaimBody, ClaimJobsRequest, ClaimList};
use steadfast_core::{Invalid, Kind, Queue, WorkerName};
use steadfast_store::ClaimRequest;

use crate::{
    api::{flow::workers::check_info, query, worker::heartbeats::check_lease},
    extract::{Body, Caller, Works},
    http::{Json, Problem, Problems, undelivered_claims::ClaimsBody},
    limits,
    node::workers::WorkerState,
};

/// Claim due jobs, with a long poll if none is due.
///
/// Each claim counts as an attempt and is valid until its lease expires; a worker that needs longer
/// sends heartbeats. If the connection breaks before the response is written, the jobs are released
/// without counting the attempt. A stopping node returns 503; use another node.
#[utoipa::path(
    post, path = "/claims", tag = "Workers", operation_id = "claimJobs",
    request_body(content = ClaimJobsRequest, example = json!({
        "worker": "worker-1", "kinds": ["resize-image"], "max": 10, "wait": "100ms"
    })),
    responses((status = 200, description = "The claims; may be empty", body = ClaimList), Problems)
)]
pub async fn claim(
    Works { app, caller }: Works,
    Body(body): Body<ClaimJobsRequest>,
) -> Result<Response, Problem> {
    let max = body.max.unwrap_or(limits::CLAIMS_DEFAULT);
    if !(1..=limits::CLAIMS_MAX).contains(&max) {
        let detail = format!("max is {max}: must be between 1 and {}", limits::CLAIMS_MAX);
        return Err(Problem::invalid("max", detail));
    }
    let kinds = names(&body.kinds, "kinds", Kind::new)?;
    check_kinds(&kinds, &caller)?;
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
        gates: std::sync::Arc::default(),
        allowance: None,
    };
    let info = check_info(body.worker_info)?;
    let now = app.client.now();
    app.workers
        .note(request.tenant.as_ref(), &request.worker, now, || {
            WorkerState {
                name: request.worker.clone(),
                tenant: request.tenant.clone(),
                queues: request.queues.clone(),
                kinds: request.kinds.clone(),
                info,
                first_seen: now,
                last_seen: now,
                version_since: None,
            }
        });
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

/// Nodes make calls themselves. A worker that took one could report it as made, so that takes a key
/// that may create jobs.
fn check_kinds(kinds: &[Kind], caller: &Caller) -> Result<(), Problem> {
    let Some(kind) = kinds.iter().find(|kind| kind.is_call()) else {
        return Ok(());
    };
    if caller.may_write() {
        return Ok(());
    }
    let detail = format!(
        "jobs of kind {kind} are run by nodes; a key with scope {} cannot claim them",
        caller.scope
    );
    Err(Problem::new(StatusCode::FORBIDDEN, "wrong_scope", detail).at("kinds"))
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
            format!("{field} contains {count} names: must be at most {most}, or empty for all");
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
