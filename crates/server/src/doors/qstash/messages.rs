//! Messages: read, and cancelled.

use axum::{extract::Path, http::Uri};
use serde::Deserialize;
use serde_json::{Value, json};
use steadfast_core::{JobCommand, JobId};

use super::{AnyBody, Door, Reply, filter::Filter, view};
use crate::{
    http::{Json, Problem},
    limits,
};

pub async fn read(door: Door, Path(id): Path<String>) -> Reply {
    let job = door.message(&id).await?;
    let body = view::message(&job).ok_or_else(|| Problem::not_found(job.id))?;
    Ok(Json(Value::Object(body)))
}

/// Cancels a message that has not ended.
pub async fn cancel(door: Door, Path(id): Path<String>) -> Reply {
    let job = door.message(&id).await?;
    let client = door.client().await?;
    match client
        .command_each(vec![job.id], JobCommand::Cancel)
        .await?
    {
        0 => Err(Problem::not_found(format!(
            "message {id} that has not ended"
        ))),
        cancelled => Ok(Json(json!({"cancelled": cancelled}))),
    }
}

/// The ids in a body, as some clients send them.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ids {
    #[serde(default, alias = "dlqIds")]
    pub message_ids: Option<Vec<String>>,
}

impl Ids {
    /// Adds them to a filter, which then is for them alone.
    pub fn fill(body: &AnyBody, filter: &mut Filter) -> Result<(), Problem> {
        if body.0.is_empty() {
            return Ok(());
        }
        let ids: Self = body.json()?;
        let Some(ids) = ids.message_ids else {
            return Ok(());
        };
        if ids.len() > limits::QSTASH_IDS_MAX {
            let detail = format!("at most {} ids", limits::QSTASH_IDS_MAX);
            return Err(Problem::invalid("messageIds", detail));
        }
        let ids: Vec<JobId> = ids.iter().filter_map(|id| id.parse().ok()).collect();
        filter.ids = Some(ids);
        Ok(())
    }
}

/// Cancels messages by their ids, or those that match; without any of both, all of them.
pub async fn cancel_many(door: Door, uri: Uri, body: AnyBody) -> Reply {
    let mut filter = Filter::read(&door, &uri)?.only_unfinished();
    Ids::fill(&body, &mut filter)?;
    let page = filter.page(&door, limits::QSTASH_COMMANDS_MAX).await?;
    let ids = page.items.iter().map(|job| job.id).collect();
    let client = door.client().await?;
    let cancelled = client.command_each(ids, JobCommand::Cancel).await?;
    Ok(Json(json!({"cancelled": cancelled})))
}
