//! The dead letter queue. The id of a dead letter is that of its message.

use axum::{extract::Path, http::Uri};
use serde_json::{Value, json};
use steadfast_core::{Job, JobCommand, JobId};
use steadfast_store::{Page, PageRequest};

use super::{AnyBody, Door, Reply, done, filter::Filter, messages::Ids, view};
use crate::{
    http::{Json, Problem},
    limits,
};

pub async fn list(door: Door, uri: Uri) -> Reply {
    let filter = Filter::read(&door, &uri)?.only_dead_letters();
    let page = filter.page(&door, limits::QSTASH_PAGE_MAX).await?;
    let mut messages = Vec::with_capacity(page.items.len());
    for job in &page.items {
        messages.extend(dead_letter(&door, job).await?);
    }
    let mut body = json!({"messages": messages});
    add_cursor(&mut body, page.next);
    Ok(Json(body))
}

pub async fn read(door: Door, Path(id): Path<String>) -> Reply {
    let job = find(&door, &id).await?;
    let body = dead_letter(&door, &job).await?;
    Ok(Json(body.ok_or_else(|| Problem::not_found(job.id))?))
}

pub async fn delete(door: Door, Path(id): Path<String>) -> Reply {
    let job = find(&door, &id).await?;
    run(&door, vec![job.id], JobCommand::Discard).await?;
    done()
}

pub async fn delete_many(door: Door, uri: Uri, body: AnyBody) -> Reply {
    let page = meant(&door, &uri, &body).await?;
    let ids = page.items.iter().map(|job| job.id).collect();
    let deleted = run(&door, ids, JobCommand::Discard).await?;
    let mut body = json!({"deleted": deleted});
    add_cursor(&mut body, page.next);
    Ok(Json(body))
}

pub async fn retry(door: Door, Path(id): Path<String>) -> Reply {
    let job = find(&door, &id).await?;
    run(&door, vec![job.id], JobCommand::Retry { payload: None }).await?;
    Ok(Json(json!({"messageId": job.id})))
}

pub async fn retry_many(door: Door, uri: Uri, body: AnyBody) -> Reply {
    let page = meant(&door, &uri, &body).await?;
    let ids: Vec<JobId> = page.items.iter().map(|job| job.id).collect();
    run(&door, ids.clone(), JobCommand::Retry { payload: None }).await?;
    let responses: Vec<Value> = ids.iter().map(|id| json!({"messageId": id})).collect();
    let mut body = json!({"responses": responses});
    add_cursor(&mut body, page.next);
    Ok(Json(body))
}

async fn find(door: &Door, id: &str) -> Result<Job, Problem> {
    let job = door.message(id).await?;
    match job.is_dead_letter() {
        true => Ok(job),
        false => Err(Problem::not_found(format!("dead letter {id}"))),
    }
}

async fn meant(door: &Door, uri: &Uri, body: &AnyBody) -> Result<Page<Job, JobId>, Problem> {
    let mut filter = Filter::read(door, uri)?.only_dead_letters();
    Ids::fill(body, &mut filter)?;
    filter.page(door, limits::QSTASH_COMMANDS_MAX).await
}

async fn run(door: &Door, ids: Vec<JobId>, command: JobCommand) -> Result<u64, Problem> {
    let client = door.client().await?;
    Ok(client.command_each(ids, command).await?)
}

/// The message, and the response of its last attempt.
async fn dead_letter(door: &Door, job: &Job) -> Result<Option<Value>, Problem> {
    let Some(mut body) = view::message(job) else {
        return Ok(None);
    };
    let attempts = door.app.client.attempts(job.id, PageRequest::first(1));
    let last = attempts.await?.items.into_iter().next();
    match &last {
        Some(last) => body.extend(view::response(last)),
        None => body.extend(view::fields(json!({"responseStatus": 0}))),
    }
    body.insert("dlqId".to_owned(), json!(job.id));
    Ok(Some(Value::Object(body)))
}

pub fn add_cursor(body: &mut Value, next: Option<JobId>) {
    if let Some(next) = next {
        body["cursor"] = json!(next);
    }
}
