//! An operation in a list, or over the jobs that it changes.

use steadfast_core::{OperationId, OperationKind, OperationStatus, Tenant};
use steadfast_store::{OperationFilter, OperationRecord, PageRequest};

use crate::{
    app::App,
    dashboard::parts::format::{shorten, thousands},
    limits,
    theme::{Layout, PageError, PageTime},
};

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
    pub fn of(record: &OperationRecord, layout: &Layout) -> Self {
        let operation = &record.operation;
        let progress = &operation.progress;
        let at_least = match operation.is_lower_bound {
            true => "at least ",
            false => "",
        };
        Self {
            id: record.id,
            kind: operation.kind.as_str(),
            name: operation_name(operation.kind),
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
            created_at: layout.time(record.created_at),
            finished_at: record.finished_at.map(|at| layout.time(at)),
            tenant: record
                .tenant
                .as_ref()
                .map_or("all", Tenant::as_str)
                .to_owned(),
            jobs: match record.is_named {
                true => "selected individually".to_owned(),
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

    /// Whether it gives jobs a new retry budget.
    pub fn tries_again(&self) -> bool {
        matches!(self.kind, "requeue" | "retry")
    }
}

/// What an operation does, as people read it: `Run now`.
pub fn operation_name(kind: OperationKind) -> String {
    let words = kind.as_str().replace('_', " ");
    let mut letters = words.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// The newest operations that are under way, for the pages of the jobs that they change.
pub async fn open_operations(
    app: &App,
    tenant: Option<&Tenant>,
    layout: &Layout,
) -> Result<Vec<OperationRow>, PageError> {
    let filter = OperationFilter {
        tenant: tenant.cloned(),
        is_open: true,
    };
    let page = PageRequest::first(limits::OPEN_OPERATIONS_SHOWN);
    let open = app.client.operations(filter, page).await?;
    let rows = open.items.iter();
    Ok(rows
        .map(|record| OperationRow::of(record, layout))
        .collect())
}
