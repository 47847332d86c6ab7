//! Jobs that are counted together.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use steadfast_core::{BatchEvent, BatchId, NewBatch, NewJob, Timestamp, limits};

use super::{
    batch_walk::FollowPosition,
    damage::pass_over,
    driver_error::DriverError,
    enqueue, links,
    list::ABOVE_ALL,
    readers::Reader,
    session::Session,
    values::{batch_key, job_key, to_json},
};
use crate::{
    error::EnqueueError,
    links::IS_OF_BATCH,
    sql::{
        batches::{BatchBody, BatchColumns, callback_job, callback_number, member_state},
        paging::{Readable, page_of, row_limit},
        template::Template,
    },
    store::{
        BatchCallback, BatchCreateResult, BatchFilter, BatchRecord, EnqueueResult, Page,
        PageRequest, check_batch, requested_batches,
    },
};

/// Refuses jobs of a request for batches that do not take them.
pub(super) fn check(
    session: &Session<'_>,
    jobs: &[NewJob],
    is_known: impl Fn(usize) -> bool,
) -> Result<Result<(), EnqueueError>, DriverError> {
    let new = jobs
        .iter()
        .enumerate()
        .filter(|(index, _)| !is_known(*index));
    for (batch, mut jobs) in requested_batches(new) {
        let mut new = Vec::with_capacity(jobs.len());
        for (index, job) in jobs.drain(..) {
            // One that is stored was added by a request whose answer was lost.
            if !enqueue::is_stored(session, job.id)? {
                new.push((index, job));
            }
        }
        if new.is_empty() {
            continue;
        }
        let stored = find(session.conn, batch)?;
        if let Err(refused) = check_batch(batch, stored.as_ref(), &new) {
            return Ok(Err(refused));
        }
    }
    Ok(Ok(()))
}

/// Counts jobs that were stored in their batches.
pub(super) fn add(
    session: &mut Session<'_>,
    jobs: &[NewJob],
    results: &[EnqueueResult],
) -> Result<(), DriverError> {
    let mut added: BTreeMap<BatchId, u64> = BTreeMap::new();
    for (job, result) in jobs.iter().zip(results) {
        let (Some(batch), EnqueueResult::Created(id, _)) = (job.batch(), result) else {
            continue;
        };
        session
            .conn
            .prepare_cached(include_str!("sql/batch_job_insert.sql"))?
            .execute(params![job_key(*id), batch_key(batch)])?;
        links::mark(session.conn, *id, IS_OF_BATCH)?;
        *added.entry(batch).or_default() += 1;
    }
    for (batch, count) in added {
        change(session, batch, [BatchEvent::Added(count)])?;
    }
    Ok(())
}

pub(super) fn create(
    session: &mut Session<'_>,
    batch: &NewBatch,
    unfinished_max: usize,
) -> Result<Result<BatchCreateResult, EnqueueError>, DriverError> {
    if let Some(stored) = find(session.conn, batch.id)? {
        return Ok(Ok(BatchCreateResult::Existing(stored)));
    }
    let record = BatchRecord::new(batch, session.now);
    let (tenant, key) = (batch.tenant.as_str(), batch.idempotency_key.as_ref());
    if let Some(key) = key
        && let Some(stored) = find_by_key(session.conn, tenant, key.as_str())?
    {
        return Ok(Ok(match stored.fingerprint == record.fingerprint {
            true => BatchCreateResult::Existing(stored),
            false => BatchCreateResult::KeyTaken(stored.id),
        }));
    }
    let most = row_limit(unfinished_max);
    let unfinished: i64 = session
        .conn
        .prepare_cached(include_str!("sql/batch_count_unfinished.sql"))?
        .query_row(params![tenant, most], |row| row.get("count"))?;
    if unfinished >= most {
        return Ok(Ok(BatchCreateResult::TooMany));
    }
    session
        .conn
        .prepare_cached(include_str!("sql/batch_create.sql"))?
        .execute(params![
            batch_key(batch.id),
            tenant,
            key.map(|key| key.as_str()),
            record.created_at.as_micros(),
            None::<i64>,
            to_json(&record.counts)?,
            to_json(&BatchBody::from(&record))?,
        ])?;
    let results = match enqueue::enqueue(session, &batch.jobs)? {
        Ok(results) => results,
        Err(refused) => {
            // The transaction is shared with other requests.
            delete(session, batch.id)?;
            return Ok(Err(refused));
        }
    };
    if let Some(refusal) = BatchCreateResult::refusal(&results) {
        delete(session, batch.id)?;
        return Ok(Ok(refusal));
    }
    save_callback(session, batch.id, BatchCallback::End, batch.on_end.as_ref())?;
    let on_success = batch.on_success.as_ref();
    save_callback(session, batch.id, BatchCallback::Success, on_success)?;
    let stored = match batch.is_open {
        true => find(session.conn, batch.id)?,
        false => change(session, batch.id, [BatchEvent::Closed])?,
    };
    let stored = stored.ok_or(DriverError::NotRun)?;
    Ok(Ok(BatchCreateResult::Created(stored, results)))
}

fn save_callback(
    session: &Session<'_>,
    batch: BatchId,
    callback: BatchCallback,
    job: Option<&NewJob>,
) -> Result<(), DriverError> {
    if let Some(job) = job {
        let template = to_json(&Template::from(job))?;
        session
            .conn
            .prepare_cached(include_str!("sql/batch_callback_save.sql"))?
            .execute(params![
                batch_key(batch),
                callback_number(callback),
                template
            ])?;
    }
    Ok(())
}

/// Does what events make of a batch, and answers with it as it then is.
pub(super) fn change(
    session: &mut Session<'_>,
    id: BatchId,
    events: impl IntoIterator<Item = BatchEvent>,
) -> Result<Option<BatchRecord>, DriverError> {
    let Some(stored) = find(session.conn, id)? else {
        return Ok(None);
    };
    let mut next = stored.clone();
    let due = next.apply(events, session.now);
    let due = due.map_err(|refused| DriverError::unreadable("batch", refused))?;
    // One that cannot be read is found before anything is written: the transaction may go on.
    let mut jobs = Vec::with_capacity(due.len());
    for callback in due {
        let params = params![batch_key(id), callback_number(callback)];
        let template: Option<String> = session
            .conn
            .prepare_cached(include_str!("sql/batch_callback_find.sql"))?
            .query_row(params, |row| row.get("template"))
            .optional()?;
        if let Some(template) = template {
            jobs.push((callback, callback_job(&template)?));
        }
    }
    if next != stored {
        session
            .conn
            .prepare_cached(include_str!("sql/batch_save.sql"))?
            .execute(params![
                batch_key(id),
                next.finished_at.map(Timestamp::as_micros),
                to_json(&next.counts)?,
            ])?;
    }
    for (callback, job) in jobs {
        enqueue::insert(session, &job)?;
        session
            .conn
            .prepare_cached(include_str!("sql/batch_callback_delete.sql"))?
            .execute(params![batch_key(id), callback_number(callback)])?;
    }
    Ok(Some(next))
}

/// The first batch behind another to whose jobs something has happened.
pub(super) fn next_noted(
    conn: &Connection,
    after: BatchId,
) -> Result<Option<BatchId>, DriverError> {
    let mut statement = conn.prepare_cached(include_str!("sql/batch_note_next.sql"))?;
    let batch = statement.query_row([batch_key(after)], |row| row.get("batch"));
    Ok(batch.optional()?.map(batch_id))
}

/// Counts what has happened to jobs of batches, and answers whether there is more.
pub(super) fn follow(
    session: &mut Session<'_>,
    limit: usize,
    position: &FollowPosition,
) -> Result<bool, DriverError> {
    let mut walk = position.walk(limit);
    let damage = session.names.damage();
    while let Some(after) = walk.after() {
        let Some(batch) = walk.visit(next_noted(session.conn, after)?) else {
            continue;
        };
        position.pass(batch);
        // One that cannot be read does not hold up the others, and its notes are kept for later.
        let counted = count_notes(session, batch, walk.room());
        walk.add(pass_over(counted, &damage, "batch", batch)?.unwrap_or(0));
    }
    Ok(position.end(&walk))
}

fn count_notes(
    session: &mut Session<'_>,
    batch: BatchId,
    limit: usize,
) -> Result<usize, DriverError> {
    let mut last = None;
    let mut events = Vec::new();
    {
        let mut statement = session
            .conn
            .prepare_cached(include_str!("sql/batch_notes.sql"))?;
        let mut rows = statement.query(params![batch_key(batch), row_limit(limit)])?;
        while let Some(row) = rows.next()? {
            events.push(BatchEvent::Changed {
                from: member_state(row.get::<_, i64>("from_state")?),
                to: member_state(row.get::<_, i64>("to_state")?),
            });
            last = Some(row.get::<_, i64>("seq")?);
        }
    }
    let count = events.len();
    // One that was deleted has nothing to count.
    change(session, batch, events)?;
    session
        .conn
        .prepare_cached(include_str!("sql/batch_notes_delete.sql"))?
        .execute(params![batch_key(batch), last])?;
    Ok(count)
}

pub(super) fn find(conn: &Connection, id: BatchId) -> Result<Option<BatchRecord>, DriverError> {
    let sql = include_str!("sql/batch_find.sql");
    find_one(conn, sql, [batch_key(id)])
}

fn find_by_key(
    conn: &Connection,
    tenant: &str,
    key: &str,
) -> Result<Option<BatchRecord>, DriverError> {
    let sql = include_str!("sql/batch_find_key.sql");
    find_one(conn, sql, [tenant, key])
}

fn find_one(
    conn: &Connection,
    sql: &str,
    params: impl Params,
) -> Result<Option<BatchRecord>, DriverError> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    let row = rows.next()?;
    row.map(read).transpose()
}

/// Whether it, or a job that it is to make, cannot be read.
pub(super) fn is_damaged(conn: &Connection, id: BatchId) -> Result<bool, DriverError> {
    let read = find(conn, id).and_then(|_| read_callbacks(conn, id));
    match read {
        Err(error) if error.is_unreadable() => Ok(true),
        read => read.map(|()| false),
    }
}

fn read_callbacks(conn: &Connection, id: BatchId) -> Result<(), DriverError> {
    let mut statement = conn.prepare_cached(include_str!("sql/batch_callbacks.sql"))?;
    let mut rows = statement.query([batch_key(id)])?;
    while let Some(row) = rows.next()? {
        callback_job(&row.get::<_, String>("template")?)?;
    }
    Ok(())
}

fn read(row: &Row<'_>) -> Result<BatchRecord, DriverError> {
    let text = |column| -> Result<&str, rusqlite::Error> {
        row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)
    };
    let columns = BatchColumns {
        id: batch_id(row.get("id")?),
        tenant: text("tenant")?,
        created_at: row.get("created_at")?,
        finished_at: row.get("finished_at")?,
        counts: text("counts")?,
        body: text("body")?,
    };
    Ok(columns.read()?)
}

pub(super) fn list(
    reader: &mut Reader,
    filter: &BatchFilter,
    page: PageRequest<BatchId>,
) -> Result<Page<BatchRecord, BatchId>, DriverError> {
    let sql = match (filter.is_unfinished, &filter.tenant) {
        (true, None) => include_str!("sql/batches_unfinished.sql"),
        (true, Some(_)) => include_str!("sql/batches_unfinished_of_tenant.sql"),
        (false, None) => include_str!("sql/batches.sql"),
        (false, Some(_)) => include_str!("sql/batches_of_tenant.sql"),
    };
    let after = page
        .after
        .map_or(ABOVE_ALL.to_vec(), |id| batch_key(id).to_vec());
    let tenant = filter.tenant.as_ref().map(|tenant| tenant.as_str());
    let damage = reader.names.damage();
    let mut statement = reader.conn.prepare_cached(sql)?;
    let wanted = page.limit.saturating_add(1);
    let mut limit = wanted;
    loop {
        let mut rows = match tenant {
            None => statement.query(params![after, row_limit(limit)])?,
            Some(tenant) => statement.query(params![after, row_limit(limit), tenant])?,
        };
        let mut found = Readable::default();
        while let Some(row) = rows.next()? {
            let id = batch_id(row.get("id")?);
            found.push(pass_over(read(row), &damage, "batch", id)?);
        }
        match found.next_limit(wanted, limit) {
            Some(next) => limit = next,
            None => return Ok(page_of(found.items, page.limit, |record| record.id)),
        }
    }
}

/// Batches that may be deleted. A reader looks for them, because old ones whose jobs are kept have to
/// be passed over.
pub(super) fn find_old(
    conn: &Connection,
    ended_before: Timestamp,
    limit: usize,
    now: Timestamp,
) -> Result<Vec<BatchId>, DriverError> {
    let mut statement = conn.prepare_cached(include_str!("sql/batch_prune_find.sql"))?;
    let keyed_before = now.minus(limits::IDEMPOTENCY_KEY_RETENTION_MIN);
    let params = params![
        ended_before.as_micros(),
        row_limit(limit),
        keyed_before.as_micros()
    ];
    let ids = statement.query_map(params, |row| Ok(batch_id(row.get("id")?)))?;
    Ok(ids.collect::<Result<_, _>>()?)
}

/// Deletes a batch. One that may be deleted stays so: without jobs, nothing can happen to it.
pub(super) fn delete(session: &Session<'_>, id: BatchId) -> Result<usize, DriverError> {
    let sql = include_str!("sql/batch_callbacks_delete.sql");
    session.conn.prepare_cached(sql)?.execute([batch_key(id)])?;
    let sql = include_str!("sql/batch_delete.sql");
    Ok(session.conn.prepare_cached(sql)?.execute([batch_key(id)])?)
}

fn batch_id(bytes: [u8; 16]) -> BatchId {
    BatchId::from_bits(u128::from_be_bytes(bytes))
}
