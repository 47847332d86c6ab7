//! Work on many jobs: how far it has come, what was done to each job, and its halts.

use askama::Template;
use axum::extract::Path;
use steadfast_core::{Job, JobId, OperationId, OperationJob};
use steadfast_store::{OperationFilter, OperationJobFilter, OperationRecord, Page};

use crate::{
    api,
    dashboard::{
        actions::redirect_back,
        forms::fields::parse_id,
        parts::{
            confirm::Confirmation,
            job_row::JobRow,
            operation_row::{OperationRow, operation_name},
            summary::read_payloads,
        },
        viewer::{Editor, Viewer},
    },
    http::problem::Problem,
    theme::{
        layout::{Layout, render},
        page_error::PageResult,
    },
};

#[derive(Template)]
#[template(path = "lists/operations.html")]
struct OperationsPage {
    layout: Layout,
    rows: Vec<OperationRow>,
    is_open_only: bool,
    next: Option<String>,
    first: Option<String>,
    shows_tenants: bool,
}

#[derive(Template)]
#[template(path = "details/operation.html")]
struct OperationPage {
    layout: Layout,
    row: OperationRow,
    jobs: Vec<ResultRow>,
    is_not_changed_only: bool,
    next: Option<String>,
    first: Option<String>,
}

/// What was done to a job.
struct ResultRow {
    job: JobId,
    /// What it is; `None` if it was deleted.
    row: Option<JobRow>,
    result: Option<String>,
    outcome: Option<String>,
}

impl ResultRow {
    fn of(job: &OperationJob, row: Option<JobRow>) -> Self {
        let words = |name: &str| name.replace('_', " ");
        Self {
            job: job.job,
            row,
            result: job.result.map(|result| words(result.as_str())),
            outcome: job.outcome.map(|outcome| words(outcome.as_str())),
        }
    }
}

pub async fn page(viewer: Viewer) -> PageResult {
    let fields = &viewer.fields;
    let is_open_only = fields.get("open").is_some();
    let filter = OperationFilter {
        tenant: viewer.caller.tenant.clone(),
        is_open: is_open_only,
    };
    let page = fields.page::<OperationId>()?;
    let found = viewer.app.client.operations(filter, page).await?;
    let layout = viewer.layout("/operations", "Operations");
    let rows = found.items.iter();
    render(&OperationsPage {
        rows: rows
            .map(|record| OperationRow::of(record, &layout))
            .collect(),
        is_open_only,
        next: found
            .next
            .map(|next| fields.here("/operations", &[("after", &next.to_string())])),
        first: page
            .after
            .map(|_| fields.here("/operations", &[("after", "")])),
        shows_tenants: viewer.caller.tenant.is_none(),
        layout,
    })
}

pub async fn detail_page(viewer: Viewer, Path(id): Path<String>) -> PageResult {
    let id: OperationId = parse_id(&id)?;
    let record = api::work::operations::find(&viewer.app, &viewer.caller, id).await?;
    let fields = &viewer.fields;
    let is_not_changed_only = fields.get("notChanged").is_some();
    let filter = match is_not_changed_only {
        true => OperationJobFilter::NotChanged,
        false => OperationJobFilter::All,
    };
    let page = fields.page::<JobId>()?;
    let client = &viewer.app.client;
    let jobs: Page<OperationJob, JobId> = client.operation_jobs(id, filter, page).await?;
    let title = format!("{} {id}", operation_name(record.operation.kind));
    let layout = viewer.layout("/operations", title);
    let path = format!("/operations/{id}");
    let ids = jobs.items.iter().map(|it| it.job).collect();
    let listed = viewer.app.node.store().get_listed_jobs(ids).await?;
    let mut listed: Vec<Job> = listed.into_iter().flatten().collect();
    read_payloads(&viewer.app, &mut listed).await;
    let rows = jobs.items.iter().map(|it| {
        let job = listed.iter().find(|job| job.id == it.job);
        ResultRow::of(it, job.map(|job| JobRow::of(job, &layout)))
    });
    render(&OperationPage {
        row: OperationRow::of(&record, &layout),
        jobs: rows.collect(),
        is_not_changed_only,
        next: jobs
            .next
            .map(|next| fields.here(&path, &[("after", &next.to_string())])),
        first: page.after.map(|_| fields.here(&path, &[("after", "")])),
        layout,
    })
}

pub async fn act(Path(id): Path<String>, editor: Editor) -> PageResult {
    let Editor { viewer, form } = editor;
    let id: OperationId = parse_id(&id)?;
    let record = api::work::operations::find(&viewer.app, &viewer.caller, id).await?;
    let here = format!("/operations/{id}");
    let back = form.get("back").unwrap_or(&here);
    if form.get("action") == Some("cancel") && form.get("confirmed").is_none() {
        return cancel_page(&viewer, &record, back);
    }
    let by = viewer.caller.actor(&viewer.app).await?;
    let client = &viewer.app.client;
    let did = match form.get("action") {
        Some("pause") => client.pause_operation(id, by).await.map(|_| "pause"),
        Some("resume") => client.resume_operation(id, by).await.map(|_| "resume"),
        Some("cancel") => client.cancel_operation(id, by).await.map(|_| "ended"),
        _ => return Err(Problem::invalid("action", "there is no such action").into()),
    };
    Ok(redirect_back(back, did?, None))
}

fn cancel_page(viewer: &Viewer, record: &OperationRecord, back: &str) -> PageResult {
    let confirmation = Confirmation {
        name: record.operation.to_string(),
        consequence: "It ends here and cannot be resumed. What it has done stays done; jobs that \
            it has not come to stay as they are.",
        verb: "Cancel operation",
        action: "cancel",
        path: format!("/operations/{}/act", record.id),
        id: record.id.to_string(),
        back: back.to_owned(),
    };
    confirmation.page(viewer, "/operations")
}
