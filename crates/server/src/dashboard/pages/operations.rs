//! Bulk operations: their progress, the result for each job, and pause, resume and cancel.

use askama::Template;
use axum::extract::Path;
use steadfast_core::{Job, JobId, OperationId, OperationJob, OperationOutcomes, OperationResult};
use steadfast_store::{JobDetail, OperationFilter, OperationJobFilter, Page};

use crate::{
    api::work::operations,
    dashboard::{
        page::{
            Detail, Editor, Layout, List, PageResult, Viewer, done, no_such_action, parse_id,
            render,
        },
        parts::{Confirmation, JobRow, OperationRow, operation_name, read_payloads},
    },
};

#[derive(Template)]
#[template(path = "lists/operations.html")]
struct OperationsPage {
    layout: Layout,
    list: List<OperationRow>,
    is_open_only: bool,
}

#[derive(Template)]
#[template(path = "details/operation.html")]
struct OperationPage {
    layout: Layout,
    detail: Detail,
    row: OperationRow,
    list: List<ResultRow>,
    /// What became of the jobs that it tries again.
    outcomes: OperationOutcomes,
    is_not_changed_only: bool,
}

/// The result for a job.
struct ResultRow {
    job: JobId,
    /// The job; `None` if it was deleted.
    row: Option<JobRow>,
    result: Option<String>,
    outcome: Option<String>,
}

impl ResultRow {
    fn of(job: &OperationJob, operation: &OperationRow, row: Option<JobRow>) -> Self {
        let words = |name: &str| name.replace('_', " ");
        Self {
            job: job.job,
            row,
            result: job.result.map(|result| match result {
                OperationResult::Changed => operation.done_word().to_owned(),
                other => words(other.as_str()),
            }),
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
        ..OperationFilter::default()
    };
    let page = fields.page::<OperationId>();
    let found = viewer.app.client.operations(filter, page).await?;
    let layout = viewer.layout("/operations", "Operations");
    render(&OperationsPage {
        list: List::page(("/operations", fields), &page, found, OperationRow::of),
        is_open_only,
        layout,
    })
}

pub async fn detail_page(viewer: Viewer, Path(id): Path<String>) -> PageResult {
    let id: OperationId = parse_id(&id)?;
    let record = operations::find(&viewer.app, &viewer.caller, id).await?;
    let fields = &viewer.fields;
    let is_not_changed_only = fields.get("notChanged").is_some();
    let filter = match is_not_changed_only {
        true => OperationJobFilter::NotChanged,
        false => OperationJobFilter::All,
    };
    let page = fields.page::<JobId>();
    let client = &viewer.app.client;
    let jobs: Page<OperationJob, JobId> = client.operation_jobs(&record, filter, page).await?;
    let outcomes = client.operation_outcomes(&record).await?;
    let title = format!("{} {id}", operation_name(record.operation.kind));
    let layout = viewer.layout("/operations", title);
    let ids = jobs.items.iter().map(|it| it.job).collect();
    let listed = viewer
        .app
        .node
        .store()
        .get_jobs(ids, JobDetail::Listed)
        .await?;
    let mut listed: Vec<Job> = listed.into_iter().flatten().collect();
    read_payloads(&viewer.app, &viewer.caller, &mut listed).await;
    let operation = OperationRow::of(record);
    let row = |it: OperationJob| {
        let job = listed.iter().find(|job| job.id == it.job);
        ResultRow::of(&it, &operation, job.map(|job| JobRow::of(job, &layout)))
    };
    let (is_open, is_paused) = (operation.record.is_open(), operation.is_paused());
    let detail = Detail::new("/operations", id, operation.name())
        .button(is_open && is_paused, "", ["resume", "Resume"])
        .button(is_open && !is_paused, "", ["pause", "Pause"])
        .button(is_open, "danger", ["cancel", "Cancel"]);
    let list = List::page((&detail.path, fields), &page, jobs, row);
    render(&OperationPage {
        list,
        detail,
        row: operation,
        outcomes,
        is_not_changed_only,
        layout,
    })
}

pub async fn act(Path(id): Path<String>, editor: Editor) -> PageResult {
    let Editor { viewer, form } = editor;
    let id: OperationId = parse_id(&id)?;
    let record = operations::find(&viewer.app, &viewer.caller, id).await?;
    let here = format!("/operations/{id}");
    let back = form.get("back").unwrap_or(&here);
    let by = viewer.caller.actor(&viewer.app).await?;
    let client = &viewer.app.client;
    let did = match form.get("action") {
        Some("pause") => client.pause_operation(id, by).await.map(|_| "pause"),
        Some("resume") => client.resume_operation(id, by).await.map(|_| "resume"),
        Some("cancel") if !form.is_confirmed() => {
            let name = record.operation.to_string();
            let confirmation =
                Confirmation::new("/operations", "Cancel operation", name, id.to_string());
            let consequence = "It stops here and cannot be resumed. Jobs that it has changed stay \
                changed; the remaining jobs are not touched.";
            return confirmation
                .on_page()
                .action("cancel", back)
                .page(&viewer, consequence);
        }
        Some("cancel") => client.cancel_operation(id, by).await.map(|_| "ended"),
        _ => return Err(no_such_action()),
    };
    done(back, did?)
}
