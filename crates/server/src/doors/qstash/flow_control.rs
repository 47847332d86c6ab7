//! Flow control: the limits of a key, which are a gate of its messages.

use axum::extract::Path;
use serde_json::json;
use steadfast_core::{GateId, GatePatch, GateScope, Rate, tag_text};
use steadfast_engine::http::qstash::QstashFlowControl;
use steadfast_store::JobFilter;

use super::{Door, Reply, done, queues::pause_patch};
use crate::{
    http::{Json, Problem},
    limits,
};

/// The tag of messages with a flow control key.
pub const FLOW_TAG: &str = "qstash flow control";

/// The concurrency key of messages with a flow control key.
fn concurrency_key(key: &str) -> String {
    format!("qstash flow control {key}")
}

fn gate_id(door: &Door, key: &str) -> Result<GateId, Problem> {
    let tenant = Some(door.tenant.clone());
    Ok(GateId::new(tenant, GateScope::Key, &concurrency_key(key))?)
}

/// Sets the limits that a message asks for, unless they are set already.
pub async fn ensure(door: &Door, flow: &QstashFlowControl) -> Result<String, Problem> {
    let id = gate_id(door, &flow.key)?;
    let mut patch = GatePatch::default();
    if let Some(parallelism) = flow.parallelism {
        patch = patch.max_running(parallelism);
    }
    if let Some(rate) = flow.rate {
        let period = std::time::Duration::from_secs(flow.period);
        patch = patch.rate(Rate::new(rate.into(), period, 0)?);
    }
    let stored = door.app.client.gate(&id).await?.map(|gate| gate.limits);
    let has = |limits: &steadfast_core::GateLimits| {
        let has_parallelism = flow.parallelism.is_none() || limits.max_running == flow.parallelism;
        let rate = limits.rate.map(|rate| (rate.limit, rate.per.as_secs()));
        let has_rate = flow
            .rate
            .is_none_or(|limit| rate == Some((limit, flow.period)));
        has_parallelism && has_rate
    };
    if patch != GatePatch::default() && !stored.as_ref().is_some_and(has) {
        let by = door.caller.name(&door.app).await?;
        let client = door.client().await?;
        client.change_gate(id, &patch, by.as_deref()).await?;
    }
    Ok(concurrency_key(&flow.key))
}

pub async fn read(door: Door, Path(key): Path<String>) -> Reply {
    let id = gate_id(&door, &key)?;
    let client = &door.app.client;
    let gate = client.gate(&id).await?;
    let gate = gate.ok_or_else(|| Problem::not_found(format!("flow control key {key}")))?;
    let running = client.gate_uses(&[id]).await?;
    let running = running.first().and_then(|used| used.running).unwrap_or(0);
    let filter = JobFilter {
        tenant: Some(door.tenant.clone()),
        tags: vec![tag_text(FLOW_TAG, &key)],
        unfinished: true,
        ..JobFilter::default()
    };
    let unfinished = client.count(filter, limits::QSTASH_LAG_MAX).await?.count;
    let limits = gate.limits;
    let is_paused = limits
        .paused
        .is_some_and(|pause| !pause.is_over(client.now()));
    Ok(Json(json!({
        "flowControlKey": key,
        "waitListSize": unfinished.saturating_sub(running.into()),
        "parallelismMax": limits.max_running.unwrap_or(0),
        "parallelismCount": running,
        "rateMax": limits.rate.map_or(0, |rate| rate.limit),
        "ratePeriod": limits.rate.map_or(0, |rate| rate.per.as_secs()),
        "isPaused": is_paused,
        "isPinnedParallelism": false,
        "isPinnedRate": false,
    })))
}

pub async fn pause(door: Door, Path(key): Path<String>) -> Reply {
    set_paused(&door, &key, true).await
}

pub async fn resume(door: Door, Path(key): Path<String>) -> Reply {
    set_paused(&door, &key, false).await
}

async fn set_paused(door: &Door, key: &str, is_paused: bool) -> Reply {
    let id = gate_id(door, key)?;
    let by = door.caller.name(&door.app).await?;
    let patch = GatePatch::default().paused(pause_patch(is_paused));
    let client = door.client().await?;
    client.change_gate(id, &patch, by.as_deref()).await?;
    done()
}
