//! An operation in a list, or over the jobs that it changes.

use steadfast_core::{OperationKind, OperationStatus, Tenant};
use steadfast_store::{OperationFilter, OperationRecord, PageRequest};

use crate::{
    app::App,
    dashboard::parts::format::{shorten, thousands},
    limits,
    theme::PageError,
};

/// An operation on a page.
pub struct OperationRow {
    pub record: OperationRecord,
    /// Whether the viewer may open it.
    pub has_page: bool,
}

impl OperationRow {
    pub fn of(record: OperationRecord) -> Self {
        Self {
            record,
            has_page: true,
        }
    }

    pub fn name(&self) -> String {
        operation_name(self.record.operation.kind)
    }

    pub fn status(&self) -> OperationStatus {
        self.record.operation.progress.status
    }

    pub fn chip(&self) -> &'static str {
        match self.status() {
            OperationStatus::Running => "chip-running",
            OperationStatus::Paused => "chip-paused",
            OperationStatus::Done => "chip-succeeded",
            OperationStatus::Cancelled => "chip-cancelled",
            OperationStatus::Stopped => "chip-failed",
        }
    }

    pub fn is_paused(&self) -> bool {
        self.status() == OperationStatus::Paused
    }

    pub fn worked(&self) -> u64 {
        self.record.operation.progress.worked
    }

    /// The end of the progress bar.
    pub fn total(&self) -> u64 {
        self.record.operation.total.max(self.worked()).max(1)
    }

    /// The progress as text: `12 of at least 1,000`.
    pub fn progress(&self) -> String {
        format!("{} of {}", thousands(self.worked()), self.size())
    }

    /// How many jobs it changes.
    pub fn size(&self) -> String {
        let total = thousands(self.record.operation.total);
        match self.record.operation.is_lower_bound {
            true => format!("at least {total}"),
            false => total,
        }
    }

    pub fn tenant(&self) -> &str {
        self.record.tenant.as_ref().map_or("all", Tenant::as_str)
    }

    /// The jobs, in words.
    pub fn jobs(&self) -> String {
        match self.record.is_named {
            true => "selected individually".to_owned(),
            false => shorten(&self.record.filter.to_string(), limits::CELL_CHARS_MAX),
        }
    }

    /// Whether it gives jobs a new retry budget.
    pub fn tries_again(&self) -> bool {
        let kind = self.record.operation.kind;
        matches!(kind, OperationKind::Requeue | OperationKind::Retry)
    }
}

/// The name of an operation for people: `Run now`.
pub fn operation_name(kind: OperationKind) -> String {
    let words = kind.as_str().replace('_', " ");
    let mut letters = words.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// The newest open operations, for the pages of the jobs that they change.
pub async fn open_operations(
    app: &App,
    tenant: Option<&Tenant>,
) -> Result<Vec<OperationRow>, PageError> {
    let filter = OperationFilter {
        tenant: tenant.cloned(),
        is_open: true,
    };
    let page = PageRequest::first(limits::OPEN_OPERATIONS_SHOWN);
    let open = app.client.operations(filter, page).await?;
    Ok(open.items.into_iter().map(OperationRow::of).collect())
}
