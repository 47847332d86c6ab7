//! Queues: how many jobs they hold, how attempts go, and whether they are paused.

use std::collections::BTreeMap;

use askama::Template;
use steadfast_core::{PausePatch, Queue, Tenant, explain::brief};
use steadfast_engine::Stats;
use steadfast_store::LaneStats;

use crate::{
    api::flow::queues::QueuePauses,
    dashboard::{
        actions::redirect_back,
        charts::{bars, series::TimeBuckets, svg::Svg},
        parts::format::{format_percent, thousands},
        viewer::{Editor, Viewer},
    },
    http::problem::Problem,
    limits,
    theme::{
        layout::{Layout, render},
        page_error::PageResult,
        page_time::PageTime,
    },
};

#[derive(Template)]
#[template(path = "lists/queues.html")]
struct QueuesPage {
    layout: Layout,
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
    let layout = viewer.layout("/queues", "Queues");
    let app = &viewer.app;
    let lanes = app.dashboard.lanes(&app.client, tenant.as_ref()).await?;
    let mut queues: BTreeMap<(Tenant, Queue), Vec<LaneStats>> = BTreeMap::new();
    for lane in lanes {
        let name = (lane.tenant.clone(), lane.queue.clone());
        queues.entry(name).or_default().push(lane);
    }
    let facts = app
        .dashboard
        .overview(&app.client, &*app.node.store(), tenant.as_ref())
        .await?;
    let buckets = TimeBuckets::new(layout.now, limits::CHART_HOUR);
    let pauses = QueuePauses::read(app).await?;
    let hidden = queues.len().saturating_sub(limits::PAGE_QUEUES_MAX);
    let rows = queues.into_iter().take(limits::PAGE_QUEUES_MAX);
    render(&QueuesPage {
        rows: rows
            .map(|((tenant, queue), lanes)| {
                let pause = pauses.of(&tenant, &queue);
                let pause = pause.map_or(String::new(), |pause| pause.describe(layout.now));
                let minutes = facts.minutes_of(&tenant, &queue);
                QueueRow {
                    pause,
                    picture: bars::queue_minutes(&buckets, minutes),
                    ..queue_row(tenant, queue, lanes, &layout)
                }
            })
            .collect(),
        hidden,
        recent: brief(limits::RECENT_WINDOW),
        shows_tenants: viewer.caller.tenant.is_none(),
        layout,
    })
}

fn queue_row(tenant: Tenant, queue: Queue, lanes: Vec<LaneStats>, layout: &Layout) -> QueueRow {
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
        oldest: stats.oldest_ready.map(|at| layout.time(at)),
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
