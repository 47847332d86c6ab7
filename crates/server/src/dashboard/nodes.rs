//! Nodes and workers: who is there, and who holds what.

use std::collections::BTreeMap;

use askama::Template;
use steadfast_core::JobLabel;
use steadfast_engine::NodeState;
use steadfast_store::{JobFilter, JobPageRequest};

use super::{
    frame::{Frame, HtmlPage, render},
    shown::{When, line},
    viewer::Viewer,
};

/// How many running jobs are looked at.
const SAMPLE: usize = 500;
const NOTE_CHARS_MAX: usize = 120;

#[derive(Template)]
#[template(path = "nodes.html")]
struct NodesPage {
    frame: Frame,
    /// The node that answers.
    name: String,
    nodes: Vec<Node>,
    workers: Vec<Worker>,
    has_more: bool,
}

struct Node {
    state: NodeState,
    is_alive: bool,
    queues: String,
    started: When,
    seen: When,
}

impl Node {
    fn of(state: NodeState, frame: &Frame) -> Self {
        let queues: Vec<&str> = state.queues.iter().map(|queue| queue.as_str()).collect();
        Self {
            is_alive: state.is_alive(frame.now),
            queues: match queues.is_empty() {
                true => "all".to_owned(),
                false => queues.join(", "),
            },
            started: frame.when(state.started_at),
            seen: frame.when(state.last_seen),
            state,
        }
    }
}

struct Worker {
    name: String,
    running: usize,
    oldest: When,
    lease: Option<When>,
    note: Option<String>,
}

pub async fn page(viewer: Viewer) -> HtmlPage {
    let app = &viewer.app;
    let frame = Frame::of(&viewer, "/nodes", "Nodes and workers");
    let filter = JobFilter {
        tenant: viewer.caller.tenant.clone(),
        label: Some(JobLabel::Running),
        ..JobFilter::default()
    };
    let listed = app
        .client
        .jobs(filter, JobPageRequest::first(SAMPLE))
        .await?;
    let mut workers: BTreeMap<String, Worker> = BTreeMap::new();
    for job in &listed.items {
        let Some(name) = &job.progress.worker else {
            continue;
        };
        let started = frame.when(job.progress.started_at.unwrap_or(job.created_at));
        let worker = workers.entry(name.to_string()).or_insert_with(|| Worker {
            name: name.to_string(),
            running: 0,
            oldest: started,
            lease: None,
            note: None,
        });
        worker.running += 1;
        worker.oldest.at = worker.oldest.at.min(started.at);
        let lease = job.progress.lease_until.map(|at| frame.when(at));
        worker.lease = match (worker.lease, lease) {
            (Some(one), Some(other)) if one.at <= other.at => Some(one),
            (one, other) => other.or(one),
        };
        let note = job.progress.note.as_ref();
        worker.note = note
            .map(|note| line(note, NOTE_CHARS_MAX))
            .or(worker.note.take());
    }
    let nodes = app.client.nodes().await?.into_iter();
    render(&NodesPage {
        name: app.node.name().to_string(),
        nodes: nodes.map(|state| Node::of(state, &frame)).collect(),
        workers: workers.into_values().collect(),
        has_more: listed.next.is_some(),
        frame,
    })
}
