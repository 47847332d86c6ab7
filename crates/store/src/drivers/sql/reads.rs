//! What both SQL drivers read for the verbs by the same statements.

use std::collections::HashMap;

use async_trait::async_trait;
use steadfast_core::{
    AuditId, AuditRecord, IdempotencyKey, Job, JobId, OperationId, OperationJob, ScheduleId,
    Tenant, Timestamp,
};

use super::{
    operations::operation_job,
    records::{audit_record, stored_record, tick_record},
    session::{SqlRow, SqlSession, SqlValue, insert_chunks, value_list, values_list},
    values::unsigned,
};
use crate::{
    damage::{DamageLog, DamagedRow},
    drivers::driver_error::DriverError,
    drivers::transaction::{
        Lock, PendingStep, Reads, RecordKind, RecordOrder, RecordQuery, RecordState, StoredKey,
        StoredRecord, StoredTick,
    },
    paging::prefix_end,
    store::{AuditFilter, DocumentKind, DocumentVersions, OperationJobFilter},
};

#[async_trait]
impl<S: SqlSession> Reads for S {
    fn now(&self) -> Timestamp {
        SqlSession::now(self)
    }

    fn damage(&self) -> &DamageLog {
        SqlSession::damage(self)
    }

    fn sql(&mut self) -> Option<&mut dyn SqlSession> {
        Some(self)
    }

    async fn record(
        &mut self,
        kind: RecordKind,
        id: &str,
        lock: Lock,
    ) -> Result<Option<StoredRecord>, DriverError> {
        let sql = match lock {
            Lock::None => include_str!("shared/records/record_find.sql"),
            Lock::Update | Lock::SkipLocked => include_str!("shared/records/record_lock.sql"),
        };
        let rows = self.rows(sql, &[kind.as_str().into(), id.into()]).await?;
        let row = rows.first();
        row.map(|row| stored_record(self.cipher(), kind, row))
            .transpose()
    }

    async fn records(&mut self, query: &RecordQuery<'_>) -> Result<Vec<StoredRecord>, DriverError> {
        let (kind, limit) = (query.kind.as_str().into(), query.limit.into());
        let rows = match query.order {
            RecordOrder::Ascending { prefix, after } => {
                let sql = include_str!("shared/records/records_ascending.sql");
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
                    (None, None) => include_str!("shared/records/records_newest.sql"),
                    (Some(_), None) => include_str!("shared/records/records_newest_of_tenant.sql"),
                    (None, Some(_)) => include_str!("shared/records/records_newest_of_state.sql"),
                    (Some(_), Some(_)) => {
                        include_str!("shared/records/records_newest_of_tenant_and_state.sql")
                    }
                };
                let above_all = char::MAX.to_string();
                let before = before.unwrap_or(&above_all);
                let mut params = vec![kind, before.into(), limit];
                params.extend(tenant.map(SqlValue::from));
                params.extend(state.map(|state| state.as_str().into()));
                self.rows(sql, &params).await?
            }
            RecordOrder::Named {
                name,
                tenant,
                before,
            } => {
                let sql = match tenant {
                    None => include_str!("shared/records/records_named.sql"),
                    Some(_) => include_str!("shared/records/records_named_of_tenant.sql"),
                };
                let above_all = char::MAX.to_string();
                let before = before.unwrap_or(&above_all);
                let mut params = vec![kind, before.into(), limit, name.into()];
                params.extend(tenant.map(SqlValue::from));
                self.rows(sql, &params).await?
            }
            RecordOrder::Earliest { state, before } => {
                let sql = include_str!("shared/records/records_earliest.sql");
                let params = [kind, state.as_str().into(), before.into(), limit];
                self.rows(sql, &params).await?
            }
        };
        let read = |row| stored_record(self.cipher(), query.kind, row);
        rows.iter().map(read).collect()
    }

    async fn count_records(
        &mut self,
        kind: RecordKind,
        tenant: &str,
        state: RecordState,
        limit: usize,
    ) -> Result<usize, DriverError> {
        let sql = include_str!("shared/records/records_count.sql");
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
        let sql = include_str!("shared/operations/document_versions.sql");
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
        let mut sql = include_str!("shared/operations/audit.sql").to_owned();
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
            OperationJobFilter::All => (include_str!("shared/operations/operation_jobs.sql"), None),
            OperationJobFilter::NotWorked => (
                include_str!("shared/operations/operation_jobs_pending.sql"),
                Some(PendingStep::Command),
            ),
            OperationJobFilter::Watched => (
                include_str!("shared/operations/operation_jobs_pending.sql"),
                Some(PendingStep::Outcome),
            ),
            OperationJobFilter::NotChanged => (
                include_str!("shared/operations/operation_jobs_unchanged.sql"),
                None,
            ),
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
        after: Option<OperationId>,
        limit: usize,
    ) -> Result<Vec<OperationId>, DriverError> {
        let sql = include_str!("shared/operations/operations_of_job.sql");
        let after = after.unwrap_or(OperationId::from_bits(u128::MAX));
        let params = [job.into(), after.into(), limit.into()];
        let rows = self.rows(sql, &params).await?;
        rows.iter()
            .map(|row| Ok(OperationId::from_bits(row.id(0)?)))
            .collect()
    }

    async fn free_records(
        &mut self,
        kind: RecordKind,
        ids: &[String],
    ) -> Result<Vec<StoredRecord>, DriverError> {
        let mut found = Vec::with_capacity(ids.len());
        for some in insert_chunks(ids) {
            let sql = include_str!("shared/records/records_free.sql");
            let sql = sql.replace("/*ids*/", &value_list(2, some.len()));
            let mut params = vec![SqlValue::from(kind.as_str())];
            params.extend(some.iter().map(|id| SqlValue::from(id.as_str())));
            for row in self.rows(&sql, &params).await? {
                found.push(stored_record(self.cipher(), kind, &row)?);
            }
        }
        Ok(found)
    }

    async fn record_ids(
        &mut self,
        kind: RecordKind,
        state: RecordState,
    ) -> Result<Vec<String>, DriverError> {
        let sql = include_str!("shared/records/record_ids.sql");
        let params = [kind.as_str().into(), state.as_str().into()];
        let rows = self.rows(sql, &params).await?;
        rows.iter().map(|row| Ok(row.text(0)?.to_owned())).collect()
    }

    async fn next_record_time(
        &mut self,
        kind: RecordKind,
        state: RecordState,
        after: Timestamp,
    ) -> Result<Option<Timestamp>, DriverError> {
        let sql = include_str!("shared/records/record_next.sql");
        let params = [kind.as_str().into(), state.as_str().into(), after.into()];
        let rows = self.rows(sql, &params).await?;
        let at = rows.first().map_or(Ok(None), |row| row.int_if_any(0))?;
        Ok(at.map(Timestamp::from_micros))
    }

    async fn unfinished_runs(
        &mut self,
        schedules: &[ScheduleId],
    ) -> Result<HashMap<ScheduleId, JobId>, DriverError> {
        let mut runs = HashMap::new();
        for some in insert_chunks(schedules) {
            let sql = include_str!("shared/schedules/unfinished_runs.sql");
            let sql = sql.replace("/*rows*/", &values_list(some.len(), 1));
            let params: Vec<SqlValue<'_>> = some.iter().map(|id| (*id).into()).collect();
            for row in self.rows(&sql, &params).await? {
                if let Some(job) = row.id_if_any(1)? {
                    runs.insert(ScheduleId::from_bits(row.id(0)?), JobId::from_bits(job));
                }
            }
        }
        Ok(runs)
    }

    async fn ticks(
        &mut self,
        schedule: ScheduleId,
        before: Option<Timestamp>,
        limit: usize,
    ) -> Result<Vec<StoredTick>, DriverError> {
        let sql = include_str!("shared/schedules/ticks.sql");
        let before = before.map_or(i64::MAX, Timestamp::as_micros);
        let params = [schedule.into(), before.into(), limit.into()];
        let rows = self.rows(sql, &params).await?;
        rows.iter()
            .map(|row| Ok((Timestamp::from_micros(row.int(0)?), tick_record(row))))
            .collect()
    }

    async fn find_key(
        &mut self,
        tenant: &Tenant,
        key: &IdempotencyKey,
    ) -> Result<Option<StoredKey>, DriverError> {
        let sql = include_str!("shared/schedules/key_find.sql");
        let params = [tenant.as_str().into(), key.as_str().into()];
        let rows = self.rows(sql, &params).await?;
        let key = |row: &SqlRow| {
            Ok(StoredKey {
                owner: row.id(0)?,
                fingerprint: row.id(1)?.to_be_bytes(),
            })
        };
        rows.first().map(key).transpose()
    }

    async fn readable_jobs(&mut self, ids: &[JobId]) -> Result<Vec<Job>, DriverError> {
        SqlSession::readable_jobs(self, ids).await
    }
}
