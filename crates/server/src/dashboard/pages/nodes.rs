//! Nodes and workers: which nodes are alive, and which worker holds how many jobs.

use std::collections::BTreeMap;

use askama::Template;
use steadfast_core::{Job, JobLabel, Note, Timestamp};
use steadfast_engine::NodeState;
use steadfast_store::{JobFilter, JobPageRequest};

use crate::{
    dashboard::{
        page::{Layout, List, PageResult, PageTime, Viewer, render},
        parts::shorten,
    },
    limits,
    node::{
        versions::{self, VersionUse},
        workers::{self, RunningJobs, WorkerState},
    },
};

#[derive(Template)]
#[template(path = "lists/nodes.html")]
struct NodesPage {
    layout: Layout,
    /// The node that served the page.
    name: String,
    nodes: Vec<(NodeState, usize)>,
    workers: Vec<WorkerRow>,
    versions: Vec<(&'static str, VersionUse)>,
    list: List<(WorkerState, usize)>,
    /// There are even more than that.
    has_more: bool,
    /// How many running jobs were read, if there are more.
    read: Option<usize>,
}

/// The newest version first, with the programs that run it.
fn versions(
    nodes: &[NodeState],
    workers: &[WorkerState],
    now: Timestamp,
) -> Vec<(&'static str, VersionUse)> {
    let nodes = nodes
        .iter()
        .map(|it| (&*it.version, it.started_at, it.is_alive(now)));
    let nodes = versions::versions(nodes).into_iter();
    let workers = versions::worker_versions(workers, now).into_iter();
    let all = nodes
        .map(|it| ("nodes", it))
        .chain(workers.map(|it| ("workers", it)));
    let mut rows: Vec<_> = all.collect();
    rows.sort_by_key(|(_, version)| std::cmp::Reverse(version.since));
    rows.truncate(limits::PAGE_WORKERS_MAX);
    rows
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
    let (holders, running) = holders(&listed.items, &layout);
    // Nodes serve all tenants, and their load is that of all.
    let nodes = match viewer.caller.tenant {
        None => app.client.nodes().await?,
        Some(_) => Vec::new(),
    };
    let tenant = viewer.caller.tenant.as_ref();
    let most = limits::WORKERS_PER_TENANT_MAX;
    let mut known = workers::page(&*app.node.store(), tenant, None, most + 1).await?;
    let has_more = known.len() > most;
    let versions = versions(&nodes, &known, layout.now);
    known.sort_by_key(|state| std::cmp::Reverse(state.last_seen));
    let of_node = |node: NodeState| {
        let count = running.of(&node.name, None);
        (node, count)
    };
    render(&NodesPage {
        name: app.node.name().to_string(),
        versions,
        nodes: nodes.into_iter().map(of_node).collect(),
        workers: holders.into_values().collect(),
        list: List::first(known, limits::PAGE_WORKERS_MAX, |state| {
            let count = running.of(&state.name, state.tenant.as_ref());
            (state, count)
        }),
        has_more,
        read: listed.next.map(|_| listed.items.len()),
        layout,
    })
}

/// Who holds these jobs, and how many.
fn holders(jobs: &[Job], layout: &Layout) -> (BTreeMap<String, WorkerRow>, RunningJobs) {
    let mut holders: BTreeMap<String, WorkerRow> = BTreeMap::new();
    let mut running = RunningJobs::default();
    for job in jobs {
        let Some(name) = &job.progress.worker else {
            continue;
        };
        running.add(job);
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
    (holders, running)
}
