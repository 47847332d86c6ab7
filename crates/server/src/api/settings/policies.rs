//! Retry policies, without running anything.

use steadfast_api::{
    CertifyPolicyRequest, PolicyCertificateBody, PolicyPreviewBody, PolicyReplayBody,
    PreviewPolicyRequest, ReplayPolicyRequest,
};
use steadfast_core::{
    Destination, GateLimits, Kind, MeasuredTarget, Queue, Tenant, certify as certify_settings,
};
use steadfast_engine::ReplayRequest;

use crate::{
    api::query,
    app::App,
    extract::{Body, Caller, Reads},
    http::{Answer, Json, Problem, Problems},
};

/// Preview the whole timetable of a policy.
///
/// Shows the earliest, typical and latest start of each attempt, and when the policy gives up.
#[utoipa::path(
    post, path = "/policies/preview", tag = "Policies", operation_id = "previewPolicy",
    request_body(content = PreviewPolicyRequest, example = json!({
        "retry": {"maxRetries": 5, "backoff": "exponential", "baseDelay": "1s", "jitter": "full"}
    })),
    responses((status = 200, description = "The timetable", body = PolicyPreviewBody), Problems)
)]
pub async fn preview(
    _: Reads,
    Body(body): Body<PreviewPolicyRequest>,
) -> Answer<PolicyPreviewBody> {
    let policy = body.retry.build().map_err(|error| error.within("retry"))?;
    Ok(Json(policy.into()))
}

/// Replay another policy over recorded attempts.
///
/// Takes the jobs of a queue, kind or destination created since a given time, and repeats each
/// retry decision on a virtual clock. The outcome of a simulated attempt is taken from observations
/// near that time. If there are too few observations, the response says so instead of giving a
/// number.
#[utoipa::path(
    post, path = "/policies/replay", tag = "Policies", operation_id = "replayPolicy",
    request_body(content = ReplayPolicyRequest, example = json!({
        "queue": "default", "retry": {"maxRetries": 8, "baseDelay": "10s", "maxDelay": "10m"}
    })),
    responses((status = 200, description = "Old against new", body = PolicyReplayBody), Problems)
)]
pub async fn replay(
    Reads { app, caller }: Reads,
    Body(body): Body<ReplayPolicyRequest>,
) -> Answer<PolicyReplayBody> {
    let tenant = query::tenant(body.tenant.as_deref(), &caller)?;
    Ok(Json(run_replay(&app, &caller, body, tenant).await?))
}

/// Runs a replay over the jobs of a tenant, or of all.
pub async fn run_replay(
    app: &App,
    caller: &Caller,
    body: ReplayPolicyRequest,
    tenant: Option<Tenant>,
) -> Result<PolicyReplayBody, Problem> {
    let permit = app.try_replay(caller.tenant.as_ref())?;
    let destination = body.destination.as_deref().map(Destination::new);
    let request = ReplayRequest {
        tenant,
        queue: body.queue.as_deref().map(Queue::new).transpose()?,
        kind: body.kind.as_deref().map(Kind::new).transpose()?,
        destination: destination.transpose()?,
        since: body.since,
        retry: body.retry,
    };
    let record = app.client.replay_record(request).await?;
    // It goes on if the caller leaves, so it keeps the permit until it has ended.
    let work = tokio::task::spawn_blocking(move || {
        let report = record.replay()?;
        drop(permit);
        Ok(PolicyReplayBody::new(
            &report,
            record.since(),
            record.is_cut(),
        ))
    });
    work.await.map_err(|error| Problem::internal(&error))?
}

/// Compute whether a system recovers by itself after outages.
///
/// Plays outages and overloads through the real retry decisions, gates and holds, against a model
/// of the target, on a virtual clock. The response says whether the system recovers, how long that
/// takes, and, if it does not, at which load it stays down and which change would help.
#[utoipa::path(
    post, path = "/policies/certify", tag = "Policies", operation_id = "certifyPolicy",
    request_body(content = CertifyPolicyRequest, example = json!({
        "capacity": 100, "traffic": 60, "latency": "200ms", "retry": "http"
    })),
    responses((status = 200, description = "The certificate", body = PolicyCertificateBody), Problems)
)]
pub async fn certify(
    Reads { app, caller }: Reads,
    Body(body): Body<CertifyPolicyRequest>,
) -> Answer<PolicyCertificateBody> {
    let tenant = query::tenant(body.tenant.as_deref(), &caller)?;
    Ok(Json(run_certify(&app, &caller, body, tenant).await?))
}

/// Computes a certificate for the jobs of a tenant, or of all.
pub async fn run_certify(
    app: &App,
    caller: &Caller,
    body: CertifyPolicyRequest,
    tenant: Option<Tenant>,
) -> Result<PolicyCertificateBody, Problem> {
    let permit = app.try_certify(caller.tenant.as_ref())?;
    let queue = body.queue.as_deref().map(Queue::new).transpose()?;
    let kind = match body.slots {
        Some(_) => Kind::new(WORKER_KIND)?,
        None => Kind::http(),
    };
    let policy = app
        .client
        .resolve_policy(tenant.as_ref(), queue.as_ref(), &kind, &body.retry)?;
    let destination = body.destination.as_deref().map(Destination::new);
    let (mut gate, mut measured) = (GateLimits::default(), None);
    if let Some(destination) = destination.transpose()? {
        gate = app
            .client
            .destination_limits(tenant.as_ref(), &destination)
            .await?;
        if !body.is_complete() {
            measured = measure(app, caller, tenant, destination).await?;
        }
    }
    let settings = body.settings(policy, &gate, measured)?;
    // It goes on if the caller leaves, so it keeps the permit until it has ended.
    let work = tokio::task::spawn_blocking(move || {
        // The same question has the same answer.
        let certificate = certify_settings(&settings, 0)?;
        drop(permit);
        let target = &settings.target;
        Ok(PolicyCertificateBody::new(&certificate, target, measured))
    });
    work.await.map_err(|error| Problem::internal(&error))?
}

/// Jobs of workers have the policy of any kind that has none of its own.
const WORKER_KIND: &str = "work";

/// What the recorded calls of the last day say about a destination.
async fn measure(
    app: &App,
    caller: &Caller,
    tenant: Option<Tenant>,
    destination: Destination,
) -> Result<Option<MeasuredTarget>, Problem> {
    // It reads as many attempts as a replay does.
    let _permit = app.try_replay(caller.tenant.as_ref())?;
    let request = ReplayRequest {
        tenant,
        destination: Some(destination),
        ..ReplayRequest::default()
    };
    let record = app.client.replay_record(request).await?;
    let work = tokio::task::spawn_blocking(move || record.measure());
    work.await.map_err(|error| Problem::internal(&error))
}
