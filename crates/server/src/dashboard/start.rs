//! Why jobs have not started: a panel on the page of a job, and a page for each queue.

use askama::Template;
use steadfast_core::{Queue, QueueExplanation, StartExplanation, Tenant};

use super::{
    format::{PageTime, thousands},
    frame::{Frame, render},
    page_error::PageResult,
    viewer::Viewer,
};
use crate::api::explain;

/// What stands between a job and its start.
pub struct StartPanel {
    pub job: String,
    pub claimable: bool,
    pub blockers: Vec<BlockerRow>,
    /// When it will probably start, and what that is based on.
    pub estimate: Option<(PageTime, String)>,
    pub action: Option<String>,
}

pub struct BlockerRow {
    pub kind: String,
    pub sentence: String,
    pub holders: Vec<String>,
}

impl StartPanel {
    pub fn of(explanation: StartExplanation, frame: &Frame) -> Self {
        let blockers = explanation.blockers.into_iter();
        let estimate = explanation.estimate.filter(|it| it.at > frame.now);
        Self {
            job: explanation.job.to_string(),
            claimable: explanation.claimable,
            blockers: blockers
                .map(|blocker| BlockerRow {
                    kind: blocker.kind.as_str().replace('_', " "),
                    sentence: blocker.sentence,
                    holders: blocker
                        .holders
                        .iter()
                        .map(|it| it.job.to_string())
                        .chain(blocker.jobs.iter().map(ToString::to_string))
                        .collect(),
                })
                .collect(),
            estimate: estimate.map(|it| (frame.time(it.at), it.basis)),
            action: explanation.action,
        }
    }
}

#[derive(Template)]
#[template(path = "queue_start.html")]
struct QueueStartPage {
    frame: Frame,
    queue: String,
    tenant: String,
    sentence: String,
    ready: String,
    running: String,
    scheduled: String,
    panel: Option<StartPanel>,
}

/// Why nothing, or something, runs in a queue.
pub async fn queue_page(viewer: Viewer) -> PageResult {
    let requested = viewer.fields.get("tenant").map(Tenant::new).transpose()?;
    let tenant = viewer.caller.choose(requested)?.unwrap_or_default();
    let queue = Queue::new(viewer.fields.get("queue").unwrap_or_default())?;
    let frame = Frame::of(&viewer, "/queues", format!("Queue {queue}"));
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
        panel: next.map(|next| StartPanel::of(next, &frame)),
        frame,
    })
}
