//! Deletes jobs with everything that tells of them.
//!
//! The command has taken each job out of the dead letters, so that counters, dependants and batches
//! know of it as of any other command. The rows go in the same transaction.

use std::collections::HashSet;

use steadfast_core::{
    Actor, AuditId, AuditRecord, Job, JobCommand, JobId, JobState, Subscriptions, Timestamp,
};

use super::failures::remove_examples;
use crate::{
    drivers::{driver_error::DriverError, transaction::Transaction},
    limits::COMMAND_BATCH_MAX,
    store::JobTraces,
};

/// Deletes jobs that an erase command was carried out on.
pub(super) async fn erase(
    tx: &mut dyn Transaction,
    jobs: &[&Job],
    traces: &JobTraces,
    by: &Actor,
) -> Result<(), DriverError> {
    let ids: Vec<JobId> = jobs.iter().map(|job| job.id).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let erased: HashSet<JobId> = ids.iter().copied().collect();
    remove_examples(tx, &traces.failures, &erased).await?;
    for job in jobs {
        if job.progress.state == JobState::Succeeded {
            keep_success(tx, job.id).await?;
        }
        tx.save_audit(&record_of(job, by, tx.now())).await?;
    }
    let mut deleted = erase_deliveries(tx, &traces.deliveries).await?;
    deleted.extend(ids);
    tx.delete_jobs(&deleted).await
}

/// Deliveries that wait are not sent any more. One that is being sent stays until it has ended.
async fn erase_deliveries(
    tx: &mut dyn Transaction,
    ids: &[JobId],
) -> Result<Vec<JobId>, DriverError> {
    let none = Subscriptions::default();
    let is_waiting = |job: &Job| job.progress.state == JobState::Waiting;
    tx.run_command(ids, &JobCommand::Cancel, &none, &is_waiting)
        .await?;
    let results = tx.run_command(ids, &JobCommand::Erase, &none, &|_| true);
    let ended = results.await?.into_iter().flatten();
    Ok(ended.map(|job| job.id).collect())
}

/// Jobs that wait for it need not find its row.
async fn keep_success(tx: &mut dyn Transaction, job: JobId) -> Result<(), DriverError> {
    let mut after = None;
    loop {
        let some = tx.dependants(job, after, COMMAND_BATCH_MAX).await?;
        let ended: Vec<_> = some.iter().map(|dependant| (*dependant, job)).collect();
        tx.end_dependencies(&ended).await?;
        after = some.last().copied();
        if some.len() < COMMAND_BATCH_MAX {
            return Ok(());
        }
    }
}

/// One for each job, so that the audit tells of an id what became of it.
fn record_of(job: &Job, by: &Actor, now: Timestamp) -> AuditRecord {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the lower half of an id is random"
    )]
    let random = job.id.bits() as u64;
    let id = AuditId::new(now, random);
    AuditRecord::new(id, now, by.clone(), "job.erase", job.id.to_string())
        .of_tenant(Some(job.tenant.clone()))
}
