//! Nodes and workers: which nodes are alive, and which worker holds how many jobs.

use std::collections::BTreeMap;

use askama::Template;
use steadfast_core::{JobLabel, Note};
use steadfast_engine::NodeState;
use steadfast_store::{JobFilter, JobPageRequest};

use crate::{
    dashboard::{parts::format::shorten, viewer::Viewer},
    limits,
    node::{
        versions::{self, VersionUse},
        workers::{self, WorkerState},
    },
    theme::{
        layout::{Layout, render},
        page_error::PageResult,
        page_time::PageTime,
    },
};

#[derive(Template)]
#[template(path = "lists/nodes.html")]
struct NodesPage {
    layout: Layout,
    /// The node that served the page.
    name: String,
    nodes: Vec<NodeRow>,
    workers: Vec<WorkerRow>,
    versions: Vec<VersionRow>,
    known: Vec<KnownWorkerRow>,
    /// How many more workers there are.
    hidden: usize,
    /// There are even more than that.
    has_more: bool,
    /// How many running jobs were read, if there are more.
    read: Option<usize>,
}

struct NodeRow {
    state: NodeState,
    is_alive: bool,
    queues: String,
    started: PageTime,
    seen: PageTime,
}

impl NodeRow {
    fn of(state: NodeState, layout: &Layout) -> Self {
        let queues: Vec<&str> = state.queues.iter().map(|queue| queue.as_str()).collect();
        Self {
            is_alive: state.is_alive(layout.now),
            queues: if queues.is_empty() {
                "all".to_owned()
            } else {
                queues.join(", ")
            },
            started: layout.time(state.started_at),
            seen: layout.time(state.last_seen),
            state,
        }
    }
}

/// A version of a program, and who runs it.
struct VersionRow {
    program: &'static str,
    count: VersionUse,
    since: PageTime,
}

/// The newest version first.
fn versions(nodes: &[NodeState], workers: &[WorkerState], layout: &Layout) -> Vec<VersionRow> {
    let nodes = nodes
        .iter()
        .map(|it| (&*it.version, it.started_at, it.is_alive(layout.now)));
    let nodes = versions::versions(nodes).into_iter();
    let workers = versions::worker_versions(workers, layout.now).into_iter();
    let all = nodes
        .map(|it| ("nodes", it))
        .chain(workers.map(|it| ("workers", it)));
    let mut rows: Vec<VersionRow> = all
        .map(|(program, count)| VersionRow {
            program,
            since: layout.time(count.since),
            count,
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.since.at));
    rows.truncate(limits::PAGE_WORKERS_MAX);
    rows
}

/// A worker that has claimed within the last day.
struct KnownWorkerRow {
    state: WorkerState,
    is_alive: bool,
    queues: String,
    kinds: String,
    seen: PageTime,
}

impl KnownWorkerRow {
    fn of(state: WorkerState, layout: &Layout) -> Self {
        let queues: Vec<&str> = state.queues.iter().map(|queue| queue.as_str()).collect();
        let kinds: Vec<&str> = state.kinds.iter().map(|kind| kind.as_str()).collect();
        let shown = |names: Vec<&str>| match names.is_empty() {
            true => "all".to_owned(),
            false => shorten(&names.join(", "), limits::CELL_CHARS_MAX),
        };
        Self {
            is_alive: state.is_alive(layout.now),
            queues: shown(queues),
            kinds: shown(kinds),
            seen: layout.time(state.last_seen),
            state,
        }
    }
}

struct WorkerRow {
    name: String,
    running: usize,
    oldest: PageTime,
    lease: Option<PageTime>,
    note: Option<String>,
}

pub async fn page(viewer: Viewer) -> PageResult {
    let app = &viewer.app;
    let layout = viewer.layout("/nodes", "Nodes and workers");
    let filter = JobFilter {
        tenant: viewer.caller.tenant.clone(),
        label: Some(JobLabel::Running),
        ..JobFilter::default()
    };
    let listed = app
        .client
        .jobs(filter, JobPageRequest::first(limits::PAGE_RUNNING_JOBS_MAX))
        .await?;
    let mut holders: BTreeMap<String, WorkerRow> = BTreeMap::new();
    for job in &listed.items {
        let Some(name) = &job.progress.worker else {
            continue;
        };
        let started = layout.time(job.progress.started_at.unwrap_or(job.created_at));
        let worker = holders
            .entry(name.to_string())
            .or_insert_with(|| WorkerRow {
                name: name.to_string(),
                running: 0,
                oldest: started,
                lease: None,
                note: None,
            });
        worker.running += 1;
        worker.oldest.at = worker.oldest.at.min(started.at);
        let lease = job.progress.lease_until.map(|at| layout.time(at));
        worker.lease = match (worker.lease, lease) {
            (Some(one), Some(other)) if one.at <= other.at => Some(one),
            (one, other) => other.or(one),
        };
        let note = job.progress.note.as_ref();
        worker.note = note
            .map(|note| shorten(&Note::read(note).to_string(), limits::CELL_CHARS_MAX))
            .or(worker.note.take());
    }
    // Nodes serve all tenants, and their load is that of all.
    let nodes = match viewer.caller.tenant {
        None => app.client.nodes().await?,
        Some(_) => Vec::new(),
    };
    let tenant = viewer.caller.tenant.as_ref();
    let most = limits::WORKERS_PER_TENANT_MAX;
    let mut known = workers::page(&*app.node.store(), tenant, None, most + 1).await?;
    let has_more = known.len() > most;
    let versions = versions(&nodes, &known, &layout);
    known.sort_by_key(|state| std::cmp::Reverse(state.last_seen));
    let hidden = known.len().saturating_sub(limits::PAGE_WORKERS_MAX);
    known.truncate(limits::PAGE_WORKERS_MAX);
    let known = known.into_iter();
    render(&NodesPage {
        name: app.node.name().to_string(),
        versions,
        nodes: nodes
            .into_iter()
            .map(|state| NodeRow::of(state, &layout))
            .collect(),
        workers: holders.into_values().collect(),
        known: known
            .map(|state| KnownWorkerRow::of(state, &layout))
            .collect(),
        hidden,
        has_more,
        read: listed.next.map(|_| listed.items.len()),
        layout,
    })
}
