//! What both SQL drivers write for the verbs by the same statements.

use async_trait::async_trait;
use steadfast_core::{
    AuditRecord, IdempotencyKey, Job, JobCommand, JobId, NewJob, OperationId, OperationJob,
    OperationOutcome, ScheduleId, SkippedTicks, Subscriptions, Tenant, Timestamp, WaitingRequest,
};

use super::{
    operations::job_columns,
    records::record_columns,
    session::{SqlSession, SqlValue, insert_chunks, insert_rows, values_list},
};
use crate::{
    drivers::driver_error::DriverError,
    drivers::transaction::{
        JobCondition, PendingStep, Record, RecordKind, StoredKey, Transaction, WakeReason,
    },
    error::{CommandError, EnqueueError},
    failures::FailureTallies,
    store::EnqueueResult,
};

/// A connection that writes, with what each driver does by statements of its own.
#[async_trait]
pub(crate) trait SqlWriter: SqlSession {
    async fn lock_names(&mut self, names: &[String]) -> Result<(), DriverError>;

    async fn hold_waiting(&mut self, requests: &[WaitingRequest]) -> Result<Vec<u64>, DriverError>;

    async fn take_failure_counts(&mut self) -> Result<FailureTallies, DriverError>;

    async fn insert_jobs(&mut self, jobs: &[NewJob]) -> Result<(), DriverError>;

    async fn enqueue(
        &mut self,
        jobs: &[NewJob],
    ) -> Result<Result<Vec<EnqueueResult>, EnqueueError>, DriverError>;

    async fn run_command(
        &mut self,
        jobs: &[JobId],
        command: &JobCommand,
        subscriptions: &Subscriptions,
        condition: &JobCondition<'_>,
    ) -> Result<Vec<Result<Job, CommandError>>, DriverError>;

    async fn delete_jobs(&mut self, jobs: &[JobId]) -> Result<(), DriverError>;

    fn wake(&mut self, reason: WakeReason);
}

#[async_trait]
impl<S: SqlWriter> Transaction for S {
    async fn lock_names(&mut self, names: &[String]) -> Result<(), DriverError> {
        SqlWriter::lock_names(self, names).await
    }

    async fn hold_waiting(&mut self, requests: &[WaitingRequest]) -> Result<Vec<u64>, DriverError> {
        SqlWriter::hold_waiting(self, requests).await
    }

    async fn save_record(&mut self, record: &Record<'_>) -> Result<bool, DriverError> {
        let mut params = Vec::from(record_columns(self.cipher(), record)?);
        let sql = match record.replaces {
            None => include_str!("shared/records/record_create.sql"),
            Some(revision) => {
                params.push(revision.into());
                include_str!("shared/records/record_replace.sql")
            }
        };
        Ok(self.execute(sql, &params).await? > 0)
    }

    async fn delete_record(
        &mut self,
        kind: RecordKind,
        id: &str,
        revision: Option<u64>,
    ) -> Result<bool, DriverError> {
        let mut params = vec![kind.as_str().into(), id.into()];
        let sql = match revision {
            None => include_str!("shared/records/record_delete.sql"),
            Some(revision) => {
                params.push(revision.into());
                include_str!("shared/records/record_delete_at.sql")
            }
        };
        Ok(self.execute(sql, &params).await? > 0)
    }

    async fn insert_jobs(&mut self, jobs: &[NewJob]) -> Result<(), DriverError> {
        SqlWriter::insert_jobs(self, jobs).await
    }

    async fn enqueue(
        &mut self,
        jobs: &[NewJob],
    ) -> Result<Result<Vec<EnqueueResult>, EnqueueError>, DriverError> {
        SqlWriter::enqueue(self, jobs).await
    }

    async fn run_command(
        &mut self,
        jobs: &[JobId],
        command: &JobCommand,
        subscriptions: &Subscriptions,
        condition: &JobCondition<'_>,
    ) -> Result<Vec<Result<Job, CommandError>>, DriverError> {
        SqlWriter::run_command(self, jobs, command, subscriptions, condition).await
    }

    async fn delete_jobs(&mut self, jobs: &[JobId]) -> Result<(), DriverError> {
        SqlWriter::delete_jobs(self, jobs).await
    }

    async fn save_audit(&mut self, record: &AuditRecord) -> Result<(), DriverError> {
        let tenant = record.tenant.as_ref().map_or("", |tenant| tenant.as_str());
        let body = serde_json::to_string(record);
        let body = body.map_err(|error| DriverError::unreadable("audit record", error))?;
        let params = [
            record.id.into(),
            tenant.into(),
            record.at.into(),
            record.actor.name.as_str().into(),
            record.action.as_str().into(),
            record.subject.as_str().into(),
            body.into(),
        ];
        let sql = include_str!("shared/operations/audit_save.sql");
        self.execute(sql, &params).await.map(drop)
    }

    async fn delete_audit(
        &mut self,
        before: Timestamp,
        limit: usize,
    ) -> Result<usize, DriverError> {
        let sql = include_str!("shared/operations/audit_delete.sql");
        self.execute(sql, &[before.into(), limit.into()]).await
    }

    async fn save_operation_jobs(
        &mut self,
        operation: OperationId,
        jobs: &[(OperationJob, PendingStep)],
    ) -> Result<(), DriverError> {
        let sql = include_str!("shared/operations/operation_jobs_save.sql");
        insert_rows(self, sql, jobs, |(job, pending)| {
            let (result, attempts, fingerprint) = job_columns(job);
            [
                operation.into(),
                job.job.into(),
                result.into(),
                attempts.into(),
                fingerprint.into(),
                pending.number().into(),
            ]
        })
        .await
    }

    async fn save_operation_outcome(
        &mut self,
        operation: OperationId,
        job: JobId,
        outcome: OperationOutcome,
    ) -> Result<bool, DriverError> {
        let sql = include_str!("shared/operations/operation_outcome.sql");
        let params = [operation.into(), job.into(), outcome.as_str().into()];
        Ok(self.execute(sql, &params).await? > 0)
    }

    async fn delete_operation_jobs(
        &mut self,
        operation: OperationId,
        limit: usize,
    ) -> Result<usize, DriverError> {
        let sql = include_str!("shared/operations/operation_jobs_delete.sql");
        self.execute(sql, &[operation.into(), limit.into()]).await
    }

    async fn replace_records(&mut self, records: &[Record<'_>]) -> Result<(), DriverError> {
        for some in insert_chunks(records) {
            let mut params: Vec<SqlValue<'_>> = Vec::with_capacity(some.len() * 8);
            for record in some {
                params.extend(record_columns(self.cipher(), record)?);
            }
            let sql = include_str!("shared/records/records_replace.sql");
            let sql = sql.replace("/*rows*/", &values_list(some.len(), 8));
            self.execute(&sql, &params).await?;
        }
        Ok(())
    }

    async fn save_fired_ticks(
        &mut self,
        ticks: &[(ScheduleId, Timestamp, JobId)],
    ) -> Result<Vec<JobId>, DriverError> {
        let mut fired = Vec::with_capacity(ticks.len());
        for some in insert_chunks(ticks) {
            let columns = |it: &(ScheduleId, Timestamp, JobId)| {
                [SqlValue::from(it.0), it.1.into(), it.2.into()]
            };
            let params: Vec<SqlValue<'_>> = some.iter().flat_map(columns).collect();
            let sql = include_str!("shared/schedules/ticks_fire.sql");
            let sql = sql.replace("/*rows*/", &values_list(some.len(), 3));
            for row in self.rows(&sql, &params).await? {
                fired.push(JobId::from_bits(row.id(0)?));
            }
        }
        Ok(fired)
    }

    async fn save_skipped_ticks(
        &mut self,
        skipped: &[(ScheduleId, SkippedTicks)],
    ) -> Result<(), DriverError> {
        for some in insert_chunks(skipped) {
            let mut params: Vec<SqlValue<'_>> = Vec::with_capacity(some.len() * 3);
            for (schedule, skip) in some {
                let text = serde_json::to_string(skip);
                let text = text.map_err(|error| DriverError::unreadable("skip", error))?;
                params.extend([(*schedule).into(), skip.from.into(), text.into()]);
            }
            let sql = include_str!("shared/schedules/ticks_skip.sql");
            let sql = sql.replace("/*rows*/", &values_list(some.len(), 3));
            self.execute(&sql, &params).await?;
        }
        Ok(())
    }

    async fn delete_ticks(&mut self, schedule: ScheduleId) -> Result<(), DriverError> {
        let sql = include_str!("shared/schedules/ticks_delete.sql");
        self.execute(sql, &[schedule.into()]).await.map(drop)
    }

    async fn save_key(
        &mut self,
        tenant: &Tenant,
        key: &IdempotencyKey,
        stored: StoredKey,
    ) -> Result<bool, DriverError> {
        let sql = include_str!("shared/schedules/key_save.sql");
        let params = [
            tenant.as_str().into(),
            key.as_str().into(),
            SqlValue::Id(stored.owner),
            SqlValue::Id(u128::from_be_bytes(stored.fingerprint)),
        ];
        Ok(self.execute(sql, &params).await? > 0)
    }

    async fn delete_key(
        &mut self,
        tenant: &Tenant,
        key: &IdempotencyKey,
        owner: u128,
    ) -> Result<(), DriverError> {
        let sql = include_str!("shared/schedules/key_delete.sql");
        let params = [
            tenant.as_str().into(),
            key.as_str().into(),
            SqlValue::Id(owner),
        ];
        self.execute(sql, &params).await.map(drop)
    }

    fn wake(&mut self, reason: WakeReason) {
        SqlWriter::wake(self, reason);
    }
}
