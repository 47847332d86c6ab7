//! Jobs that are counted together.

use std::{
    collections::{BTreeMap, HashMap},
    time::Instant,
};

use steadfast_core::{
    AuditRecord, BatchEvent, BatchId, JobId, NewBatch, NewJob, Timestamp, limits,
};
use tokio_postgres::{Row, types::ToSql};

use super::{
    PostgresStore,
    audit::save_audit,
    damage::pass_over,
    driver_error::DriverError,
    enqueue, get,
    inner::{on_connection, with_wake_hints},
    key::Key,
    links,
    names::{NumberedJob, with_numbers},
    note_position::{NoteLook, NotePage},
    session::{Conn, Session},
    values::{micros, to_json},
};
use crate::{
    error::{EnqueueError, StoreError},
    limits::{BATCH_NOTES_PAGE_MAX, BATCHES_COUNTED_TOGETHER_MAX},
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
    wake::WakeReasons,
};

/// Refuses jobs of a request for batches that do not take them. Those that do are held from here on,
/// in the order of their ids, so that none is closed before the jobs are counted.
pub(super) async fn check(
    session: &Session<'_>,
    jobs: &[NumberedJob<'_>],
    known: &HashMap<usize, EnqueueResult>,
) -> Result<Result<(), EnqueueError>, DriverError> {
    let new = jobs.iter().map(|numbered| numbered.job).enumerate();
    let new = new.filter(|(index, _)| !known.contains_key(index));
    for (batch, mut jobs) in requested_batches(new) {
        let ids: Vec<JobId> = jobs.iter().map(|(_, job)| job.id).collect();
        let stored = get::job_states(session, &ids).await?;
        // One that is stored was added by a request whose answer was lost.
        let mut stored = stored.into_iter();
        jobs.retain(|_| stored.next().flatten().is_none());
        if jobs.is_empty() {
            continue;
        }
        let stored = find(session, batch, include_str!("sql/batch_lock.sql")).await?;
        if let Err(refused) = check_batch(batch, stored.as_ref(), &jobs) {
            return Ok(Err(refused));
        }
    }
    Ok(Ok(()))
}

/// Counts jobs that were stored in their batches.
pub(super) async fn add(
    session: &Session<'_>,
    jobs: &[NumberedJob<'_>],
    created: &HashMap<JobId, Timestamp>,
    hints: &mut WakeReasons,
) -> Result<(), DriverError> {
    let mut members: BTreeMap<Key, Key> = BTreeMap::new();
    for NumberedJob { job, .. } in jobs {
        if let Some(batch) = job.batch().filter(|_| created.contains_key(&job.id)) {
            members.insert(job.id.into(), batch.into());
        }
    }
    if members.is_empty() {
        return Ok(());
    }
    let ids: Vec<Key> = members.keys().copied().collect();
    let batches: Vec<Key> = members.values().copied().collect();
    let sql = include_str!("sql/batch_jobs_insert.sql");
    session.execute(sql, &[&ids, &batches]).await?;
    links::mark(session, &ids, IS_OF_BATCH).await?;
    let mut counts: BTreeMap<Key, u64> = BTreeMap::new();
    for batch in batches {
        *counts.entry(batch).or_default() += 1;
    }
    for (batch, count) in counts {
        change(session, batch.batch(), [BatchEvent::Added(count)], hints).await?;
    }
    Ok(())
}

pub(super) async fn create(
    conn: &mut Conn<'_>,
    batch: &NewBatch,
    unfinished_max: usize,
    hints: &mut WakeReasons,
) -> Result<Result<BatchCreateResult, EnqueueError>, DriverError> {
    let numbered = with_numbers(&conn.session(), batch.jobs.iter()).await?;
    let transaction = conn.begin().await?;
    let session = transaction.session();
    let record = BatchRecord::new(batch, session.shared.clock.now());
    if let Some(answer) = create_row(&session, batch, &record, unfinished_max).await? {
        transaction.roll_back().await?;
        return Ok(Ok(answer));
    }
    let results = match enqueue::enqueue_in(&session, &numbered, hints).await? {
        Ok(results) => results,
        Err(refused) => {
            transaction.roll_back().await?;
            return Ok(Err(refused));
        }
    };
    if let Some(refusal) = BatchCreateResult::refusal(&results) {
        transaction.roll_back().await?;
        return Ok(Ok(refusal));
    }
    let find_sql = include_str!("sql/batch_find.sql");
    let stored = match batch.is_open {
        true => find(&session, batch.id, find_sql).await?,
        false => change(&session, batch.id, [BatchEvent::Closed], hints).await?,
    };
    transaction.commit().await?;
    let stored = stored.unwrap_or(record);
    Ok(Ok(BatchCreateResult::Created(stored, results)))
}

/// Stores a batch without its jobs, or answers why it is not stored.
async fn create_row(
    session: &Session<'_>,
    batch: &NewBatch,
    record: &BatchRecord,
    unfinished_max: usize,
) -> Result<Option<BatchCreateResult>, DriverError> {
    let (tenant, key) = (batch.tenant.as_str(), batch.idempotency_key.as_ref());
    let key = key.map(|key| key.as_str());
    let sql = include_str!("sql/batch_tenant_lock.sql");
    session.execute(sql, &[&tenant]).await?;
    let find_sql = include_str!("sql/batch_find.sql");
    if let Some(stored) = find(session, batch.id, find_sql).await? {
        return Ok(Some(BatchCreateResult::Existing(stored)));
    }
    if let Some(key) = key {
        let sql = include_str!("sql/batch_find_key.sql");
        let rows = session.query(sql, &[&tenant, &key]).await?;
        if let Some(stored) = rows.first().map(read).transpose()? {
            return Ok(Some(match stored.fingerprint == record.fingerprint {
                true => BatchCreateResult::Existing(stored),
                false => BatchCreateResult::KeyTaken(stored.id),
            }));
        }
    }
    let most = row_limit(unfinished_max);
    let sql = include_str!("sql/batch_count_unfinished.sql");
    let row = session.query_one(sql, &[&tenant, &most]).await?;
    if row.try_get::<_, i64>("count")? >= most {
        return Ok(Some(BatchCreateResult::TooMany));
    }
    session
        .execute(
            include_str!("sql/batch_create.sql"),
            &[
                &Key::from(batch.id),
                &tenant,
                &key,
                &record.created_at.as_micros(),
                &to_json(&record.counts)?,
                &to_json(&BatchBody::from(record))?,
            ],
        )
        .await?;
    let callbacks = [
        (BatchCallback::End, &batch.on_end),
        (BatchCallback::Success, &batch.on_success),
    ];
    for (callback, job) in callbacks {
        if let Some(job) = job {
            let template = to_json(&Template::from(job))?;
            let number = callback_number(callback);
            let sql = include_str!("sql/batch_callback_save.sql");
            session
                .execute(sql, &[&Key::from(batch.id), &number, &template])
                .await?;
        }
    }
    Ok(None)
}

pub(super) async fn close(
    conn: &mut Conn<'_>,
    id: BatchId,
    audit: Option<&AuditRecord>,
    hints: &mut WakeReasons,
) -> Result<Option<BatchRecord>, DriverError> {
    let transaction = conn.begin().await?;
    let session = transaction.session();
    let before = find(&session, id, include_str!("sql/batch_lock.sql")).await?;
    let closed = change(&session, id, [BatchEvent::Closed], hints).await?;
    save_audit(&session, audit.filter(|_| closed != before)).await?;
    transaction.commit().await?;
    Ok(closed)
}

/// Does what events make of a batch, and answers with it as it then is.
async fn change(
    session: &Session<'_>,
    id: BatchId,
    events: impl IntoIterator<Item = BatchEvent>,
    hints: &mut WakeReasons,
) -> Result<Option<BatchRecord>, DriverError> {
    let stored = find(session, id, include_str!("sql/batch_lock.sql")).await?;
    let changes = stored.map(|stored| (stored, events.into_iter().collect()));
    let mut changed = change_held(session, changes, hints).await?;
    Ok(changed.pop())
}

/// The same for some that are held.
async fn change_held(
    session: &Session<'_>,
    changes: impl IntoIterator<Item = (BatchRecord, Vec<BatchEvent>)>,
    hints: &mut WakeReasons,
) -> Result<Vec<BatchRecord>, DriverError> {
    let now = session.shared.clock.now();
    let (mut ids, mut finished_at, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    let (mut due_ids, mut due_numbers) = (Vec::new(), Vec::new());
    let mut changed = Vec::new();
    for (stored, events) in changes {
        let mut next = stored.clone();
        let due = next.apply(events, now);
        let due = due.map_err(|refused| DriverError::unreadable("batch", refused))?;
        if next != stored {
            ids.push(Key::from(next.id));
            finished_at.push(micros(next.finished_at));
            counts.push(to_json(&next.counts)?);
        }
        for callback in due {
            due_ids.push(Key::from(next.id));
            due_numbers.push(callback_number(callback));
        }
        changed.push(next);
    }
    if !ids.is_empty() {
        let sql = include_str!("sql/batch_save.sql");
        session.execute(sql, &[&ids, &finished_at, &counts]).await?;
    }
    let mut jobs: Vec<NewJob> = Vec::new();
    if !due_ids.is_empty() {
        let sql = include_str!("sql/batch_callback_take.sql");
        for row in session.query(sql, &[&due_ids, &due_numbers]).await? {
            jobs.push(callback_job(row.try_get("template")?)?);
        }
    }
    let numbered = with_numbers(session, jobs.iter()).await?;
    enqueue::insert_unless_stored(session, &numbered, hints).await?;
    Ok(changed)
}

/// Counts what has happened to jobs of batches, and answers whether there is more. Another node may do
/// the same: each batch is held by one of them at a time.
pub(super) async fn follow(store: &PostgresStore, limit: usize) -> Result<bool, StoreError> {
    let position = &store.inner.shared.counted_to;
    let mut look = position.begin(limit, Instant::now());
    let followed = follow_notes(store, &mut look).await;
    let has_more = position.end(look);
    followed.map(|()| has_more)
}

/// Some batches are counted in a transaction, and each by itself if that fails, so that one that fails
/// holds up no other. Waiting callers are woken for each transaction, whatever becomes of the next one.
async fn follow_notes(store: &PostgresStore, look: &mut NoteLook) -> Result<(), StoreError> {
    while let Some(after) = look.next() {
        let began = Instant::now();
        let page = on_connection!(store, "follow_links", |conn| next_notes(
            &conn.session(),
            after,
            look
        ))?;
        let batches = look.visit(page, began.elapsed());
        let groups = batches.chunks(BATCHES_COUNTED_TOGETHER_MAX);
        let mut groups: Vec<&[BatchId]> = groups.rev().collect();
        while let Some(group) = groups.pop().filter(|_| look.room() > 0) {
            let (floor, share) = (look.floor(), look.room().div_ceil(group.len()));
            look.pass(group);
            let counted = with_wake_hints!(store, "follow_links", |conn, hints| follow_group(
                conn, group, floor, share, hints
            ));
            match counted {
                Ok(counted) => {
                    look.take_back(&counted.done);
                    look.add(counted.notes, counted.has_rest);
                }
                Err(_) if group.len() > 1 => {
                    look.take_back(group);
                    groups.extend(group.chunks(1).rev());
                }
                // The next look meets it again, if it lasts.
                Err(error) if look.has_counted() => {
                    tracing::debug!(batch = %group[0], %error, "cannot count the jobs of a batch");
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// The batches to count next.
async fn next_notes(
    session: &Session<'_>,
    after: i64,
    look: &NoteLook,
) -> Result<NotePage, DriverError> {
    let most = row_limit(BATCH_NOTES_PAGE_MAX);
    let passed: Vec<Key> = look.passed().iter().map(|id| (*id).into()).collect();
    let batches_max = row_limit(look.batches_max());
    let sql = include_str!("sql/batch_notes_next.sql");
    let row = session
        .query_one(sql, &[&after, &most, &passed, &batches_max])
        .await?;
    let batches: Vec<Key> = row.try_get("batches")?;
    Ok(NotePage {
        batches: batches.into_iter().map(Key::batch).collect(),
        is_full: row.try_get::<_, i64>("notes")? >= most,
        first: row.try_get("first")?,
        last: row.try_get("last")?,
        oldest_transaction: row.try_get("oldest_transaction")?,
        later_transaction: row.try_get("later_transaction")?,
    })
}

/// What was counted of some batches.
#[derive(Default)]
struct GroupCount {
    notes: usize,
    /// Those that were counted to their end.
    done: Vec<BatchId>,
    /// There is more of the others.
    has_rest: bool,
}

/// Counts what has happened to jobs of some batches, up to `share` of each: nothing of those that another
/// caller holds, and nothing of one that is alone, if it or a job that follows cannot be read. Their notes
/// are kept for later.
async fn follow_group(
    conn: &mut Conn<'_>,
    batches: &[BatchId],
    floor: i64,
    share: usize,
    hints: &mut WakeReasons,
) -> Result<GroupCount, DriverError> {
    let counted = count_notes(conn, batches, floor, share, hints).await;
    match batches {
        [batch] => {
            let counted = pass_over(counted, &conn.shared.damage, "batch", batch)?;
            Ok(counted.unwrap_or_default())
        }
        _ => counted,
    }
}

async fn count_notes(
    conn: &mut Conn<'_>,
    batches: &[BatchId],
    floor: i64,
    share: usize,
    hints: &mut WakeReasons,
) -> Result<GroupCount, DriverError> {
    let transaction = conn.begin().await?;
    let session = transaction.session();
    let ids: Vec<Key> = batches.iter().map(|id| (*id).into()).collect();
    let sql = include_str!("sql/batch_lock_free.sql");
    let mut held = BTreeMap::new();
    for row in session.query(sql, &[&ids]).await? {
        let batch = read(&row)?;
        held.insert(Key::from(batch.id), (batch, Vec::new()));
    }
    let (ids, others): (Vec<Key>, Vec<Key>) = ids.iter().partition(|id| held.contains_key(id));
    if !others.is_empty() {
        let sql = include_str!("sql/batch_notes_drop.sql");
        session.execute(sql, &[&others]).await?;
    }
    // Read once the batches are held, so that the changes of each job come in their order.
    let sql = include_str!("sql/batch_notes.sql");
    let notes = session
        .query(sql, &[&ids, &floor, &row_limit(share)])
        .await?;
    let mut counted: Vec<i64> = Vec::with_capacity(notes.len());
    for note in &notes {
        counted.push(note.try_get("seq")?);
        if let Some((_, events)) = held.get_mut(&note.try_get::<_, Key>("batch")?) {
            events.push(BatchEvent::Changed {
                from: member_state(note.try_get::<_, i16>("from_state")?),
                to: member_state(note.try_get::<_, i16>("to_state")?),
            });
        }
    }
    let done = held.values().filter(|(_, events)| events.len() < share);
    let done: Vec<BatchId> = done.map(|(batch, _)| batch.id).collect();
    let has_rest = done.len() < held.len();
    change_held(&session, held.into_values(), hints).await?;
    let sql = include_str!("sql/batch_notes_delete.sql");
    session.execute(sql, &[&counted]).await?;
    transaction.commit().await?;
    Ok(GroupCount {
        notes: counted.len(),
        done,
        has_rest,
    })
}

pub(super) async fn get(
    session: &Session<'_>,
    id: BatchId,
) -> Result<Option<BatchRecord>, DriverError> {
    find(session, id, include_str!("sql/batch_find.sql")).await
}

async fn find(
    session: &Session<'_>,
    id: BatchId,
    sql: &'static str,
) -> Result<Option<BatchRecord>, DriverError> {
    let rows = session.query(sql, &[&Key::from(id)]).await?;
    rows.first().map(read).transpose()
}

/// Whether it, or a job that it is to make, cannot be read.
pub(super) async fn is_damaged(session: &Session<'_>, id: BatchId) -> Result<bool, DriverError> {
    let templates = include_str!("sql/batch_callbacks.sql");
    let looked = match get(session, id).await {
        Ok(_) => session.query(templates, &[&Key::from(id)]).await,
        Err(error) => Err(error),
    };
    let read = looked.and_then(|rows| {
        rows.iter()
            .try_for_each(|row| Ok(callback_job(row.try_get("template")?).map(drop)?))
    });
    match read {
        Err(error) if error.is_unreadable() => Ok(true),
        read => read.map(|()| false),
    }
}

fn read(row: &Row) -> Result<BatchRecord, DriverError> {
    let columns = BatchColumns {
        id: row.try_get::<_, Key>("id")?.batch(),
        tenant: row.try_get("tenant")?,
        created_at: row.try_get("created_at")?,
        finished_at: row.try_get("finished_at")?,
        counts: row.try_get("counts")?,
        body: row.try_get("body")?,
    };
    Ok(columns.read()?)
}

pub(super) async fn list(
    session: &Session<'_>,
    filter: &BatchFilter,
    page: PageRequest<BatchId>,
) -> Result<Page<BatchRecord, BatchId>, DriverError> {
    let after = Key::from(page.after.unwrap_or(BatchId::from_bits(u128::MAX)));
    let tenant = filter.tenant.as_ref().map(|tenant| tenant.as_str());
    let sql = match (filter.is_unfinished, &tenant) {
        (true, None) => include_str!("sql/batches_unfinished.sql"),
        (true, Some(_)) => include_str!("sql/batches_unfinished_of_tenant.sql"),
        (false, None) => include_str!("sql/batches.sql"),
        (false, Some(_)) => include_str!("sql/batches_of_tenant.sql"),
    };
    let wanted = page.limit.saturating_add(1);
    let mut limit = wanted;
    loop {
        let most = row_limit(limit);
        let mut params: Vec<&(dyn ToSql + Sync)> = vec![&after, &most];
        params.extend(tenant.as_ref().map(|tenant| tenant as &(dyn ToSql + Sync)));
        let mut found = Readable::default();
        for row in &session.query(sql, &params).await? {
            let id = row.try_get::<_, Key>("id")?.batch();
            found.push(pass_over(read(row), &session.shared.damage, "batch", id)?);
        }
        match found.next_limit(wanted, limit) {
            Some(next) => limit = next,
            None => return Ok(page_of(found.items, page.limit, |record| record.id)),
        }
    }
}

pub(super) async fn prune(
    session: &Session<'_>,
    ended_before: Timestamp,
    limit: usize,
) -> Result<usize, DriverError> {
    let sql = include_str!("sql/batch_prune.sql");
    let keyed_before = session.shared.clock.now();
    let keyed_before = keyed_before.minus(limits::IDEMPOTENCY_KEY_RETENTION_MIN);
    let params: [&(dyn ToSql + Sync); 3] = [
        &ended_before.as_micros(),
        &row_limit(limit),
        &keyed_before.as_micros(),
    ];
    let count: i64 = session.query_one(sql, &params).await?.try_get("count")?;
    Ok(usize::try_from(count).unwrap_or(0))
}
