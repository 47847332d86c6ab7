//! News of jobs as they happen, as server-sent events.

use std::{convert::Infallible, sync::Arc};

use axum::{
    extract::State,
    response::sse::{Event as Sent, Sse},
};
use futures_util::Stream;
use serde_json::json;
use steadfast_core::duration;
use steadfast_engine::{JobEvent, Notice};

use super::queues::TenantQuery;
use crate::{
    App,
    access::Reads,
    body::Params,
    problem::{Problem, Problems},
    stream,
};

/// News of the jobs that this node runs, from now on: `job.started`, `job.succeeded`,
/// `job.retrying`, `job.failed`, `job.cancelled`, `job.snoozed`, `job.released`.
///
/// Nothing is kept for whoever is not listening; webhooks and the history are. A stream ends
/// when its key is taken back.
#[utoipa::path(
    get, path = "/events", tag = "events", params(TenantQuery),
    responses((status = 200, description = "A stream of events", content_type = "text/event-stream", body = String), Problems)
)]
pub async fn events(
    State(app): State<Arc<App>>,
    Reads(caller): Reads,
    Params(query): Params<TenantQuery>,
) -> Result<Sse<impl Stream<Item = Result<Sent, Infallible>>>, Problem> {
    let tenant = query.chosen(&caller)?;
    let watched = app.clone();
    let taken_back = stream::taken_back(move || {
        let (app, caller) = (watched.clone(), caller.clone());
        async move { caller.is_welcome(&app).await }
    });
    stream::events(&app, tenant, taken_back, sent)
}

fn sent(notice: &Notice) -> Option<Sent> {
    let mut data = json!({
        "jobId": notice.job,
        "tenant": notice.tenant,
        "queue": notice.queue,
        "kind": notice.kind,
        "attempt": notice.attempt,
    });
    if let Some(ended) = &notice.ended {
        data["status"] = json!(ended.status);
        data["durationMs"] = json!(duration::millis(ended.took));
    }
    let name = match &notice.event {
        JobEvent::Started { late, .. } => {
            data["lateMs"] = json!(duration::millis(*late));
            "job.started"
        }
        JobEvent::Succeeded => "job.succeeded",
        JobEvent::Retrying {
            failure,
            next_run_at,
        } => {
            data["failure"] = json!(failure);
            data["nextRunAt"] = json!(next_run_at);
            "job.retrying"
        }
        JobEvent::Snoozed { next_run_at } => {
            data["nextRunAt"] = json!(next_run_at);
            "job.snoozed"
        }
        JobEvent::Released => "job.released",
        JobEvent::Failed { reason, failure } => {
            data["reason"] = json!(reason);
            data["failure"] = json!(failure);
            "job.failed"
        }
        JobEvent::Cancelled => "job.cancelled",
        _ => return None,
    };
    Some(Sent::default().event(name).data(data.to_string()))
}
