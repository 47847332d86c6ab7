//! Rows of jobs that wait for others, and of batches.

use std::collections::{BTreeMap, HashSet};

use async_trait::async_trait;
use steadfast_core::{BatchId, Invalid, JobId, JobState, Timestamp};

use super::{
    records::stored_record,
    session::{SqlRow, SqlSession, execute_lists, insert_chunks, insert_rows, rows_of_lists},
    transaction::SqlWriter,
    values,
};
use crate::drivers::{
    driver_error::DriverError,
    transaction::{
        BatchChange, BatchEvents, Dependency, DependencyEvent, DependencyReads, DependencyWrites,
        Lock, RecordKind, StoredJob, StoredRecord, StoredState,
    },
};

#[async_trait]
impl<S: SqlSession> DependencyReads for S {
    async fn stored_jobs(
        &mut self,
        ids: &[JobId],
        lock: Lock,
    ) -> Result<Vec<StoredJob>, DriverError> {
        let sql = match lock {
            Lock::None => include_str!("shared/dependencies/stored_jobs.sql"),
            Lock::Update | Lock::SkipLocked => {
                include_str!("shared/dependencies/stored_jobs_lock.sql")
            }
        };
        let mut jobs = Vec::with_capacity(ids.len());
        for row in rows_of_lists(self, sql, &[], ids).await? {
            let id = JobId::from_bits(row.id(0)?);
            let row_state = stored_state(id, row.int(2)?, row.int(3)?);
            jobs.push(StoredJob {
                id,
                row: row_state,
                tenant: row.text(1)?.to_owned(),
                created_at: Timestamp::from_micros(row.int(4)?),
            });
        }
        Ok(jobs)
    }

    async fn dependencies(&mut self, jobs: &[JobId]) -> Result<Vec<Dependency>, DriverError> {
        let sql = include_str!("shared/dependencies/dependencies.sql");
        let rows = rows_of_lists(self, sql, &[], jobs).await?;
        let read = |row: &SqlRow| {
            let prerequisite = JobId::from_bits(row.id(1)?);
            let (state, is_resolved) = (row.int_if_any(3)?, row.int(4)?);
            Ok(Dependency {
                job: JobId::from_bits(row.id(0)?),
                prerequisite,
                has_succeeded: row.int(2)? != 0,
                row: state.map(|state| stored_state(prerequisite, state, is_resolved)),
            })
        };
        rows.iter().map(read).collect()
    }

    async fn with_unfinished_prerequisites(
        &mut self,
        jobs: &[JobId],
    ) -> Result<HashSet<JobId>, DriverError> {
        let sql = include_str!("shared/dependencies/dependencies_unfinished.sql");
        let rows = rows_of_lists(self, sql, &[], jobs).await?;
        rows.iter()
            .map(|row| Ok(JobId::from_bits(row.id(0)?)))
            .collect()
    }

    async fn dependants(
        &mut self,
        job: JobId,
        after: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<JobId>, DriverError> {
        let after = after.unwrap_or(JobId::from_bits(0));
        let sql = include_str!("shared/dependencies/dependants.sql");
        let params = [job.into(), after.into(), limit.into()];
        let rows = self.rows(sql, &params).await?;
        rows.iter()
            .map(|row| Ok(JobId::from_bits(row.id(0)?)))
            .collect()
    }

    async fn count_dependants(&mut self, job: JobId, limit: usize) -> Result<usize, DriverError> {
        let sql = include_str!("shared/dependencies/dependants_count.sql");
        let rows = self.rows(sql, &[job.into(), limit.into()]).await?;
        let count = rows.first().map_or(Ok(0), |row| row.int(0))?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    async fn dependency_events(
        &mut self,
        limit: usize,
        lock: Lock,
    ) -> Result<Vec<DependencyEvent>, DriverError> {
        let sql = match lock {
            Lock::None => include_str!("shared/dependencies/dependency_events.sql"),
            Lock::Update | Lock::SkipLocked => {
                include_str!("shared/dependencies/dependency_events_lock.sql")
            }
        };
        let rows = self.rows(sql, &[limit.into()]).await?;
        let read = |row: &SqlRow| {
            Ok(DependencyEvent {
                seq: row.int(0)?,
                job: JobId::from_bits(row.id(1)?),
                dependant: row.id_if_any(2)?.map(JobId::from_bits),
                worked_to: row.id_if_any(3)?.map(JobId::from_bits),
            })
        };
        rows.iter().map(read).collect()
    }

    async fn batches_with_events(
        &mut self,
        after: i64,
        limit: usize,
    ) -> Result<Vec<BatchEvents>, DriverError> {
        let sql = include_str!("shared/batches/batch_events_page.sql");
        let rows = self.rows(sql, &[after.into(), limit.into()]).await?;
        let read = |row: &SqlRow| {
            Ok(BatchEvents {
                batch: batch_id(row.text(0)?)?,
                tenant: row.text_if_any(1)?.map(str::to_owned),
                first: row.int(2)?,
                last: row.int(3)?,
                count: usize::try_from(row.int(4)?).unwrap_or(0),
            })
        };
        rows.iter().map(read).collect()
    }

    async fn batch_changes(
        &mut self,
        batches: &[BatchId],
        after: i64,
        share: usize,
    ) -> Result<Vec<BatchChange>, DriverError> {
        let mut changes = Vec::new();
        for some in insert_chunks(batches) {
            let one = include_str!("shared/batches/batch_changes.sql");
            let parts = (0..some.len()).map(|index| {
                let part = one.replace("/*batch*/", &format!("?{}", index + 3));
                part.replace("/*name*/", &format!("part{index}"))
            });
            let sql = parts.collect::<Vec<_>>().join("UNION ALL\n");
            let mut params = vec![after.into(), share.into()];
            params.extend(some.iter().map(|batch| batch.to_string().into()));
            for row in self.rows(&sql, &params).await? {
                changes.push(BatchChange {
                    seq: row.int(0)?,
                    batch: batch_id(row.text(1)?)?,
                    from: job_state(row.int(2)?),
                    to: job_state(row.int(3)?),
                });
            }
        }
        Ok(changes)
    }

    async fn old_batches(
        &mut self,
        ended_before: Timestamp,
        limit: usize,
    ) -> Result<Vec<StoredRecord>, DriverError> {
        let sql = include_str!("shared/batches/batches_old.sql");
        let rows = self.rows(sql, &[ended_before.into(), limit.into()]).await?;
        let read = |row| stored_record(self.cipher(), RecordKind::Batch, row);
        rows.iter().map(read).collect()
    }
}

#[async_trait]
impl<S: SqlWriter> DependencyWrites for S {
    async fn add_batch_jobs(&mut self, jobs: &[(JobId, BatchId)]) -> Result<(), DriverError> {
        let sql = include_str!("shared/batches/batch_jobs_add.sql");
        insert_rows(self, sql, jobs, |(job, batch)| {
            [(*job).into(), batch.to_string().into(), 0_i64.into()]
        })
        .await
    }

    async fn mark_jobs(&mut self, jobs: &[JobId], bit: i16) -> Result<(), DriverError> {
        let sql = include_str!("shared/dependencies/jobs_mark.sql");
        execute_lists(self, sql, &[i64::from(bit).into()], jobs).await
    }

    async fn set_created_at(&mut self, jobs: &[(JobId, Timestamp)]) -> Result<(), DriverError> {
        let sql = include_str!("shared/dependencies/created_at_set.sql");
        for (job, at) in jobs {
            self.execute(sql, &[(*job).into(), (*at).into()]).await?;
        }
        Ok(())
    }

    async fn add_dependencies(
        &mut self,
        dependencies: &[(JobId, JobId, bool)],
    ) -> Result<(), DriverError> {
        let sql = include_str!("shared/dependencies/dependencies_add.sql");
        insert_rows(self, sql, dependencies, |(job, other, has_succeeded)| {
            [
                (*job).into(),
                (*other).into(),
                i64::from(*has_succeeded).into(),
            ]
        })
        .await
    }

    async fn end_dependencies(
        &mut self,
        dependencies: &[(JobId, JobId)],
    ) -> Result<(), DriverError> {
        let sql = include_str!("shared/dependencies/dependencies_end.sql");
        let mut by_prerequisite: BTreeMap<JobId, Vec<JobId>> = BTreeMap::new();
        for (job, prerequisite) in dependencies {
            by_prerequisite.entry(*prerequisite).or_default().push(*job);
        }
        for (prerequisite, jobs) in by_prerequisite {
            execute_lists(self, sql, &[prerequisite.into()], &jobs).await?;
        }
        Ok(())
    }

    async fn add_dependency_events(&mut self, jobs: &[JobId]) -> Result<(), DriverError> {
        let sql = include_str!("shared/dependencies/dependency_events_add.sql");
        insert_rows(self, sql, jobs, |job| {
            [0_i64.into(), (*job).into(), (*job).into()]
        })
        .await
    }

    async fn postpone_event(&mut self, seq: i64, worked_to: JobId) -> Result<(), DriverError> {
        let sql = include_str!("shared/dependencies/event_postpone.sql");
        self.execute(sql, &[seq.into(), worked_to.into()]).await?;
        DependencyWrites::delete_events(self, &[seq]).await
    }

    async fn delete_events(&mut self, events: &[i64]) -> Result<(), DriverError> {
        let sql = include_str!("shared/dependencies/events_delete.sql");
        execute_lists(self, sql, &[], events).await
    }

    async fn delete_batch_events(&mut self, batch: &str) -> Result<(), DriverError> {
        let sql = include_str!("shared/batches/batch_events_delete.sql");
        self.execute(sql, &[batch.into()]).await.map(drop)
    }
}

fn stored_state(id: JobId, state: i64, is_resolved: i64) -> StoredState {
    StoredState {
        id,
        state: job_state(state),
        is_resolved: is_resolved != 0,
    }
}

fn job_state(number: i64) -> Option<JobState> {
    i16::try_from(number).ok().and_then(values::state)
}

fn batch_id(text: &str) -> Result<BatchId, DriverError> {
    let id = text.parse();
    id.map_err(|error: Invalid| DriverError::unreadable("batch", error))
}
