//! Workers renew the leases of attempts that still run, one or many in a request.

use std::{collections::BTreeSet, time::Duration};

use steadfast_api::{
    HeartbeatEntry, HeartbeatList, HeartbeatRequest, HeartbeatResult, HeartbeatsRequest, LeaseBody,
};
use steadfast_core::{
    Fence, Invalid, Job, JobId, Note, StaleFence, Tenant, WorkerName, duration,
    limits as core_limits,
};
use steadfast_engine::SettleError;
use steadfast_store::{NewLogLines, RenewResult, Renewal};

use crate::{
    app::App,
    extract::{Body, Caller, Id, Works, body::shorten_id},
    http::{Answer, Json, Problem, Problems},
    limits,
};

/// Renew the lease of a running attempt, starting from now.
///
/// The lease never extends past the job's timeout. After that the attempt fails with class
/// `timeout`, even if its worker continues.
#[utoipa::path(
    post, path = "/claims/{id}/heartbeat", tag = "Workers", operation_id = "sendHeartbeat",
    params(("id" = String, Path, description = "job_…")),
    request_body(content = HeartbeatRequest, example = json!({
        "fence": 1, "note": "page 3 of 7", "progress": 40
    })),
    responses((status = 200, description = "The lease", body = LeaseBody), Problems)
)]
pub async fn heartbeat(
    Works { app, caller }: Works,
    Id(id): Id<JobId>,
    Body(body): Body<HeartbeatRequest>,
) -> Answer<LeaseBody> {
    let entry = HeartbeatEntry {
        id: id.to_string(),
        fence: body.fence,
        lease: body.lease,
        note: body.note,
        progress: body.progress,
        log: body.log,
    };
    let mut tenants = BTreeSet::new();
    let results = renew(&app, &caller, vec![entry], &mut tenants).await?;
    let mut results = results.into_iter();
    let result = results.next();
    result
        .unwrap_or_else(|| Err(Problem::not_found(id)))
        .map(Json)
}

/// Renew the leases of up to 1,000 running attempts, starting from now.
///
/// Each heartbeat has its own result; a refused one does not affect the others. Each lease is
/// renewed as described for `/claims/{id}/heartbeat`.
#[utoipa::path(
    post, path = "/claims/heartbeat", tag = "Workers", operation_id = "sendHeartbeats",
    request_body(content = HeartbeatsRequest, example = json!({"worker": "worker-1", "claims": [
        {"id": "job_06f00000000000000000000000", "fence": 1},
        {"id": "job_06f00000000000000000000001", "fence": 3, "note": "page 3 of 7", "progress": 40}
    ]})),
    responses((status = 200, description = "One result per entry, in order", body = HeartbeatList), Problems)
)]
pub async fn heartbeats(
    Works { app, caller }: Works,
    Body(body): Body<HeartbeatsRequest>,
) -> Answer<HeartbeatList> {
    let most = limits::HEARTBEATS_MAX;
    if body.claims.is_empty() || body.claims.len() > most {
        let count = body.claims.len();
        let detail = format!("claims contains {count}: must be 1 to {most}");
        return Err(Problem::invalid("claims", detail));
    }
    let worker = WorkerName::new(&body.worker)?;
    let mut tenants = BTreeSet::new();
    let mut claims = Vec::with_capacity(body.claims.len());
    for entries in body.claims.chunks(limits::HEARTBEATS_AT_ONCE) {
        let results = renew(&app, &caller, entries.to_vec(), &mut tenants).await?;
        let with_entries = entries.iter().zip(results);
        claims.extend(with_entries.map(|(entry, result)| heartbeat_result(entry, result)));
    }
    note_worker(&app, &caller, &worker, &tenants);
    Ok(Json(HeartbeatList { claims }))
}

/// A worker is known under the tenant that it claims for, which a caller of all tenants may have
/// named: then it is that of its jobs.
fn note_worker(app: &App, caller: &Caller, worker: &WorkerName, tenants: &BTreeSet<Tenant>) {
    let now = app.client.now();
    app.workers.note_again(caller.tenant.as_ref(), worker, now);
    if caller.tenant.is_none() && !app.workers.knows(None, worker) {
        for tenant in tenants.iter().take(limits::WORKER_TENANTS_NOTED_MAX) {
            app.workers.note_again(Some(tenant), worker, now);
        }
    }
}

fn heartbeat_result(entry: &HeartbeatEntry, result: Result<LeaseBody, Problem>) -> HeartbeatResult {
    let (lease, problem) = match result {
        Ok(lease) => (Some(lease), None),
        Err(problem) => (None, Some(problem)),
    };
    HeartbeatResult {
        id: entry.id.clone(),
        ok: problem.is_none(),
        lease_until: lease.map(|lease| lease.lease_until),
        cancel_requested: lease.map(|lease| lease.cancel_requested),
        deadline: lease.and_then(|lease| lease.deadline),
        timed_out: lease.map(|lease| lease.timed_out),
        code: problem.as_ref().map(|problem| problem.code.to_owned()),
        detail: problem.map(|problem| problem.detail),
    }
}

/// One result for each entry, and the tenants of their jobs. Only an error of the store is one of all.
async fn renew(
    app: &App,
    caller: &Caller,
    entries: Vec<HeartbeatEntry>,
    tenants: &mut BTreeSet<Tenant>,
) -> Result<Vec<Result<LeaseBody, Problem>>, Problem> {
    let ids: Vec<Option<JobId>> = entries.iter().map(|entry| entry.id.parse().ok()).collect();
    let known: Vec<JobId> = ids.iter().copied().flatten().collect();
    let mut jobs = app.client.jobs_of(known).await?.into_iter();
    let mut renewals = Vec::with_capacity(entries.len());
    let mut results: Vec<Result<Job, Problem>> = Vec::with_capacity(entries.len());
    let mut logs = Vec::new();
    for (mut entry, id) in entries.into_iter().zip(ids) {
        let job = id.and_then(|_| jobs.next()?);
        let (fence, log) = (entry.fence, entry.log.take());
        let checked = caller
            .job(job, shorten_id(&entry.id))
            .and_then(|job| Ok((renewal(&job, entry)?, job)));
        results.push(checked.map(|(renewal, job)| {
            if let Some(lines) = log.filter(|log| !log.lines.is_empty()) {
                let job = job.id;
                logs.push((results.len(), NewLogLines { job, fence, lines }));
            }
            renewals.push(renewal);
            tenants.insert(job.tenant.clone());
            job
        }));
    }
    let fences: Vec<Fence> = renewals.iter().map(|renewal| renewal.fence).collect();
    let mut renewed = app.node.renew(renewals).await?.into_iter().zip(fences);
    let logs = logs.into_iter().filter_map(|(index, log)| {
        let job = results[index].as_ref().ok()?;
        Some((job, log))
    });
    app.node.append_logs(logs.collect()).await?;
    let now = app.client.now();
    let leases = results.into_iter().map(|checked| {
        let job = checked?;
        match renewed.next() {
            Some((
                RenewResult::Held {
                    until,
                    cancel_requested,
                },
                _,
            )) => Ok(LeaseBody {
                lease_until: until,
                cancel_requested,
                deadline: job.deadline(),
                timed_out: job.deadline().is_some_and(|deadline| deadline <= now),
            }),
            Some((RenewResult::Lost, fence)) => {
                Err(SettleError::from(stale_fence(&job, fence)).into())
            }
            None => Err(Problem::not_found(job.id)),
        }
    });
    Ok(leases.collect())
}

fn renewal(job: &Job, entry: HeartbeatEntry) -> Result<Renewal, Problem> {
    let most = core_limits::PERCENT_MAX;
    if let Some(percent) = entry.progress.filter(|percent| *percent > most) {
        let detail = format!("progress is {percent}: must be between 0 and {most}");
        return Err(Problem::invalid("progress", detail));
    }
    let lease = entry
        .lease
        .map_or(Ok(job.lease), |lease| check_lease(lease.get()))?;
    let is_noted = entry.note.is_some() || entry.progress.is_some();
    let last = job.progress.note.as_deref().map(Note::read);
    let note = last.unwrap_or_default().updated(entry.note, entry.progress);
    Ok(Renewal {
        job: job.id,
        fence: entry.fence,
        lease,
        note: is_noted.then(|| note.to_text()),
        within_timeout: true,
    })
}

/// A lease within the limits.
pub fn check_lease(lease: Duration) -> Result<Duration, Invalid> {
    let (least, most) = (core_limits::LEASE_MIN, core_limits::LEASE_MAX);
    if (least..=most).contains(&lease) {
        return Ok(lease);
    }
    let (least, most) = (duration::format(least), duration::format(most));
    let expected = format!("must be between {least} and {most}");
    Err(Invalid::new("lease", duration::format(lease), expected))
}

/// Why a claim does not hold.
pub fn stale_fence(job: &Job, requested: Fence) -> StaleFence {
    StaleFence {
        job: job.id,
        requested,
        current: job.progress.fence,
        state: job.progress.state,
    }
}
