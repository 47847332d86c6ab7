//! Why the next job of a queue has not started.

use askama::Template;
use steadfast_core::{Queue, QueueExplanation, Tenant};

use crate::{
    api::work::explain,
    dashboard::{
        page::{Layout, PageResult, Viewer, render},
        parts::StartPanel,
    },
};

#[derive(Template)]
#[template(path = "details/queue_start.html")]
struct QueueStartPage {
    layout: Layout,
    queue: Queue,
    tenant: Tenant,
    explanation: QueueExplanation,
    panel: Option<StartPanel>,
}

pub async fn page(viewer: Viewer) -> PageResult {
    let tenant = viewer.tenant()?.unwrap_or_default();
    let queue = Queue::new(viewer.fields.get("queue").unwrap_or_default())?;
    let layout = viewer.layout("/queues", format!("Queue {queue}"));
    let request = explain::request(&viewer.app, &viewer.caller, &tenant).await?;
    let client = &viewer.app.client;
    let mut explanation = client.explain_queue(&tenant, &queue, &request).await?;
    let next = explanation.next.take();
    let here = viewer.fields.here("/queues/why", &[]);
    render(&QueueStartPage {
        panel: next.map(|next| StartPanel::of(next, (&layout, &viewer.caller), here)),
        queue,
        tenant,
        explanation,
        layout,
    })
}
