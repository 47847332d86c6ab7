//! Who gave a job a new retry budget, from the commands and operations that are on record.

use steadfast_core::{Attempt, AuditRecord, Job, OperationKind, Timestamp};
use steadfast_store::{AuditFilter, OperationRecord, PageRequest};

use crate::{app::App, http::Problem, limits};

/// The requeues of a job on record, by time and person.
#[derive(Default)]
pub struct Requeues(Vec<(Timestamp, String)>);

impl Requeues {
    /// Reads them, unless no attempt needs them.
    pub async fn read(app: &App, job: &Job, attempts: &[Attempt]) -> Result<Self, Problem> {
        if !attempts.iter().any(Attempt::is_first_after_requeue) {
            return Ok(Self::default());
        }
        let filter = AuditFilter {
            tenant: Some(job.tenant.clone()),
            subject: Some(job.id.to_string()),
            ..AuditFilter::default()
        };
        let page = PageRequest::first(limits::JOB_COMMANDS_SHOWN);
        let commands = app.client.audit(filter, page).await?.items;
        let most = limits::JOB_COMMANDS_SHOWN;
        let operations = app.client.operations_of_job(job.id, most).await?;
        Ok(Self::of(&commands, operations.iter()))
    }

    /// Those among commands and operations.
    pub fn of<'r>(
        commands: &[AuditRecord],
        operations: impl Iterator<Item = &'r OperationRecord>,
    ) -> Self {
        let is_retry =
            |it: &&AuditRecord| matches!(it.action.as_str(), "job.retry" | "delivery.resend");
        let commands = commands.iter().filter(is_retry);
        let commands = commands.map(|it| (it.at, it.actor.name.clone()));
        let tries_again = |it: &&OperationRecord| {
            let kind = it.operation.kind;
            matches!(kind, OperationKind::Requeue | OperationKind::Retry)
        };
        let operations = operations.filter(tries_again);
        let operations = operations.map(|it| (it.created_at, it.by.name.clone()));
        Self(commands.chain(operations).collect())
    }

    /// Who gave the newest one before the first attempt of a new budget.
    pub fn by(&self, attempt: &Attempt) -> Option<String> {
        if !attempt.is_first_after_requeue() {
            return None;
        }
        let before = self.0.iter().filter(|(at, _)| *at <= attempt.started_at);
        let (_, by) = before.max_by_key(|(at, _)| *at)?;
        Some(by.clone())
    }
}
