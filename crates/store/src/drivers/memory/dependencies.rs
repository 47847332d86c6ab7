//! Rows of jobs that wait for others, and of batches.

use std::collections::HashSet;

use async_trait::async_trait;
use steadfast_core::{BatchId, Job, JobId, Timestamp};

use super::{
    event_entry::EventEntry, record_entry::RecordEntry, tables::Tables,
    transaction::MemoryTransaction,
};
use crate::drivers::{
    driver_error::DriverError,
    transaction::{
        BatchChange, BatchEvents, Dependency, DependencyEvent, DependencyReads, DependencyWrites,
        Lock, RecordKind, RecordState, StoredJob, StoredRecord, StoredState,
    },
};

#[async_trait]
impl DependencyReads for MemoryTransaction<'_> {
    async fn stored_jobs(
        &mut self,
        ids: &[JobId],
        _lock: Lock,
    ) -> Result<Vec<StoredJob>, DriverError> {
        let jobs = ids.iter().filter_map(|id| self.tables.job(*id));
        let stored = jobs.map(|job| StoredJob {
            id: job.id,
            row: stored_state(&job),
            tenant: job.tenant.to_string(),
            created_at: job.created_at,
        });
        Ok(stored.collect())
    }

    async fn dependencies(&mut self, jobs: &[JobId]) -> Result<Vec<Dependency>, DriverError> {
        let all = jobs.iter().flat_map(|job| {
            let others = self.tables.prerequisites_of(*job);
            others.map(|other| (*job, other))
        });
        let found = all.map(|(job, prerequisite)| Dependency {
            job,
            prerequisite,
            has_succeeded: self.tables.dependencies[&(job, prerequisite)],
            row: self.tables.job(prerequisite).as_ref().map(stored_state),
        });
        Ok(found.collect())
    }

    async fn with_unfinished_prerequisites(
        &mut self,
        jobs: &[JobId],
    ) -> Result<HashSet<JobId>, DriverError> {
        let is_unfinished = |id: JobId| {
            let job = self.tables.job(id);
            job.is_some_and(|job| !job.progress.state.is_final())
        };
        let waiting = jobs.iter().filter(|job| {
            let mut others = self.tables.prerequisites_of(**job);
            others.any(|other| !self.tables.dependencies[&(**job, other)] && is_unfinished(other))
        });
        Ok(waiting.copied().collect())
    }

    async fn dependants(
        &mut self,
        job: JobId,
        after: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<JobId>, DriverError> {
        let all = self.tables.dependants_of(job);
        let rest = all.filter(|id| after.is_none_or(|after| *id > after));
        Ok(rest.take(limit).collect())
    }

    async fn count_dependants(&mut self, job: JobId, limit: usize) -> Result<usize, DriverError> {
        Ok(self.tables.dependants_of(job).take(limit).count())
    }

    async fn dependency_events(
        &mut self,
        limit: usize,
        _lock: Lock,
    ) -> Result<Vec<DependencyEvent>, DriverError> {
        let events = self.tables.events.iter().filter_map(|(seq, event)| {
            let EventEntry::Dependency {
                job,
                dependant,
                worked_to,
            } = event
            else {
                return None;
            };
            Some(DependencyEvent {
                seq: *seq,
                job: *job,
                dependant: *dependant,
                worked_to: *worked_to,
            })
        });
        Ok(events.take(limit).collect())
    }

    async fn batches_with_events(
        &mut self,
        after: i64,
        limit: usize,
    ) -> Result<Vec<BatchEvents>, DriverError> {
        let mut found: Vec<BatchEvents> = Vec::new();
        for change in self.tables.batch_changes(after).take(limit) {
            let known = found.iter_mut().find(|known| known.batch == change.batch);
            if let Some(known) = known {
                (known.last, known.count) = (change.seq, known.count + 1);
                continue;
            }
            let key = (RecordKind::Batch, change.batch.to_string());
            let record = self.tables.records.get(&key);
            found.push(BatchEvents {
                batch: change.batch,
                tenant: record.map(|record| record.tenant.clone()),
                first: change.seq,
                last: change.seq,
                count: 1,
            });
        }
        Ok(found)
    }

    async fn batch_changes(
        &mut self,
        batches: &[BatchId],
        after: i64,
        share: usize,
    ) -> Result<Vec<BatchChange>, DriverError> {
        let of_each = batches.iter().flat_map(|batch| {
            let all = self.tables.batch_changes(after);
            all.filter(|change| change.batch == *batch).take(share)
        });
        Ok(of_each.collect())
    }

    async fn old_batches(
        &mut self,
        ended_before: Timestamp,
        limit: usize,
    ) -> Result<Vec<StoredRecord>, DriverError> {
        let is_in_use = |id: &str| {
            let mut jobs = self.tables.batch_jobs.values();
            jobs.any(|batch| batch.to_string() == id)
                || self
                    .tables
                    .batch_changes(0)
                    .any(|it| it.batch.to_string() == id)
        };
        let mut old: Vec<(&str, &RecordEntry)> = self
            .of_kind(RecordKind::Batch)
            .filter(|(_, record)| record.state == RecordState::Ended)
            .filter(|(_, record)| record.at.is_some_and(|at| at < ended_before))
            .filter(|(id, _)| !is_in_use(id))
            .collect();
        old.sort_by_key(|(_, record)| record.at);
        let old = old.into_iter().take(limit);
        Ok(old.map(|(id, record)| record.stored(id)).collect())
    }
}

#[async_trait]
impl DependencyWrites for MemoryTransaction<'_> {
    async fn add_batch_jobs(&mut self, jobs: &[(JobId, BatchId)]) -> Result<(), DriverError> {
        self.tables.batch_jobs.extend(jobs.iter().copied());
        Ok(())
    }

    async fn mark_jobs(&mut self, _jobs: &[JobId], _bit: i16) -> Result<(), DriverError> {
        // Whether a job has to do with others is looked up here.
        Ok(())
    }

    async fn set_created_at(&mut self, jobs: &[(JobId, Timestamp)]) -> Result<(), DriverError> {
        for (id, at) in jobs {
            if let Some(entry) = self.tables.jobs.get_mut(id) {
                entry.job.created_at = *at;
            }
        }
        Ok(())
    }

    async fn add_dependencies(
        &mut self,
        dependencies: &[(JobId, JobId, bool)],
    ) -> Result<(), DriverError> {
        for (job, other, has_succeeded) in dependencies {
            self.tables
                .dependencies
                .insert((*job, *other), *has_succeeded);
            self.tables.dependants.insert((*other, *job));
        }
        Ok(())
    }

    async fn end_dependencies(
        &mut self,
        dependencies: &[(JobId, JobId)],
    ) -> Result<(), DriverError> {
        let ended = dependencies.iter().map(|key| (*key, true));
        self.tables.dependencies.extend(ended);
        Ok(())
    }

    async fn add_dependency_events(&mut self, jobs: &[JobId]) -> Result<(), DriverError> {
        for job in jobs {
            self.tables.add_event(EventEntry::Dependency {
                job: *job,
                dependant: Some(*job),
                worked_to: None,
            });
        }
        Ok(())
    }

    async fn postpone_event(&mut self, seq: i64, worked_to: JobId) -> Result<(), DriverError> {
        if let Some(EventEntry::Dependency { job, dependant, .. }) = self.tables.events.remove(&seq)
        {
            self.tables.add_event(EventEntry::Dependency {
                job,
                dependant,
                worked_to: Some(worked_to),
            });
        }
        Ok(())
    }

    async fn delete_events(&mut self, events: &[i64]) -> Result<(), DriverError> {
        for seq in events {
            self.tables.events.remove(seq);
        }
        Ok(())
    }

    async fn delete_batch_events(&mut self, batch: &str) -> Result<(), DriverError> {
        let is_other = |event: &EventEntry| match event {
            EventEntry::Dependency { .. } => true,
            EventEntry::Batch { batch: of, .. } => of.to_string() != batch,
        };
        self.tables.events.retain(|_, event| is_other(event));
        Ok(())
    }
}

fn stored_state(job: &Job) -> StoredState {
    StoredState {
        id: job.id,
        state: Some(job.progress.state),
        is_resolved: job.progress.resolved_at.is_some(),
    }
}

impl Tables {
    /// What has happened to jobs of batches behind an event, the oldest first.
    fn batch_changes(&self, after: i64) -> impl Iterator<Item = BatchChange> {
        let events = self.events.range(after + 1..);
        events.filter_map(|(seq, event)| match event {
            EventEntry::Dependency { .. } => None,
            EventEntry::Batch { batch, from, to } => Some(BatchChange {
                seq: *seq,
                batch: *batch,
                from: Some(*from),
                to: Some(*to),
            }),
        })
    }
}
