//! Work on many jobs, and who did what.

use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::{Connection, Params, Row, params};
use steadfast_core::{
    AuditId, AuditRecord, Job, JobCommand, JobId, NewJob, OperationEvent, OperationId,
    OperationJob, OperationOutcome, Subscriptions, Timestamp,
};

use super::{
    SqliteStore, change,
    damage::pass_over,
    driver_error::DriverError,
    each, enqueue,
    list::ABOVE_ALL,
    readers::Reader,
    session::Session,
    values::{job_id, job_key, to_json},
};
use crate::{
    error::{CommandError, EnqueueError, StoreError},
    sql::{
        operations::{job_columns, operation_job, pending, record},
        paging::{Readable, page_of, row_limit},
    },
    store::{
        AuditFilter, EnqueueResult, OperationBatch, OperationChange, OperationFilter,
        OperationJobFilter, OperationRecord, OperationStore, Page, PageRequest,
    },
};

#[async_trait]
impl OperationStore for SqliteStore {
    async fn create_operation(
        &self,
        operation: OperationRecord,
        jobs: Vec<JobId>,
        open_max: usize,
        audit: AuditRecord,
    ) -> Result<bool, StoreError> {
        self.write("create_operation", jobs.len() + 2, move |session| {
            create(session, &operation, &jobs, open_max, &audit)
        })
        .await
    }

    async fn get_operation(&self, id: OperationId) -> Result<Option<OperationRecord>, StoreError> {
        self.read("get_operation", move |reader| find(&reader.conn, id))
            .await
    }

    async fn list_operations(
        &self,
        filter: OperationFilter,
        page: PageRequest<OperationId>,
    ) -> Result<Page<OperationRecord, OperationId>, StoreError> {
        let list = move |reader: &mut Reader| list(reader, &filter, page);
        self.read("list_operations", list).await
    }

    async fn change_operation(
        &self,
        id: OperationId,
        event: OperationEvent,
        audit: Option<AuditRecord>,
    ) -> Result<OperationChange, StoreError> {
        self.write("change_operation", 2, move |session| {
            let changed = change(session, id, event)?;
            if let (OperationChange::Done(_), Some(audit)) = (&changed, &audit) {
                save_audit(session, Some(audit))?;
            }
            Ok(changed)
        })
        .await
    }

    async fn work_operation(
        &self,
        id: OperationId,
        revision: u64,
        batch: OperationBatch,
        subscriptions: Arc<Subscriptions>,
    ) -> Result<OperationChange, StoreError> {
        self.write("work_operation", 2 * batch.jobs.len(), move |session| {
            work(session, id, revision, &batch, &subscriptions)
        })
        .await
    }

    async fn save_outcomes(
        &self,
        id: OperationId,
        outcomes: Vec<(JobId, OperationOutcome)>,
    ) -> Result<OperationChange, StoreError> {
        self.write("save_outcomes", outcomes.len(), move |session| {
            save_outcomes(session, id, &outcomes)
        })
        .await
    }

    async fn list_operation_jobs(
        &self,
        id: OperationId,
        filter: OperationJobFilter,
        page: PageRequest<JobId>,
    ) -> Result<Page<OperationJob, JobId>, StoreError> {
        self.read("list_operation_jobs", move |reader| {
            list_jobs(&reader.conn, id, filter, page)
        })
        .await
    }

    async fn operations_of_job(
        &self,
        job: JobId,
        limit: usize,
    ) -> Result<Vec<OperationRecord>, StoreError> {
        self.read("operations_of_job", move |reader| {
            let sql = include_str!("sql/operations_of_job.sql");
            Ok(records(reader, sql, params![job_key(job), row_limit(limit)])?.items)
        })
        .await
    }

    async fn prune_operations(
        &self,
        ended_before: Timestamp,
        limit: usize,
    ) -> Result<usize, StoreError> {
        self.write("prune_operations", limit, move |session| {
            prune(session, ended_before, limit)
        })
        .await
    }

    async fn enqueue_audited(
        &self,
        jobs: Vec<NewJob>,
        audit: AuditRecord,
    ) -> Result<Vec<EnqueueResult>, EnqueueError> {
        self.write("enqueue_audited", jobs.len() + 1, move |session| {
            let results = enqueue::enqueue(session, &jobs)?;
            save_audit(session, Some(&audit).filter(|_| results.is_ok()))?;
            Ok(results)
        })
        .await?
    }

    async fn run_audited_command(
        &self,
        jobs: Vec<JobId>,
        command: JobCommand,
        subscriptions: Arc<Subscriptions>,
        audit: AuditRecord,
    ) -> Result<Vec<Result<Job, CommandError>>, StoreError> {
        self.write("run_audited_command", jobs.len() + 1, move |session| {
            let results = each(&jobs, |job| {
                change::run_command(session, *job, &command, &subscriptions)
            })?;
            if results.iter().any(Result::is_ok) {
                save_audit(session, Some(&audit))?;
            }
            Ok(results)
        })
        .await
    }

    async fn list_audit(
        &self,
        filter: AuditFilter,
        page: PageRequest<AuditId>,
    ) -> Result<Page<AuditRecord, AuditId>, StoreError> {
        let list = move |reader: &mut Reader| list_audit(reader, &filter, page);
        self.read("list_audit", list).await
    }

    async fn prune_audit(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        self.write("prune_audit", limit, move |session| {
            let sql = include_str!("sql/audit_prune.sql");
            let mut delete = session.conn.prepare_cached(sql)?;
            Ok(delete.execute(params![before.as_micros(), row_limit(limit)])?)
        })
        .await
    }
}

fn create(
    session: &mut Session<'_>,
    operation: &OperationRecord,
    jobs: &[JobId],
    open_max: usize,
    audit: &AuditRecord,
) -> Result<bool, DriverError> {
    if find(session.conn, operation.id)?.is_some() {
        return Ok(true);
    }
    let tenant = operation
        .tenant
        .as_ref()
        .map_or("", |tenant| tenant.as_str());
    let open: i64 = session
        .conn
        .prepare_cached(include_str!("sql/operation_count_open.sql"))?
        .query_row(params![tenant, row_limit(open_max)], |row| row.get("count"))?;
    if operation.is_open() && open >= row_limit(open_max) {
        return Ok(false);
    }
    save(session, operation)?;
    for job in jobs {
        save_job(session, operation, &OperationJob::named(*job))?;
    }
    save_audit(session, Some(audit))?;
    Ok(true)
}

fn save(session: &Session<'_>, operation: &OperationRecord) -> Result<(), DriverError> {
    let tenant = operation
        .tenant
        .as_ref()
        .map_or("", |tenant| tenant.as_str());
    session
        .conn
        .prepare_cached(include_str!("sql/operation_save.sql"))?
        .execute(params![
            operation_key(operation.id),
            tenant,
            operation.is_open(),
            operation.finished_at.map(Timestamp::as_micros),
            i64::try_from(operation.revision).unwrap_or(i64::MAX),
            to_json(operation)?,
        ])?;
    Ok(())
}

fn save_job(
    session: &Session<'_>,
    operation: &OperationRecord,
    job: &OperationJob,
) -> Result<(), DriverError> {
    let (result, attempts, fingerprint) = job_columns(job);
    session
        .conn
        .prepare_cached(include_str!("sql/operation_job_save.sql"))?
        .execute(params![
            operation_key(operation.id),
            job_key(job.job),
            result,
            attempts,
            fingerprint,
            pending(operation, job),
        ])?;
    Ok(())
}

fn change(
    session: &Session<'_>,
    id: OperationId,
    event: OperationEvent,
) -> Result<OperationChange, DriverError> {
    let Some(stored) = find(session.conn, id)? else {
        return Ok(OperationChange::NotFound);
    };
    match stored.step(event, session.now) {
        Err(refusal) => Ok(OperationChange::Refused(refusal)),
        Ok(next) => {
            if next.revision != stored.revision {
                save(session, &next)?;
            }
            Ok(OperationChange::Done(Box::new(next)))
        }
    }
}

fn work(
    session: &mut Session<'_>,
    id: OperationId,
    revision: u64,
    batch: &OperationBatch,
    subscriptions: &Subscriptions,
) -> Result<OperationChange, DriverError> {
    let Some(stored) = find(session.conn, id)? else {
        return Ok(OperationChange::NotFound);
    };
    if stored.revision != revision {
        return Ok(OperationChange::Outdated);
    }
    let now = session.now;
    // Nothing is changed by a batch that the operation does not allow.
    if let Err(refusal) = stored.after_batch(batch, 0, now) {
        return Ok(OperationChange::Refused(refusal));
    }
    let command = stored.operation.command();
    let mut changed = 0;
    for id in &batch.jobs {
        let matches = |job: &Job| stored.filter.matches(job, now);
        let result = change::run_command_if(session, *id, &command, subscriptions, matches)?;
        changed += usize::from(result.is_ok());
        save_job(session, &stored, &stored.job_after(*id, &result))?;
    }
    let next = stored.after_batch(batch, changed, now);
    let next = next.map_err(|refusal| DriverError::unreadable("operation", refusal))?;
    save(session, &next)?;
    Ok(OperationChange::Done(Box::new(next)))
}

fn save_outcomes(
    session: &Session<'_>,
    id: OperationId,
    outcomes: &[(JobId, OperationOutcome)],
) -> Result<OperationChange, DriverError> {
    let Some(stored) = find(session.conn, id)? else {
        return Ok(OperationChange::NotFound);
    };
    let mut counts = stored.operation.progress.outcomes;
    let sql = include_str!("sql/operation_outcome.sql");
    let mut update = session.conn.prepare_cached(sql)?;
    for (job, outcome) in outcomes {
        let row = params![operation_key(id), job_key(*job), outcome.as_str()];
        if update.execute(row)? > 0 {
            counts.add(*outcome);
        }
    }
    change(session, id, OperationEvent::Outcomes(counts))
}

fn find(conn: &Connection, id: OperationId) -> Result<Option<OperationRecord>, DriverError> {
    let mut statement = conn.prepare_cached(include_str!("sql/operation_find.sql"))?;
    let mut rows = statement.query([operation_key(id)])?;
    let row = rows.next()?;
    row.map(read).transpose()
}

fn list(
    reader: &mut Reader,
    filter: &OperationFilter,
    page: PageRequest<OperationId>,
) -> Result<Page<OperationRecord, OperationId>, DriverError> {
    let sql = match (filter.is_open, &filter.tenant) {
        (true, _) => include_str!("sql/operations_open.sql"),
        (false, None) => include_str!("sql/operations.sql"),
        (false, Some(_)) => include_str!("sql/operations_of_tenant.sql"),
    };
    let after = page
        .after
        .map_or(ABOVE_ALL.to_vec(), |id| operation_key(id).to_vec());
    let tenant = filter.tenant.as_ref().map(|tenant| tenant.as_str());
    let wanted = page.limit.saturating_add(1);
    let mut limit = wanted;
    loop {
        let found = records(reader, sql, params![after, tenant, row_limit(limit)])?;
        match found.next_limit(wanted, limit) {
            Some(next) => limit = next,
            None => return Ok(page_of(found.items, page.limit, |record| record.id)),
        }
    }
}

fn records(
    reader: &mut Reader,
    sql: &str,
    params: impl Params,
) -> Result<Readable<OperationRecord>, DriverError> {
    let damage = reader.names.damage();
    let mut statement = reader.conn.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    let mut found = Readable::default();
    while let Some(row) = rows.next()? {
        let id = OperationId::from_bits(u128::from_be_bytes(row.get("id")?));
        found.push(pass_over(read(row), &damage, "operation", id)?);
    }
    Ok(found)
}

fn read(row: &Row<'_>) -> Result<OperationRecord, DriverError> {
    Ok(record(
        row.get_ref("body")?
            .as_str()
            .map_err(rusqlite::Error::from)?,
        row.get("revision")?,
    )?)
}

fn list_jobs(
    conn: &Connection,
    id: OperationId,
    filter: OperationJobFilter,
    page: PageRequest<JobId>,
) -> Result<Page<OperationJob, JobId>, DriverError> {
    let (sql, pending) = match filter {
        OperationJobFilter::All => (include_str!("sql/operation_jobs.sql"), None),
        OperationJobFilter::NotWorked => (include_str!("sql/operation_jobs_pending.sql"), Some(1)),
        OperationJobFilter::Watched => (include_str!("sql/operation_jobs_pending.sql"), Some(2)),
        OperationJobFilter::NotChanged => (include_str!("sql/operation_jobs_left.sql"), None),
    };
    let after = page
        .after
        .map_or(ABOVE_ALL.to_vec(), |id| job_key(id).to_vec());
    let limit = row_limit(page.limit.saturating_add(1));
    let mut statement = conn.prepare_cached(sql)?;
    let key = operation_key(id);
    let mut rows = match pending {
        None => statement.query(params![key, after, limit])?,
        Some(pending) => statement.query(params![key, after, limit, pending])?,
    };
    let mut jobs = Vec::new();
    while let Some(row) = rows.next()? {
        let (result, outcome): (Option<String>, Option<String>) =
            (row.get("result")?, row.get("outcome")?);
        let fingerprint: Option<String> = row.get("fingerprint")?;
        jobs.push(operation_job(
            job_id(row.get("job")?),
            result.as_deref(),
            row.get("attempts")?,
            fingerprint.as_deref(),
            outcome.as_deref(),
        )?);
    }
    Ok(page_of(jobs, page.limit, |job| job.job))
}

fn prune(
    session: &Session<'_>,
    ended_before: Timestamp,
    limit: usize,
) -> Result<usize, DriverError> {
    let mut deleted = 0;
    while deleted < limit {
        let sql = include_str!("sql/operation_prune_find.sql");
        let mut find = session.conn.prepare_cached(sql)?;
        let mut rows = find.query([ended_before.as_micros()])?;
        let Some(row) = rows.next()? else {
            break;
        };
        let id: [u8; 16] = row.get("id")?;
        let sql = include_str!("sql/operation_prune_jobs.sql");
        let mut delete = session.conn.prepare_cached(sql)?;
        deleted += delete.execute(params![id, row_limit(limit - deleted)])?;
        if deleted < limit {
            let sql = include_str!("sql/operation_delete.sql");
            deleted += session.conn.prepare_cached(sql)?.execute([id])?;
        }
    }
    Ok(deleted)
}

/// Stores an audit record, if there is one and it is not stored already.
pub(super) fn save_audit(
    session: &Session<'_>,
    record: Option<&AuditRecord>,
) -> Result<(), DriverError> {
    let Some(record) = record else {
        return Ok(());
    };
    session
        .conn
        .prepare_cached(include_str!("sql/audit_save.sql"))?
        .execute(params![
            audit_key(record.id),
            record.tenant.as_ref().map_or("", |tenant| tenant.as_str()),
            record.at.as_micros(),
            record.actor.name,
            record.action,
            record.subject,
            to_json(record)?,
        ])?;
    Ok(())
}

fn list_audit(
    reader: &mut Reader,
    filter: &AuditFilter,
    page: PageRequest<AuditId>,
) -> Result<Page<AuditRecord, AuditId>, DriverError> {
    let sql = match (&filter.subject, &filter.tenant) {
        (Some(_), _) => include_str!("sql/audit_of_subject.sql"),
        (None, Some(_)) => include_str!("sql/audit_of_tenant.sql"),
        (None, None) => include_str!("sql/audit.sql"),
    };
    let damage = reader.names.damage();
    let after = page
        .after
        .map_or(ABOVE_ALL.to_vec(), |id| audit_key(id).to_vec());
    let (low, high) = filter.action_range();
    let mut statement = reader.conn.prepare_cached(sql)?;
    let values: [&dyn rusqlite::ToSql; 9] = [
        &after,
        &filter.tenant.as_ref().map(|tenant| tenant.as_str()),
        &filter.actor,
        &low,
        &high,
        &filter.from.unwrap_or(Timestamp::EPOCH).as_micros(),
        &filter.before.unwrap_or(Timestamp::MAX).as_micros(),
        &row_limit(page.limit.saturating_add(1)),
        &filter.subject,
    ];
    let count = statement.parameter_count();
    let mut rows = statement.query(&values[..count])?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        let text = row
            .get_ref("body")?
            .as_str()
            .map_err(rusqlite::Error::from)?;
        let read = serde_json::from_str::<AuditRecord>(text);
        let read = read.map_err(|error| DriverError::unreadable("audit record", error));
        records.extend(pass_over(read, &damage, "audit", "a record")?);
    }
    Ok(page_of(records, page.limit, |record| record.id))
}

fn operation_key(id: OperationId) -> [u8; 16] {
    id.bits().to_be_bytes()
}

fn audit_key(id: AuditId) -> [u8; 16] {
    id.bits().to_be_bytes()
}
