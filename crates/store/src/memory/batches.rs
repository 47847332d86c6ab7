//! Jobs that are counted together.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use steadfast_core::{
    AuditRecord, BatchEvent, BatchId, BatchJobState, IdempotencyKey, Job, JobId, JobState,
    NewBatch, NewJob, Tenant, Timestamp, limits,
};

use super::{queries::page_of, tables::Tables};
use crate::{
    error::EnqueueError,
    store::{
        BatchCallback, BatchCreateResult, BatchFilter, BatchRecord, EnqueueResult, Page,
        PageRequest, check_batch, requested_batches,
    },
};

#[derive(Default)]
pub(super) struct Batches {
    records: BTreeMap<BatchId, BatchRecord>,
    keys: BTreeMap<(Tenant, IdempotencyKey), BatchId>,
    callbacks: BTreeMap<(BatchId, BatchCallback), NewJob>,
    jobs: BTreeMap<BatchId, BTreeSet<JobId>>,
    /// What has happened to jobs of batches, the oldest first.
    notes: VecDeque<(BatchId, JobState, JobState)>,
}

impl Batches {
    pub(super) fn has_notes(&self) -> bool {
        !self.notes.is_empty()
    }

    pub(super) fn get(&self, id: BatchId) -> Option<BatchRecord> {
        self.records.get(&id).cloned()
    }

    pub(super) fn list(
        &self,
        filter: &BatchFilter,
        page: PageRequest<BatchId>,
    ) -> Page<BatchRecord, BatchId> {
        let wanted = self.records.values().rev();
        let wanted = wanted.filter(|record| filter.matches(record));
        page_of(wanted, page, |record| record.id)
    }
}

impl Tables {
    /// Refuses jobs for batches that do not take them.
    pub(super) fn check_batches(
        &self,
        jobs: &[NewJob],
        answers: &[EnqueueResult],
    ) -> Result<(), EnqueueError> {
        let new = jobs.iter().zip(answers).enumerate();
        let new = new.filter(|(_, (_, answer))| matches!(answer, EnqueueResult::Created(..)));
        let new = new.map(|(index, (job, _))| (index, job));
        for (batch, jobs) in requested_batches(new) {
            check_batch(batch, self.batches.records.get(&batch), &jobs)?;
        }
        Ok(())
    }

    /// Counts jobs that were stored in their batches.
    pub(super) fn add_to_batches(&mut self, added: &[(BatchId, JobId)], now: Timestamp) {
        for (batch, job) in added {
            self.batches.jobs.entry(*batch).or_default().insert(*job);
            self.change_batch(*batch, [BatchEvent::Added(1)], now);
        }
    }

    pub(super) fn create_batch(
        &mut self,
        batch: NewBatch,
        unfinished_max: usize,
        now: Timestamp,
    ) -> Result<BatchCreateResult, EnqueueError> {
        if let Some(stored) = self.batches.get(batch.id) {
            return Ok(BatchCreateResult::Existing(stored));
        }
        let mut record = BatchRecord::new(&batch, now);
        let key = batch.idempotency_key.clone();
        let key = key.map(|key| (batch.tenant.clone(), key));
        let holder = key.as_ref().and_then(|key| self.batches.keys.get(key));
        if let Some(stored) = holder.and_then(|id| self.batches.get(*id)) {
            return Ok(match stored.fingerprint == record.fingerprint {
                true => BatchCreateResult::Existing(stored),
                false => BatchCreateResult::KeyTaken(stored.id),
            });
        }
        let unfinished = BatchFilter {
            tenant: Some(batch.tenant.clone()),
            is_unfinished: true,
        };
        let all = self.batches.records.values();
        if all.filter(|other| unfinished.matches(other)).count() >= unfinished_max {
            return Ok(BatchCreateResult::TooMany);
        }
        let id = batch.id;
        self.batches.records.insert(id, record.clone());
        let results = match self.enqueue(batch.jobs, now) {
            Ok(results) => results,
            Err(refused) => {
                self.batches.records.remove(&id);
                return Err(refused);
            }
        };
        if let Some(refusal) = BatchCreateResult::refusal(&results) {
            self.batches.records.remove(&id);
            return Ok(refusal);
        }
        self.batches.keys.extend(key.map(|key| (key, id)));
        let callbacks = [
            (BatchCallback::End, batch.on_end),
            (BatchCallback::Success, batch.on_success),
        ];
        for (callback, job) in callbacks {
            let job = job.map(|job| ((id, callback), job));
            self.batches.callbacks.extend(job);
        }
        if !batch.is_open {
            self.change_batch(id, [BatchEvent::Closed], now);
        }
        record = self.batches.get(id).unwrap_or(record);
        Ok(BatchCreateResult::Created(record, results))
    }

    pub(super) fn close_batch(
        &mut self,
        id: BatchId,
        audit: Option<AuditRecord>,
        now: Timestamp,
    ) -> Option<BatchRecord> {
        let before = self.batches.get(id)?;
        self.change_batch(id, [BatchEvent::Closed], now);
        let closed = self.batches.get(id)?;
        self.save_audit(audit.filter(|_| closed != before));
        Some(closed)
    }

    fn change_batch(
        &mut self,
        id: BatchId,
        events: impl IntoIterator<Item = BatchEvent>,
        now: Timestamp,
    ) {
        let Some(record) = self.batches.records.get_mut(&id) else {
            return;
        };
        // What is refused was refused before anything was stored.
        let Ok(due) = record.apply(events, now) else {
            return;
        };
        for callback in due {
            if let Some(job) = self.batches.callbacks.remove(&(id, callback)) {
                self.insert(job, now);
            }
        }
    }

    pub(super) fn note_batch_change(&mut self, old: &Job, new: &Job) {
        let (from, to) = (old.progress.state, new.progress.state);
        if let Some(batch) = new.batch()
            && from != to
            && (from.is_final() || to.is_final())
        {
            self.batches.notes.push_back((batch, from, to));
            self.wakes.links_changed();
        }
    }

    pub(super) fn note_batch_removal(&mut self, job: &Job) {
        let batch = job.batch();
        if let Some(jobs) = batch.and_then(|batch| self.batches.jobs.get_mut(&batch)) {
            jobs.remove(&job.id);
        }
    }

    /// Counts what has happened to jobs of batches.
    pub(super) fn follow_batches(&mut self, limit: usize, now: Timestamp) {
        for _ in 0..limit {
            let Some((batch, from, to)) = self.batches.notes.pop_front() else {
                return;
            };
            let changed = BatchEvent::Changed {
                from: BatchJobState::from_state(from),
                to: BatchJobState::from_state(to),
            };
            self.change_batch(batch, [changed], now);
        }
    }

    pub(super) fn prune_batches(
        &mut self,
        before: Timestamp,
        limit: usize,
        now: Timestamp,
    ) -> usize {
        let Batches {
            records,
            keys,
            callbacks,
            jobs,
            notes,
        } = &mut self.batches;
        let keyed: BTreeSet<BatchId> = keys.values().copied().collect();
        let is_key_in_use = |record: &BatchRecord| {
            keyed.contains(&record.id)
                && now.since(record.created_at) < limits::IDEMPOTENCY_KEY_RETENTION_MIN
        };
        let may_go = |record: &&BatchRecord| {
            record.finished_at.is_some_and(|at| at < before)
                && !is_key_in_use(record)
                && jobs.get(&record.id).is_none_or(BTreeSet::is_empty)
                && notes.iter().all(|(batch, ..)| *batch != record.id)
        };
        let old = records.values().filter(may_go).take(limit);
        let old: BTreeSet<BatchId> = old.map(|record| record.id).collect();
        records.retain(|id, _| !old.contains(id));
        keys.retain(|_, id| !old.contains(id));
        callbacks.retain(|(id, _), _| !old.contains(id));
        jobs.retain(|id, _| !old.contains(id));
        old.len()
    }
}
