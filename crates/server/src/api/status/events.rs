//! Events of jobs as they happen, as server-sent events.

use std::convert::Infallible;

use axum::response::sse::{Event as SseEvent, Sse};
use futures_util::Stream;
use steadfast_api::{JobEventBody, TenantQuery};
use steadfast_core::duration;
use steadfast_engine::{JobEvent, Notice};

use crate::{
    api::query,
    extract::{Caller, Params, Reads, stream},
    http::{Problem, Problems},
};

/// Stream live events of jobs on all nodes.
///
/// They are `job.started`, `job.succeeded`, `job.retrying`, `job.failed`, `job.cancelled`,
/// `job.asked`, `job.snoozed` and `job.released`.
///
/// Events of other nodes than the one that is asked come within about a second and without stack
/// traces, and begin about a second after the stream was opened. If there are too many, some of the
/// tenant with the most are left out.
///
/// Events are not stored for disconnected clients; use webhooks or the history instead. A stream
/// ends when its key is revoked.
#[utoipa::path(
    get, path = "/events", tag = "Events", operation_id = "streamEvents", params(TenantQuery),
    responses((status = 200, description = "A stream of events", content_type = "text/event-stream", body = String,
        example = "event: job.started\ndata: {\"jobId\":\"job_01m7j2yprhee8vapgzpkag059v\",\"tenant\":\"default\",\"queue\":\"default\",\"kind\":\"invoice\",\"attempt\":1,\"lateMs\":2}\n\n"), Problems)
)]
pub async fn events(
    Reads { app, caller }: Reads,
    Params(query): Params<TenantQuery>,
) -> Result<Sse<impl Stream<Item = Result<SseEvent, Infallible>>>, Problem> {
    let tenant = query::query_tenant(&query, &caller)?;
    let revoked = stream::caller_revoked(&app, &caller);
    let reader = caller.clone();
    let render = move |notice: &Notice| sse_event(notice, &reader);
    stream::events(&app, &caller, tenant, revoked, render)
}

fn sse_event(notice: &Notice, reader: &Caller) -> Option<SseEvent> {
    let mut body = JobEventBody {
        job_id: notice.job,
        tenant: notice.tenant.clone(),
        queue: notice.queue.clone(),
        kind: notice.kind.clone(),
        attempt: notice.attempt,
        status: notice.ended.as_ref().map(|ended| ended.status),
        duration_ms: notice.ended.as_ref().map(|it| duration::millis(it.took)),
        late_ms: None,
        failure: None,
        answer: notice.ended.as_ref().and_then(|ended| ended.answer),
        next_run_at: None,
        reason: None,
    };
    let is_call = notice.kind.is_call();
    let name = match &notice.event {
        JobEvent::Started { late, .. } => {
            body.late_ms = Some(duration::millis(*late));
            "job.started"
        }
        JobEvent::Succeeded => "job.succeeded",
        JobEvent::Retrying {
            failure,
            next_run_at,
        } => {
            body.failure = Some(reader.redact_failure(failure.clone(), is_call));
            body.next_run_at = Some(*next_run_at);
            "job.retrying"
        }
        JobEvent::Snoozed { next_run_at } => {
            body.next_run_at = Some(*next_run_at);
            "job.snoozed"
        }
        JobEvent::Asked { next_run_at, .. } => {
            body.next_run_at = Some(*next_run_at);
            "job.asked"
        }
        JobEvent::Released => "job.released",
        JobEvent::Failed { reason, failure } => {
            body.reason = *reason;
            let failure = failure.clone();
            body.failure = failure.map(|it| reader.redact_failure(it, is_call));
            "job.failed"
        }
        JobEvent::Cancelled => "job.cancelled",
        _ => return None,
    };
    let data = serde_json::to_string(&body).ok()?;
    Some(SseEvent::default().event(name).data(data))
}
