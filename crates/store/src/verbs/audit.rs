//! Who did what.

use std::sync::Arc;

use steadfast_core::{AuditId, AuditRecord, Job, JobCommand, JobId, NewJob, Subscriptions};

use crate::{
    drivers::Driver,
    drivers::driver_error::DriverError,
    drivers::transaction::{Reads, Transaction},
    error::{CommandError, EnqueueError, StoreError},
    paging::page_of,
    store::{AuditFilter, EnqueueResult, Page, PageRequest},
};

/// Stores an audit record, if there is one.
pub(super) async fn save_audit(
    tx: &mut dyn Transaction,
    record: Option<&AuditRecord>,
) -> Result<(), DriverError> {
    match record {
        Some(record) => tx.save_audit(record).await,
        None => Ok(()),
    }
}

/// Stores jobs with an audit record, unless they are refused.
pub(crate) async fn enqueue<D: Driver>(
    driver: &D,
    jobs: Vec<NewJob>,
    audit: AuditRecord,
) -> Result<Vec<EnqueueResult>, EnqueueError> {
    let (rows, arguments) = (jobs.len() + 1, (jobs, audit));
    let enqueue = driver.transact("enqueue", rows, arguments, |tx, (jobs, audit)| {
        Box::pin(async move {
            let results = tx.enqueue(jobs).await?;
            save_audit(tx, Some(audit).filter(|_| results.is_ok())).await?;
            Ok(results)
        })
    });
    enqueue.await?
}

/// Carries out a command with an audit record, if it changes a job.
pub(crate) async fn run_command<D: Driver>(
    driver: &D,
    jobs: Vec<JobId>,
    command: JobCommand,
    subscriptions: Arc<Subscriptions>,
    audit: AuditRecord,
) -> Result<Vec<Result<Job, CommandError>>, StoreError> {
    let (rows, arguments) = (jobs.len() + 1, (jobs, command, subscriptions, audit));
    let run = driver.transact("run_command", rows, arguments, |tx, it| {
        Box::pin(async move {
            let (jobs, command, subscriptions, audit) = it;
            let results = tx
                .run_command(jobs, command, subscriptions, &|_| true)
                .await?;
            let is_changed = results.iter().any(Result::is_ok);
            save_audit(tx, Some(audit).filter(|_| is_changed)).await?;
            Ok(results)
        })
    });
    run.await
}

pub(super) async fn list(
    tx: &mut dyn Reads,
    filter: &AuditFilter,
    page: PageRequest<AuditId>,
) -> Result<Page<AuditRecord, AuditId>, DriverError> {
    let wanted = page.limit.saturating_add(1);
    let found = tx.audit_records(filter, page.after, wanted).await?;
    Ok(page_of(found, page.limit, |record| record.id))
}
