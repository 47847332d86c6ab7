//! Work on many jobs, and the records that commands leave.

use std::collections::BTreeMap;

use steadfast_core::{
    AuditId, AuditRecord, Job, JobId, OperationId, OperationJob, OperationResult, Timestamp,
};
use steadfast_store::{OperationBatch, OperationChange, OperationRecord};

use super::{Event, History};
use crate::Invariant;

/// An operation, according to the responses of the store.
pub struct ExpectedOperation {
    pub record: OperationRecord,
    /// Jobs that it has looked at, and whether it has changed them.
    touched: BTreeMap<JobId, bool>,
}

/// One batch of an operation, the store's answer, and what could be read before and after.
pub struct OperationObservation {
    pub id: OperationId,
    pub batch: OperationBatch,
    pub answer: OperationChange,
    pub before: Vec<Option<Job>>,
    pub after: Vec<Option<Job>>,
    pub rows: Vec<OperationJob>,
    /// The deliveries of each changed job.
    pub deliveries: Vec<Vec<Option<Job>>>,
}

impl History {
    pub fn operation_created(&mut self, record: OperationRecord, audit: AuditRecord) {
        self.audit.insert(audit.id, audit);
        let known = ExpectedOperation {
            record,
            touched: BTreeMap::new(),
        };
        self.operations.insert(known.record.id, known);
    }

    pub fn operation_changed(&mut self, answer: &OperationChange, audit: Option<AuditRecord>) {
        let OperationChange::Done(record) = answer else {
            return;
        };
        self.audit.extend(audit.map(|audit| (audit.id, audit)));
        if let Some(known) = self.operations.get_mut(&record.id) {
            known.record = OperationRecord::clone(record);
        }
    }

    pub fn operation_worked(&mut self, seen: &OperationObservation, now: Timestamp) {
        let OperationObservation { id, batch, .. } = seen;
        let OperationChange::Done(record) = &seen.answer else {
            if seen.before != seen.after {
                let why = format!("{id} has changed jobs, and says that it has not");
                self.broken(Invariant::OperationsOnce, None, why);
            }
            return;
        };
        let Some(command) = record.operation.command() else {
            return self.broken(Invariant::OperationsOnce, None, format!("{id} has no jobs"));
        };
        let Some(mut known) = self.operations.remove(id) else {
            return self.broken(Invariant::OperationsOnce, None, format!("{id} never was"));
        };
        for (index, job) in batch.jobs.iter().enumerate() {
            self.count_check(Invariant::OperationsOnce);
            self.tell(now, *job, Event::Operated { operation: *id });
            let row = seen.rows.iter().find(|row| row.job == *job);
            let result = row.and_then(|row| row.result);
            let is_changed = result == Some(OperationResult::Changed);
            if result.is_none() {
                let why = format!("{id} says nothing of it");
                self.broken(Invariant::OperationsOnce, *job, why);
            }
            if known.touched.insert(*job, is_changed).is_some() {
                let why = format!("{id} came to it twice");
                self.broken(Invariant::OperationsOnce, *job, why);
            }
            if is_changed {
                let after = seen.after[index].as_ref();
                self.record_command(*job, &command, after, &seen.deliveries[index], now);
            } else if seen.before[index] != seen.after[index] {
                let why = format!("{id} has changed it, and says {result:?}");
                self.broken(Invariant::OperationsOnce, *job, why);
            }
        }
        known.record = OperationRecord::clone(record);
        let progress = &record.operation.progress;
        let worked = known.touched.len() as u64;
        let changed = known.touched.values().filter(|changed| **changed).count() as u64;
        if (progress.worked, progress.changed) != (worked, changed) {
            let said = (progress.worked, progress.changed);
            let why = format!("{id} says {said:?} of {:?}", (worked, changed));
            self.broken(Invariant::OperationsOnce, None, why);
        }
        self.operations.insert(*id, known);
    }

    pub(crate) fn open_operations(&self) -> impl Iterator<Item = &OperationRecord> {
        let known = self.operations.values().map(|known| &known.record);
        known.filter(|record| record.is_open())
    }

    /// All records that are stored, held against the commands that were carried out.
    pub(crate) fn check_audit(&mut self, stored: &[AuditRecord]) {
        let of_commands = stored.iter().filter(|record| {
            record.action.starts_with("job.") || record.action.starts_with("operation.")
        });
        let stored: BTreeMap<AuditId, &AuditRecord> =
            of_commands.map(|record| (record.id, record)).collect();
        let expected = self.audit.clone();
        for record in expected.values() {
            self.count_check(Invariant::OneAuditRecord);
            if stored.get(&record.id) != Some(&record) {
                let why = format!("there is no record of it: {record:?}");
                self.broken(Invariant::OneAuditRecord, None, why);
            }
        }
        let unexpected = stored.values().find(|it| !expected.contains_key(&it.id));
        if let Some(record) = unexpected {
            let why = format!("a record of what was never done: {record:?}");
            self.broken(Invariant::OneAuditRecord, None, why);
        }
    }
}
