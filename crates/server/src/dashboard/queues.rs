//! Queues: how full they are, how they do, and whether they are served.

use std::collections::BTreeMap;

use askama::Template;
use steadfast_core::{Queue, Tenant};
use steadfast_engine::Stats;
use steadfast_store::LaneStats;

use super::{
    frame::{Frame, HtmlPage, done, render},
    shown::{When, count, percent},
    viewer::{Editor, Viewer},
};
use crate::problem::Problem;

/// More than anybody reads.
const SHOWN_MAX: usize = 200;

#[derive(Template)]
#[template(path = "queues.html")]
struct QueuesPage {
    frame: Frame,
    rows: Vec<Row>,
    hidden: usize,
    shows_tenants: bool,
}

struct Row {
    tenant: String,
    name: String,
    paused: bool,
    ready: String,
    running: String,
    retrying: String,
    scheduled: String,
    dead_letters: String,
    oldest: Option<When>,
    recent: String,
    rate: String,
}

pub async fn page(viewer: Viewer) -> HtmlPage {
    let asked = viewer.fields.get("tenant").map(Tenant::new).transpose()?;
    let tenant = viewer.caller.choose(asked)?;
    let frame = Frame::of(&viewer, "/queues", "Queues");
    let lanes = viewer.app.lanes.of(&viewer.app, tenant.as_ref()).await?;
    let mut queues: BTreeMap<(Tenant, Queue), Vec<LaneStats>> = BTreeMap::new();
    for lane in lanes {
        let name = (lane.tenant.clone(), lane.queue.clone());
        queues.entry(name).or_default().push(lane);
    }
    let hidden = queues.len().saturating_sub(SHOWN_MAX);
    let rows = queues.into_iter().take(SHOWN_MAX);
    render(&QueuesPage {
        rows: rows
            .map(|((tenant, queue), lanes)| row(tenant, queue, lanes, &frame))
            .collect(),
        hidden,
        shows_tenants: viewer.caller.tenant.is_none(),
        frame,
    })
}

fn row(tenant: Tenant, queue: Queue, lanes: Vec<LaneStats>, frame: &Frame) -> Row {
    let paused = lanes.iter().any(|lane| lane.paused);
    let stats: Stats = lanes.into_iter().collect();
    Row {
        tenant: tenant.to_string(),
        name: queue.to_string(),
        paused,
        ready: count(stats.ready),
        running: count(stats.running),
        retrying: count(stats.retrying),
        scheduled: count(stats.scheduled),
        dead_letters: count(stats.dead_letters),
        oldest: stats.oldest_ready.map(|at| frame.when(at)),
        recent: count(stats.recent.attempts),
        rate: percent(stats.recent.retry_rate()),
    }
}

pub async fn act(editor: Editor) -> HtmlPage {
    let Editor { viewer, form } = editor;
    let asked = form.get("tenant").map(Tenant::new).transpose()?;
    let tenant = viewer.caller.choose(asked)?.unwrap_or_default();
    let queue = Queue::new(form.value("queue"))?;
    let client = &viewer.app.client;
    let did = match form.get("action") {
        Some("pause") => {
            client.pause_queue(tenant, queue).await?;
            "pause"
        }
        Some("resume") => {
            client.resume_queue(tenant, queue).await?;
            "resume"
        }
        _ => return Err(Problem::invalid("action", "there is no such action").into()),
    };
    viewer.app.lanes.forget().await;
    Ok(done("/queues", did, None))
}
