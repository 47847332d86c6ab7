//! Workers claim jobs.

use std::{collections::BTreeSet, time::Duration};

use axum::{http::StatusCode, response::Response};
use steadfast_api::{
    ClaimBody, ClaimJobsRequest, ClaimList, ClaimSession, SettlementRequest, SettlementResult,
};
use steadfast_core::{Invalid, Job, Kind, Queue, WorkerName};
use steadfast_engine::UndeliveredClaims;
use steadfast_store::ClaimRequest;

use crate::{
    api::{
        flow::workers::check_info,
        query,
        worker::{heartbeats::check_lease, settlements::SettlementBatch},
    },
    app::App,
    extract::{Body, Caller, Works},
    http::{Json, Problem, Problems, undelivered_claims::ClaimsBody},
    limits,
    metrics::ClientOperation,
    node::{
        claim_sessions::{SessionKey, SessionTurn},
        workers::WorkerState,
    },
};

/// Claim due jobs, with a long poll if none is due.
///
/// Each claim counts as an attempt and is valid until its lease expires; a worker that needs longer
/// sends heartbeats. If the connection breaks before the response is written, the jobs are released
/// without counting the attempt. A worker that sends a `session` also loses nothing if a written
/// response does not arrive. A stopping node returns 503; use another node.
#[utoipa::path(
    post, path = "/claims", tag = "Workers", operation_id = "claimJobs",
    request_body(content = ClaimJobsRequest, example = json!({
        "worker": "worker-1", "kinds": ["resize-image"], "max": 10, "wait": "100ms",
        "session": {"id": "8f3b0c5d", "sequence": 1}
    })),
    responses((status = 200, description = "The claims; may be empty", body = ClaimList), Problems)
)]
pub async fn claim(
    Works { app, caller }: Works,
    Body(body): Body<ClaimJobsRequest>,
) -> Result<Response, Problem> {
    let _timer = app.metrics.time(ClientOperation::Receive);
    let request = claim_request(&body, &caller)?;
    let confirms = names(&body.confirms, "confirms", Kind::new)?;
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
    let turn = match body.session {
        Some(session) => Some(begin_turn(&app, &request, session).await?),
        None => None,
    };
    let work = Work {
        wait: body.wait.map_or(Duration::ZERO, |wait| wait.get()),
        settlements: body.settlements,
        confirms,
    };
    let (settled, held) = match &turn {
        None => work.run(&app, &caller, request).await?,
        Some(turn) => {
            let run = work.run(&app, &caller, request);
            let (settled, held) = match turn.overtaken.run_until_cancelled(run).await {
                Some(done) => done?,
                None => return Err(overtaken()),
            };
            let claims = held.claims().iter();
            let claims = claims.map(|claim| (claim.job().id, claim.fence()));
            // Claims that are not given are released.
            if !app.claim_sessions.give(turn, claims) {
                return Err(overtaken());
            }
            (settled, held)
        }
    };
    let now = app.client.now();
    let bodies = held.claims().iter().map(|claim| {
        let mut body = ClaimBody::new(claim, now);
        app.policy_json.fill(&mut body.job.retry);
        body
    });
    let list = ClaimList {
        claims: bodies.collect(),
        settled,
    };
    // They are held until the connection has written them.
    let body = |bytes| axum::body::Body::new(ClaimsBody::new(bytes, held));
    Ok(Json(list).into_response_with(body))
}

/// What a claim request asks for, besides what it says about earlier claims.
struct Work {
    wait: Duration,
    settlements: Vec<SettlementRequest>,
    /// Kinds whose questions the worker answers.
    confirms: Vec<Kind>,
}

impl Work {
    /// Settles and claims. A report is answered at once, so a request with settlements does not
    /// wait for jobs.
    async fn run(
        self,
        app: &App,
        caller: &Caller,
        request: ClaimRequest,
    ) -> Result<(Vec<SettlementResult>, UndeliveredClaims), Problem> {
        let confirms = self.confirms;
        let can_answer = |job: &Job| confirms.contains(&job.kind);
        if !self.settlements.is_empty() {
            let (batch, sound) = SettlementBatch::read(app, caller, self.settlements).await?;
            let version = |job: &Job| app.workers.version(job);
            let may_settle = |job: &Job| caller.may_settle(job);
            let done = app
                .node
                .settle_and_claim(sound, may_settle, version, request);
            let (settled, held) = done.await?;
            let held = held.without_questions(can_answer).await?;
            return Ok((batch.results(app, settled), held));
        }
        let wait = self.wait.min(limits::CLAIM_WAIT_MAX);
        let _waits = match wait.is_zero() {
            true => None,
            false => Some(app.try_wait(caller.tenant.as_ref())?),
        };
        let held = app.node.claim(request, wait).await?;
        Ok((Vec::new(), held.without_questions(can_answer).await?))
    }
}

fn claim_request(body: &ClaimJobsRequest, caller: &Caller) -> Result<ClaimRequest, Problem> {
    let max = body.max.unwrap_or(limits::CLAIMS_DEFAULT);
    if !(1..=limits::CLAIMS_MAX).contains(&max) {
        let detail = format!("max is {max}: must be between 1 and {}", limits::CLAIMS_MAX);
        return Err(Problem::invalid("max", detail));
    }
    let kinds = names(&body.kinds, "kinds", Kind::new)?;
    check_kinds(&kinds, caller)?;
    Ok(ClaimRequest {
        tenant: query::tenant(body.tenant.as_deref(), caller)?,
        queues: names(&body.queues, "queues", Queue::new)?,
        // Kinds that the node runs by itself are for workers only if a worker names them.
        except_kinds: if kinds.is_empty() {
            vec![Kind::http(), Kind::webhook()]
        } else {
            Vec::new()
        },
        kinds,
        lease: body.lease.map(|it| check_lease(it.get())).transpose()?,
        within_timeout: true,
        ..ClaimRequest::new(WorkerName::new(&body.worker)?, max)
    })
}

/// Begins a request of a session: claims of an earlier response that did not arrive go back.
async fn begin_turn(
    app: &App,
    request: &ClaimRequest,
    session: ClaimSession,
) -> Result<SessionTurn, Problem> {
    let (length, most) = (session.id.len(), limits::CLAIM_SESSION_BYTES_MAX);
    if !(1..=most).contains(&length) {
        let detail = format!("session.id is {length} bytes: must be 1 to {most}");
        return Err(Problem::invalid("session.id", detail));
    }
    let key = SessionKey {
        tenant: request.tenant.clone(),
        worker: request.worker.clone(),
        id: session.id,
    };
    let (sequence, received) = (session.sequence, session.received);
    let turn = app.claim_sessions.begin(key, sequence, received);
    let mut turn = turn.ok_or_else(overtaken)?;
    let lost = std::mem::take(&mut turn.lost);
    if !lost.is_empty() {
        let given_back = app.node.give_back(&request.worker, lost.clone()).await;
        if given_back.is_err() {
            // The worker's next claim finds them again.
            app.claim_sessions.give(&turn, lost.into_iter());
        }
        given_back?;
    }
    Ok(turn)
}

fn overtaken() -> Problem {
    let detail = "a later claim of this session has arrived; this one has no effect";
    Problem::new(StatusCode::CONFLICT, "overtaken", detail)
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
