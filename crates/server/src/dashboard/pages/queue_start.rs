//! Why the next job of a queue has not started.

use askama::Template;
use steadfast_core::{Queue, QueueExplanation, Tenant};

use crate::{
    api::work::explain,
    dashboard::{
        page::{Layout, PageResult, Viewer, render},
        parts::{StartPanel, thousands},
    },
};

#[derive(Template)]
#[template(path = "details/queue_start.html")]
struct QueueStartPage {
    layout: Layout,
    queue: String,
    tenant: String,
    sentence: String,
    ready: String,
    running: String,
    scheduled: String,
    panel: Option<StartPanel>,
}

pub async fn page(viewer: Viewer) -> PageResult {
    let requested = viewer.fields.get("tenant").map(Tenant::new).transpose()?;
    let tenant = viewer.caller.choose(requested)?.unwrap_or_default();
    let queue = Queue::new(viewer.fields.get("queue").unwrap_or_default())?;
    let layout = viewer.layout("/queues", format!("Queue {queue}"));
    let request = explain::request(&viewer.app, &viewer.caller, &tenant).await?;
    let client = &viewer.app.client;
    let explanation = client.explain_queue(&tenant, &queue, &request).await?;
    let QueueExplanation {
        ready,
        running,
        scheduled,
        sentence,
        next,
        ..
    } = explanation;
    render(&QueueStartPage {
        queue: queue.to_string(),
        tenant: tenant.to_string(),
        sentence,
        ready: thousands(ready),
        running: thousands(running),
        scheduled: thousands(scheduled),
        panel: next.map(|next| StartPanel::of(next, &layout)),
        layout,
    })
}
