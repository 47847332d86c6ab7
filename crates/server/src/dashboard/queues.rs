//! Queues: how many jobs they hold, how attempts go, and whether they are paused.

use std::collections::BTreeMap;

use askama::Template;
use steadfast_core::{PausePatch, Queue, Tenant, explain::brief};
use steadfast_engine::Stats;
use steadfast_store::LaneStats;

use super::{
    chart::{self, Svg, TimeBuckets},
    format::{PageTime, format_percent, thousands},
    frame::{Frame, redirect_back, render},
    overview_facts,
    page_error::PageResult,
    viewer::{Editor, Viewer},
};
use crate::{api::queues::QueuePauses, limits, problem::Problem};

#[derive(Template)]
#[template(path = "queues.html")]
struct QueuesPage {
    frame: Frame,
    rows: Vec<QueueRow>,
    hidden: usize,
    /// How far back the recent figures reach.
    recent: String,
    shows_tenants: bool,
}

struct QueueRow {
    tenant: String,
    name: String,
    paused: bool,
    pause: String,
    ready: String,
    running: String,
    retrying: String,
    scheduled: String,
    dead_letters: String,
    oldest: Option<PageTime>,
    retry_rate: String,
    /// Attempts of the last hour.
    picture: Svg,
}

impl QueueRow {
    fn counts(&self) -> [(&'static str, &String); 5] {
        [
            ("Ready", &self.ready),
            ("Running", &self.running),
            ("Retrying", &self.retrying),
            ("Scheduled", &self.scheduled),
            ("Dead letters", &self.dead_letters),
        ]
    }
}

pub async fn page(viewer: Viewer) -> PageResult {
    let requested = viewer.fields.get("tenant").map(Tenant::new).transpose()?;
    let tenant = viewer.caller.choose(requested)?;
    let frame = Frame::of(&viewer, "/queues", "Queues");
    let lanes = viewer
        .app
        .lane_stats
        .get(&viewer.app.client, tenant.as_ref())
        .await?;
    let mut queues: BTreeMap<(Tenant, Queue), Vec<LaneStats>> = BTreeMap::new();
    for lane in lanes {
        let name = (lane.tenant.clone(), lane.queue.clone());
        queues.entry(name).or_default().push(lane);
    }
    let facts = overview_facts::facts(&viewer.app, tenant.as_ref()).await?;
    let buckets = TimeBuckets::new(frame.now, limits::CHART_HOUR);
    let pauses = QueuePauses::read(&viewer.app).await?;
    let hidden = queues.len().saturating_sub(limits::PAGE_QUEUES_MAX);
    let rows = queues.into_iter().take(limits::PAGE_QUEUES_MAX);
    render(&QueuesPage {
        rows: rows
            .map(|((tenant, queue), lanes)| {
                let pause = pauses.of(&tenant, &queue);
                let pause = pause.map_or(String::new(), |pause| pause.describe(frame.now));
                let minutes = facts.minutes_of(&tenant, &queue);
                QueueRow {
                    pause,
                    picture: chart::queue_minutes(&buckets, minutes),
                    ..queue_row(tenant, queue, lanes, &frame)
                }
            })
            .collect(),
        hidden,
        recent: brief(limits::RECENT_WINDOW),
        shows_tenants: viewer.caller.tenant.is_none(),
        frame,
    })
}

fn queue_row(tenant: Tenant, queue: Queue, lanes: Vec<LaneStats>, frame: &Frame) -> QueueRow {
    let paused = lanes.iter().any(|lane| lane.paused);
    let stats: Stats = lanes.into_iter().collect();
    QueueRow {
        tenant: tenant.to_string(),
        name: queue.to_string(),
        paused,
        pause: String::new(),
        ready: thousands(stats.ready),
        running: thousands(stats.running),
        retrying: thousands(stats.retrying),
        scheduled: thousands(stats.scheduled),
        dead_letters: thousands(stats.dead_letters),
        oldest: stats.oldest_ready.map(|at| frame.time(at)),
        retry_rate: format_percent(stats.recent.retry_rate()),
        picture: Svg::default(),
    }
}

pub async fn act(editor: Editor) -> PageResult {
    let Editor { viewer, form } = editor;
    let requested = form.get("tenant").map(Tenant::new).transpose()?;
    let tenant = viewer.caller.choose(requested)?.unwrap_or_default();
    let queue = Queue::new(form.value("queue"))?;
    let client = viewer.caller.client(&viewer.app).await?;
    let did = match form.get("action") {
        Some("pause") => {
            let by = viewer.caller.name(&viewer.app).await?;
            let reason = form.get("reason").map(str::to_owned);
            let pause = PausePatch::Pause {
                reason,
                until: None,
            };
            client
                .pause_queue_with(tenant, queue, pause, by.as_deref())
                .await?;
            "pause"
        }
        Some("resume") => {
            client.resume_queue(tenant, queue).await?;
            "resume"
        }
        _ => return Err(Problem::invalid("action", "there is no such action").into()),
    };
    Ok(redirect_back("/queues", did, None))
}
