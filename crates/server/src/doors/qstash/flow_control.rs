//! Flow control: the limits of a key, which are a gate of its messages.

use axum::extract::Path;
use serde::Deserialize;
use serde_json::json;
use steadfast_core::{GateId, GateLimits, GatePatch, GateScope, Rate, tag_text};
use steadfast_engine::http::qstash::QstashFlowControl;
use steadfast_store::JobFilter;

use super::{
    Door, Reply,
    documents::{PinnedLimits, check_name},
    done,
    queues::pause_patch,
};
use crate::{
    extract::Params,
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

/// Sets the limits that a message asks for, unless they are set already, or pinned.
pub async fn ensure(door: &Door, flow: &QstashFlowControl) -> Result<String, Problem> {
    let id = gate_id(door, &flow.key)?;
    let stored = door.app.client.gate(&id).await?.map(|gate| gate.limits);
    let mut patch = GatePatch::default();
    let has_parallelism = |it: &GateLimits| it.max_running == flow.parallelism;
    if let Some(parallelism) = flow.parallelism
        && !stored.as_ref().is_some_and(has_parallelism)
    {
        patch = patch.max_running(parallelism);
    }
    let has_rate = |it: &GateLimits| {
        let rate = it.rate.map(|rate| (rate.limit, rate.per.as_secs()));
        rate == flow.rate.map(|rate| (rate, flow.period))
    };
    if let Some(rate) = flow.rate
        && !stored.as_ref().is_some_and(has_rate)
    {
        patch = patch.rate(rate_of(rate, flow.period)?);
    }
    if patch != GatePatch::default() {
        // Read only now: most messages change nothing.
        let pinned = door.find::<PinnedLimits>(&flow.key).await?;
        let pinned = pinned.unwrap_or_default();
        if pinned.parallelism {
            patch.max_running = None;
        }
        if pinned.rate {
            patch.rate = None;
        }
    }
    change(door, id, &patch).await?;
    Ok(concurrency_key(&flow.key))
}

fn rate_of(rate: u32, seconds: u64) -> Result<Rate, Problem> {
    let period = std::time::Duration::from_secs(seconds);
    Ok(Rate::new(rate.into(), period, 0)?)
}

async fn change(door: &Door, id: GateId, patch: &GatePatch) -> Result<(), Problem> {
    if *patch != GatePatch::default() {
        let by = door.caller.name(&door.app).await?;
        let client = door.client().await?;
        client.change_gate(id, patch, by.as_deref()).await?;
    }
    Ok(())
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
    let pinned = door.find::<PinnedLimits>(&key).await?.unwrap_or_default();
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
        "isPinnedParallelism": pinned.parallelism,
        "isPinnedRate": pinned.rate,
    })))
}

pub async fn pause(door: Door, Path(key): Path<String>) -> Reply {
    set_paused(&door, &key, true).await
}

pub async fn resume(door: Door, Path(key): Path<String>) -> Reply {
    set_paused(&door, &key, false).await
}

/// Limits that messages do not change until they are unpinned.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    parallelism: Option<u32>,
    rate: Option<u32>,
    period: Option<u64>,
}

pub async fn pin(door: Door, Path(key): Path<String>, Params(pin): Params<Pin>) -> Reply {
    check_name("flow control key", &key)?;
    let mut patch = GatePatch::default();
    if let Some(parallelism) = pin.parallelism {
        patch = patch.max_running(parallelism);
    }
    if let Some(rate) = pin.rate {
        patch = patch.rate(rate_of(rate, pin.period.unwrap_or(1))?);
    }
    change(&door, gate_id(&door, &key)?, &patch).await?;
    let pinned = |stored: Option<PinnedLimits>| {
        let stored = stored.unwrap_or_default();
        Ok(PinnedLimits {
            parallelism: stored.parallelism || pin.parallelism.is_some(),
            rate: stored.rate || pin.rate.is_some(),
        })
    };
    door.change::<PinnedLimits>(&key, pinned).await?;
    done()
}

/// Which limits messages may change again.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unpin {
    #[serde(default)]
    parallelism: bool,
    #[serde(default)]
    rate: bool,
}

pub async fn unpin(door: Door, Path(key): Path<String>, Params(unpin): Params<Unpin>) -> Reply {
    check_name("flow control key", &key)?;
    let stored = door.find::<PinnedLimits>(&key).await?.unwrap_or_default();
    let left = PinnedLimits {
        parallelism: stored.parallelism && !unpin.parallelism,
        rate: stored.rate && !unpin.rate,
    };
    if left == stored {
        return done();
    }
    match left == PinnedLimits::default() {
        true => door.delete::<PinnedLimits>(&key).await?,
        false => {
            door.change::<PinnedLimits>(&key, |_| Ok(left)).await?;
        }
    }
    done()
}

async fn set_paused(door: &Door, key: &str, is_paused: bool) -> Reply {
    let id = gate_id(door, key)?;
    let by = door.caller.name(&door.app).await?;
    let patch = GatePatch::default().paused(pause_patch(is_paused));
    let client = door.client().await?;
    client.change_gate(id, &patch, by.as_deref()).await?;
    done()
}
