//! Batches: their progress and their jobs.

use askama::Template;
use axum::extract::Path;
use steadfast_core::{BatchId, BatchJobFilter, BatchName, BatchStatus, JobId};
use steadfast_store::{BatchFilter, BatchRecord, JobFilter};

use crate::{
    api::work::{batches, job_search::find_page},
    dashboard::{
        page::{
            Detail, Editor, Layout, List, PageResult, Viewer, done, no_such_action, parse_id,
            render,
        },
        parts::{JobRow, read_payloads},
    },
    limits,
};

#[derive(Template)]
#[template(path = "lists/batches.html")]
struct BatchesPage {
    layout: Layout,
    list: List<BatchRow>,
    is_unfinished_only: bool,
}

#[derive(Template)]
#[template(path = "details/batch.html")]
struct BatchPage {
    layout: Layout,
    detail: Detail,
    row: BatchRow,
    list: List<JobRow>,
    filters: Vec<FilterLink>,
}

/// Shows only some jobs of a batch.
struct FilterLink {
    name: &'static str,
    address: String,
    is_current: bool,
}

/// A batch on a page.
struct BatchRow {
    record: BatchRecord,
    status: BatchStatus,
    ended: u64,
}

impl BatchRow {
    fn of(record: BatchRecord) -> Self {
        Self {
            status: record.counts.status(),
            ended: record.counts.total - record.counts.unfinished(),
            record,
        }
    }

    fn name(&self) -> &str {
        let name = self.record.name.as_ref();
        name.map_or("Batch", BatchName::as_str)
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

    /// The jobs that it creates: when, which, and whether that has happened.
    fn callbacks(&self) -> Vec<(&'static str, JobId, bool)> {
        let BatchRecord { counts, .. } = self.record;
        let on_end = self.record.on_end;
        let on_end = on_end.map(|id| ("After all jobs ended", id, counts.end_created));
        let on_success = self.record.on_success;
        let on_success =
            on_success.map(|id| ("After all jobs succeeded", id, counts.success_created));
        on_end.into_iter().chain(on_success).collect()
    }
}

pub async fn page(viewer: Viewer) -> PageResult {
    let fields = &viewer.fields;
    let is_unfinished_only = fields.get("unfinished").is_some();
    let filter = BatchFilter {
        tenant: viewer.caller.tenant.clone(),
        is_unfinished: is_unfinished_only,
        ..BatchFilter::default()
    };
    let page = fields.page::<BatchId>();
    let found = viewer.app.client.batches(filter, page).await?;
    let layout = viewer.layout("/batches", "Batches");
    render(&BatchesPage {
        list: List::page(("/batches", fields), &page, found, BatchRow::of),
        is_unfinished_only,
        layout,
    })
}

pub async fn detail_page(viewer: Viewer, Path(id): Path<String>) -> PageResult {
    let id: BatchId = parse_id(&id)?;
    let record = batches::find(&viewer.app, &viewer.caller, id).await?;
    let fields = &viewer.fields;
    let state: Option<BatchJobFilter> = fields.get("state").map(str::parse).transpose()?;
    let page = fields.page::<JobId>();
    let filter = JobFilter::of_batch(id, state);
    let mut jobs = find_page(&viewer.app.client, filter, page, limits::PAGE_LIST_TIME_MAX).await?;
    let layout = viewer.layout("/batches", format!("Batch {id}"));
    let batch = BatchRow::of(record);
    let detail = Detail::new("/batches", id, batch.name());
    let all = FilterLink {
        name: "all",
        address: detail.path.clone(),
        is_current: state.is_none(),
    };
    let others = BatchJobFilter::ALL.iter().map(|filter| FilterLink {
        name: filter.as_str(),
        address: format!("{}?state={filter}", detail.path),
        is_current: state == Some(*filter),
    });
    read_payloads(&viewer.app, &viewer.caller, &mut jobs.items).await;
    let row = |job| JobRow::of(&job, &layout);
    render(&BatchPage {
        filters: std::iter::once(all).chain(others).collect(),
        list: List::page((&detail.path, fields), &page, jobs, row),
        detail: detail.button(batch.is_open(), "", ["close", "Close"]),
        row: batch,
        layout,
    })
}

pub async fn act(Path(id): Path<String>, editor: Editor) -> PageResult {
    let Editor { viewer, form } = editor;
    let id: BatchId = parse_id(&id)?;
    batches::find(&viewer.app, &viewer.caller, id).await?;
    if form.get("action") != Some("close") {
        return Err(no_such_action());
    }
    let client = viewer.caller.client(&viewer.app).await?;
    client.close_batch(id).await?;
    done(&format!("/batches/{id}"), "closed")
}
