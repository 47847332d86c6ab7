//! Work on many jobs, and who did what.

use std::sync::Arc;

use async_trait::async_trait;
use steadfast_core::{
    AuditId, AuditRecord, Job, JobCommand, JobId, NewJob, OperationEvent, OperationId,
    OperationJob, OperationOutcome, Subscriptions, Timestamp,
};
use tokio_postgres::{Row, types::ToSql};

use super::{
    PostgresStore, change,
    damage::pass_over,
    driver_error::DriverError,
    enqueue,
    inner::{on_connection, with_wake_hints},
    key::Key,
    names::policy_id,
    session::{Conn, Session},
    values::{micros, to_json},
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
    wake::WakeReasons,
};

#[async_trait]
impl OperationStore for PostgresStore {
    async fn create_operation(
        &self,
        operation: OperationRecord,
        jobs: Vec<JobId>,
        open_max: usize,
        audit: AuditRecord,
    ) -> Result<bool, StoreError> {
        on_connection!(self, "create_operation", |conn| create(
            conn, &operation, &jobs, open_max, &audit
        ))
    }

    async fn get_operation(&self, id: OperationId) -> Result<Option<OperationRecord>, StoreError> {
        on_connection!(self, "get_operation", |conn| find(
            &conn.session(),
            id,
            include_str!("sql/operation_find.sql")
        ))
    }

    async fn list_operations(
        &self,
        filter: OperationFilter,
        page: PageRequest<OperationId>,
    ) -> Result<Page<OperationRecord, OperationId>, StoreError> {
        on_connection!(self, "list_operations", |conn| list(
            &conn.session(),
            &filter,
            page
        ))
    }

    async fn change_operation(
        &self,
        id: OperationId,
        event: OperationEvent,
        audit: Option<AuditRecord>,
    ) -> Result<OperationChange, StoreError> {
        on_connection!(self, "change_operation", |conn| change(
            conn,
            id,
            event,
            audit.as_ref()
        ))
    }

    async fn work_operation(
        &self,
        id: OperationId,
        revision: u64,
        batch: OperationBatch,
        subscriptions: Arc<Subscriptions>,
    ) -> Result<OperationChange, StoreError> {
        with_wake_hints!(self, "work_operation", |conn, hints| work(
            conn,
            id,
            revision,
            &batch,
            &subscriptions,
            hints
        ))
    }

    async fn save_outcomes(
        &self,
        id: OperationId,
        outcomes: Vec<(JobId, OperationOutcome)>,
    ) -> Result<OperationChange, StoreError> {
        on_connection!(self, "save_outcomes", |conn| save_outcomes(
            conn, id, &outcomes
        ))
    }

    async fn list_operation_jobs(
        &self,
        id: OperationId,
        filter: OperationJobFilter,
        page: PageRequest<JobId>,
    ) -> Result<Page<OperationJob, JobId>, StoreError> {
        on_connection!(self, "list_operation_jobs", |conn| list_jobs(
            &conn.session(),
            id,
            filter,
            page
        ))
    }

    async fn operations_of_job(
        &self,
        job: JobId,
        limit: usize,
    ) -> Result<Vec<OperationRecord>, StoreError> {
        let (job, limit) = (Key::from(job), row_limit(limit));
        let found = on_connection!(self, "operations_of_job", |conn| records(
            &conn.session(),
            include_str!("sql/operations_of_job.sql"),
            &[&job, &limit]
        ));
        Ok(found?.items)
    }

    async fn prune_operations(
        &self,
        ended_before: Timestamp,
        limit: usize,
    ) -> Result<usize, StoreError> {
        on_connection!(self, "prune_operations", |conn| prune(
            conn,
            ended_before,
            limit
        ))
    }

    async fn enqueue_audited(
        &self,
        jobs: Vec<NewJob>,
        audit: AuditRecord,
    ) -> Result<Vec<EnqueueResult>, EnqueueError> {
        with_wake_hints!(self, "enqueue_audited", |conn, hints| {
            enqueue::enqueue_audited(conn, &jobs, &audit, hints)
        })?
    }

    async fn run_audited_command(
        &self,
        jobs: Vec<JobId>,
        command: JobCommand,
        subscriptions: Arc<Subscriptions>,
        audit: AuditRecord,
    ) -> Result<Vec<Result<Job, CommandError>>, StoreError> {
        with_wake_hints!(self, "run_audited_command", |conn, hints| {
            change::run_command(conn, &jobs, &command, &subscriptions, Some(&audit), hints)
        })
    }

    async fn list_audit(
        &self,
        filter: AuditFilter,
        page: PageRequest<AuditId>,
    ) -> Result<Page<AuditRecord, AuditId>, StoreError> {
        on_connection!(self, "list_audit", |conn| list_audit(
            &conn.session(),
            &filter,
            page
        ))
    }

    async fn prune_audit(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        let (before, limit) = (before.as_micros(), row_limit(limit));
        on_connection!(self, "prune_audit", |conn| deleted(
            &conn.session(),
            include_str!("sql/audit_prune.sql"),
            &[&before, &limit]
        ))
    }
}

async fn create(
    conn: &mut Conn<'_>,
    operation: &OperationRecord,
    jobs: &[JobId],
    open_max: usize,
    audit: &AuditRecord,
) -> Result<bool, DriverError> {
    let transaction = conn.begin().await?;
    let session = transaction.session();
    let tenant = operation
        .tenant
        .as_ref()
        .map_or("", |tenant| tenant.as_str());
    let sql = include_str!("sql/operation_tenant_lock.sql");
    session.execute(sql, &[&tenant]).await?;
    let find_sql = include_str!("sql/operation_find.sql");
    if find(&session, operation.id, find_sql).await?.is_some() {
        return Ok(true);
    }
    let most = row_limit(open_max);
    let sql = include_str!("sql/operation_count_open.sql");
    let open: i64 = session
        .query_one(sql, &[&tenant, &most])
        .await?
        .try_get("count")?;
    if operation.is_open() && open >= most {
        return Ok(false);
    }
    let revision = i64::try_from(operation.revision).unwrap_or(i64::MAX);
    session
        .execute(
            include_str!("sql/operation_create.sql"),
            &[
                &Key::from(operation.id),
                &tenant,
                &operation.is_open(),
                &micros(operation.finished_at),
                &revision,
                &to_json(operation)?,
            ],
        )
        .await?;
    let jobs: Vec<OperationJob> = jobs.iter().map(|job| OperationJob::named(*job)).collect();
    save_jobs(&session, operation, &jobs).await?;
    save_audit(&session, Some(audit)).await?;
    transaction.commit().await?;
    Ok(true)
}

async fn save(session: &Session<'_>, operation: &OperationRecord) -> Result<(), DriverError> {
    let revision = i64::try_from(operation.revision).unwrap_or(i64::MAX);
    session
        .execute(
            include_str!("sql/operation_save.sql"),
            &[
                &Key::from(operation.id),
                &operation.is_open(),
                &micros(operation.finished_at),
                &revision,
                &to_json(operation)?,
            ],
        )
        .await
}

async fn save_jobs(
    session: &Session<'_>,
    operation: &OperationRecord,
    jobs: &[OperationJob],
) -> Result<(), DriverError> {
    if jobs.is_empty() {
        return Ok(());
    }
    let keys: Vec<Key> = jobs.iter().map(|job| job.job.into()).collect();
    let columns: Vec<_> = jobs.iter().map(job_columns).collect();
    let results: Vec<Option<&str>> = columns.iter().map(|column| column.0).collect();
    let attempts: Vec<i64> = columns.iter().map(|column| column.1).collect();
    let fingerprints: Vec<Option<&str>> =
        columns.iter().map(|column| column.2.as_deref()).collect();
    let pendings: Vec<i16> = jobs.iter().map(|job| pending(operation, job)).collect();
    let id = Key::from(operation.id);
    session
        .execute(
            include_str!("sql/operation_jobs_save.sql"),
            &[&id, &keys, &results, &attempts, &fingerprints, &pendings],
        )
        .await
}

async fn change(
    conn: &mut Conn<'_>,
    id: OperationId,
    event: OperationEvent,
    audit: Option<&AuditRecord>,
) -> Result<OperationChange, DriverError> {
    let transaction = conn.begin().await?;
    let session = transaction.session();
    let change = change_in(&session, id, event).await?;
    if let (OperationChange::Done(_), Some(audit)) = (&change, audit) {
        save_audit(&session, Some(audit)).await?;
    }
    transaction.commit().await?;
    Ok(change)
}

async fn change_in(
    session: &Session<'_>,
    id: OperationId,
    event: OperationEvent,
) -> Result<OperationChange, DriverError> {
    let Some(stored) = find(session, id, include_str!("sql/operation_lock.sql")).await? else {
        return Ok(OperationChange::NotFound);
    };
    match stored.step(event, session.shared.clock.now()) {
        Err(refusal) => Ok(OperationChange::Refused(refusal)),
        Ok(next) => {
            if next.revision != stored.revision {
                save(session, &next).await?;
            }
            Ok(OperationChange::Done(Box::new(next)))
        }
    }
}

async fn work(
    conn: &mut Conn<'_>,
    id: OperationId,
    revision: u64,
    batch: &OperationBatch,
    subscriptions: &Subscriptions,
    hints: &mut WakeReasons,
) -> Result<OperationChange, DriverError> {
    let lock = include_str!("sql/operation_lock.sql");
    let known = find(&conn.session(), id, include_str!("sql/operation_find.sql")).await?;
    // A number that is given inside a transaction is not cached.
    if let Some(policy) = known
        .as_ref()
        .and_then(|known| known.operation.policy.as_ref())
    {
        policy_id(&conn.session(), policy).await?;
    }
    let transaction = conn.begin().await?;
    let session = transaction.session();
    let Some(stored) = find(&session, id, lock).await? else {
        return Ok(OperationChange::NotFound);
    };
    if stored.revision != revision {
        return Ok(OperationChange::Outdated);
    }
    let now = session.shared.clock.now();
    // Nothing is changed by a batch that the operation does not allow.
    if let Err(refusal) = stored.after_batch(batch, 0, now) {
        return Ok(OperationChange::Refused(refusal));
    }
    let command = stored.operation.command();
    let matches = |job: &Job, now| stored.filter.matches(job, now);
    let results = change::run_command_if(
        &session,
        &batch.jobs,
        &command,
        subscriptions,
        matches,
        hints,
    )
    .await?;
    let pairs = batch.jobs.iter().zip(&results);
    let jobs: Vec<OperationJob> = pairs
        .map(|(id, result)| stored.job_after(*id, result))
        .collect();
    save_jobs(&session, &stored, &jobs).await?;
    let changed = results.iter().filter(|result| result.is_ok()).count();
    let next = stored.after_batch(batch, changed, now);
    let next = next.map_err(|refusal| DriverError::unreadable("operation", refusal))?;
    save(&session, &next).await?;
    transaction.commit().await?;
    Ok(OperationChange::Done(Box::new(next)))
}

async fn save_outcomes(
    conn: &mut Conn<'_>,
    id: OperationId,
    outcomes: &[(JobId, OperationOutcome)],
) -> Result<OperationChange, DriverError> {
    let transaction = conn.begin().await?;
    let session = transaction.session();
    let Some(stored) = find(&session, id, include_str!("sql/operation_lock.sql")).await? else {
        return Ok(OperationChange::NotFound);
    };
    let jobs: Vec<Key> = outcomes.iter().map(|(job, _)| (*job).into()).collect();
    let names: Vec<&str> = outcomes.iter().map(|(_, name)| name.as_str()).collect();
    let sql = include_str!("sql/operation_outcomes.sql");
    let rows = session.query(sql, &[&Key::from(id), &jobs, &names]).await?;
    let mut counts = stored.operation.progress.outcomes;
    for row in &rows {
        let outcome: &str = row.try_get("outcome")?;
        let outcome = outcome.parse();
        counts.add(outcome.map_err(|error| DriverError::unreadable("outcome", error))?);
    }
    let change = change_in(&session, id, OperationEvent::Outcomes(counts)).await?;
    transaction.commit().await?;
    Ok(change)
}

async fn find(
    session: &Session<'_>,
    id: OperationId,
    sql: &'static str,
) -> Result<Option<OperationRecord>, DriverError> {
    let rows = session.query(sql, &[&Key::from(id)]).await?;
    rows.first().map(read).transpose()
}

async fn list(
    session: &Session<'_>,
    filter: &OperationFilter,
    page: PageRequest<OperationId>,
) -> Result<Page<OperationRecord, OperationId>, DriverError> {
    let sql = match (filter.is_open, &filter.tenant) {
        (true, _) => include_str!("sql/operations_open.sql"),
        (false, None) => include_str!("sql/operations.sql"),
        (false, Some(_)) => include_str!("sql/operations_of_tenant.sql"),
    };
    let after = page.after.unwrap_or(OperationId::from_bits(u128::MAX));
    let tenant = filter.tenant.as_ref().map(|tenant| tenant.as_str());
    let wanted = page.limit.saturating_add(1);
    let mut limit = wanted;
    loop {
        let params: [&(dyn ToSql + Sync); 3] = [&Key::from(after), &tenant, &row_limit(limit)];
        let found = records(session, sql, &params).await?;
        match found.next_limit(wanted, limit) {
            Some(next) => limit = next,
            None => return Ok(page_of(found.items, page.limit, |record| record.id)),
        }
    }
}

async fn records(
    session: &Session<'_>,
    sql: &'static str,
    params: &[&(dyn ToSql + Sync)],
) -> Result<Readable<OperationRecord>, DriverError> {
    let rows = session.query(sql, params).await?;
    let mut found = Readable::default();
    for row in &rows {
        let id = row.try_get::<_, Key>("id")?.operation();
        let damage = &session.shared.damage;
        found.push(pass_over(read(row), damage, "operation", id)?);
    }
    Ok(found)
}

fn read(row: &Row) -> Result<OperationRecord, DriverError> {
    Ok(record(row.try_get("body")?, row.try_get("revision")?)?)
}

async fn list_jobs(
    session: &Session<'_>,
    id: OperationId,
    filter: OperationJobFilter,
    page: PageRequest<JobId>,
) -> Result<Page<OperationJob, JobId>, DriverError> {
    let (sql, pending): (&'static str, Option<i16>) = match filter {
        OperationJobFilter::All => (include_str!("sql/operation_jobs.sql"), None),
        OperationJobFilter::NotWorked => (include_str!("sql/operation_jobs_pending.sql"), Some(1)),
        OperationJobFilter::Watched => (include_str!("sql/operation_jobs_pending.sql"), Some(2)),
        OperationJobFilter::NotChanged => (include_str!("sql/operation_jobs_left.sql"), None),
    };
    let after = Key::from(page.after.unwrap_or(JobId::from_bits(u128::MAX)));
    let limit = row_limit(page.limit.saturating_add(1));
    let id = Key::from(id);
    let rows = match &pending {
        None => session.query(sql, &[&id, &after, &limit]).await?,
        Some(pending) => session.query(sql, &[&id, &after, &limit, pending]).await?,
    };
    let mut jobs = Vec::with_capacity(rows.len());
    for row in &rows {
        jobs.push(operation_job(
            row.try_get::<_, Key>("job")?.job(),
            row.try_get("result")?,
            row.try_get("attempts")?,
            row.try_get("fingerprint")?,
            row.try_get("outcome")?,
        )?);
    }
    Ok(page_of(jobs, page.limit, |job| job.job))
}

async fn prune(
    conn: &mut Conn<'_>,
    ended_before: Timestamp,
    limit: usize,
) -> Result<usize, DriverError> {
    let session = conn.session();
    let mut gone = 0;
    while gone < limit {
        let sql = include_str!("sql/operation_prune_find.sql");
        let found = session.query(sql, &[&ended_before.as_micros()]).await?;
        let Some(row) = found.first() else {
            break;
        };
        let id: Key = row.try_get("id")?;
        let left = row_limit(limit - gone);
        let sql = include_str!("sql/operation_prune_jobs.sql");
        gone += deleted(&session, sql, &[&id, &left]).await?;
        if gone < limit {
            let sql = include_str!("sql/operation_delete.sql");
            session.execute(sql, &[&id]).await?;
            gone += 1;
        }
    }
    Ok(gone)
}

async fn deleted(
    session: &Session<'_>,
    sql: &'static str,
    params: &[&(dyn ToSql + Sync)],
) -> Result<usize, DriverError> {
    let deleted: i64 = session.query_one(sql, params).await?.try_get("deleted")?;
    Ok(usize::try_from(deleted).unwrap_or(0))
}

/// Stores an audit record, if there is one and it is not stored already.
pub(super) async fn save_audit(
    session: &Session<'_>,
    record: Option<&AuditRecord>,
) -> Result<(), DriverError> {
    let Some(record) = record else {
        return Ok(());
    };
    let tenant = record.tenant.as_ref().map_or("", |tenant| tenant.as_str());
    session
        .execute(
            include_str!("sql/audit_save.sql"),
            &[
                &Key::from(record.id),
                &tenant,
                &record.at.as_micros(),
                &record.actor.name,
                &record.action,
                &record.subject,
                &to_json(record)?,
            ],
        )
        .await
}

async fn list_audit(
    session: &Session<'_>,
    filter: &AuditFilter,
    page: PageRequest<AuditId>,
) -> Result<Page<AuditRecord, AuditId>, DriverError> {
    let after = Key::from(page.after.unwrap_or(AuditId::from_bits(u128::MAX)));
    let tenant = filter.tenant.as_ref().map(|tenant| tenant.as_str());
    let (low, high) = filter.action_range();
    let from = filter.from.unwrap_or(Timestamp::EPOCH).as_micros();
    let before = filter.before.unwrap_or(Timestamp::MAX).as_micros();
    let limit = row_limit(page.limit.saturating_add(1));
    let mut params: Vec<&(dyn ToSql + Sync)> = vec![
        &after,
        &tenant,
        &filter.actor,
        &low,
        &high,
        &from,
        &before,
        &limit,
    ];
    let sql = match (&filter.subject, &filter.tenant) {
        (Some(subject), _) => {
            params.push(subject);
            include_str!("sql/audit_of_subject.sql")
        }
        (None, Some(_)) => include_str!("sql/audit_of_tenant.sql"),
        (None, None) => include_str!("sql/audit.sql"),
    };
    let rows = session.query(sql, &params).await?;
    let mut records = Vec::with_capacity(rows.len());
    for row in &rows {
        let read = serde_json::from_str::<AuditRecord>(row.try_get("body")?);
        let read = read.map_err(|error| DriverError::unreadable("audit record", error));
        let damage = &session.shared.damage;
        records.extend(pass_over(read, damage, "audit", "a record")?);
    }
    Ok(page_of(records, page.limit, |record| record.id))
}
