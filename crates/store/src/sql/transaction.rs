//! What both SQL drivers give to the verbs by the same statements.

use async_trait::async_trait;
use steadfast_core::{
    AuditId, AuditRecord, Job, JobCommand, JobId, NewJob, OperationId, OperationJob,
    OperationOutcome, Subscriptions, Timestamp,
};

use super::{
    operations::{job_columns, operation_job},
    session::{SqlRow, SqlSession, SqlValue, insert_chunks, values_list},
    values::unsigned,
};
use crate::{
    damage::{DamageLog, DamagedRow},
    driver_error::DriverError,
    error::{CommandError, EnqueueError},
    paging::prefix_end,
    store::{AuditFilter, DocumentKind, DocumentVersions, EnqueueResult, OperationJobFilter},
    transaction::{
        JobCondition, Lock, PendingStep, Reads, Record, RecordKind, RecordOrder, RecordQuery,
        RecordState, StoredRecord, Transaction,
    },
};

#[async_trait]
impl<S: SqlSession> Reads for S {
    fn now(&self) -> Timestamp {
        SqlSession::now(self)
    }

    fn damage(&self) -> &DamageLog {
        SqlSession::damage(self)
    }

    async fn record(
        &mut self,
        kind: RecordKind,
        id: &str,
        lock: Lock,
    ) -> Result<Option<StoredRecord>, DriverError> {
        let sql = match lock {
            Lock::None => include_str!("shared/record_find.sql"),
            Lock::Update => include_str!("shared/record_lock.sql"),
        };
        let rows = self.rows(sql, &[kind.as_str().into(), id.into()]).await?;
        rows.first().map(stored_record).transpose()
    }

    async fn records(&mut self, query: &RecordQuery<'_>) -> Result<Vec<StoredRecord>, DriverError> {
        let (kind, limit) = (query.kind.as_str().into(), query.limit.into());
        let rows = match query.order {
            RecordOrder::Ascending { prefix, after } => {
                let sql = include_str!("shared/records_ascending.sql");
                let end = prefix_end(prefix).into();
                let params = [kind, prefix.into(), end, after.into(), limit];
                self.rows(sql, &params).await?
            }
            RecordOrder::Newest {
                tenant,
                state,
                before,
            } => {
                let sql = match (tenant, state) {
                    (None, None) => include_str!("shared/records_newest.sql"),
                    (Some(_), None) => include_str!("shared/records_newest_of_tenant.sql"),
                    (None, Some(_)) => include_str!("shared/records_newest_of_state.sql"),
                    (Some(_), Some(_)) => {
                        include_str!("shared/records_newest_of_tenant_and_state.sql")
                    }
                };
                let above_all = char::MAX.to_string();
                let before = before.unwrap_or(&above_all);
                let mut params = vec![kind, before.into(), limit];
                params.extend(tenant.map(SqlValue::from));
                params.extend(state.map(|state| state.as_str().into()));
                self.rows(sql, &params).await?
            }
            RecordOrder::Earliest { state, before } => {
                let sql = include_str!("shared/records_earliest.sql");
                let params = [kind, state.as_str().into(), before.into(), limit];
                self.rows(sql, &params).await?
            }
        };
        rows.iter().map(stored_record).collect()
    }

    async fn count_records(
        &mut self,
        kind: RecordKind,
        tenant: &str,
        state: RecordState,
        limit: usize,
    ) -> Result<usize, DriverError> {
        let sql = include_str!("shared/records_count.sql");
        let params = [
            kind.as_str().into(),
            tenant.into(),
            state.as_str().into(),
            limit.into(),
        ];
        let rows = self.rows(sql, &params).await?;
        let count = rows.first().map_or(Ok(0), |row| row.int(0))?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    async fn document_versions(&mut self) -> Result<DocumentVersions, DriverError> {
        let sql = include_str!("shared/document_versions.sql");
        let mut versions = Vec::new();
        for row in self.rows(sql, &[]).await? {
            // A kind that only a newer version knows is none of ours.
            if let Ok(kind) = row.text(0)?.parse::<DocumentKind>() {
                versions.push((kind, unsigned(row.int(1)?)));
            }
        }
        Ok(versions.into_iter().collect())
    }

    async fn audit_records(
        &mut self,
        filter: &AuditFilter,
        after: Option<AuditId>,
        limit: usize,
    ) -> Result<Vec<AuditRecord>, DriverError> {
        let tenant = filter.tenant.as_ref().map(|tenant| tenant.as_str());
        let (low, high) = filter.action_range();
        let mut params = vec![
            after.unwrap_or(AuditId::from_bits(u128::MAX)).into(),
            filter.from.unwrap_or(Timestamp::EPOCH).into(),
            filter.before.unwrap_or(Timestamp::MAX).into(),
            low.into(),
            high.into(),
            limit.into(),
        ];
        let mut sql = include_str!("shared/audit.sql").to_owned();
        let wanted = [
            ("subject", filter.subject.as_deref()),
            // A subject has fewer records than a tenant: SQLite is to search by it.
            match filter.subject {
                Some(_) => ("tenant || ''", tenant),
                None => ("tenant", tenant),
            },
            ("actor", filter.actor.as_deref()),
        ];
        for (column, value) in wanted {
            if let Some(value) = value {
                params.push(value.into());
                let condition = format!("/*and*/ AND {column} = ?{}", params.len());
                sql = sql.replace("/*and*/", &condition);
            }
        }
        let mut records = Vec::new();
        for row in self.rows(&sql, &params).await? {
            match row.text(1).and_then(audit_record) {
                Ok(record) => records.push(record),
                Err(error) if error.is_unreadable() => {
                    let id = AuditId::from_bits(row.id(0)?);
                    SqlSession::damage(self).note(DamagedRow::new("audit", id, error));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(records)
    }

    async fn operation_jobs(
        &mut self,
        operation: OperationId,
        filter: OperationJobFilter,
        after: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<OperationJob>, DriverError> {
        let (sql, pending) = match filter {
            OperationJobFilter::All => (include_str!("shared/operation_jobs.sql"), None),
            OperationJobFilter::NotWorked => (
                include_str!("shared/operation_jobs_pending.sql"),
                Some(PendingStep::Command),
            ),
            OperationJobFilter::Watched => (
                include_str!("shared/operation_jobs_pending.sql"),
                Some(PendingStep::Outcome),
            ),
            OperationJobFilter::NotChanged => {
                (include_str!("shared/operation_jobs_unchanged.sql"), None)
            }
        };
        let after = after.unwrap_or(JobId::from_bits(u128::MAX));
        let mut params = vec![operation.into(), after.into(), limit.into()];
        params.extend(pending.map(|pending| pending.number().into()));
        let rows = self.rows(sql, &params).await?;
        rows.iter()
            .map(|row| {
                let id = JobId::from_bits(row.id(0)?);
                let (result, fingerprint) = (row.text_if_any(1)?, row.text_if_any(3)?);
                let outcome = row.text_if_any(4)?;
                Ok(operation_job(
                    id,
                    result,
                    row.int(2)?,
                    fingerprint,
                    outcome,
                )?)
            })
            .collect()
    }

    async fn operations_of(
        &mut self,
        job: JobId,
        limit: usize,
    ) -> Result<Vec<OperationId>, DriverError> {
        let sql = include_str!("shared/operations_of_job.sql");
        let rows = self.rows(sql, &[job.into(), limit.into()]).await?;
        rows.iter()
            .map(|row| Ok(OperationId::from_bits(row.id(0)?)))
            .collect()
    }
}

/// A connection that writes, with what each driver does by statements of its own.
#[async_trait]
pub(crate) trait SqlWriter: SqlSession {
    async fn lock_name(&mut self, name: &str) -> Result<(), DriverError>;

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
}

#[async_trait]
impl<S: SqlWriter> Transaction for S {
    async fn lock_name(&mut self, name: &str) -> Result<(), DriverError> {
        SqlWriter::lock_name(self, name).await
    }

    async fn save_record(&mut self, record: &Record<'_>) -> Result<bool, DriverError> {
        let mut params = vec![
            record.kind.as_str().into(),
            record.id.into(),
            record.tenant.into(),
            record.state.as_str().into(),
            record.at.into(),
            record.revision.into(),
            record.body.into(),
        ];
        let sql = match record.replaces {
            None => include_str!("shared/record_create.sql"),
            Some(revision) => {
                params.push(revision.into());
                include_str!("shared/record_replace.sql")
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
            None => include_str!("shared/record_delete.sql"),
            Some(revision) => {
                params.push(revision.into());
                include_str!("shared/record_delete_at.sql")
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
        let sql = include_str!("shared/audit_save.sql");
        self.execute(sql, &params).await.map(drop)
    }

    async fn delete_audit(
        &mut self,
        before: Timestamp,
        limit: usize,
    ) -> Result<usize, DriverError> {
        let sql = include_str!("shared/audit_delete.sql");
        self.execute(sql, &[before.into(), limit.into()]).await
    }

    async fn save_operation_jobs(
        &mut self,
        operation: OperationId,
        jobs: &[(OperationJob, PendingStep)],
    ) -> Result<(), DriverError> {
        for some in insert_chunks(jobs) {
            let mut params = Vec::with_capacity(some.len() * 6);
            for (job, pending) in some {
                let (result, attempts, fingerprint) = job_columns(job);
                params.extend([
                    operation.into(),
                    job.job.into(),
                    result.into(),
                    attempts.into(),
                    fingerprint.into(),
                    pending.number().into(),
                ]);
            }
            let sql = include_str!("shared/operation_jobs_save.sql");
            let sql = sql.replace("/*rows*/", &values_list(some.len(), 6));
            self.execute(&sql, &params).await?;
        }
        Ok(())
    }

    async fn save_operation_outcome(
        &mut self,
        operation: OperationId,
        job: JobId,
        outcome: OperationOutcome,
    ) -> Result<bool, DriverError> {
        let sql = include_str!("shared/operation_outcome.sql");
        let params = [operation.into(), job.into(), outcome.as_str().into()];
        Ok(self.execute(sql, &params).await? > 0)
    }

    async fn delete_operation_jobs(
        &mut self,
        operation: OperationId,
        limit: usize,
    ) -> Result<usize, DriverError> {
        let sql = include_str!("shared/operation_jobs_delete.sql");
        self.execute(sql, &[operation.into(), limit.into()]).await
    }
}

fn stored_record(row: &SqlRow) -> Result<StoredRecord, DriverError> {
    Ok(StoredRecord {
        id: row.text(0)?.to_owned(),
        revision: unsigned(row.int(1)?),
        text: row
            .text(2)
            .map(str::to_owned)
            .map_err(|error| error.to_string()),
    })
}

fn audit_record(body: &str) -> Result<AuditRecord, DriverError> {
    let read = serde_json::from_str(body);
    read.map_err(|error| DriverError::unreadable("audit record", error))
}
