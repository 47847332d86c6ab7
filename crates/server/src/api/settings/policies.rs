//! Retry policies, without running anything.

use steadfast_api::{
    CertifyPolicyRequest, PolicyCertificateBody, PolicyPreviewBody, PolicyReplayBody,
    PreviewPolicyRequest, ReplayPolicyRequest,
};
use steadfast_core::{Destination, Kind, Queue, Tenant};
use steadfast_engine::ReplayRequest;

use crate::{
    api::query,
    app::App,
    extract::{Body, Caller, Reads},
    http::{Answer, Json, Problem, Problems},
    node::tenant_limiter::TenantPermit,
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
    let permits = certify_permits(app, caller, &body)?;
    let certificate = app.client.certify(tenant.as_ref(), &body, permits);
    Ok(certificate.await?)
}

/// Permits to keep a core busy and, if calls are measured, to read as many attempts as a replay.
pub fn certify_permits(
    app: &App,
    caller: &Caller,
    body: &CertifyPolicyRequest,
) -> Result<(TenantPermit, Option<TenantPermit>), Problem> {
    let tenant = caller.tenant.as_ref();
    let is_measured = body.destination.is_some() && !body.is_complete();
    let reads = is_measured.then(|| app.try_replay(tenant)).transpose()?;
    Ok((app.try_certify(tenant)?, reads))
}
