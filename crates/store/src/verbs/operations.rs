//! Work on many jobs.

mod rotation;
mod stored;

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use steadfast_core::{
    AuditId, AuditRecord, CommandRefusal, Job, JobId, KeyRotation, OperationEvent, OperationId,
    OperationJob, OperationKind, OperationOutcome, OperationRefusal, RefusalReason, RetryPolicy,
    Subscriptions, Timestamp,
};

use super::{
    audit::{self, save_audit},
    erase::erase,
    records::{newest_page, skip_corrupt},
};
use crate::{
    drivers::driver_error::DriverError,
    drivers::transaction::{
        Lock, PendingStep, Reads, RecordKind, RecordOrder, RecordQuery, RecordState, Transaction,
    },
    drivers::{Asker, Driver},
    error::{CommandError, StoreError},
    paging::page_of,
    store::{
        AuditFilter, OperationBatch, OperationChange, OperationFilter, OperationJobFilter,
        OperationRecord, OperationStep, OperationStore, Page, PageRequest,
    },
};
use stored::{find, read, save, tenant_of};

const CHANGE: &str = "change_operation";

#[async_trait]
impl<D: Driver> OperationStore for D {
    async fn create_operation(
        &self,
        operation: OperationRecord,
        jobs: Vec<JobId>,
        open_max: usize,
        audit: AuditRecord,
    ) -> Result<bool, StoreError> {
        let (rows, arguments) = (jobs.len() + 2, (operation, jobs, open_max, audit));
        self.transact("create_operation", rows, arguments, |tx, it| {
            Box::pin(create(tx, &it.0, &it.1, it.2, &it.3))
        })
        .await
    }

    async fn list_operations(
        &self,
        filter: OperationFilter,
        page: PageRequest<OperationId>,
    ) -> Result<Page<OperationRecord, OperationId>, StoreError> {
        let arguments = (filter, page);
        self.read(
            "list_operations",
            Asker::Caller,
            arguments,
            |tx, (filter, page)| Box::pin(list(tx, filter, *page)),
        )
        .await
    }

    async fn change_operation(
        &self,
        id: OperationId,
        step: OperationStep,
    ) -> Result<OperationChange, StoreError> {
        match step {
            OperationStep::Event(event, audit) => {
                self.transact(CHANGE, 2, (id, event, audit), |tx, it| {
                    Box::pin(change_with_audit(tx, it.0, &it.1, it.2.as_ref()))
                })
                .await
            }
            OperationStep::Work {
                revision,
                batch,
                subscriptions,
            } => {
                let rows = 2 * batch.jobs.len();
                let arguments = (id, revision, batch, subscriptions);
                self.transact(CHANGE, rows, arguments, |tx, it| {
                    Box::pin(work(tx, it.0, it.1, &it.2, &it.3))
                })
                .await
            }
            OperationStep::Outcomes(outcomes) => {
                self.transact(CHANGE, outcomes.len(), (id, outcomes), |tx, it| {
                    Box::pin(save_outcomes(tx, it.0, &it.1))
                })
                .await
            }
            OperationStep::Rotate { revision } => rotation::work(self, id, revision).await,
        }
    }

    async fn new_rotation(&self) -> Result<Option<KeyRotation>, StoreError> {
        match self.key_rotator() {
            Some(rotator) => rotator.new_rotation().await,
            None => Ok(None),
        }
    }

    async fn list_operation_jobs(
        &self,
        id: OperationId,
        filter: OperationJobFilter,
        page: PageRequest<JobId>,
    ) -> Result<Page<OperationJob, JobId>, StoreError> {
        let arguments = (id, filter, page);
        self.read("list_operation_jobs", Asker::Caller, arguments, |tx, it| {
            Box::pin(async move {
                let (id, filter, page) = *it;
                let wanted = page.limit.saturating_add(1);
                let jobs = tx.operation_jobs(id, filter, page.after, wanted).await?;
                Ok(page_of(jobs, page.limit, |job| job.job))
            })
        })
        .await
    }

    async fn list_audit(
        &self,
        filter: AuditFilter,
        page: PageRequest<AuditId>,
    ) -> Result<Page<AuditRecord, AuditId>, StoreError> {
        self.read(
            "list_audit",
            Asker::Caller,
            (filter, page),
            |tx, (filter, page)| Box::pin(audit::list(tx, filter, *page)),
        )
        .await
    }
}

async fn create(
    tx: &mut dyn Transaction,
    operation: &OperationRecord,
    jobs: &[JobId],
    open_max: usize,
    audit: &AuditRecord,
) -> Result<bool, DriverError> {
    let tenant = tenant_of(operation);
    tx.lock_names(&[format!("operations of {tenant}")]).await?;
    if find(tx, operation.id, Lock::None).await?.is_some() {
        return Ok(true);
    }
    let (kind, state) = (RecordKind::Operation, RecordState::Open);
    let open = tx.count_records(kind, tenant, state, open_max).await?;
    if operation.is_open() && open >= open_max {
        return Ok(false);
    }
    save(tx, operation, None).await?;
    let jobs = jobs.iter().map(|job| OperationJob::named(*job));
    save_jobs(tx, operation, jobs.collect()).await?;
    tx.save_audit(audit).await?;
    Ok(true)
}

async fn change_with_audit(
    tx: &mut dyn Transaction,
    id: OperationId,
    event: &OperationEvent,
    audit: Option<&AuditRecord>,
) -> Result<OperationChange, DriverError> {
    let changed = change(tx, id, event.clone()).await?;
    let is_done = matches!(changed, OperationChange::Done(_));
    save_audit(tx, audit.filter(|_| is_done)).await?;
    Ok(changed)
}

async fn save_jobs(
    tx: &mut dyn Transaction,
    operation: &OperationRecord,
    jobs: Vec<OperationJob>,
) -> Result<(), DriverError> {
    let pending = |job: &OperationJob| match job.result {
        None => PendingStep::Command,
        Some(_) if operation.watches(job) => PendingStep::Outcome,
        Some(_) => PendingStep::Nothing,
    };
    let jobs: Vec<_> = jobs.into_iter().map(|job| (job, pending(&job))).collect();
    tx.save_operation_jobs(operation.id, &jobs).await
}

async fn change(
    tx: &mut dyn Transaction,
    id: OperationId,
    event: OperationEvent,
) -> Result<OperationChange, DriverError> {
    let Some(stored) = find(tx, id, Lock::Update).await? else {
        return Ok(OperationChange::NotFound);
    };
    match stored.step(event, tx.now()) {
        Err(refusal) => Ok(OperationChange::Refused(refusal)),
        Ok(next) => {
            if next.revision != stored.revision {
                save(tx, &next, Some(stored.revision)).await?;
            }
            Ok(OperationChange::Done(Box::new(next)))
        }
    }
}

async fn work(
    tx: &mut dyn Transaction,
    id: OperationId,
    revision: u64,
    batch: &OperationBatch,
    subscriptions: &Subscriptions,
) -> Result<OperationChange, DriverError> {
    let Some(stored) = find(tx, id, Lock::Update).await? else {
        return Ok(OperationChange::NotFound);
    };
    if stored.revision != revision {
        return Ok(OperationChange::Outdated);
    }
    let now = tx.now();
    // Nothing is changed by a batch that the operation does not allow.
    if let Err(refusal) = stored.after_batch(batch, 0, now) {
        return Ok(OperationChange::Refused(refusal));
    }
    let results = run(tx, &stored, &batch.jobs, subscriptions).await?;
    let jobs = batch.jobs.iter().zip(&results);
    let jobs = jobs.map(|(id, result)| stored.job_after(*id, result));
    save_jobs(tx, &stored, jobs.collect()).await?;
    if stored.operation.kind == OperationKind::Erase {
        let erased: Vec<&Job> = results.iter().flatten().collect();
        erase(tx, &erased, &batch.traces, &stored.by).await?;
    }
    let changed = results.iter().filter(|result| result.is_ok()).count();
    let next = stored.after_batch(batch, changed, now);
    let next = next.map_err(|refusal| DriverError::unreadable("operation", refusal))?;
    save(tx, &next, Some(stored.revision)).await?;
    Ok(OperationChange::Done(Box::new(next)))
}

/// Carries out the command of an operation. That of `edit_policy` depends on the policy that a job has.
async fn run(
    tx: &mut dyn Transaction,
    stored: &OperationRecord,
    jobs: &[JobId],
    subscriptions: &Subscriptions,
) -> Result<Vec<Result<Job, CommandError>>, DriverError> {
    let (operation, now) = (&stored.operation, tx.now());
    let matches = |job: &Job| stored.filter.matches(job, now);
    if operation.retry.is_none() {
        let Some(command) = operation.command() else {
            return Err(DriverError::unreadable(
                "operation",
                OperationRefusal::OtherWork,
            ));
        };
        return tx
            .run_command(jobs, &command, subscriptions, &matches)
            .await;
    }
    let mut of_policy: Vec<(Arc<RetryPolicy>, Vec<JobId>)> = Vec::new();
    for job in tx.readable_jobs(jobs).await? {
        match of_policy.iter_mut().find(|(it, _)| *it == job.policy) {
            Some((_, same)) => same.push(job.id),
            None => of_policy.push((job.policy.clone(), vec![job.id])),
        }
    }
    let mut results = HashMap::new();
    for (policy, same) in of_policy {
        let command = operation.command_for(&policy);
        // Jobs are locked by the command only: another transaction may have changed their policy.
        let is_overtaken = AtomicBool::new(false);
        let is_as_read = |job: &Job| {
            let is_same = job.policy == policy;
            is_overtaken.fetch_or(!is_same, Ordering::Relaxed);
            is_same && matches(job)
        };
        let changed = match &command {
            Some(command) => {
                tx.run_command(&same, command, subscriptions, &is_as_read)
                    .await?
            }
            None => same.iter().map(|id| Err(invalid_policy(*id))).collect(),
        };
        if is_overtaken.into_inner() {
            return Err(DriverError::Overtaken);
        }
        results.extend(same.into_iter().zip(changed));
    }
    let mut result = |id: &JobId| {
        results
            .remove(id)
            .unwrap_or(Err(CommandError::NotFound(*id)))
    };
    Ok(jobs.iter().map(&mut result).collect())
}

fn invalid_policy(job: JobId) -> CommandError {
    let reason = RefusalReason::InvalidPolicy;
    CommandError::Refused(CommandRefusal { job, reason })
}

async fn save_outcomes(
    tx: &mut dyn Transaction,
    id: OperationId,
    outcomes: &[(JobId, OperationOutcome)],
) -> Result<OperationChange, DriverError> {
    let Some(stored) = find(tx, id, Lock::Update).await? else {
        return Ok(OperationChange::NotFound);
    };
    let mut counts = stored.operation.progress.outcomes;
    for (job, outcome) in outcomes {
        if tx.save_operation_outcome(id, *job, *outcome).await? {
            counts.add(*outcome);
        }
    }
    change(tx, id, OperationEvent::Outcomes(counts)).await
}

async fn list(
    tx: &mut dyn Reads,
    filter: &OperationFilter,
    page: PageRequest<OperationId>,
) -> Result<Page<OperationRecord, OperationId>, DriverError> {
    if let Some(job) = filter.job {
        return of_job(tx, job, filter, page).await;
    }
    if let Some(id) = filter.id {
        let found = find(tx, id, Lock::None).await?;
        let is_listed = |it: &OperationRecord| page.after.is_none_or(|after| it.id < after);
        let found = found.filter(|it| is_listed(it) && filter.matches(it));
        return Ok(page_of(found.into_iter().collect(), page.limit, |it| it.id));
    }
    let tenant = filter.tenant.as_ref().map(|tenant| tenant.as_str());
    let state = filter.is_open.then_some(RecordState::Open);
    let kind = RecordKind::Operation;
    newest_page(tx, kind, (tenant, state), page, read, |record| record.id).await
}

/// A page may have fewer than it may hold although others follow: operations that do not match take
/// places.
async fn of_job(
    tx: &mut dyn Reads,
    job: JobId,
    filter: &OperationFilter,
    page: PageRequest<OperationId>,
) -> Result<Page<OperationRecord, OperationId>, DriverError> {
    let wanted = page.limit.saturating_add(1);
    let ids = tx.operations_of(job, page.after, wanted).await?;
    let ids = page_of(ids, page.limit, |id| *id);
    let mut items = Vec::with_capacity(ids.items.len());
    for id in ids.items {
        let found = find(tx, id, Lock::None).await;
        let found = skip_corrupt(tx, found, "operation", id)?.flatten();
        items.extend(found.filter(|found| filter.matches(found)));
    }
    let next = ids.next;
    Ok(Page { items, next })
}

pub(super) async fn prune(
    tx: &mut dyn Transaction,
    ended_before: Timestamp,
    limit: usize,
) -> Result<usize, DriverError> {
    let query = RecordQuery {
        kind: RecordKind::Operation,
        order: RecordOrder::Earliest {
            state: RecordState::Ended,
            before: ended_before,
        },
        limit,
    };
    let mut deleted = 0;
    for record in tx.records(&query).await? {
        if let Ok(id) = record.id.parse() {
            deleted += tx.delete_operation_jobs(id, limit - deleted).await?;
        }
        if deleted >= limit {
            break;
        }
        tx.delete_record(RecordKind::Operation, &record.id, None)
            .await?;
        deleted += 1;
    }
    Ok(deleted)
}
