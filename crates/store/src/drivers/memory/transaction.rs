//! What the verbs get of this store. Verbs check before they write, so nothing is ever rolled back.

use std::collections::{HashMap, btree_map::Entry};

use async_trait::async_trait;
use futures_util::FutureExt;
use steadfast_core::{
    AuditId, AuditRecord, IdempotencyKey, Job, JobCommand, JobId, JobState, NewJob, OperationId,
    OperationJob, OperationOutcome, OperationResult, ScheduleId, SkippedTicks, Subscriptions,
    Tenant, Timestamp, WaitingRequest,
};

use super::{
    MemoryStore,
    record_entry::RecordEntry,
    tables::{KeyHolder, Tables},
};
use crate::{
    damage::DamageLog,
    drivers::current_gates::CurrentGates,
    drivers::driver_error::DriverError,
    drivers::transaction::{
        JobCondition, Lock, PendingStep, Reads, Record, RecordKind, RecordOrder, RecordQuery,
        RecordState, StoredKey, StoredRecord, StoredTick, Transaction, WakeReason,
    },
    drivers::{Asker, Driver, Query, Verb},
    error::{CommandError, EnqueueError, StoreError},
    store::{
        AuditFilter, DocumentKind, DocumentVersions, EnqueueResult, OperationJobFilter, TickRecord,
    },
    verbs::event_position::EventPosition,
};

impl Driver for MemoryStore {
    fn event_position(&self) -> &EventPosition {
        &self.event_position
    }

    fn gates(&self) -> &CurrentGates {
        &self.gates
    }

    async fn transact<A: Send + Sync + 'static, T: Send + 'static>(
        &self,
        operation: &'static str,
        _rows: usize,
        arguments: A,
        verb: Verb<A, T>,
    ) -> Result<T, StoreError> {
        self.with(|tables, now| finish(verb(&mut tables.seam(now), &arguments)))
            .map_err(|error| error.in_operation(operation))
    }

    async fn prune_jobs(&self, ended_before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        Ok(self.with(|tables, now| tables.prune(ended_before, limit, now)))
    }

    async fn prune_names(&self, keep: usize) -> Result<usize, StoreError> {
        Ok(self.with(|tables, now| tables.prune_names(keep, now)))
    }

    async fn read<A: Send + Sync + 'static, T: Send + 'static>(
        &self,
        operation: &'static str,
        _asker: Asker,
        arguments: A,
        query: Query<A, T>,
    ) -> Result<T, StoreError> {
        self.with(|tables, now| finish(query(&mut tables.seam(now), &arguments)))
            .map_err(|error| error.in_operation(operation))
    }
}

/// Nothing here waits, so a verb is done when it is polled once.
pub(super) fn finish<T>(
    answer: impl Future<Output = Result<T, DriverError>>,
) -> Result<T, DriverError> {
    answer.now_or_never().unwrap_or(Err(DriverError::NotRun))
}

pub(super) struct MemoryTransaction<'t> {
    pub(super) tables: &'t mut Tables,
    now: Timestamp,
}

impl Tables {
    pub(super) fn seam(&mut self, now: Timestamp) -> MemoryTransaction<'_> {
        MemoryTransaction { tables: self, now }
    }
}

impl MemoryTransaction<'_> {
    pub(super) fn of_kind(
        &self,
        kind: RecordKind,
    ) -> impl DoubleEndedIterator<Item = (&str, &RecordEntry)> {
        let records = self.tables.records.range((kind, String::new())..);
        let own = records
            .map_while(move |((of, id), record)| (*of == kind).then_some((id.as_str(), record)));
        own.collect::<Vec<_>>().into_iter()
    }
}

#[async_trait]
impl Reads for MemoryTransaction<'_> {
    fn now(&self) -> Timestamp {
        self.now
    }

    fn damage(&self) -> &DamageLog {
        &self.tables.damage
    }

    async fn record(
        &mut self,
        kind: RecordKind,
        id: &str,
        _lock: Lock,
    ) -> Result<Option<StoredRecord>, DriverError> {
        let found = self.tables.records.get(&(kind, id.to_owned()));
        Ok(found.map(|record| record.stored(id)))
    }

    async fn records(&mut self, query: &RecordQuery<'_>) -> Result<Vec<StoredRecord>, DriverError> {
        let all = self.of_kind(query.kind);
        let found: Vec<(&str, &RecordEntry)> = match query.order {
            RecordOrder::Ascending { prefix, after } => all
                .filter(|(id, _)| id.starts_with(prefix) && *id > after)
                .collect(),
            RecordOrder::Newest {
                tenant,
                state,
                before,
            } => all
                .rev()
                .filter(|(id, record)| {
                    tenant.is_none_or(|tenant| record.tenant == tenant)
                        && state.is_none_or(|state| record.state == state)
                        && before.is_none_or(|before| *id < before)
                })
                .collect(),
            RecordOrder::Named {
                name,
                tenant,
                before,
            } => all
                .rev()
                .filter(|(id, record)| {
                    record.name.as_deref() == Some(name)
                        && tenant.is_none_or(|tenant| record.tenant == tenant)
                        && before.is_none_or(|before| *id < before)
                })
                .collect(),
            RecordOrder::Earliest { state, before } => {
                let is_due = |record: &RecordEntry| {
                    record.state == state && record.at.is_some_and(|at| at < before)
                };
                let mut due: Vec<_> = all.filter(|(_, record)| is_due(record)).collect();
                due.sort_by_key(|(_, record)| record.at);
                due
            }
        };
        let found = found.into_iter().take(query.limit);
        Ok(found.map(|(id, record)| record.stored(id)).collect())
    }

    async fn count_records(
        &mut self,
        kind: RecordKind,
        tenant: &str,
        state: RecordState,
        limit: usize,
    ) -> Result<usize, DriverError> {
        let is_counted =
            |(_, record): &(&str, &RecordEntry)| record.tenant == tenant && record.state == state;
        Ok(self.of_kind(kind).filter(is_counted).take(limit).count())
    }

    async fn document_versions(&mut self) -> Result<DocumentVersions, DriverError> {
        let versions = self.tables.document_versions.iter();
        Ok(versions.map(|(kind, version)| (*kind, *version)).collect())
    }

    async fn audit_records(
        &mut self,
        filter: &AuditFilter,
        after: Option<AuditId>,
        limit: usize,
    ) -> Result<Vec<AuditRecord>, DriverError> {
        let records = self.tables.audit.values().rev();
        let records = records.filter(|record| after.is_none_or(|after| record.id < after));
        let wanted = records.filter(|record| filter.matches(record));
        Ok(wanted.take(limit).cloned().collect())
    }

    async fn operation_jobs(
        &mut self,
        operation: OperationId,
        filter: OperationJobFilter,
        after: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<OperationJob>, DriverError> {
        let jobs = self.tables.operation_jobs.iter().rev();
        let own = jobs
            .filter(|((of, job), _)| *of == operation && after.is_none_or(|after| *job < after));
        let wanted = own.filter(|(_, (job, pending))| match filter {
            OperationJobFilter::All => true,
            OperationJobFilter::NotWorked => *pending == PendingStep::Command,
            OperationJobFilter::Watched => *pending == PendingStep::Outcome,
            OperationJobFilter::NotChanged => job
                .result
                .is_some_and(|result| result != OperationResult::Changed),
        });
        Ok(wanted.take(limit).map(|(_, (job, _))| *job).collect())
    }

    async fn operations_of(
        &mut self,
        job: JobId,
        after: Option<OperationId>,
        limit: usize,
    ) -> Result<Vec<OperationId>, DriverError> {
        let keys = self.tables.operation_jobs.keys().rev();
        let is_older = |id: OperationId| after.is_none_or(|after| id < after);
        let own = keys.filter(|(id, of)| *of == job && is_older(*id));
        Ok(own.take(limit).map(|(operation, _)| *operation).collect())
    }

    async fn free_records(
        &mut self,
        kind: RecordKind,
        ids: &[String],
    ) -> Result<Vec<StoredRecord>, DriverError> {
        let find = |id: &String| {
            let record = self.tables.records.get(&(kind, id.clone()))?;
            Some(record.stored(id))
        };
        Ok(ids.iter().filter_map(find).collect())
    }

    async fn record_ids(
        &mut self,
        kind: RecordKind,
        state: RecordState,
    ) -> Result<Vec<String>, DriverError> {
        let own = self.of_kind(kind).filter(|(_, it)| it.state == state);
        Ok(own.map(|(id, _)| id.to_owned()).collect())
    }

    async fn next_record_time(
        &mut self,
        kind: RecordKind,
        state: RecordState,
        after: Timestamp,
    ) -> Result<Option<Timestamp>, DriverError> {
        let own = self.of_kind(kind).filter(|(_, it)| it.state == state);
        let times = own.filter_map(|(_, record)| record.at);
        Ok(times.filter(|at| *at > after).min())
    }

    async fn unfinished_runs(
        &mut self,
        schedules: &[ScheduleId],
    ) -> Result<HashMap<ScheduleId, JobId>, DriverError> {
        let newest = |schedule: &ScheduleId| {
            let first = (*schedule, Timestamp::EPOCH, JobId::from_bits(0));
            let last = (*schedule, Timestamp::MAX, JobId::from_bits(u128::MAX));
            let mut runs = self.tables.unfinished_runs.range(first..=last);
            runs.next_back().map(|(.., job)| (*schedule, *job))
        };
        Ok(schedules.iter().filter_map(newest).collect())
    }

    async fn ticks(
        &mut self,
        schedule: ScheduleId,
        before: Option<Timestamp>,
        limit: usize,
    ) -> Result<Vec<StoredTick>, DriverError> {
        let whole = (schedule, Timestamp::EPOCH)..=(schedule, Timestamp::MAX);
        let newest_first = self.tables.ticks.range(whole).rev();
        let wanted =
            newest_first.filter(|((_, tick), _)| before.is_none_or(|before| *tick < before));
        let wanted = wanted.take(limit);
        Ok(wanted
            .map(|((_, tick), record)| (*tick, Ok(record.clone())))
            .collect())
    }

    async fn find_key(
        &mut self,
        tenant: &Tenant,
        key: &IdempotencyKey,
    ) -> Result<Option<StoredKey>, DriverError> {
        let holder = self.tables.keys.get(&(tenant.clone(), key.clone()));
        Ok(holder.map(|holder| StoredKey {
            owner: holder.job.bits(),
            fingerprint: holder.fingerprint,
        }))
    }

    async fn readable_jobs(&mut self, ids: &[JobId]) -> Result<Vec<Job>, DriverError> {
        Ok(ids.iter().filter_map(|id| self.tables.job(*id)).collect())
    }
}

#[async_trait]
impl Transaction for MemoryTransaction<'_> {
    async fn lock_names(&mut self, _names: &[String]) -> Result<(), DriverError> {
        // There is one lock for everything.
        Ok(())
    }

    async fn hold_waiting(&mut self, requests: &[WaitingRequest]) -> Result<Vec<u64>, DriverError> {
        let jobs = self.tables.jobs.values().map(|entry| &entry.job);
        let waiting = jobs.filter(|job| job.progress.state == JobState::Waiting);
        let waiting: Vec<&Job> = waiting.collect();
        let count = |request: &WaitingRequest| {
            let counted = waiting
                .iter()
                .filter(|job| request.gate.counts_waiting(&job.tenant, &job.queue));
            counted.count() as u64
        };
        Ok(requests.iter().map(count).collect())
    }

    async fn save_record(&mut self, record: &Record<'_>) -> Result<bool, DriverError> {
        let key = (record.kind, record.id.to_owned());
        let stored = self.tables.records.get(&key);
        if stored.map(|stored| stored.revision) != record.replaces {
            return Ok(false);
        }
        self.tables.records.insert(key, RecordEntry::new(record));
        self.tables.count_change(record.kind);
        Ok(true)
    }

    async fn delete_record(
        &mut self,
        kind: RecordKind,
        id: &str,
        revision: Option<u64>,
    ) -> Result<bool, DriverError> {
        let key = (kind, id.to_owned());
        let stored = self.tables.records.get(&key);
        let is_meant = stored.is_some_and(|stored| revision.is_none_or(|it| stored.revision == it));
        if is_meant {
            self.tables.records.remove(&key);
            self.tables.count_change(kind);
        }
        Ok(is_meant)
    }

    async fn insert_jobs(&mut self, jobs: &[NewJob]) -> Result<(), DriverError> {
        for job in jobs {
            self.tables.insert(job.clone(), self.now);
        }
        Ok(())
    }

    async fn enqueue(
        &mut self,
        jobs: &[NewJob],
    ) -> Result<Result<Vec<EnqueueResult>, EnqueueError>, DriverError> {
        Ok(self.tables.enqueue(jobs.to_vec(), self.now))
    }

    async fn run_command(
        &mut self,
        jobs: &[JobId],
        command: &JobCommand,
        subscriptions: &Subscriptions,
        condition: &JobCondition<'_>,
    ) -> Result<Vec<Result<Job, CommandError>>, DriverError> {
        let run = |id: &JobId| match self.tables.job(*id) {
            Some(job) if condition(&job) => {
                self.tables
                    .run_command(*id, command, subscriptions, self.now)
            }
            Some(_) | None => Err(CommandError::NotFound(*id)),
        };
        Ok(jobs.iter().map(run).collect())
    }

    async fn delete_jobs(&mut self, jobs: &[JobId]) -> Result<(), DriverError> {
        for id in jobs {
            self.tables.remove(*id);
        }
        Ok(())
    }

    async fn save_audit(&mut self, record: &AuditRecord) -> Result<(), DriverError> {
        self.tables.save_audit(Some(record.clone()));
        Ok(())
    }

    async fn delete_audit(
        &mut self,
        before: Timestamp,
        limit: usize,
    ) -> Result<usize, DriverError> {
        let records = self.tables.audit.values();
        let old = records.filter(|record| record.at < before).take(limit);
        let old: Vec<AuditId> = old.map(|record| record.id).collect();
        for id in &old {
            self.tables.audit.remove(id);
        }
        Ok(old.len())
    }

    async fn save_operation_jobs(
        &mut self,
        operation: OperationId,
        jobs: &[(OperationJob, PendingStep)],
    ) -> Result<(), DriverError> {
        let rows = jobs.iter().map(|row| ((operation, row.0.job), *row));
        self.tables.operation_jobs.extend(rows);
        Ok(())
    }

    async fn save_operation_outcome(
        &mut self,
        operation: OperationId,
        job: JobId,
        outcome: OperationOutcome,
    ) -> Result<bool, DriverError> {
        let row = self.tables.operation_jobs.get_mut(&(operation, job));
        let Some((job, pending)) = row.filter(|row| row.1 == PendingStep::Outcome) else {
            return Ok(false);
        };
        job.outcome = Some(outcome);
        *pending = PendingStep::Nothing;
        Ok(true)
    }

    async fn delete_operation_jobs(
        &mut self,
        operation: OperationId,
        limit: usize,
    ) -> Result<usize, DriverError> {
        let keys = self.tables.operation_jobs.keys().copied();
        let own = keys.filter(|(of, _)| *of == operation).take(limit);
        let own: Vec<(OperationId, JobId)> = own.collect();
        for key in &own {
            self.tables.operation_jobs.remove(key);
        }
        Ok(own.len())
    }

    async fn replace_records(&mut self, records: &[Record<'_>]) -> Result<(), DriverError> {
        for record in records {
            let key = (record.kind, record.id.to_owned());
            self.tables.records.insert(key, RecordEntry::new(record));
            self.tables.count_change(record.kind);
        }
        Ok(())
    }

    async fn save_fired_ticks(
        &mut self,
        ticks: &[(ScheduleId, Timestamp, JobId)],
    ) -> Result<Vec<JobId>, DriverError> {
        let mut fired = Vec::new();
        for (schedule, tick, job) in ticks.iter().copied() {
            let key = (schedule, tick);
            if matches!(self.tables.ticks.get(&key), Some(TickRecord::Fired { .. })) {
                continue;
            }
            let record = TickRecord::Fired { tick, job };
            self.tables.ticks.insert(key, record);
            fired.push(job);
        }
        Ok(fired)
    }

    async fn save_skipped_ticks(
        &mut self,
        skipped: &[(ScheduleId, SkippedTicks)],
    ) -> Result<(), DriverError> {
        for (schedule, skip) in skipped {
            let entry = self.tables.ticks.entry((*schedule, skip.from));
            entry.or_insert(TickRecord::Skipped(*skip));
        }
        Ok(())
    }

    async fn delete_ticks(&mut self, schedule: ScheduleId) -> Result<(), DriverError> {
        self.tables.ticks.retain(|(of, _), _| *of != schedule);
        Ok(())
    }

    async fn save_key(
        &mut self,
        tenant: &Tenant,
        key: &IdempotencyKey,
        stored: StoredKey,
    ) -> Result<bool, DriverError> {
        let Entry::Vacant(free) = self.tables.keys.entry((tenant.clone(), key.clone())) else {
            return Ok(false);
        };
        free.insert(KeyHolder {
            job: JobId::from_bits(stored.owner),
            fingerprint: stored.fingerprint,
        });
        Ok(true)
    }

    async fn delete_key(
        &mut self,
        tenant: &Tenant,
        key: &IdempotencyKey,
        owner: u128,
    ) -> Result<(), DriverError> {
        let key = (tenant.clone(), key.clone());
        let holder = self.tables.keys.get(&key);
        if holder.is_some_and(|holder| holder.job.bits() == owner) {
            self.tables.keys.remove(&key);
        }
        Ok(())
    }

    fn wake(&mut self, reason: WakeReason) {
        match reason {
            WakeReason::Dependencies => self.tables.wakes.links_changed(),
            WakeReason::Schedules => self.tables.wakes.schedule_waits(),
        }
    }
}

impl Tables {
    /// Stores an audit record, if there is one and it is not stored already.
    pub(super) fn save_audit(&mut self, record: Option<AuditRecord>) {
        if let Some(record) = record {
            self.audit.entry(record.id).or_insert(record);
        }
    }

    pub(super) fn document_version(&self, kind: DocumentKind) -> u64 {
        self.document_versions.get(&kind).copied().unwrap_or(0)
    }

    fn count_change(&mut self, kind: RecordKind) {
        match kind {
            RecordKind::Document(
                DocumentKind::Node
                | DocumentKind::Worker
                | DocumentKind::Watch
                | DocumentKind::Feed,
            )
            | RecordKind::Operation
            | RecordKind::Schedule
            | RecordKind::Batch
            | RecordKind::Callback
            | RecordKind::EncryptionKey => {}
            RecordKind::Document(kind) => *self.document_versions.entry(kind).or_default() += 1,
        }
    }
}
