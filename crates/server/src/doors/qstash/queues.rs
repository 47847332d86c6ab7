//! Queues: a gate that lets some messages at a time through, in their order if it is one.

use axum::extract::Path;
use serde::Deserialize;
use serde_json::{Value, json};
use steadfast_core::{Gate, GateId, GatePatch, GateScope, PausePatch, Queue};
use steadfast_engine::http::qstash::QstashMessage;
use steadfast_store::JobFilter;

use super::{
    AnyBody, Door, Reply,
    documents::{QueueTimes, check_name},
    done,
};
use crate::{
    http::{Json, Problem},
    limits,
};

/// The queue in Steadfast.
pub fn name(queue: &str) -> String {
    format!("{}.{queue}", QstashMessage::QUEUE)
}

/// The concurrency key of its messages.
fn key(queue: &str) -> String {
    format!("qstash queue {queue}")
}

fn gate_id(door: &Door, queue: &str) -> Result<GateId, Problem> {
    let tenant = Some(door.tenant.clone());
    Ok(GateId::new(tenant, GateScope::Key, &key(queue))?)
}

/// The concurrency key of a queue, which is created if it does not exist.
pub async fn ensure(door: &Door, queue: &str) -> Result<String, Problem> {
    check_name("queue", queue)?;
    let id = gate_id(door, queue)?;
    if door.app.client.gate(&id).await?.is_none() || door.find::<QueueTimes>(queue).await?.is_none()
    {
        set(door, queue, 1, None).await?;
    }
    Ok(key(queue))
}

async fn set(
    door: &Door,
    queue: &str,
    parallelism: u32,
    paused: Option<bool>,
) -> Result<(), Problem> {
    let now = door.now_ms();
    // First what may be refused: a queue without a gate would have no limit.
    let change = |times: Option<QueueTimes>| {
        Ok(QueueTimes {
            name: queue.to_owned(),
            created_at: times.map_or(now, |times| times.created_at),
            updated_at: now,
        })
    };
    let mut patch = GatePatch::default()
        .max_running(parallelism)
        .ordered(parallelism == 1);
    if let Some(paused) = paused {
        patch = patch.paused(pause_patch(paused));
    }
    let by = door.caller.name(&door.app).await?;
    let client = door.client().await?;
    let id = gate_id(door, queue)?;
    client.change_gate(id, &patch, by.as_deref()).await?;
    door.change::<QueueTimes>(queue, change).await?;
    Ok(())
}

pub fn pause_patch(is_paused: bool) -> PausePatch {
    match is_paused {
        true => PausePatch::Pause {
            reason: None,
            until: None,
        },
        false => PausePatch::Resume,
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UpsertRequest {
    queue_name: String,
    #[serde(default)]
    parallelism: Option<u32>,
    #[serde(default)]
    paused: Option<bool>,
}

pub async fn upsert(door: Door, body: AnyBody) -> Reply {
    let request: UpsertRequest = body.json()?;
    check_name("queueName", &request.queue_name)?;
    let parallelism = request.parallelism.unwrap_or(1);
    set(&door, &request.queue_name, parallelism, request.paused).await?;
    done()
}

pub async fn list(door: Door) -> Reply {
    let mut queues = Vec::new();
    for times in door.list::<QueueTimes>().await? {
        queues.push(view(&door, &times).await?);
    }
    Ok(Json(Value::Array(queues)))
}

pub async fn read(door: Door, Path(queue): Path<String>) -> Reply {
    let times = find(&door, &queue).await?;
    Ok(Json(view(&door, &times).await?))
}

/// Messages that wait in it are sent, and no longer limited by it.
pub async fn delete(door: Door, Path(queue): Path<String>) -> Reply {
    check_name("queue", &queue)?;
    door.delete::<QueueTimes>(&queue).await?;
    let id = gate_id(&door, &queue)?;
    door.client().await?.delete_gate(&id).await?;
    done()
}

async fn set_paused(door: Door, queue: String, is_paused: bool) -> Reply {
    let times = find(&door, &queue).await?;
    let limits = gate(&door, &queue).await?.map(|gate| gate.limits);
    let parallelism = limits.and_then(|limits| limits.max_running).unwrap_or(1);
    set(&door, &times.name, parallelism, Some(is_paused)).await?;
    done()
}

pub async fn pause(door: Door, Path(queue): Path<String>) -> Reply {
    set_paused(door, queue, true).await
}

pub async fn resume(door: Door, Path(queue): Path<String>) -> Reply {
    set_paused(door, queue, false).await
}

async fn find(door: &Door, queue: &str) -> Result<QueueTimes, Problem> {
    check_name("queue", queue)?;
    let times = door.find::<QueueTimes>(queue).await?;
    times.ok_or_else(|| Problem::not_found(format!("queue {queue}")))
}

async fn gate(door: &Door, queue: &str) -> Result<Option<Gate>, Problem> {
    Ok(door.app.client.gate(&gate_id(door, queue)?).await?)
}

async fn view(door: &Door, times: &QueueTimes) -> Result<Value, Problem> {
    let gate = gate(door, &times.name).await?.map(|gate| gate.limits);
    let filter = JobFilter {
        tenant: Some(door.tenant.clone()),
        queue: Some(Queue::new(&name(&times.name))?),
        unfinished: true,
        ..JobFilter::default()
    };
    let lag = door
        .app
        .client
        .count(filter, limits::QSTASH_LAG_MAX)
        .await?;
    let now = door.app.client.now();
    let paused = gate.as_ref().and_then(|gate| gate.paused.as_ref());
    Ok(json!({
        "name": times.name,
        "createdAt": times.created_at,
        "updatedAt": times.updated_at,
        "parallelism": gate.as_ref().and_then(|gate| gate.max_running),
        "paused": paused.is_some_and(|pause| !pause.is_over(now)),
        "lag": lag.count,
    }))
}
