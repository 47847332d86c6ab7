//! Queues: how many jobs they hold, how attempts go, and whether they are paused.

use std::collections::BTreeMap;

use askama::Template;
use steadfast_core::{PausePatch, Queue, Tenant, explain::brief};
use steadfast_engine::Stats;
use steadfast_store::LaneStats;

use crate::{
    api::{flow::queues::QueuePauses, query},
    dashboard::{
        charts::{Svg, TimeBuckets, bars},
        page::{Editor, Layout, List, PageResult, Viewer, done, no_such_action, render},
    },
    limits,
};

#[derive(Template)]
#[template(path = "lists/queues.html")]
struct QueuesPage {
    layout: Layout,
    list: List<QueueRow>,
    /// How far back the recent figures reach.
    recent: String,
}

struct QueueRow {
    tenant: Tenant,
    name: Queue,
    paused: bool,
    pause: String,
    stats: Stats,
    /// Attempts of the last hour.
    picture: Svg,
}

impl QueueRow {
    fn counts(&self) -> [(&'static str, u64); 5] {
        [
            ("Ready", self.stats.ready),
            ("Running", self.stats.running),
            ("Retrying", self.stats.retrying),
            ("Scheduled", self.stats.scheduled),
            ("Dead letters", self.stats.dead_letters),
        ]
    }
}

pub async fn page(viewer: Viewer) -> PageResult {
    let tenant = viewer.tenant()?;
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
    let row = |((tenant, name), lanes): ((Tenant, Queue), Vec<LaneStats>)| {
        let pause = pauses.of(&tenant, &name);
        let pause = pause.map(|pause| pause.describe(layout.now));
        QueueRow {
            pause: pause.unwrap_or_default(),
            picture: bars::queue_minutes(&buckets, facts.minutes_of(&tenant, &name)),
            paused: lanes.iter().any(|lane| lane.paused),
            stats: lanes.into_iter().collect(),
            tenant,
            name,
        }
    };
    let queues = queues.into_iter().collect();
    render(&QueuesPage {
        list: List::first(queues, limits::PAGE_QUEUES_MAX, row),
        recent: brief(limits::RECENT_WINDOW),
        layout,
    })
}

pub async fn act(editor: Editor) -> PageResult {
    let Editor { viewer, form } = editor;
    let tenant = query::tenant(form.get("tenant"), &viewer.caller)?.unwrap_or_default();
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
        _ => return Err(no_such_action()),
    };
    done("/queues", did)
}
