//! Work on many jobs, and who did what.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use steadfast_core::{
    AuditId, AuditRecord, Job, JobCommand, JobId, NewJob, OperationEvent, OperationId,
    OperationJob, OperationOutcome, OperationResult, Subscriptions, Timestamp,
};

use super::{MemoryStore, each, tables::Tables};
use crate::{
    error::{CommandError, EnqueueError, StoreError},
    store::{
        AuditFilter, EnqueueResult, OperationBatch, OperationChange, OperationFilter,
        OperationJobFilter, OperationRecord, OperationStore, Page, PageRequest,
    },
};

/// An operation with its jobs.
pub(super) struct OperationEntry {
    record: OperationRecord,
    jobs: BTreeMap<JobId, OperationJob>,
}

#[async_trait]
impl OperationStore for MemoryStore {
    async fn create_operation(
        &self,
        operation: OperationRecord,
        jobs: Vec<JobId>,
        open_max: usize,
        audit: AuditRecord,
    ) -> Result<bool, StoreError> {
        Ok(self.with(|tables, _| tables.create_operation(operation, &jobs, open_max, audit)))
    }

    async fn get_operation(&self, id: OperationId) -> Result<Option<OperationRecord>, StoreError> {
        Ok(self.with(|tables, _| {
            let found = tables.operations.get(&id);
            found.map(|entry| entry.record.clone())
        }))
    }

    async fn list_operations(
        &self,
        filter: OperationFilter,
        page: PageRequest<OperationId>,
    ) -> Result<Page<OperationRecord, OperationId>, StoreError> {
        Ok(self.with(|tables, _| {
            let records = tables.operations.values().map(|entry| &entry.record);
            let wanted = records.filter(|record| filter.matches(record));
            page_of(wanted.rev().cloned(), page, |record| record.id)
        }))
    }

    async fn change_operation(
        &self,
        id: OperationId,
        event: OperationEvent,
        audit: Option<AuditRecord>,
    ) -> Result<OperationChange, StoreError> {
        Ok(self.with(|tables, now| {
            let change = tables.change_operation(id, event, now);
            if let (OperationChange::Done(_), Some(audit)) = (&change, audit) {
                tables.audit.entry(audit.id).or_insert(audit);
            }
            change
        }))
    }

    async fn work_operation(
        &self,
        id: OperationId,
        revision: u64,
        batch: OperationBatch,
        subscriptions: Arc<Subscriptions>,
    ) -> Result<OperationChange, StoreError> {
        Ok(self
            .with(|tables, now| tables.work_operation(id, revision, &batch, &subscriptions, now)))
    }

    async fn save_outcomes(
        &self,
        id: OperationId,
        outcomes: Vec<(JobId, OperationOutcome)>,
    ) -> Result<OperationChange, StoreError> {
        Ok(self.with(|tables, now| tables.save_outcomes(id, &outcomes, now)))
    }

    async fn list_operation_jobs(
        &self,
        id: OperationId,
        filter: OperationJobFilter,
        page: PageRequest<JobId>,
    ) -> Result<Page<OperationJob, JobId>, StoreError> {
        Ok(self.with(|tables, _| {
            let entry = tables.operations.get(&id);
            let jobs = entry.into_iter().flat_map(|entry| {
                let jobs = entry.jobs.values().rev();
                jobs.filter(|job| match filter {
                    OperationJobFilter::All => true,
                    OperationJobFilter::NotWorked => job.result.is_none(),
                    OperationJobFilter::Watched => {
                        entry.record.watches(job) && job.outcome.is_none()
                    }
                    OperationJobFilter::NotChanged => {
                        let result = job.result;
                        result.is_some_and(|result| result != OperationResult::Changed)
                    }
                })
            });
            page_of(jobs.copied(), page, |job| job.job)
        }))
    }

    async fn operations_of_job(
        &self,
        job: JobId,
        limit: usize,
    ) -> Result<Vec<OperationRecord>, StoreError> {
        Ok(self.with(|tables, _| {
            let entries = tables.operations.values().rev();
            let of_job = entries.filter(|entry| entry.jobs.contains_key(&job));
            let records = of_job.map(|entry| entry.record.clone());
            records.take(limit).collect()
        }))
    }

    async fn prune_operations(
        &self,
        ended_before: Timestamp,
        limit: usize,
    ) -> Result<usize, StoreError> {
        Ok(self.with(|tables, _| {
            let is_old = |entry: &OperationEntry| {
                let ended = entry.record.finished_at;
                ended.is_some_and(|at| at < ended_before)
            };
            let entries = tables.operations.iter();
            let old = entries.filter(|(_, entry)| is_old(entry));
            let old: Vec<OperationId> = old.map(|(id, _)| *id).take(limit).collect();
            for id in &old {
                tables.operations.remove(id);
            }
            old.len()
        }))
    }

    async fn enqueue_audited(
        &self,
        jobs: Vec<NewJob>,
        audit: AuditRecord,
    ) -> Result<Vec<EnqueueResult>, EnqueueError> {
        self.with(|tables, now| {
            let results = tables.enqueue(jobs, now)?;
            tables.save_audit(Some(audit));
            Ok(results)
        })
    }

    async fn run_audited_command(
        &self,
        jobs: Vec<JobId>,
        command: JobCommand,
        subscriptions: Arc<Subscriptions>,
        audit: AuditRecord,
    ) -> Result<Vec<Result<Job, CommandError>>, StoreError> {
        Ok(self.with(|tables, now| {
            let results = each(jobs, |job| {
                tables.run_command(job, &command, &subscriptions, now)
            });
            if results.iter().any(Result::is_ok) {
                tables.save_audit(Some(audit));
            }
            results
        }))
    }

    async fn list_audit(
        &self,
        filter: AuditFilter,
        page: PageRequest<AuditId>,
    ) -> Result<Page<AuditRecord, AuditId>, StoreError> {
        Ok(self.with(|tables, _| {
            let records = tables.audit.values().rev();
            let wanted = records.filter(|record| filter.matches(record));
            page_of(wanted.cloned(), page, |record| record.id)
        }))
    }

    async fn prune_audit(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        Ok(self.with(|tables, _| {
            let records = tables.audit.values();
            let old = records.filter(|record| record.at < before);
            let old: Vec<AuditId> = old.map(|record| record.id).take(limit).collect();
            for id in &old {
                tables.audit.remove(id);
            }
            old.len()
        }))
    }
}

impl Tables {
    /// Stores an audit record, if there is one and it is not stored already.
    pub(super) fn save_audit(&mut self, record: Option<AuditRecord>) {
        if let Some(record) = record {
            self.audit.entry(record.id).or_insert(record);
        }
    }

    fn create_operation(
        &mut self,
        record: OperationRecord,
        jobs: &[JobId],
        open_max: usize,
        audit: AuditRecord,
    ) -> bool {
        if self.operations.contains_key(&record.id) {
            return true;
        }
        let records = self.operations.values().map(|entry| &entry.record);
        let open = records.filter(|other| other.is_open() && other.tenant == record.tenant);
        if record.is_open() && open.count() >= open_max {
            return false;
        }
        let jobs = jobs.iter().map(|job| (*job, OperationJob::named(*job)));
        let jobs = jobs.collect();
        self.operations
            .insert(record.id, OperationEntry { record, jobs });
        self.audit.entry(audit.id).or_insert(audit);
        true
    }

    fn change_operation(
        &mut self,
        id: OperationId,
        event: OperationEvent,
        now: Timestamp,
    ) -> OperationChange {
        let Some(entry) = self.operations.get_mut(&id) else {
            return OperationChange::NotFound;
        };
        match entry.record.step(event, now) {
            Err(refusal) => OperationChange::Refused(refusal),
            Ok(record) => {
                entry.record = record.clone();
                OperationChange::Done(Box::new(record))
            }
        }
    }

    fn work_operation(
        &mut self,
        id: OperationId,
        revision: u64,
        batch: &OperationBatch,
        subscriptions: &Subscriptions,
        now: Timestamp,
    ) -> OperationChange {
        let Some(entry) = self.operations.get(&id) else {
            return OperationChange::NotFound;
        };
        let record = entry.record.clone();
        if record.revision != revision {
            return OperationChange::Outdated;
        }
        // Nothing is changed by a batch that the operation does not allow.
        if let Err(refusal) = record.after_batch(batch, 0, now) {
            return OperationChange::Refused(refusal);
        }
        let command = record.operation.command();
        let results = each(batch.jobs.clone(), |id| {
            let job = self.job(id).ok_or(CommandError::NotFound(id))?;
            if !record.filter.matches(&job, now) {
                return Err(CommandError::NotFound(id));
            }
            self.run_command(id, &command, subscriptions, now)
        });
        let changed = results.iter().filter(|result| result.is_ok()).count();
        let next = match record.after_batch(batch, changed, now) {
            Ok(next) => next,
            Err(refusal) => return OperationChange::Refused(refusal),
        };
        if let Some(entry) = self.operations.get_mut(&id) {
            for (id, result) in batch.jobs.iter().zip(&results) {
                entry.jobs.insert(*id, record.job_after(*id, result));
            }
            entry.record = next.clone();
        }
        OperationChange::Done(Box::new(next))
    }

    fn save_outcomes(
        &mut self,
        id: OperationId,
        outcomes: &[(JobId, OperationOutcome)],
        now: Timestamp,
    ) -> OperationChange {
        let Some(entry) = self.operations.get_mut(&id) else {
            return OperationChange::NotFound;
        };
        let mut counts = entry.record.operation.progress.outcomes;
        for (job, outcome) in outcomes {
            let row = entry.jobs.get_mut(job);
            if let Some(row) = row.filter(|row| row.outcome.is_none()) {
                row.outcome = Some(*outcome);
                counts.add(*outcome);
            }
        }
        self.change_operation(id, OperationEvent::Outcomes(counts), now)
    }
}

/// A page of what comes in descending order.
pub(super) fn page_of<Item, Cursor: Ord + Copy>(
    items: impl Iterator<Item = Item>,
    page: PageRequest<Cursor>,
    cursor: impl Fn(&Item) -> Cursor,
) -> Page<Item, Cursor> {
    let is_after = |item: &Item| page.after.is_none_or(|after| cursor(item) < after);
    let mut items: Vec<Item> = items.filter(is_after).take(page.limit + 1).collect();
    let has_more = items.len() > page.limit;
    items.truncate(page.limit);
    let next = items.last().filter(|_| has_more).map(&cursor);
    Page { items, next }
}
