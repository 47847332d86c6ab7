//! Jobs that are counted together: how far they are, and which have failed.

use askama::Template;
use axum::extract::Path;
use steadfast_core::{BatchId, BatchJobFilter, BatchName, BatchStatus, JobId};
use steadfast_store::{BatchFilter, BatchRecord, JobFilter};

use crate::{
    api::{self, work::job_search::find_page},
    dashboard::{
        actions::redirect_back,
        forms::fields::parse_id,
        parts::{format::thousands, job_row::JobRow, summary::read_payloads},
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
#[template(path = "lists/batches.html")]
struct BatchesPage {
    layout: Layout,
    rows: Vec<BatchRow>,
    is_unfinished_only: bool,
    next: Option<String>,
    first: Option<String>,
    shows_tenants: bool,
}

#[derive(Template)]
#[template(path = "details/batch.html")]
struct BatchPage {
    layout: Layout,
    row: BatchRow,
    jobs: Vec<JobRow>,
    filters: Vec<FilterLink>,
    next: Option<String>,
    first: Option<String>,
}

/// Shows only some jobs of a batch.
struct FilterLink {
    name: &'static str,
    address: String,
    is_current: bool,
}

/// A batch on a page.
struct BatchRow {
    id: BatchId,
    name: String,
    status: BatchStatus,
    ended: u64,
    ended_text: String,
    /// At least one, for the bar.
    total: u64,
    total_text: String,
    unfinished: String,
    has_unfinished: bool,
    succeeded: String,
    failed: String,
    has_failed: bool,
    created_at: PageTime,
    finished_at: Option<PageTime>,
    tenant: String,
    on_end: Option<CallbackRow>,
    on_success: Option<CallbackRow>,
}

/// A job that a batch makes.
struct CallbackRow {
    id: JobId,
    is_created: bool,
}

impl BatchRow {
    fn of(record: &BatchRecord, layout: &Layout) -> Self {
        let counts = record.counts;
        let callback = |id: Option<JobId>, is_created| id.map(|id| CallbackRow { id, is_created });
        let ended = counts.total - counts.unfinished();
        Self {
            id: record.id,
            name: record
                .name
                .as_ref()
                .map_or("Batch", BatchName::as_str)
                .to_owned(),
            status: counts.status(),
            ended,
            ended_text: thousands(ended),
            total: counts.total.max(1),
            total_text: thousands(counts.total),
            unfinished: thousands(counts.unfinished()),
            has_unfinished: counts.unfinished() > 0,
            succeeded: thousands(counts.succeeded),
            failed: thousands(counts.failed),
            has_failed: counts.failed > 0,
            created_at: layout.time(record.created_at),
            finished_at: record.finished_at.map(|at| layout.time(at)),
            tenant: record.tenant.to_string(),
            on_end: callback(record.on_end, counts.end_created),
            on_success: callback(record.on_success, counts.success_created),
        }
    }

    fn chip(&self) -> &'static str {
        match self.status {
            BatchStatus::Open => "chip-ready",
            BatchStatus::Running => "chip-running",
            BatchStatus::Succeeded => "chip-succeeded",
            BatchStatus::Failed => "chip-failed",
        }
    }

    fn is_open(&self) -> bool {
        self.status == BatchStatus::Open
    }
}

pub async fn page(viewer: Viewer) -> PageResult {
    let fields = &viewer.fields;
    let is_unfinished_only = fields.get("unfinished").is_some();
    let filter = BatchFilter {
        tenant: viewer.caller.tenant.clone(),
        is_unfinished: is_unfinished_only,
    };
    let page = fields.page::<BatchId>()?;
    let found = viewer.app.client.batches(filter, page).await?;
    let layout = viewer.layout("/batches", "Batches");
    let rows = found.items.iter();
    let at = |after: &str| fields.here("/batches", &[("after", after)]);
    render(&BatchesPage {
        rows: rows.map(|record| BatchRow::of(record, &layout)).collect(),
        is_unfinished_only,
        next: found.next.map(|next| at(&next.to_string())),
        first: page.after.map(|_| at("")),
        shows_tenants: viewer.caller.tenant.is_none(),
        layout,
    })
}

pub async fn detail_page(viewer: Viewer, Path(id): Path<String>) -> PageResult {
    let id: BatchId = parse_id(&id)?;
    let record = api::work::batches::find(&viewer.app, &viewer.caller, id).await?;
    let fields = &viewer.fields;
    let state: Option<BatchJobFilter> = fields.get("state").map(str::parse).transpose()?;
    let page = fields.page::<JobId>()?;
    let filter = JobFilter::of_batch(id, state);
    let jobs = find_page(&viewer.app.client, filter, page, limits::PAGE_LIST_TIME_MAX).await?;
    let layout = viewer.layout("/batches", format!("Batch {id}"));
    let path = format!("/batches/{id}");
    let all = FilterLink {
        name: "all",
        address: path.clone(),
        is_current: state.is_none(),
    };
    let others = BatchJobFilter::ALL.iter().map(|filter| FilterLink {
        name: filter.as_str(),
        address: format!("{path}?state={filter}"),
        is_current: state == Some(*filter),
    });
    let mut listed = jobs.items;
    read_payloads(&viewer.app, &mut listed).await;
    render(&BatchPage {
        row: BatchRow::of(&record, &layout),
        jobs: listed.iter().map(|job| JobRow::of(job, &layout)).collect(),
        filters: std::iter::once(all).chain(others).collect(),
        next: jobs
            .next
            .map(|next| fields.here(&path, &[("after", &next.to_string())])),
        first: page.after.map(|_| fields.here(&path, &[("after", "")])),
        layout,
    })
}

pub async fn act(Path(id): Path<String>, editor: Editor) -> PageResult {
    let Editor { viewer, form } = editor;
    let id: BatchId = parse_id(&id)?;
    api::work::batches::find(&viewer.app, &viewer.caller, id).await?;
    if form.get("action") != Some("close") {
        return Err(Problem::invalid("action", "there is no such action").into());
    }
    let client = viewer.caller.client(&viewer.app).await?;
    client.close_batch(id).await?;
    Ok(redirect_back(&format!("/batches/{id}"), "closed", None))
}
