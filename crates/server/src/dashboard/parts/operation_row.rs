//! An operation in a list, or over the jobs that it changes.

use steadfast_core::{OperationKind, OperationOutcomes, OperationStatus, Tenant};
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
            _ if !self.has_jobs() => "none: everything in the store is encrypted again".to_owned(),
            true => "selected individually".to_owned(),
            false => shorten(&self.record.filter.to_string(), limits::CELL_CHARS_MAX),
        }
    }

    /// Whether it works on jobs.
    pub fn has_jobs(&self) -> bool {
        self.record.operation.rotation.is_none()
    }

    /// What it has done to a job.
    pub fn done_word(&self) -> &'static str {
        match self.record.operation.kind {
            OperationKind::Requeue => "requeued",
            OperationKind::Discard => "discarded",
            OperationKind::Cancel => "cancelled",
            OperationKind::Retry => "retried",
            OperationKind::EditPolicy => "policy changed",
            OperationKind::RunNow => "made due",
            OperationKind::Erase => "erased",
            OperationKind::RotateEncryption => "encrypted",
        }
    }

    /// The outcomes of the jobs that it tries again: `Of 25 requeued jobs, 0 succeeded, …`.
    pub fn describe_outcomes(&self, outcomes: &OperationOutcomes) -> Option<String> {
        let changed = self.record.operation.progress.changed;
        if !self.tries_again() || changed == 0 {
            return None;
        }
        let is_canary = self.record.operation.canary.is_some();
        let counted = match is_canary {
            true => changed,
            false => changed.min(limits::OUTCOMES_SHOWN_MAX),
        };
        let newest = if counted < changed { "the newest " } else { "" };
        let jobs = if counted == 1 { "job" } else { "jobs" };
        let pending = counted.saturating_sub(outcomes.total());
        let mut parts = vec![
            format!("{} succeeded", thousands(outcomes.succeeded)),
            format!("{} failed again", thousands(outcomes.failed())),
        ];
        if outcomes.unknown > 0 {
            parts.push(format!("{} changed since", thousands(outcomes.unknown)));
        }
        if pending > 0 {
            parts.push(format!("{} pending", thousands(pending)));
        }
        Some(format!(
            "Of {newest}{} {} {jobs}: {}.",
            thousands(counted),
            self.done_word(),
            parts.join(", ")
        ))
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
        ..OperationFilter::default()
    };
    let page = PageRequest::first(limits::OPEN_OPERATIONS_SHOWN);
    let open = app.client.operations(filter, page).await?;
    Ok(open.items.into_iter().map(OperationRow::of).collect())
}
