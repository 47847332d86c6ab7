//! Jobs that are counted together, and the jobs that are made when all have ended.

use std::collections::{BTreeMap, BTreeSet};

use steadfast_core::{BatchId, Job, JobId, JobState, NewBatch, NewJob, Tenant, Timestamp};
use steadfast_store::BatchRecord;

use super::History;
use crate::{Invariant, expected::ExpectedJob};

/// A batch, according to the responses of the store.
pub struct ExpectedBatch {
    pub tenant: Tenant,
    pub is_closed: bool,
    on_end: Option<JobId>,
    on_success: Option<JobId>,
    jobs: BTreeSet<JobId>,
    /// All of its jobs had ended at one time, and all had succeeded.
    had_ended: bool,
    had_succeeded: bool,
    /// Callbacks that were made.
    called: BTreeSet<JobId>,
    /// A job of it was deleted, and made again by a request that was repeated too late.
    is_unclear: bool,
}

impl History {
    pub fn batch_created(&mut self, new: &NewBatch) {
        let known = ExpectedBatch {
            tenant: new.tenant.clone(),
            is_closed: !new.is_open,
            on_end: new.on_end.as_ref().map(|job| job.id),
            on_success: new.on_success.as_ref().map(|job| job.id),
            jobs: BTreeSet::new(),
            had_ended: false,
            had_succeeded: false,
            called: BTreeSet::new(),
            is_unclear: false,
        };
        self.batches.entry(new.id).or_insert(known);
    }

    pub fn batch_closed(&mut self, id: BatchId) {
        if let Some(known) = self.batches.get_mut(&id) {
            known.is_closed = true;
        }
    }

    /// A job was made that is of a batch, perhaps.
    pub(super) fn note_batch(&mut self, id: JobId, new: &NewJob) {
        let Some(batch) = new.batch() else {
            return;
        };
        if let Some(known) = self.jobs.get_mut(&id) {
            known.batch = Some(batch);
        }
        let Some(known) = self.batches.get_mut(&batch) else {
            return self.broken(Invariant::BatchesAddUp, id, "its batch never was");
        };
        known.is_unclear |= !known.jobs.insert(id);
        known.had_ended = false;
        known.had_succeeded = false;
        if known.is_closed && !known.called.is_empty() {
            let why = "it was added to a batch that has ended";
            self.broken(Invariant::BatchesAddUp, id, why);
        }
    }

    /// A batch that is not closed did not take a job.
    pub fn refused_by_batch(&mut self, new: &NewJob, batch: BatchId) {
        let known = self.batches.get(&batch);
        if known.is_some_and(|known| known.tenant == new.tenant && !known.is_closed) {
            let why = format!("{batch} is open, and refuses it");
            self.broken(Invariant::BatchesAddUp, new.id, why);
        }
    }

    fn all(&self, batch: &ExpectedBatch, stands: impl Fn(&ExpectedJob) -> bool) -> bool {
        let mut jobs = batch.jobs.iter();
        jobs.all(|id| self.jobs.get(id).is_some_and(&stands))
    }

    /// A job has ended, or goes on.
    pub(super) fn note_end(&mut self, id: JobId) {
        let Some(batch) = self.jobs.get(&id).and_then(|known| known.batch) else {
            return;
        };
        let Some(known) = self.batches.get(&batch) else {
            return;
        };
        let has_ended = self.all(known, |job| job.state.is_final());
        let has_succeeded = self.all(known, |job| job.state == JobState::Succeeded);
        if let Some(known) = self.batches.get_mut(&batch) {
            known.had_ended |= has_ended;
            known.had_succeeded |= has_succeeded;
        }
    }

    /// Callbacks that may be made by the next call.
    pub fn callbacks_to_come(&self) -> Vec<JobId> {
        let batches = self.batches.values();
        batches
            .flat_map(|known| {
                let both = known.on_end.into_iter().chain(known.on_success);
                both.filter(|id| !known.called.contains(id))
            })
            .collect()
    }

    /// Callbacks that can be read after a call, and could not before.
    pub fn called_back(&mut self, made: &[Job], now: Timestamp) {
        for job in made {
            let all = self.batches.iter();
            let of = |known: &ExpectedBatch| known.on_end.into_iter().chain(known.on_success);
            let mut own = all.filter(|(_, known)| of(known).any(|id| id == job.id));
            let Some((id, known)) = own.next() else {
                continue;
            };
            let (id, is_success) = (*id, known.on_success == Some(job.id));
            let is_time = known.is_closed
                && match is_success {
                    true => known.had_succeeded || known.jobs.is_empty(),
                    false => known.had_ended || known.jobs.is_empty(),
                };
            drop(own);
            self.count_check(Invariant::CallbacksOnce);
            if !is_time {
                let why = format!("made by {id}, of which a job has not ended as it should");
                self.broken(Invariant::CallbacksOnce, job.id, why);
            }
            if let Some(known) = self.batches.get_mut(&id) {
                known.called.insert(job.id);
            }
            self.learn(job, now);
        }
    }

    pub(crate) fn open_batches(&self) -> Vec<(BatchId, Tenant)> {
        let open = self.batches.iter().filter(|(_, known)| !known.is_closed);
        open.map(|(id, known)| (*id, known.tenant.clone()))
            .collect()
    }

    /// A callback whose time has come, and which was not made.
    pub(crate) fn missing_callback(&self) -> Option<JobId> {
        self.batches.values().find_map(|known| {
            let is_made = |id: &JobId| known.called.contains(id);
            let has_ended = known.is_closed && self.all(known, |job| job.state.is_final());
            let has_succeeded =
                has_ended && self.all(known, |job| job.state == JobState::Succeeded);
            let on_end = known.on_end.filter(|id| has_ended && !is_made(id));
            let on_success = known.on_success;
            on_end.or(on_success.filter(|id| has_succeeded && !is_made(id)))
        })
    }

    /// The counts of all batches, at the end.
    pub(crate) fn check_batches(&mut self, stored: &[BatchRecord]) {
        let stored: BTreeMap<BatchId, &BatchRecord> =
            stored.iter().map(|record| (record.id, record)).collect();
        let mut found = Vec::new();
        for (id, known) in self.batches.iter().filter(|(_, known)| !known.is_unclear) {
            let state = |id: &JobId| self.jobs.get(id).map(|job| job.state);
            let states: Vec<JobState> = known.jobs.iter().filter_map(state).collect();
            let succeeded = |state: &&JobState| **state == JobState::Succeeded;
            let succeeded = states.iter().filter(succeeded).count() as u64;
            let ended = states.iter().filter(|state| state.is_final()).count() as u64;
            let expected = (known.jobs.len() as u64, succeeded, ended - succeeded);
            let counts = stored.get(id).map(|record| record.counts);
            let counted = counts.map(|counts| (counts.total, counts.succeeded, counts.failed));
            found.push((*id, expected, counted));
        }
        for (id, expected, counted) in found {
            self.count_check(Invariant::BatchesAddUp);
            if counted != Some(expected) {
                let why = format!("{id} has {expected:?} jobs, successes, failures: {counted:?}");
                self.broken(Invariant::BatchesAddUp, None, why);
            }
        }
    }
}
