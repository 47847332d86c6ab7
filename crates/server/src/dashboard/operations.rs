//! Work on many jobs: how far it has come, what was done to each job, and its halts.

use askama::Template;
use axum::extract::Path;
use steadfast_core::{
    Job, JobId, OperationId, OperationJob, OperationKind, OperationStatus, Tenant,
};
use steadfast_store::{OperationFilter, OperationJobFilter, OperationRecord, Page, PageRequest};

use super::{
    fields::parse_id,
    format::{PageTime, shorten, thousands},
    frame::{Frame, redirect_back, render},
    jobs::JobRow,
    page_error::{PageError, PageResult},
    question::Question,
    summary::read_payloads,
    viewer::{Editor, Viewer},
};
use crate::{App, api, limits, problem::Problem};

#[derive(Template)]
#[template(path = "operations.html")]
struct OperationsPage {
    frame: Frame,
    rows: Vec<OperationRow>,
    is_open_only: bool,
    next: Option<String>,
    first: Option<String>,
    shows_tenants: bool,
}

#[derive(Template)]
#[template(path = "operation.html")]
struct OperationPage {
    frame: Frame,
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

/// An operation on a page.
pub struct OperationRow {
    pub id: OperationId,
    pub kind: &'static str,
    /// The same for people: `Run now`.
    pub name: String,
    pub status: &'static str,
    pub chip: &'static str,
    pub is_open: bool,
    /// Whether the viewer may look at it.
    pub has_page: bool,
    pub is_paused: bool,
    pub worked: u64,
    pub worked_text: String,
    pub total: u64,
    pub total_text: String,
    pub changed: String,
    pub by: String,
    pub created_at: PageTime,
    pub finished_at: Option<PageTime>,
    pub tenant: String,
    /// Which jobs.
    pub jobs: String,
    pub pace: Option<u32>,
    /// The stage and the outcomes of a canary.
    pub canary: Option<CanaryText>,
    pub report: String,
}

/// How the jobs of a canary are doing.
pub struct CanaryText {
    pub stage: usize,
    pub succeeded: String,
    pub failed: String,
}

impl OperationRow {
    pub fn of(record: &OperationRecord, frame: &Frame) -> Self {
        let operation = &record.operation;
        let progress = &operation.progress;
        let at_least = match operation.is_lower_bound {
            true => "at least ",
            false => "",
        };
        Self {
            id: record.id,
            kind: operation.kind.as_str(),
            name: name(operation.kind),
            status: progress.status.as_str(),
            chip: match progress.status {
                OperationStatus::Running => "chip-running",
                OperationStatus::Paused => "chip-paused",
                OperationStatus::Done => "chip-succeeded",
                OperationStatus::Cancelled => "chip-cancelled",
                OperationStatus::Stopped => "chip-failed",
            },
            is_open: record.is_open(),
            has_page: true,
            is_paused: progress.status == OperationStatus::Paused,
            worked: progress.worked,
            worked_text: thousands(progress.worked),
            total: operation.total.max(progress.worked).max(1),
            total_text: format!("{at_least}{}", thousands(operation.total)),
            changed: thousands(progress.changed),
            by: record.by.name.clone(),
            created_at: frame.time(record.created_at),
            finished_at: record.finished_at.map(|at| frame.time(at)),
            tenant: record
                .tenant
                .as_ref()
                .map_or("all", Tenant::as_str)
                .to_owned(),
            jobs: match record.is_named {
                true => "named one by one".to_owned(),
                false => shorten(&record.filter.to_string(), limits::CELL_CHARS_MAX),
            },
            pace: operation.pace,
            canary: operation.canary.map(|_| CanaryText {
                stage: progress.stage + 1,
                succeeded: thousands(progress.outcomes.succeeded),
                failed: thousands(progress.outcomes.failed()),
            }),
            report: operation.to_string(),
        }
    }
}

/// What an operation does, as people read it: `Run now`.
fn name(kind: OperationKind) -> String {
    let words = kind.as_str().replace('_', " ");
    let mut letters = words.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

impl OperationRow {
    /// Whether it gives jobs a new retry budget.
    pub fn tries_again(&self) -> bool {
        matches!(self.kind, "requeue" | "retry")
    }
}

/// The newest operations that are under way, for the pages of the jobs that they change.
pub async fn open_operations(
    app: &App,
    tenant: Option<&Tenant>,
    frame: &Frame,
) -> Result<Vec<OperationRow>, PageError> {
    let filter = OperationFilter {
        tenant: tenant.cloned(),
        is_open: true,
    };
    let page = PageRequest::first(limits::OPEN_OPERATIONS_SHOWN);
    let open = app.client.operations(filter, page).await?;
    let rows = open.items.iter();
    Ok(rows.map(|record| OperationRow::of(record, frame)).collect())
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
    let frame = Frame::of(&viewer, "/operations", "Operations");
    let rows = found.items.iter();
    render(&OperationsPage {
        rows: rows
            .map(|record| OperationRow::of(record, &frame))
            .collect(),
        is_open_only,
        next: found
            .next
            .map(|next| fields.here("/operations", &[("after", &next.to_string())])),
        first: page
            .after
            .map(|_| fields.here("/operations", &[("after", "")])),
        shows_tenants: viewer.caller.tenant.is_none(),
        frame,
    })
}

pub async fn detail_page(viewer: Viewer, Path(id): Path<String>) -> PageResult {
    let id: OperationId = parse_id(&id)?;
    let record = api::operations::find(&viewer.app, &viewer.caller, id).await?;
    let fields = &viewer.fields;
    let is_not_changed_only = fields.get("notChanged").is_some();
    let filter = match is_not_changed_only {
        true => OperationJobFilter::NotChanged,
        false => OperationJobFilter::All,
    };
    let page = fields.page::<JobId>()?;
    let client = &viewer.app.client;
    let jobs: Page<OperationJob, JobId> = client.operation_jobs(id, filter, page).await?;
    let title = format!("{} {id}", name(record.operation.kind));
    let frame = Frame::of(&viewer, "/operations", title);
    let path = format!("/operations/{id}");
    let ids = jobs.items.iter().map(|it| it.job).collect();
    let listed = viewer.app.node.store().get_listed_jobs(ids).await?;
    let mut listed: Vec<Job> = listed.into_iter().flatten().collect();
    read_payloads(&viewer.app, &mut listed).await;
    let rows = jobs.items.iter().map(|it| {
        let job = listed.iter().find(|job| job.id == it.job);
        ResultRow::of(it, job.map(|job| JobRow::of(job, &frame)))
    });
    render(&OperationPage {
        row: OperationRow::of(&record, &frame),
        jobs: rows.collect(),
        is_not_changed_only,
        next: jobs
            .next
            .map(|next| fields.here(&path, &[("after", &next.to_string())])),
        first: page.after.map(|_| fields.here(&path, &[("after", "")])),
        frame,
    })
}

pub async fn act(Path(id): Path<String>, editor: Editor) -> PageResult {
    let Editor { viewer, form } = editor;
    let id: OperationId = parse_id(&id)?;
    let record = api::operations::find(&viewer.app, &viewer.caller, id).await?;
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
    let question = Question {
        name: record.operation.to_string(),
        consequence: "It ends here and cannot be resumed. What it has done stays done; jobs that \
            it has not come to stay as they are.",
        verb: "Cancel operation",
        action: "cancel",
        path: format!("/operations/{}/act", record.id),
        id: record.id.to_string(),
        back: back.to_owned(),
    };
    question.page(viewer, "/operations")
}
