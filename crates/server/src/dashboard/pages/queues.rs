//! Queues: how many jobs they hold, how attempts go, and whether they are paused.

use std::{cmp::Reverse, collections::BTreeMap};

use askama::Template;
use steadfast_core::{
    PausePatch, Queue, Tenant,
    explain::{brief, thousands},
};
use steadfast_engine::{DueSummary, Stats};
use steadfast_store::LaneStats;

use crate::{
    api::{flow::queues::QueuePauses, query},
    dashboard::{
        charts::{Svg, TimeBuckets, bars},
        page::{Editor, Layout, List, PageResult, Viewer, done, no_such_action, render},
        parts::DueView,
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
    /// The part of the names to which the list is limited.
    search: String,
    total: String,
    /// The tenant to which it is limited.
    tenant: String,
    /// Of all queues together.
    due: DueView,
    /// The address of this page.
    here: String,
}

struct QueueRow {
    tenant: Tenant,
    name: Queue,
    paused: bool,
    pause: String,
    stats: Stats,
    /// Why some of its due jobs do not start.
    due: DueView,
    stopped: u64,
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
    let due = app
        .dashboard
        .due(&app.client, &*app.node.store(), tenant.as_ref())
        .await?;
    let search = viewer.fields.value("q").to_owned();
    let is_found = |(_, queue): &(Tenant, Queue)| queue.as_str().contains(&search);
    let row = |((tenant, name), lanes): ((Tenant, Queue), Vec<LaneStats>)| {
        let pause = pauses.of(&tenant, &name);
        let pause = pause.map(|pause| pause.describe(layout.now));
        let due = due.iter();
        let due = due.filter(|it| it.tenant == tenant && it.queue == name);
        let due: DueSummary = due.collect();
        QueueRow {
            stopped: due.due - due.startable,
            due: DueView::of(&due, &viewer.caller),
            pause: pause.unwrap_or_default(),
            picture: bars::queue_minutes(&buckets, facts.minutes_of(&tenant, &name)),
            paused: lanes.iter().any(|lane| lane.paused),
            stats: lanes.into_iter().collect(),
            tenant,
            name,
        }
    };
    let total = queues.len();
    let mut rows: Vec<QueueRow> = queues
        .into_iter()
        .filter(|(name, _)| is_found(name))
        .map(row)
        .collect();
    // Those whose jobs do not start come first.
    rows.sort_by_key(|row| Reverse(row.stopped));
    render(&QueuesPage {
        list: List::first(rows, limits::PAGE_QUEUES_MAX, |row| row),
        total: thousands(u64::try_from(total).unwrap_or(u64::MAX)),
        due: DueView::of(&due.iter().collect(), &viewer.caller),
        here: viewer.fields.here("/queues", &[]),
        search,
        tenant: viewer.fields.value("tenant").to_owned(),
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
